"""What nobody could look at, or what works where nobody looks: text made binary, files too large to be read, secrets
of the environment, a git directory in the midst of the work."""

from __future__ import annotations

import posixpath
from collections.abc import Collection, Iterable, Iterator

from orchestrator.domain.finding import Finding
from orchestrator.domain.workspace import FileChange
from orchestrator.gates.finding import make_finding

_KINDS = """
png jpg jpeg gif bmp ico icns webp avif tif tiff psd pdf zip gz tgz bz2 xz zst 7z tar jar war woff woff2 ttf otf eot mp3
mp4 m4a mov webm wav ogg flac avi sqlite sqlite3 db npy npz parquet feather h5 hdf5 onnx pt safetensors wasm bin dat mo
pkl xls xlsx doc docx ppt pptx odt
"""
_BINARY = frozenset(_KINDS.split())
"""Kinds of files that are binary as such, by the end of their names; nothing executes them as text."""


def judge_readable(changes: Iterable[FileChange], declared: Collection[str], max_bytes: int) -> Iterator[Finding]:
    """One finding for each file that is too large, and for each that is binary though it was text, or though its name
    says so: git shows no line of it, QC cannot read it, and an interpreter takes it all the same."""
    for change in changes:
        if change.size > max_bytes:
            message = f"{change.path} has {change.size:,} bytes, limit {max_bytes:,}."
            fix = f"Remove {change.path}, or make it when it is needed (limit: workspace.max_file_mb)."
            yield make_finding("scope", "file_size", change.path, message, fix)
        if change.binary and change.status != "deleted" and _hides(change, declared):
            message = f"{change.path} is binary (it holds a NUL byte): what was changed in it cannot be read."
            fix = f"Write {change.path} as text; a new file that has to be binary is named in files_written."
            yield make_finding("scope", "hidden_change", change.path, message, fix)


def judge_secrets(paths: Iterable[str]) -> Iterator[Finding]:
    """One finding for each file into which the value of a secret was written."""
    for path in paths:
        yield make_finding(
            "scope",
            "secret_written",
            path,
            f"{path} holds the value of a secret of this environment.",
            f"Take it out of {path}: read it from the environment when it is needed.",
            severity="critical",
        )


def judge_git_directories(changes: Collection[FileChange]) -> Iterator[Finding]:
    """One finding for each folder that git would take for a repository: who calls git in it runs what its configuration
    says."""
    paths = [change.path for change in changes if change.status != "deleted"]
    for head in (path for path in paths if posixpath.basename(path).lower() == "head"):
        folder = head[: -len("HEAD")].lower()
        beside = {path[len(folder) :].lower() for path in paths if path.lower().startswith(folder)}
        if any(path == "commondir" or path.startswith(("objects/", "refs/")) for path in beside):
            where = folder.rstrip("/") or "The top level"
            message = f"{where} would be taken for a git repository, with its own settings and hooks."
            yield make_finding("scope", "git_directory", head, message, f"Remove {head}.", severity="critical")


def _hides(change: FileChange, declared: Collection[str]) -> bool:
    if change.status == "modified":
        return not change.was_binary
    return posixpath.splitext(change.path)[1][1:].lower() not in _BINARY and change.path not in declared
