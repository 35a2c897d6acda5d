"""The strongest sandbox: bubblewrap's namespaces. The worktree stands at the repository's own path."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory

from orchestrator.workspace.filesystem import remove_folder
from orchestrator.workspace.sandbox.cache_layer import CacheLayer
from orchestrator.workspace.sandbox.spec import MOST_TASKS, PRIVATE, REPORTS, Launch, SandboxSpec, shell

INSIDE = Path("/run/orchestrate")
"""Where the sandbox shows what is ours: the Shadow and the private HOME."""

_CACHES = INSIDE / "caches"
_MASKED = (Path("/home"), Path("/root"), Path("/run"))
_ALONE = ("--unshare-all", "--unshare-user", "--die-with-parent", "--cap-drop", "ALL")
_MACHINE = ("--ro-bind", "/", "/", "--dev", "/dev", "--proc", "/proc")

_STARTED = 'ulimit -u {tasks} 2>/dev/null || ulimit -p {tasks} 2>/dev/null; echo >"/dev/fd/$0"; exec "$@"'
"""Bounds the processes and threads (in a user namespace of its own the count starts at none; root is never bound), and
tells the supervisor, by a byte, that the sandbox stood before the command ran."""


def bubblewrap_launch(spec: SandboxSpec, command: str, private: Path, marker: int) -> Launch:
    """bwrap's command line. Mounts are made from the top down, so that what is shown lies over what is masked."""
    mounts = _plan(spec, private)
    argv = ["bwrap", *_ALONE, *(("--share-net",) if spec.network else ()), *_MACHINE]
    for target in sorted(mounts, key=lambda path: len(path.parts)):
        argv += mounts[target]
    for target in sorted(path for path, mount in mounts.items() if mount[0] == "--tmpfs"):
        argv += ["--remount-ro", str(target)]
    argv += ["--remount-ro", "/dev", "--chdir", str(spec.shown_root), "--"]
    argv += ["/bin/sh", "-c", _STARTED.format(tasks=4 * MOST_TASKS), str(marker), *shell(command)]
    environment = spec.environment_with(_CACHES if spec.caches else None)
    own = {"HOME": str(INSIDE / "home"), "TMPDIR": "/tmp", REPORTS: str(INSIDE / "reports")}  # noqa: S108
    return Launch(tuple(argv), Path("/"), environment | own)


def _plan(spec: SandboxSpec, private: Path) -> dict[Path, list[str]]:
    """One mount for each path inside, the later rules over the earlier ones."""
    root = spec.shown_root
    plan = {path: ["--tmpfs", str(path)] for path in (*_MASKED, spec.real_home) if os.access(path, os.F_OK)}
    plan |= {path: ["--tmpfs", str(path)] for path in spec.masked if not path.is_relative_to(root)}
    plan |= {path: _bind("--bind", source, path) for path, source in _writable(private).items()}
    plan |= {path: _bind("--ro-bind", path, path) for path in spec.readable if _needs_mount(path, spec, plan)}
    if spec.network:
        plan |= {path: _bind("--ro-bind", path, path) for path in _resolvers()}
    plan[root] = _bind("--ro-bind" if spec.read_only else "--bind", spec.tree, root)
    plan[root / ".git"] = _bind("--ro-bind", spec.dotgit, root / ".git")
    plan |= {mount.target: _bind("--ro-bind", mount.source, mount.target) for mount in spec.shared}
    if spec.caches:
        plan[_CACHES] = _caches(spec.caches)
    plan[INSIDE / "shadow.git"] = _bind("--ro-bind", spec.shadow, INSIDE / "shadow.git")
    return plan


def _bind(how: str, source: Path, target: Path) -> list[str]:
    return [how, str(source), str(target)]


def _caches(layer: CacheLayer) -> list[str]:
    if not layer.overlaid:
        return _bind("--bind", layer.own, _CACHES)
    lower = [word for below in reversed(layer.below) for word in ("--overlay-src", str(below))]
    return [*lower, "--overlay", str(layer.own), str(layer.work), str(_CACHES)]


def _writable(private: Path) -> Mapping[Path, Path]:
    shown = (INSIDE / "home", INSIDE / "reports", Path("/tmp"), Path("/dev/shm"), Path("/var/tmp"))  # noqa: S108
    return {path: private / name for path, name in zip(shown, PRIVATE, strict=True)}


def _needs_mount(path: Path, spec: SandboxSpec, plan: Mapping[Path, list[str]]) -> bool:
    """Only what lies under a mask has to be brought back; never what is ours, or where the workspace will stand."""
    above = {path, *path.parents}
    return above.isdisjoint((spec.shown_root, *spec.masked)) and not above.isdisjoint(plan)


def _resolvers() -> Iterator[Path]:
    """What name resolution needs of /run where the network is allowed."""
    real = Path("/etc/resolv.conf").resolve()
    if real.is_relative_to("/run") and real.exists():
        yield real.parent


@cache
def overlays(folder: Path) -> bool:
    """Whether an overlay can be laid here, tried for real: it takes bubblewrap 0.11 and a fit file system."""
    with TemporaryDirectory(dir=folder) as name:
        below, own, work = (Path(name, part) for part in ("below", "own", "work"))
        for part in (below, own, work):
            part.mkdir()
        overlay = ["--overlay-src", str(below), "--overlay", str(own), str(work), str(below)]
        argv = ["bwrap", *_ALONE, *_MACHINE, *overlay, "--", "/bin/sh", "-c", f'echo >"{below}/tried"']
        tried = subprocess.run(argv, capture_output=True, check=False).returncode == 0
        remove_folder(work)  # what the kernel makes there cannot be listed
        return tried and (own / "tried").exists()


def trial() -> list[str]:
    """A command line that succeeds only where bubblewrap works for real."""
    return ["bwrap", *_ALONE, *_MACHINE, "--", "/bin/sh", "-c", "exit 0"]
