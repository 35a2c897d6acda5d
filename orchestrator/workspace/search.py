"""Listing and searching a worktree, by git, so that ignored and binary files stay out."""

from __future__ import annotations

import signal
import subprocess
import tempfile
import threading
from collections.abc import Iterator
from functools import lru_cache

from orchestrator.domain.errors import ToolError
from orchestrator.workspace.git import Git
from orchestrator.workspace.paths import ConfinedTree, printable

MOST_LINES = 500
LONGEST_LINE = 400
SEARCH_TIMEOUT_S = 20.0

_GREP = ("grep", "--no-color", "--untracked", "--full-name", "-n", "-I", "-z")


def files(git: Git, tree: ConfinedTree, path: str, glob: str | None) -> tuple[str, ...]:
    """Tracked and untracked but not ignored files that exist, sorted."""
    listed = git(
        "ls-files", "-z", "--cached", "--others", "--exclude-standard", "--deduplicate", "--", _spec(path, glob)
    )
    entries = ((name, tree.root / name) for name in listed.fields() if not name.endswith("/"))
    return tuple(sorted(printable(name) for name, entry in entries if entry.is_symlink() or entry.is_file()))


def _spec(path: str, glob: str | None) -> str:
    """A git pathspec: `**` crosses folders, `*` does not; a glob without a slash is looked for at any depth."""
    if not glob:
        return ":/" if path == "." else f":(top,literal){path}"
    if "\0" in glob or ".." in glob.split("/"):
        raise ToolError(f"The glob {glob!r} holds '..' or a NUL. Name a pattern below the folder.")
    pattern = glob.lstrip("/") if "/" in glob else f"**/{glob}"
    escaped = "".join(f"\\{letter}" if letter in "\\*?[]" else letter for letter in path)
    return f":(top,glob){pattern}" if path == "." else f":(top,glob){escaped}/{pattern}"


def search_lines(git: Git, pattern: str, path: str, glob: str | None) -> tuple[str, ...]:
    """`path:line:text`, at most 500 lines and 20 seconds; a last line says when it was cut. Raises ToolError for a
    pattern that is no regular expression."""
    if not pattern or "\0" in pattern or "\n" in pattern:
        raise ToolError("The pattern is empty or spans lines. Search for part of one line.")
    flavour = "-P" if _knows_perl() else "-E"
    command = git.command([*_GREP, flavour, "-e", pattern, "--", _spec(path, glob)])
    with tempfile.TemporaryFile() as errors:
        running = subprocess.Popen(
            command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=errors, env=git.environment()
        )
        lines, in_time = _collect(running)
        errors.seek(0)
        said = errors.read(2_000).decode("utf-8", "replace").strip()
    if not in_time:
        return (*lines, f"(stopped after {SEARCH_TIMEOUT_S:g} seconds; narrow the pattern or the path)")
    if running.returncode not in (0, 1, -signal.SIGKILL):
        raise ToolError(f"{pattern!r} cannot be searched for: {said}")
    return lines


@lru_cache(maxsize=1)
def _knows_perl() -> bool:
    """Whether this git was built with PCRE."""
    asked = Git().ask("grep", "--no-index", "-P", "-e", "x", "--", "/dev/null")
    return "cannot use Perl" not in asked.err and "not compiled" not in asked.err


def _collect(running: subprocess.Popen[bytes]) -> tuple[tuple[str, ...], bool]:
    """The lines, and whether the search ended before its time was up."""
    alarm = threading.Timer(SEARCH_TIMEOUT_S, running.kill)
    alarm.start()
    try:
        lines = tuple(_matches(running))
        in_time = alarm.is_alive()
        if len(lines) > MOST_LINES:
            running.kill()
        running.communicate()
    finally:
        alarm.cancel()
    return lines, in_time


def _matches(running: subprocess.Popen[bytes]) -> Iterator[str]:
    if running.stdout is None:
        return
    for count, line in enumerate(running.stdout):
        if count == MOST_LINES:
            yield f"(only the first {MOST_LINES} lines; narrow the pattern or the path)"
            return
        yield _shown(line)


def _shown(line: bytes) -> str:
    name, number, text = [*line.rstrip(b"\r\n").split(b"\0", 2), b"", b""][:3]
    shown = text.decode("utf-8", "replace")
    cut = shown if len(shown) <= LONGEST_LINE else shown[:LONGEST_LINE] + "…"
    return f"{name.decode('utf-8', 'backslashreplace')}:{number.decode()}:{cut}"
