"""What of an uncommitted checkout is the user's work, and what tools and we ourselves left in it."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

_INSTALLED = frozenset({".venv", "venv", "node_modules", "__pycache__", ".tox", ".nox", ".mypy_cache", ".pytest_cache"})
_PLANS = frozenset({".yaml", ".yml", ".json", ".md", ".markdown"})
_MOST_BYTES = 1_000_000
_MOST_FILES = 20


@dataclass(frozen=True, slots=True)
class Dirt:
    """Uncommitted paths: `work` is what a task might need, `installed` what a tool made and git should ignore. Plan
    files are neither."""

    work: tuple[str, ...]
    installed: tuple[str, ...]


def sort_dirt(root: Path, dirty: Iterable[str]) -> Dirt:
    """The uncommitted paths by what they are."""
    paths = tuple(dirty)
    installed = tuple(path for path in paths if _INSTALLED & set(PurePosixPath(path).parts))
    work = tuple(path for path in paths if path not in installed and not _holds_plans(root / path))
    return Dirt(work, installed)


def _holds_plans(path: Path) -> bool:
    """Whether it is a plan file, or an untracked folder of nothing else."""
    if not path.is_dir():
        return _is_plan(path)
    files = [file for file in path.rglob("*") if not file.is_dir()][: _MOST_FILES + 1] if not path.is_symlink() else []
    return 0 < len(files) <= _MOST_FILES and all(map(_is_plan, files))


def _is_plan(path: Path) -> bool:
    from orchestrator.planning.formats import read_plan  # most checkouts have no candidate, and it takes a while
    from orchestrator.planning.validate import PlanFileError

    if path.suffix.lower() not in _PLANS or path.is_symlink() or not path.is_file():
        return False
    try:
        content = path.read_bytes() if path.stat().st_size <= _MOST_BYTES else b""
        return read_plan(content, path.suffix).plan is not None
    except (OSError, PlanFileError):
        return False
