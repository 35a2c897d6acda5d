"""Where no namespace can be had: Landlock confines files, a filter sockets, a small launcher ends the tree. Nothing is
mounted, so the worktree stands at its own path and `workspace.share` does not apply."""

from __future__ import annotations

import os
import sys
from pathlib import Path

from orchestrator.workspace.sandbox import launcher
from orchestrator.workspace.sandbox.spec import Launch, SandboxSpec, launcher_launch

OLDEST_ABI = 3
"""The first Landlock that guards truncation too (Linux 6.2)."""

_SYSTEM = "/usr /bin /sbin /lib /lib32 /lib64 /libx32 /etc /opt /nix /snap /proc /sys /var/lib /run/systemd/resolve"
_READABLE = (*_SYSTEM.split(), "/dev/urandom", "/dev/random", "/dev/zero")
_WRITABLE = ("/dev/null", "/dev/full", "/dev/tty")


def landlock_launch(spec: SandboxSpec, command: str, private: Path, marker: int) -> Launch:
    """The launcher's command line, with the rules of what may be read and written."""
    readable = [*_READABLE, *map(str, spec.readable), str(spec.shadow)]
    writable = [*_WRITABLE, str(private), *([str(spec.caches.own)] if spec.caches else [])]
    (readable if spec.read_only else writable).append(str(spec.tree))
    rules = [(path, False) for path in readable] + [(path, True) for path in writable]
    return launcher_launch(spec, command, private, marker, rules)


def reason_against() -> str:
    """Why Landlock cannot be used here, empty when it can."""
    if sys.platform != "linux":
        return "Landlock is Linux only"
    version = launcher.abi()
    if version < OLDEST_ABI:
        return f"this kernel has Landlock version {version}, needed {OLDEST_ABI} (Linux 6.2) or later"
    if os.uname().machine not in launcher.SYSCALLS:
        return f"its socket filter is not written for {os.uname().machine}"
    return ""
