"""What commands find around them, as a worker is told it: else it spends calls on finding out what cannot be had."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from dataclasses import replace

from orchestrator.domain.workspace import CommandResult
from orchestrator.workspace.sandbox import Sandbox
from orchestrator.workspace.sandbox.spec import CommandLimits, SandboxSpec

_PYTHON = "for name in python python3; do $name --version 2>&1 && command -v $name && exit; done; exit 1"
_LIMITS = CommandLimits(timeout_s=20, idle_s=20, memory_bytes=1_000_000_000, output_bytes=10_000)
_answers: dict[tuple[object, ...], str] = {}
"""What was told of Python by sandbox, PATH and pinned version: asking takes a command."""


def surroundings(sandbox: Sandbox, box: SandboxSpec) -> tuple[str, ...]:
    """System, sandbox, network, Python and shared folders, each in a sentence."""
    if sandbox.refusal:
        return ("Commands are refused: no sandbox can be had on this machine.",)
    return tuple(_sentences(sandbox, box))


def _sentences(sandbox: Sandbox, box: SandboxSpec) -> Iterator[str]:
    system = os.uname()
    confined = "without a sandbox" if sandbox.level == "none" else f"in a sandbox ({sandbox.level})"
    yield f"{system.sysname} {system.release} on {system.machine}; commands run {confined}."
    yield _network(sandbox, box)
    yield _python(sandbox, box)
    if box.shared:
        names = ", ".join(sorted(str(mount.target.relative_to(box.shown_root)) for mount in box.shared))
        yield f"Installed before and read-only, nothing can be added to them: {names}."
    kept = " Build tools keep their caches for the next command." if box.caches else ""
    yield f"Outside the workspace only $HOME and $TMPDIR can be written; both are empty for each command.{kept}"


def _network(sandbox: Sandbox, box: SandboxSpec) -> str:
    if sandbox.level == "none" or box.network:
        return "The network can be reached."
    return "There is no network, so nothing can be downloaded or installed from a registry."


def _python(sandbox: Sandbox, box: SandboxSpec) -> str:
    pinned = box.tree / ".python-version"
    text = pinned.read_text("utf-8", "replace") if pinned.is_file() and not pinned.is_symlink() else ""
    key = (sandbox, tuple(sorted(box.environment.items())), text)
    if key not in _answers:
        _answers[key] = _told(sandbox.run(replace(box, caches=None), _PYTHON, _LIMITS), box)
    return _answers[key]


def _told(result: CommandResult, box: SandboxSpec) -> str:
    found = re.search(r"^Python (\d[\w.+]*)\n(/\S+)$", result.output, re.MULTILINE)
    if result.exit_code != 0 or not found:
        return "There is no Python."
    environment = box.environment.get("VIRTUAL_ENV", "")
    whose = f"of the virtual environment {environment}" if environment else "of the system, no virtual environment"
    return f"{found[2]} is Python {found[1]}, {whose}."
