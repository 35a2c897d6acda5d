"""What a sandboxed command may see and use, whatever confines it."""

from __future__ import annotations

import json
import shutil
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from orchestrator.config.settings import Settings
from orchestrator.workspace.sandbox import launcher
from orchestrator.workspace.sandbox.cache_layer import CacheLayer, cache_variables

PRIVATE = ("home", "reports", "tmp", "shm", "vartmp")
"""A command's own empty folders, removed with it: HOME, where it leaves reports for us, what is shown as /tmp, as
/dev/shm (on disk, so that it does not count against the machine's memory) and as /var/tmp."""

REPORTS = "ORCHESTRATE_REPORTS"
"""The variable that tells a command where it may leave reports."""

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
    masked: tuple[Path, ...]
    environment: Mapping[str, str]
    shared: tuple[Mount, ...]
    readable: tuple[Path, ...]
    real_home: Path
    network: bool
    read_only: bool = False
    caches: CacheLayer | None = None

    def as_read_only(self) -> SandboxSpec:
        """The same with the workspace read-only, and a layer over its caches. pytest fails where it cannot write its
        cache and warnings are errors, so that goes where writing is allowed."""
        return replace(
            self.with_pytest("-o cache_dir=$TMPDIR/pytest-cache"),
            read_only=True,
            caches=self.caches and self.caches.over(self.caches.folder / "read-only"),
        )

    def with_pytest(self, options: str) -> SandboxSpec:
        """The same with further options for pytest, which puts in variables itself."""
        kept = self.environment.get("PYTEST_ADDOPTS", "")
        environment = dict(self.environment) | {"PYTEST_ADDOPTS": f"{kept} {options}".strip()}
        return replace(self, environment=environment)

    def environment_with(self, caches: Path | None) -> dict[str, str]:
        """The environment of a command that finds its caches there; what is set otherwise has precedence."""
        named = cache_variables(caches, self.real_home, read_only=self.read_only) if caches else {}
        return named | dict(self.environment)


@dataclass(frozen=True, slots=True)
class Launch:
    """How a confined command is started: argument list, folder and environment."""

    argv: tuple[str, ...]
    cwd: Path
    environment: Mapping[str, str]


def shell(command: str) -> tuple[str, ...]:
    """The command under the shell that people write for."""
    return (shutil.which("bash") or "/bin/sh", "-c", command)


def launcher_launch(
    spec: SandboxSpec, command: str, private: Path, marker: int, rules: Sequence[tuple[str, bool]] | None = None
) -> Launch:
    """The launcher's command line: it ends the command's whole tree. Without `rules`, which are Landlock's (path,
    writable), the command has the user's own rights."""
    task = {"argv": shell(command), "marker": marker, "rules": rules, "network": spec.network}
    argv = (sys.executable, "-I", launcher.__file__, json.dumps(task))
    environment = spec.environment_with(spec.caches.own if spec.caches else None)
    own = {"HOME": "home", "TMPDIR": "tmp", REPORTS: "reports"}
    return Launch(argv, spec.tree, environment | {variable: str(private / name) for variable, name in own.items()})
