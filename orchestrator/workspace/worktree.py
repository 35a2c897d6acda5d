"""The Workspace: one worktree of the Shadow with its file tools, snapshots and commands."""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from dataclasses import dataclass

import pygit2

from orchestrator.config.settings import Settings
from orchestrator.domain import ports
from orchestrator.domain.errors import ToolError, WorkspaceError
from orchestrator.domain.workspace import CommandResult, FileChange
from orchestrator.workspace import diff, search
from orchestrator.workspace.build_caches import BuildCaches
from orchestrator.workspace.paths import parts_of
from orchestrator.workspace.reports import REPORT_OPTIONS, asks_pytest, unasked
from orchestrator.workspace.restore import restore
from orchestrator.workspace.sandbox import Sandbox
from orchestrator.workspace.sandbox.spec import CommandLimits, SandboxSpec
from orchestrator.workspace.snapshots import Snapshots
from orchestrator.workspace.surroundings import surroundings
from orchestrator.workspace.worktree_dir import WorktreeDir

_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True, kw_only=True)
class Worktree(ports.Workspace):
    """The Workspace port over a Place. Not for two threads at once; many may stand side by side."""

    place: WorktreeDir
    snapshots: Snapshots
    objects: pygit2.Repository
    sandbox: Sandbox
    box: SandboxSpec
    plan_caches: BuildCaches
    settings: Settings
    held: ExitStack
    start: str
    again: Callable[[int], Worktree]
    """Opens another one like it."""
    furnish: Callable[[], object]
    """Gives a fresh checkout what it has beside the tracked files."""

    @property
    def shown_root(self) -> str:
        """The repository's own path."""
        return str(self.box.shown_root)

    @property
    def seen_root(self) -> str:
        """Where commands find it."""
        return str(self.box.shown_root if self.sandbox.level == "bubblewrap" else self.box.tree)

    @property
    def surroundings(self) -> tuple[str, ...]:
        """What commands find around them."""
        return surroundings(self.sandbox, self.box)

    def relative(self, path: str) -> str:
        """The canonical path from the top level. Raises PathRefusedError."""
        return "/".join(self._parts(path)) or "."

    def read(self, path: str) -> bytes:
        """The file's bytes. Raises ToolError."""
        return self.place.files.read(self._parts(path))

    def exists(self, path: str) -> bool:
        """Whether anything stands at the path itself."""
        try:
            return self.place.files.stat(self._parts(path)) is not None
        except (ToolError, OSError):  # a name that no file system takes, for example
            return False

    def write(self, path: str, content: bytes) -> None:
        """Create or replace a file atomically. Raises ToolError."""
        parts = self._parts(path)
        self.place.files.write(parts, content)
        self.snapshots.wrote(parts)

    def delete(self, path: str) -> None:
        """Remove a file. Raises ToolError."""
        self.place.files.delete(self._parts(path))

    def files(self, path: str = ".", glob: str | None = None) -> tuple[str, ...]:
        """Files that git does not ignore."""
        return search.files(self.place.git, self.place.files, self.relative(path), glob)

    def search(self, pattern: str, path: str = ".", glob: str | None = None) -> tuple[str, ...]:
        """`path:line:text` of matching lines."""
        return search.search_lines(self.place.git, pattern, self.relative(path), glob)

    def run(
        self,
        command: str,
        *,
        timeout_s: float | None = None,
        within_s: float | None = None,
        read_only: bool = False,
        reports: bool = False,
    ) -> CommandResult:
        """Run a shell command in the sandbox. Raises SandboxError where none can be had and none was not asked for."""
        bounds = CommandLimits.of(self.settings, timeout_s, within_s)
        box = self.box.as_read_only() if read_only else self.box
        options = box.environment.get("PYTEST_ADDOPTS", "")
        if not (reports and asks_pytest(command, options, self.place.files)):
            return self.sandbox.run(box, command, bounds, reports=reports)
        return unasked(self.sandbox.run(box.with_pytest(REPORT_OPTIONS), command, bounds, reports=True))

    def keep_caches(self) -> None:
        """Make what its commands left in build caches the plan's."""
        if self.box.caches:
            try:
                self.plan_caches.fill(self.box.caches)
            except WorkspaceError as error:  # the work is accepted; the next commands only take longer
                _log.warning("The build caches of %s are not kept: %s", self.place.name, error)

    def beside(self, number: int) -> Worktree:
        """Another worktree of the same content. Raises WorkspaceError."""
        return self.again(number)

    def restore(self) -> None:
        """Put back what commands have changed. Raises WorkspaceError."""
        restore(self.place, self.start)
        self.furnish()

    def snapshot(self, touched: Sequence[str] | None = None) -> str:
        """The workspace as a tree id. Raises ToolError naming a nested `.git`."""
        if touched is None:
            return self.snapshots.of_all()
        return self.snapshots.of([self._parts(path) for path in touched])

    def changes(self, before: str, after: str, since: str = "") -> tuple[FileChange, ...]:
        """What differs between two trees."""
        return diff.changes(self.objects, before, after, since)

    def diff(self, before: str, after: str) -> str:
        """The unified diff between two trees."""
        return diff.diff(self.place.git, before, after)

    def close(self) -> None:
        """Anchor its snapshots and remove the worktree. Closing twice is fine."""
        with self.held:
            try:
                self.snapshots.anchor()
            finally:
                self.place.remove()

    def _parts(self, path: str) -> tuple[str, ...]:
        return parts_of(path, self.shown_root)
