"""Ignored files that tracked ones need: a generated `_version.py` is in the user's checkout and in no workspace."""

from __future__ import annotations

import json
import re
import shlex
from collections.abc import Iterator
from pathlib import Path, PurePosixPath

from orchestrator.config.settings import Settings
from orchestrator.domain.workspace import AbsentFile
from orchestrator.workspace.git import Git
from orchestrator.workspace.paths import printable
from orchestrator.workspace.repository import UserRepository

MOST_LOOKED_AT = 50
_SCRIPTS = ("*.js", "*.jsx", "*.ts", "*.tsx", "*.mjs", "*.cjs")
_HEADERS = ("*.c", "*.cc", "*.cpp", "*.h", "*.hpp")
_USERS = {
    ".py": ("*.py",),
    ".so": ("*.py",),
    ".pyd": ("*.py",),
    ".rs": ("*.rs",),
    **dict.fromkeys((".js", ".ts", ".mjs", ".cjs"), _SCRIPTS),
    **dict.fromkeys((".h", ".hpp", ".inc"), _HEADERS),
}
"""Which files may import one of this suffix."""
_WORDS = "(^|[^[:alnum:]_])(import|from|require|include|mod)([^[:alnum:]_].*)?[^[:alnum:]_]"
_BUILD_FILES = ("pyproject.toml", "setup.py", "setup.cfg")


def absent_files(repository: UserRepository, settings: Settings) -> tuple[AbsentFile, ...]:
    """The ignored files and packages of the checkout that a tracked file imports, or a Go package holds, and that no
    workspace gets: none where `workspace.prepare` makes something, or `workspace.share` names them."""
    if settings.workspace.prepare:
        return ()
    git = Git(git_dir=repository.git_dir, work_tree=repository.root, users=True)
    listed = git("ls-files", "-z", "--others", "--ignored", "--exclude-standard", "--directory").fields()
    folders = tuple(name for name in listed if name.endswith("/"))
    whole = (name for name in listed if not any(name != folder and name.startswith(folder) for folder in folders))
    names = [name.rstrip("/") for name in whole if name.rstrip("/") not in settings.workspace.share]
    likely = [name for name in names if _suffix(repository.root / name)][:MOST_LOOKED_AT]
    return tuple(
        AbsentFile(printable(name), printable(needed_by), _way_out(git, repository.root, settings, printable(name)))
        for name in likely
        if (needed_by := _needed_by(git, name, _suffix(repository.root / name)))
    )


def _suffix(path: Path) -> str:
    """What kind of source it is; a folder of Python files is a package."""
    if path.is_dir():
        return ".py" if path.name.isidentifier() and any(path.glob("*.py")) else ""
    return path.suffix if path.suffix in (*_USERS, ".go") else ""


def _needed_by(git: Git, name: str, suffix: str) -> str:
    path = PurePosixPath(name)
    stem = path.name.split(".")[0]
    if suffix == ".go":
        package = git("ls-files", "-z", "--", f":(glob){path.parent}/*.go").fields()
        return "" if path.name.endswith("_test.go") or not package else package[0]
    if suffix in (".js", ".mjs", ".cjs") and git("ls-files", "--", f":(glob){path.parent}/{stem}.ts*").out:
        return ""  # compiled beside its source, which is what tools read
    found = git.ask("grep", "-zlIE", "-e", f"{_WORDS}{re.escape(stem)}([^[:alnum:]_]|$)", "--", *_USERS[suffix])
    return next((user for user in found.fields() if user != name), "")


def _way_out(git: Git, root: Path, settings: Settings, name: str) -> str:
    command = _command(git, root, PurePosixPath(name)) or f"the command that makes {name}"
    share = json.dumps([*settings.workspace.share, name], ensure_ascii=False)
    return (
        f"Under [workspace] in orchestrate.toml set prepare = {json.dumps([command], ensure_ascii=False)}, "
        f"or share = {share} to have yours."
    )


def _command(git: Git, root: Path, path: PurePosixPath) -> str:
    """The command that makes it, where its maker is known."""
    return next(_commands(git, _build_texts(root), path), "")


def _commands(git: Git, said: str, path: PurePosixPath) -> Iterator[str]:
    if path.name in said and re.search(r"setuptools[_-]scm", said):
        yield "python -m setuptools_scm --force-write-version-files"
    if path.name in said and "tool.hatch.build.hooks" in said:
        yield "hatch build --hooks-only"
    if path.suffix in (".so", ".pyd") and said:
        yield "python setup.py build_ext --inplace"
    proto = path.with_name(re.sub(r"_pb2(_grpc)?\.py$", ".proto", path.name))
    if proto.suffix == ".proto" and git("ls-files", "--", str(proto)).out:
        yield f"python -m grpc_tools.protoc -I. --python_out=. {shlex.quote(str(proto))}"


def _build_texts(root: Path) -> str:
    return "\n".join(_text_of(root / name) for name in _BUILD_FILES)


def _text_of(path: Path) -> str:
    try:
        return path.read_text("utf-8", "replace")[:1_000_000] if path.is_file() else ""
    except OSError:
        return ""
