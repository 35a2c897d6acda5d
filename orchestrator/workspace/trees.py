"""What the gates ask of trees without a checkout: a file's content, who imports a module, and a tree that is partly
another one."""

from __future__ import annotations

import os
import re
from collections.abc import Collection, Iterator
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory

import pygit2

from orchestrator.domain.errors import WorkspaceError
from orchestrator.workspace.filesystem import disk
from orchestrator.workspace.git import Git, failure
from orchestrator.workspace.paths import printable

_LARGEST = 1_000_000
_ABSENT = b"0" * 6
_IMPORT = r"^[[:space:]]*(import|from)[[:space:]].*({names})"
_FROM = re.compile(r"from\s+(\w+)")


def content_of(objects: pygit2.Repository, blob: str) -> bytes | None:
    """A blob's bytes; None above a megabyte, and for what is no blob."""
    try:
        found = objects[blob]
    except (KeyError, ValueError) as error:
        raise WorkspaceError(f"The Shadow holds no file {blob!r}.") from error
    return found.data if isinstance(found, pygit2.Blob) and found.size <= _LARGEST else None


def imported_in(git: Git, tree: str, names: Collection[str]) -> frozenset[str]:
    """Which of the modules the Python files of a tree import by their bare name."""
    if not names:
        return frozenset()
    pattern = _IMPORT.format(names="|".join(names))
    found = git.ask("grep", "-hIE", "-e", pattern, tree, "--", ":(glob)**/*.py")
    if found.code not in (0, 1):
        raise failure(("grep",), found)
    return frozenset(names) & {name for line in found.text.splitlines() for name in _imports(line.strip())}


def _imports(line: str) -> list[str]:
    """The top-level modules that one line imports."""
    if line.startswith("from"):
        return _FROM.findall(line)[:1]
    return [part.strip().partition(".")[0].partition(" ")[0] for part in line.removeprefix("import").split(",")]


def restored_tree(git: Git, home: Path, tree: str, start: str, paths: Collection[str]) -> str:
    """`tree` with the paths as they are in `start`. A path that both have as different kinds, file and folder, is that
    of the start."""
    if not paths:
        return tree
    with disk(f"{home} cannot be written"), TemporaryDirectory(dir=home, prefix="restoring-") as folder:
        private = replace(git, index=Path(folder) / "index")
        private("read-tree", tree)
        entries = sorted(_entries(git, tree, start, frozenset(paths)))  # what is removed stands first
        private("update-index", "-z", "--replace", "--index-info", feed=b"".join(entries))
        return private("write-tree").text


def _entries(git: Git, tree: str, start: str, paths: Collection[str]) -> Iterator[bytes]:
    """The lines for `update-index --index-info`, with names as bytes: one need not be text."""
    fields = git("diff-tree", "-r", "-z", "--raw", "--no-renames", start, tree).out.split(b"\0")
    for told, name in zip(fields[::2], fields[1::2], strict=False):
        if printable(os.fsdecode(name)) in paths:
            mode, _, blob, *_ = told.removeprefix(b":").split(b" ")
            yield b"%s %s\t%s\0" % (mode if mode != _ABSENT else b"0", blob, name)
