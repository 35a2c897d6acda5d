"""What a sandboxed command may see and use, whatever confines it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path

from orchestrator.config.settings import Settings

MOST_TASKS = 1_024
"""Processes that a command and its children may be at once. A build with `-j` on a large machine stays below."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CommandLimits:
    """When a command is ended: seconds in all, seconds without output, bytes of memory that it and its children hold,
    bytes of output, processes."""

    timeout_s: float
    idle_s: float
    memory_bytes: int
    output_bytes: int
    tasks: int = MOST_TASKS

    @classmethod
    def of(cls, settings: Settings, timeout_s: float | None = None, within_s: float | None = None) -> CommandLimits:
        """The settings' bounds; an asked timeout holds up to the longest that any setting allows, and `within_s` up to
        any."""
        sandbox = settings.sandbox
        longest = max(sandbox.command_timeout_s, settings.checks.timeout_s)
        asked = sandbox.command_timeout_s if timeout_s is None else timeout_s
        return cls(
            timeout_s=max(min(asked, longest, longest if within_s is None else within_s), 0.1),
            idle_s=sandbox.idle_timeout_s,
            memory_bytes=sandbox.memory_mb * 1_000_000,
            output_bytes=sandbox.output_limit,
        )


@dataclass(frozen=True, slots=True)
class Mount:
    """A folder or file of the machine shown read-only at an absolute path."""

    source: Path
    target: Path


@dataclass(frozen=True, slots=True, kw_only=True)
class SandboxSpec:
    """One workspace as commands see it. `tree` is shown at `shown_root`; `masked` hides what is ours and the user's git
    directory, `readable` are the exceptions from the masked homes; `environment` is scrubbed already, without HOME and
    TMPDIR, which the sandbox sets."""

    tree: Path
    shown_root: Path
    dotgit: Path
    shadow: Path
    scratch: Path
    masked: tuple[Path, ...] = ()
    environment: Mapping[str, str] = field(default_factory=dict)
    shared: tuple[Mount, ...] = ()
    readable: tuple[Path, ...] = ()
    real_home: Path = Path("/nonexistent")
    network: bool = False
    read_only: bool = False

    def as_read_only(self) -> SandboxSpec:
        """The same with the workspace read-only. pytest fails where it cannot write its cache and warnings are
        errors, so that goes where writing is allowed."""
        kept = self.environment.get("PYTEST_ADDOPTS", "")
        options = f"{kept} -o cache_dir=$TMPDIR/pytest-cache".strip()
        return replace(self, read_only=True, environment=dict(self.environment) | {"PYTEST_ADDOPTS": options})


@dataclass(frozen=True, slots=True)
class PrivateFolders:
    """A command's own empty folders, removed with it."""

    folder: Path

    @property
    def home(self) -> Path:
        """HOME."""
        return self.folder / "home"

    @property
    def tmp(self) -> Path:
        """What the sandbox shows as the folder for temporary files."""
        return self.folder / "tmp"

    @property
    def shm(self) -> Path:
        """Shared memory: on disk, so that it does not count against the machine's memory."""
        return self.folder / "shm"

    @property
    def var_tmp(self) -> Path:
        """What it shows as the folder for larger ones."""
        return self.folder / "vartmp"


@dataclass(frozen=True, slots=True)
class Launch:
    """How a confined command is started: argument list, folder and environment."""

    argv: tuple[str, ...]
    cwd: Path
    environment: Mapping[str, str]
