"""What a sandboxed command may see and use, whatever confines it."""

from __future__ import annotations

import errno
import json
import os
import stat
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from tempfile import TemporaryFile

from orchestrator.config.settings import Settings
from orchestrator.domain.errors import ToolError
from orchestrator.workspace.paths import ConfinedTree
from orchestrator.workspace.programs import absolute_entries, program
from orchestrator.workspace.sandbox import launcher
from orchestrator.workspace.sandbox.cache_layer import CacheLayer, cache_variables

PRIVATE = ("home", "reports", "tmp", "shm", "vartmp")
"""A command's own empty folders, removed with it: HOME, where it leaves reports for us, what is shown as /tmp, as
/dev/shm (on disk, so that it does not count against the machine's memory) and as /var/tmp."""

REPORTS = "ORCHESTRATE_REPORTS"
"""The variable that tells a command where it may leave reports."""

MOST_TASKS = 1_024
"""Processes that a command and its children may be at once. A build with `-j` on a large machine stays below."""

LARGEST_FILE = 2**30
"""Bytes of one file that a command may write: one that is all holes takes no disk, and hours to be kept."""

_LONGEST = 131_072  # what Linux takes as one argument


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
    """One workspace as commands see it. `tree` is shown at `shown_root`; `masked` is ours and the user's git directory,
    which is never shown, `hidden` what of the system's folders is not; `readable` comes back, from the home and from
    wherever else tools are; `environment` is scrubbed already, without HOME and TMPDIR, which the sandbox sets."""

    tree: Path
    shown_root: Path
    dotgit: Path
    shadow: Path
    scratch: Path
    masked: tuple[Path, ...]
    environment: Mapping[str, str]
    shared: tuple[Mount, ...]
    readable: tuple[Path, ...]
    hidden: tuple[Path, ...]
    real_home: Path
    network: bool
    read_only: bool = False
    caches: CacheLayer | None = None

    def standing(self) -> Iterator[Mount]:
        """The mounts whose place in the tree is there, or was made now. A command may have put a link in the way since
        the last one: a sandbox that is being set up would follow it to a folder of the machine."""
        files = ConfinedTree(self.tree, self.scratch)
        for mount in self.shared:
            if _place_stands(files, mount.target.relative_to(self.shown_root).parts, folder=mount.source.is_dir()):
                yield mount

    def require_dotgit(self) -> None:
        """Raise OSError when a command has put something else in the place of the `.git` file."""
        found = ConfinedTree(self.tree, self.scratch).stat((".git",))
        if found is None or not stat.S_ISREG(found.st_mode):
            raise OSError(errno.EINVAL, f"{self.tree}/.git is not ours any more")

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


def _place_stands(files: ConfinedTree, parts: tuple[str, ...], *, folder: bool) -> bool:
    try:
        found = files.stat(parts)
        if found is None and not folder:
            files.write(parts, b"")
        return files.make_folder(parts) if folder else found is None or stat.S_ISREG(found.st_mode)
    except ToolError:
        return False


@dataclass(frozen=True, slots=True)
class Launch:
    """How a confined command is started: the argument list of what confines it, and the open files that are handed over
    to that. What is the command's own is in those: whatever confines it starts in a folder and an environment of ours,
    so that no library or program of a worker is loaded before it is confined."""

    argv: tuple[str, ...]
    handed: tuple[int, ...]

    @property
    def environment(self) -> dict[str, str]:
        """The environment of what confines: what our own interpreter may need to start."""
        folders = absolute_entries(os.environ.get("LD_LIBRARY_PATH", ""))
        return {"LD_LIBRARY_PATH": ":".join(folders)} if folders else {}


def handed(content: bytes) -> int:
    """The descriptor of an open file without a name that has this content. Raises OSError."""
    with TemporaryFile() as file:
        file.write(content)
        file.seek(0)
        return os.dup(file.fileno())


def shell(command: str) -> tuple[str, ...]:
    """The command under the shell that people write for. Raises OSError for one that no program can be given."""
    if len(command.encode("utf-8", "surrogatepass")) >= _LONGEST:
        raise OSError(errno.E2BIG, os.strerror(errno.E2BIG))
    try:
        return (program("bash"), "-c", command)
    except FileNotFoundError:
        return ("/bin/sh", "-c", command)


def launcher_launch(
    spec: SandboxSpec,
    command: str,
    private: Path,
    marker: int,
    rules: Sequence[tuple[str, bool]] | None = None,
    code: bytes = b"",
) -> Launch:
    """The launcher's command line: it ends the command's whole tree. Without `rules`, which are Landlock's (path,
    writable), the command has the user's own rights; with them it has the filter `code` of system calls too."""
    environment = spec.environment_with(spec.caches.own if spec.caches else None)
    own = {"HOME": "home", "TMPDIR": "tmp", REPORTS: "reports"}
    task = {
        "argv": shell(command),
        "environment": environment | {variable: str(private / name) for variable, name in own.items()},
        "folder": str(spec.tree),
        "marker": marker,
        "rules": rules,
        "network": spec.network,
        "largest_file": LARGEST_FILE,
        "filter": code.hex(),
    }
    descriptor = handed(json.dumps(task).encode())
    return Launch((sys.executable, "-I", "-S", launcher.__file__, str(descriptor)), (descriptor,))
