"""The JVM's ahead-of-time cache for the embedded server: its classes read, checked and linked once for all starts.

A start with it costs half the CPU time. It is one file of 45 MB a user, shared by all homes, in
`$XDG_CACHE_HOME/orchestrate` (else `~/.cache/orchestrate`), named by all that it depends on: the wheel's version, its
Java and jars, and the JVM's flags. training.py makes it, after a server has stopped idle, when nobody waits.

It never keeps a server from starting: the JVM ignores one that is cut or outdated, and finds a damaged one by its
checksum. Such a one, and one with which a start failed all the same, is deleted. It decides what code runs, so one that
others could have written is not used.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import stat
from collections.abc import Mapping
from pathlib import Path

from orchestrator.store.embedded.launch import Wheel, server_command


def cache_folder(environ: Mapping[str, str]) -> Path | None:
    """The user's folder for caches of ours; None where the environment names no home."""
    base = environ.get("XDG_CACHE_HOME", "")
    if not Path(base).is_absolute():  # then, says its specification, it does not count
        base = f"{environ['HOME']}/.cache" if environ.get("HOME") else ""
    return Path(base) / "orchestrate" if base else None


def cache_file(folder: Path, wheel: Wheel, heap_mb: int) -> Path:
    """Where in `folder` the cache of such a server is, if it is. The JVM compares all this too, but of a cache that is
    another's it would only say so at each start: with a name of its own, each is made."""
    started = server_command(wheel, Path(), bolt_port=0, http_port=0, heap_mb=heap_mb)
    about = [part for part in started if not part.startswith("-Darcadedb.")]
    for file in (wheel.java, *sorted(wheel.jars.glob("*.jar"))):
        status = file.stat()
        about.append(f"{file.name} {status.st_size} {status.st_mtime_ns}")
    digest = hashlib.sha256("\n".join(about).encode("utf-8", "surrogateescape")).hexdigest()[:16]
    return folder / f"server-{wheel.version}-{digest}.aot"


def cache_flags(cache: Path | None) -> list[str]:
    """The JVM's flags that use it; none where there is none that we may trust. The checksum, which the JVM leaves out
    by itself, costs some 5 % of the start: without it a damaged cache can end in a crash, or worse, run on."""
    if cache is None or not is_trusted(cache):
        return []
    with contextlib.suppress(OSError):
        os.utime(cache)  # it is in use
    return [f"-XX:AOTCache={cache}", "-XX:+VerifySharedSpaces"]


def is_trusted(cache: Path) -> bool:
    """Whether it is there, and nobody but us (and root) could have made or changed it."""
    return is_ours(cache.parent) and is_ours(cache) and cache.is_file()


def is_ours(path: Path) -> bool:
    """Whether a file or folder is there, no link, ours, and not for others to write."""
    try:
        status = path.lstat()
    except OSError:
        return False
    return not stat.S_ISLNK(status.st_mode) and status.st_uid == os.geteuid() and not status.st_mode & 0o022


def discard(cache: Path | None) -> None:
    """Delete it: it is of no use, or the start with it failed, perhaps for another reason. It can be made again."""
    if cache is not None:
        with contextlib.suppress(OSError):
            cache.unlink(missing_ok=True)
