"""Where no namespace can be had: Landlock confines files, a filter sockets, a small launcher ends the tree. Nothing is
mounted, so the worktree stands at its own path and `workspace.share` does not apply."""

from __future__ import annotations

import json
import os
import sys

from orchestrator.workspace.sandbox import launcher
from orchestrator.workspace.sandbox.bubblewrap import shell
from orchestrator.workspace.sandbox.spec import Launch, PrivateFolders, SandboxSpec

OLDEST_ABI = 3
"""The first Landlock that guards truncation too (Linux 6.2)."""

_SYSTEM = "/usr /bin /sbin /lib /lib32 /lib64 /libx32 /etc /opt /nix /snap /proc /sys /var/lib /run/systemd/resolve"
_READABLE = (*_SYSTEM.split(), "/dev/urandom", "/dev/random", "/dev/zero")
_WRITABLE = ("/dev/null", "/dev/full", "/dev/tty")


def landlock_launch(
    spec: SandboxSpec, command: str, private: PrivateFolders, marker: int, *, confined: bool = True
) -> Launch:
    """The launcher's command line; `confined` False runs the command with the user's own rights."""
    task = {
        "argv": shell(command),
        "marker": marker,
        "rules": _rules(spec, private) if confined else None,
        "network": spec.network,
    }
    argv = (sys.executable, "-I", launcher.__file__, json.dumps(task))
    environment = dict(spec.environment) | {"HOME": str(private.home), "TMPDIR": str(private.tmp)}
    return Launch(argv, spec.tree, environment)


def _rules(spec: SandboxSpec, private: PrivateFolders) -> list[tuple[str, bool]]:
    readable = [*_READABLE, *map(str, spec.readable), str(spec.shadow)]
    writable = [*_WRITABLE, str(private.folder)]
    (readable if spec.read_only else writable).append(str(spec.tree))
    return [(path, False) for path in readable] + [(path, True) for path in writable]


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
