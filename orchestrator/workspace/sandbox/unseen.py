"""What a command missed because it is not shown: said in its output, with the setting that shows it."""

from __future__ import annotations

import os
import re
import shutil
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

from orchestrator.domain.workspace import CommandResult
from orchestrator.workspace.programs import absolute_entries
from orchestrator.workspace.sandbox.sight import SYSTEM
from orchestrator.workspace.sandbox.spec import SandboxSpec

_NOT_FOUND = (126, 127)  # a shell's exit codes for what is no program, or has no interpreter or library
_LAST = 4_000  # characters of output that are looked at
_PATH = re.compile(r"(?<![^\s:'\"`])(/[^\s:'\"`]+)['`]?: (?:bad interpreter|No such file|not found|Permission denied)")
_NAME = re.compile(r"(?<![^\s:])([\w.+-]+): (?:command )?not found")
_OURS = tuple(map(Path, ("/dev", "/proc", "/run/orchestrate", "/tmp", "/var/tmp")))  # noqa: S108


def with_unseen(result: CommandResult, spec: SandboxSpec) -> CommandResult:
    """The result; where it found no program, its output says what of that commands do not see. Only what may be shown
    is looked at, so no command learns so what the machine has elsewhere."""
    if result.exit_code not in _NOT_FOUND:
        return result
    missed = next(_missed(result.output[-_LAST:], spec), None)
    if missed is None:
        return result
    note = (
        f"[{missed} is not shown to commands here: they see the system's folders, what is on PATH, and what the "
        "setting sandbox.read_paths names]\n"
    )
    return replace(result, output=f"{result.output.rstrip()}\n{note}".lstrip())


def _missed(output: str, spec: SandboxSpec) -> Iterator[str]:
    seen = (*SYSTEM, *_OURS, *spec.readable, spec.shown_root, spec.tree)
    yield from (found for found in _PATH.findall(output) if not any(map(Path(found).is_relative_to, seen)))
    path = os.pathsep.join(absolute_entries(spec.environment.get("PATH", "")))
    for name in _NAME.findall(output):
        if program := shutil.which(name, path=path):
            yield os.path.realpath(program)
