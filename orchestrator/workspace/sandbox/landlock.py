"""Where no namespace can be had: Landlock confines files, a filter sockets, a small launcher ends the tree. Nothing is
mounted, so the worktree stands at its own path and `workspace.share` does not apply."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

from orchestrator.workspace.sandbox import launcher
from orchestrator.workspace.sandbox.seccomp import (
    IPV4,
    IPV6,
    NETLINK,
    SHARED_MEMORY,
    reason_against_filter,
    seccomp_filter,
)
from orchestrator.workspace.sandbox.sight import SYSTEM, without
from orchestrator.workspace.sandbox.spec import Launch, SandboxSpec, launcher_launch

OLDEST_ABI = 3
"""The first Landlock that guards truncation too (Linux 6.2)."""
SIGNALS_ABI = 6
"""The first that keeps signals inside (Linux 6.12)."""

_READABLE = ("/proc", "/run/systemd/resolve", "/dev/urandom", "/dev/random", "/dev/zero")
_WRITABLE = ("/dev/null", "/dev/full", "/dev/tty")


def landlock_launch(spec: SandboxSpec, command: str, private: Path, marker: int) -> Launch:
    """The launcher's command line, with the rules of what may be read and written."""
    readable = [*_READABLE, *map(str, _seen(spec)), str(spec.shadow)]
    writable = [*_WRITABLE, str(private), *([str(spec.caches.own)] if spec.caches else [])]
    (readable if spec.read_only else writable).append(str(spec.tree))
    rules = [(path, False) for path in readable] + [(path, True) for path in writable]
    families = (NETLINK, *((IPV4, IPV6) if spec.network else ()))
    return launcher_launch(spec, command, private, marker, rules, seccomp_filter(families, SHARED_MEMORY))


def _seen(spec: SandboxSpec) -> Iterator[Path]:
    """Rules only allow, so a folder that holds what is hidden is given by what else is in it."""
    ours = (*spec.masked, spec.shown_root)
    for folder in SYSTEM:
        yield from without(folder, (*ours, *spec.hidden, spec.real_home))
    for path in spec.readable:
        yield from without(path, ours)


def remarks() -> Iterator[str]:
    """What this kernel's Landlock does not keep inside, in sentences."""
    if launcher.abi() < SIGNALS_ABI:
        yield "Before Linux 6.12 commands can send signals to your other processes, and leave some of theirs behind."


def reason_against() -> str:
    """Why Landlock cannot be used here, empty when it can."""
    if sys.platform != "linux":
        return "Landlock is Linux only"
    version = launcher.abi()
    if version < OLDEST_ABI:
        return f"this kernel has Landlock version {version}, needed {OLDEST_ABI} (Linux 6.2) or later"
    return reason_against_filter()
