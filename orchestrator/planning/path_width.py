"""Whether an allowed path reaches beyond the folders in which a task writes."""

from __future__ import annotations

from collections.abc import Collection, Iterable

from orchestrator.domain.globs import NEW_ONLY, literal

_WILD = frozenset("*?[\\")


def folders_of(files_written: Iterable[str]) -> frozenset[str]:
    """The folders of the files; the top level is the empty text."""
    return frozenset("/".join(_parts(path)[:-1]) for path in files_written)


def is_wide(pattern: str, files_written: Collection[str], repository_files: Collection[str]) -> bool:
    """Whether the pattern matches anything outside the folders of the written files. The top level holds everything:
    within it are the patterns of one part, and of plain names those that are known to be files."""
    parts = _parts(pattern.removeprefix(NEW_ONLY))
    folders = folders_of(files_written)
    if any(folder and _begins(parts, _parts(literal(folder))) for folder in folders):
        return False
    if "" not in folders or len(parts) != 1 or parts[0] == "**" or pattern.endswith("/"):
        return True
    known = parts[0] in repository_files or any(_parts(path) == parts for path in files_written)
    return not known and not _WILD.intersection(parts[0])


def _begins(parts: list[str], folder: list[str]) -> bool:
    return parts[: len(folder)] == folder


def _parts(path: str) -> list[str]:
    return [part for part in path.split("/") if part not in ("", ".")]
