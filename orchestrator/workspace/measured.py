"""What commands showed over trees: kept by tree, command and environment, so that nothing is measured twice.

The files are ORCHESTRATE_HOME's, which no sandboxed command sees. One that is missing or damaged is measured again.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from pydantic import TypeAdapter, ValidationError

from orchestrator.domain.attempt import Check
from orchestrator.workspace.filesystem import disk, file_lock, replace_text

MOST_KEPT = 400
_OUTPUT_CHARS = 4_000
_CHECKS = TypeAdapter(Check)


@dataclass(frozen=True, slots=True)
class MeasuredChecks:
    """The checks of one repository under one environment, in `folder`; `environment` is all that a command's answer may
    depend on beside its tree."""

    folder: Path
    environment: Mapping[str, Any]

    @contextmanager
    def alone(self, tree: str) -> Iterator[None]:
        """Be the only one, of all processes, who measures this tree."""
        with disk(f"{self.folder} cannot be made"):
            self.folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        with file_lock(self.folder / f"{tree[:2]}.lock"):
            yield

    def of(self, tree: str, command: str) -> Check | None:
        """What the command showed over the tree; None where nobody knows."""
        try:
            return _CHECKS.validate_json(self._path(tree, command).read_bytes())
        except (OSError, ValidationError):
            return None

    def keep(self, check: Check) -> None:
        """Remember an answer, with the end of its output. Raises WorkspaceError, DiskFullError."""
        if check.tree is None or check.outcome == "infrastructure":
            return
        path = self._path(check.tree, check.command)
        with disk(f"{self.folder} cannot be made"):
            self.folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        short = replace(check, output=check.output[-_OUTPUT_CHARS:])
        replace_text(path, _CHECKS.dump_json(short).decode())
        self._forget_oldest()

    def _path(self, tree: str, command: str) -> Path:
        told = json.dumps([tree, command, self.environment], sort_keys=True, default=str)
        return self.folder / f"{hashlib.sha256(told.encode('utf-8', 'surrogatepass')).hexdigest()}.json"

    def _forget_oldest(self) -> None:
        with suppress(OSError):  # another process is at it too
            kept = sorted(self.folder.glob("*.json"), key=lambda path: path.stat().st_mtime, reverse=True)
            for path in kept[MOST_KEPT:]:
                path.unlink(missing_ok=True)


def shared_state(folder: Path) -> tuple[int, ...]:
    """When something was last installed into a shared folder, as far as its own folders tell."""
    places = (folder, *sorted(folder.glob("lib/python*/site-packages")), folder / ".package-lock.json")
    found = []
    for place in places:
        with suppress(OSError):
            found.append(place.stat().st_mtime_ns)
    return tuple(found)
