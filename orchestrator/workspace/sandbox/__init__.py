"""The sandbox that commands run in: bubblewrap, else Landlock, else none if that was asked for."""

from __future__ import annotations

import os
import subprocess
import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Literal

from orchestrator.config.settings import Settings
from orchestrator.domain.errors import SandboxError
from orchestrator.domain.workspace import CommandResult
from orchestrator.workspace.filesystem import disk, remove_folder
from orchestrator.workspace.reports import read_reports
from orchestrator.workspace.sandbox import bubblewrap, landlock
from orchestrator.workspace.sandbox.runner import run_bounded
from orchestrator.workspace.sandbox.seccomp import reason_against_filter
from orchestrator.workspace.sandbox.spec import PRIVATE, CommandLimits, Launch, SandboxSpec, launcher_launch
from orchestrator.workspace.sandbox.unseen import with_unseen

SandboxLevel = Literal["bubblewrap", "landlock", "none"]

_WAY_OUT = (
    "Install bubblewrap and allow user namespaces (sysctl kernel.unprivileged_userns_clone=1, or "
    "kernel.apparmor_restrict_unprivileged_userns=0), or pass --sandbox none to run commands with your own rights."
)
_LAUNCHES: dict[SandboxLevel, Callable[[SandboxSpec, str, Path, int], Launch]] = {
    "bubblewrap": bubblewrap.bubblewrap_launch,
    "landlock": landlock.landlock_launch,
    "none": launcher_launch,
}


@dataclass(frozen=True, slots=True)
class SandboxProbe:
    """Whether a level works here, and why not."""

    level: SandboxLevel
    works: bool
    reason: str = ""


@dataclass(frozen=True, slots=True)
class Sandbox:
    """How commands are confined. `refusal` is set when nothing works and `none` was not asked for; `remarks` say in
    sentences where it holds less than one may think."""

    level: SandboxLevel
    refusal: str = ""
    remarks: tuple[str, ...] = ()

    def run(self, spec: SandboxSpec, command: str, bounds: CommandLimits, *, reports: bool = False) -> CommandResult:
        """Run a shell command, and take the reports that it leaves if they are asked for. Raises SandboxError when
        commands are refused here."""
        if self.refusal:
            raise SandboxError(self.refusal, next_step=_WAY_OUT)
        if spec.caches:
            spec.caches.stand()
        with _private(spec.scratch) as private:
            launch = partial(_LAUNCHES[self.level], spec, command, private)
            result = run_bounded(command, launch, bounds, spec.scratch)
            if result.ended == "not_started":  # what was to be shown or hidden may have gone meanwhile
                result = run_bounded(command, launch, bounds, spec.scratch)
            result = result if self.level == "none" else with_unseen(result, spec)
            return replace(result, reports=read_reports(private / "reports")) if reports else result


@contextmanager
def _private(scratch: Path) -> Iterator[Path]:
    """A command's own HOME, /tmp and /dev/shm: empty, so that one command cannot plant what a later one reads."""
    with disk(f"{scratch} cannot be written"):
        private = Path(tempfile.mkdtemp(dir=scratch))
        for name in PRIVATE:
            (private / name).mkdir()
    try:
        yield private
    finally:
        remove_folder(private)


def detect(settings: Settings) -> Sandbox:
    """The sandbox that the settings ask for, tried for real. Raises SandboxError when the named level cannot be had."""
    asked = settings.sandbox.level
    if asked == "none":
        return Sandbox("none")
    wanted: tuple[SandboxLevel, ...] = ("bubblewrap", "landlock") if asked == "auto" else (asked,)
    found = [probe_sandbox(level) for level in wanted]
    for tried in found:
        if tried.works:
            return Sandbox(tried.level, remarks=tuple(_remarks(tried.level, found)))
    reasons = "; ".join(tried.reason for tried in found)
    if asked != "auto":
        raise SandboxError(f"The sandbox level {asked!r} cannot be had here: {reasons}.", next_step=_WAY_OUT)
    return Sandbox("none", f"No sandbox can be had here, so commands are refused: {reasons}.")


def _remarks(level: SandboxLevel, found: Sequence[SandboxProbe]) -> Iterator[str]:
    if level == "landlock":
        reasons = "".join(f" ({tried.reason})" for tried in found if not tried.works)
        yield f"Only Landlock confines commands{reasons}: they can change mode, owner and times of your files."
        yield from landlock.remarks()
    elif reason := reason_against_filter():
        yield f"Commands may make every system call: {reason}."
    if os.geteuid() == 0:
        yield "Commands run as root, whose files and devices no sandbox guards well: use an ordinary user."


def probe_sandbox(level: SandboxLevel) -> SandboxProbe:
    """Try one level for real."""
    if level == "none":
        return SandboxProbe("none", works=True)
    reason = _bubblewrap_reason() if level == "bubblewrap" else landlock.reason_against()
    return SandboxProbe(level, not reason, reason)


def _bubblewrap_reason() -> str:
    try:
        done = _try(bubblewrap.trial())
    except FileNotFoundError:
        return "bubblewrap (bwrap) is not installed"
    except (OSError, subprocess.TimeoutExpired) as error:
        return f"bubblewrap does not run: {error}"
    said = done.stderr.decode("utf-8", "replace").strip() or f"exit code {done.returncode}"
    return "" if done.returncode == 0 else f"bubblewrap does not work: {said}"


def _try(launch: Launch) -> subprocess.CompletedProcess[bytes]:
    try:
        return subprocess.run(
            launch.argv,
            capture_output=True,
            timeout=20,
            check=False,
            cwd="/",
            env=launch.environment,
            pass_fds=launch.handed,
        )
    finally:
        for descriptor in launch.handed:
            os.close(descriptor)
