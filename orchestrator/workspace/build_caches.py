"""The build caches of a plan: what the checks of its accepted work left, under ORCHESTRATE_HOME.

caches/<plan>/<n>   one generation, never written again; the highest is what new workspaces begin with

A workspace keeps the generation that it was opened over. So nothing in its caches is younger than its files, and tools
that compare times (cargo, mypy) never take a file of this workspace for one of another.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import ExitStack, suppress
from dataclasses import dataclass
from pathlib import Path

from orchestrator.workspace.filesystem import disk, file_lock, remove_folder, remove_if_free, share_folder
from orchestrator.workspace.sandbox.cache_layer import CacheLayer, copy_tree

MOST_PLANS = 3
"""Of how many plans the caches are kept, those that were filled last."""


@dataclass(frozen=True, slots=True)
class BuildCaches:
    """The caches of one plan in `folder`; `most_mb` megabytes of them are kept."""

    folder: Path
    most_mb: int

    def newest(self) -> tuple[Path, ExitStack]:
        """The newest generation, which is not removed until the stack is closed."""
        while True:
            with disk(f"{self.folder} cannot be made"):
                self.folder.mkdir(parents=True, exist_ok=True)
                if (plan := share_folder(self.folder)) is None:
                    continue
                newest = self._newest()
            if (generation := share_folder(newest)) is not None:
                plan.push(generation)
                return newest, plan
            plan.close()  # another one was made meanwhile, and this one removed

    def fill(self, layer: CacheLayer) -> None:
        """Make a new generation: of each cache that this layer changed its state, of the others what is there. Two
        layers' states of one cache are never mixed: a tool may not understand what comes of that. What is too large
        begins anew. Raises WorkspaceError, DiskFullError."""
        names = layer.changed()
        if not names:
            return
        with disk(f"{self.folder} cannot be written"), file_lock(self.folder / "lock"):
            now, new = self._newest(), self.folder / "new"
            remove_folder(new)
            new.mkdir()
            for kept in _folders(now):
                if kept.name not in names:
                    (new / kept.name).mkdir()
                    copy_tree(kept, new / kept.name, linked=True)
            layer.give(names, new)
            if _size(new) > self.most_mb * 1_000_000:
                remove_folder(new)
                new.mkdir()
            new.rename(self.folder / str(int(now.name) + 1))
            self._remove_old()

    def _remove_old(self) -> None:
        for generation in self._generations()[:-1]:
            _remove(generation)

    def _newest(self) -> Path:
        found = self._generations()
        if not found:
            (self.folder / "0").mkdir(exist_ok=True)
        return found[-1] if found else self.folder / "0"

    def _generations(self) -> list[Path]:
        return sorted((f for f in _folders(self.folder) if f.name.isdigit()), key=lambda folder: int(folder.name))


def sweep_caches(folder: Path) -> None:
    """Remove the caches of plans that have long not been worked at; what a living process uses stays."""
    for plan in sorted(_folders(folder), key=_filled_at)[:-MOST_PLANS]:
        _remove(plan)


def _filled_at(plan: Path) -> float:
    try:
        return plan.stat().st_mtime
    except FileNotFoundError:  # another process has removed it
        return 0.0


def _remove(folder: Path) -> None:
    remove_if_free(folder, lambda: remove_folder(folder))


def _folders(folder: Path) -> tuple[Path, ...]:
    with suppress(FileNotFoundError):
        return tuple(Path(entry) for entry in os.scandir(folder) if entry.is_dir(follow_symlinks=False))
    return ()


def _size(folder: Path) -> int:
    return sum(path.lstat().st_size for path in _files(folder))


def _files(folder: Path) -> Iterator[Path]:
    for parent, _, names in os.walk(folder):
        yield from (Path(parent, name) for name in names)
