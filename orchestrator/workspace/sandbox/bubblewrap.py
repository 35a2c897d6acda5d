"""The strongest sandbox: bubblewrap's namespaces. The worktree stands at the repository's own path."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory

from orchestrator.workspace.filesystem import remove_folder
from orchestrator.workspace.programs import program
from orchestrator.workspace.sandbox.cache_layer import CacheLayer
from orchestrator.workspace.sandbox.seccomp import IPV4, IPV6, NETLINK, UNIX, seccomp_filter
from orchestrator.workspace.sandbox.sight import SYSTEM
from orchestrator.workspace.sandbox.spec import (
    LARGEST_FILE,
    MOST_TASKS,
    PRIVATE,
    REPORTS,
    Launch,
    SandboxSpec,
    handed,
    shell,
)

INSIDE = Path("/run/orchestrate")
"""Where the sandbox shows what is ours: the Shadow and the private HOME."""

_CACHES = INSIDE / "caches"
_NOTHING = Path("/dev/null")
_ALONE = ("--unshare-all", "--unshare-user", "--die-with-parent", "--cap-drop", "ALL")
_MACHINE = ("--ro-bind", "/", "/", "--dev", "/dev", "--proc", "/proc")
_FIXED = ("sys", "irq", "bus", "fs", "scsi", "acpi", "mtrr", "sysrq-trigger")
"""What of /proc is the kernel's settings, not a process's: root's user id is enough to write them."""
_TOLD = ("keys", "key-users", "kcore", "kallsyms", "timer_list")
"""What of it tells of the user's session, or of the kernel to root."""

_STARTED = (
    "ulimit -f {blocks} 2>/dev/null; ulimit -u {tasks} 2>/dev/null || ulimit -p {tasks} 2>/dev/null; "
    'echo >"/dev/fd/$0"; exec "$@"'
)
"""Bounds files, and processes and threads (in a user namespace of its own the count starts at none; root is never
bound), and tells the supervisor, by a byte, that the sandbox stood before the command ran."""


def bubblewrap_launch(spec: SandboxSpec, command: str, private: Path, marker: int) -> Launch:
    """bwrap's command line. All that depends on the workspace is handed over in files: an argument list is bounded, and
    every user of the machine can read it."""
    own = {"HOME": str(INSIDE / "home"), "TMPDIR": "/tmp", REPORTS: str(INSIDE / "reports")}  # noqa: S108
    environment = spec.environment_with(_CACHES if spec.caches else None) | own
    spec.require_dotgit()
    words = [*_mounting(_plan(spec, private)), "--chdir", str(spec.shown_root)]
    words += (word for name, value in environment.items() for word in ("--setenv", name, value))
    given = [handed(b"\0".join(map(os.fsencode, words)))]
    argv = [program("bwrap"), *_ALONE, *(("--share-net",) if spec.network else ())]
    if code := seccomp_filter((UNIX, IPV4, IPV6, NETLINK)):
        given.append(handed(code))
        argv += ["--seccomp", str(given[1])]
    argv += ["--args", str(given[0]), "--"]
    argv += [
        "/bin/sh",
        "-c",
        _STARTED.format(blocks=LARGEST_FILE // 512, tasks=4 * MOST_TASKS),
        str(marker),
        *shell(command),
    ]
    return Launch(tuple(argv), tuple(given))


def _mounting(mounts: Mapping[Path, Sequence[str]]) -> Iterator[str]:
    """The mounts from the top down, so that what is shown lies over what is hidden; then what is empty is closed."""
    yield from ("--dev", "/dev", "--proc", "/proc")
    for target in sorted(mounts, key=lambda path: len(path.parts)):
        yield from mounts[target]
    for target in sorted(path for path, mount in mounts.items() if mount[0] == "--tmpfs"):
        yield from ("--remount-ro", str(target))
    yield from ("--remount-ro", "/dev", "--remount-ro", "/")


def _plan(spec: SandboxSpec, private: Path) -> dict[Path, list[str]]:
    """One mount for each path inside, the later rules over the earlier ones."""
    root = spec.shown_root
    plan = dict(_system())
    plan |= {path: _hide(path) for path in spec.hidden if path.exists() and _is_below(path, plan)}
    if spec.real_home != Path("/") and spec.real_home.exists():
        plan[spec.real_home] = ["--tmpfs", str(spec.real_home)]
    plan |= {path: _hide(path) for path in spec.masked if not path.is_relative_to(root)}
    plan |= {path: _bind("--bind", source, path) for path, source in _writable(private).items()}
    for path in sorted(spec.readable, key=lambda path: len(path.parts)):
        if _needs_mount(path, spec, plan):
            plan[path] = _same(path)
    if spec.network:
        plan |= {path: _same(path) for path in _resolvers()}
    plan[root] = _bind("--ro-bind" if spec.read_only else "--bind", spec.tree, root)
    plan[root / ".git"] = _bind("--ro-bind", spec.dotgit, root / ".git")
    plan |= {mount.target: _bind("--ro-bind", mount.source, mount.target) for mount in spec.standing()}
    if spec.caches:
        plan[_CACHES] = _caches(spec.caches)
    plan[INSIDE / "shadow.git"] = _bind("--ro-bind", spec.shadow, INSIDE / "shadow.git")
    return plan


def _system() -> Iterator[tuple[Path, list[str]]]:
    for path in SYSTEM:
        if path.is_symlink():
            yield path, ["--symlink", str(path.readlink()), str(path)]
        elif os.access(path, os.F_OK):
            yield path, _same(path)
    proc = Path("/proc")
    yield from ((proc / name, _same(proc / name)) for name in _existing(_FIXED))
    yield from ((proc / name, _bind("--ro-bind", _NOTHING, proc / name)) for name in _existing(_TOLD))


def _existing(names: Sequence[str]) -> list[str]:
    return [name for name in names if os.access(Path("/proc", name), os.F_OK)]


def _hide(path: Path) -> list[str]:
    return ["--tmpfs", str(path)] if path.is_dir() else _bind("--ro-bind", _NOTHING, path)


def _is_below(path: Path, plan: Mapping[Path, Sequence[str]]) -> bool:
    return not plan.keys().isdisjoint(path.parents)


def _same(path: Path) -> list[str]:
    return _bind("--ro-bind", path, path)


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


def _needs_mount(path: Path, spec: SandboxSpec, plan: Mapping[Path, Sequence[str]]) -> bool:
    """Whether it is not shown yet; never what is ours, or where the workspace will stand."""
    above = (path, *path.parents)
    if not set(above).isdisjoint((spec.shown_root, *spec.masked)):
        return False
    nearest = next((place for place in above if place in plan), None)
    return nearest is None or not (plan[nearest][0] == "--symlink" or plan[nearest] == _same(nearest))


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
        argv = [program("bwrap"), *_ALONE, *_MACHINE, *overlay, "--", "/bin/sh", "-c", f'echo >"{below}/tried"']
        tried = subprocess.run(argv, capture_output=True, check=False, cwd="/", env={}).returncode == 0
        remove_folder(work)  # what the kernel makes there cannot be listed
        return tried and (own / "tried").exists()


def trial() -> Launch:
    """What succeeds only where bubblewrap works for real, with the filter and all that every command has mounted."""
    given = tuple(handed(code) for code in (seccomp_filter((UNIX, IPV4, IPV6, NETLINK)),) if code)
    filtered = [word for descriptor in given for word in ("--seccomp", str(descriptor))]
    mounts = _mounting(dict(_system()))
    return Launch((program("bwrap"), *_ALONE, *filtered, *mounts, "--", "/bin/sh", "-c", "exit 0"), given)
