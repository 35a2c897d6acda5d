"""What of the machine a command may see outside its workspace: the system's own folders, and what the user's tools are
installed in. All else (other repositories, services' folders, data) is not there for it.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Collection, Iterator, Mapping
from functools import cache, lru_cache
from pathlib import Path

from orchestrator.workspace.programs import absolute_entries

_SYSTEM_NAMES = """
/usr /bin /sbin /lib /lib32 /lib64 /libx32 /etc /nix/store /nix/var/nix/profiles
/sys/devices/system /sys/fs/cgroup /sys/kernel/mm
/var/lib/ca-certificates-java /var/lib/dpkg /var/lib/gems /var/lib/ghc /var/lib/python /var/lib/rpm /var/lib/sgml-base
/var/lib/texmf /var/lib/xml-core
"""
SYSTEM = tuple(Path(name) for name in _SYSTEM_NAMES.split())
"""Folders of the system, which hold programs, libraries and their settings."""

_NAMED_NAMES = """
JAVA_HOME JDK_HOME M2_HOME MAVEN_HOME ANDROID_HOME GOROOT DOTNET_ROOT CONDA_PREFIX VIRTUAL_ENV
SSL_CERT_FILE SSL_CERT_DIR REQUESTS_CA_BUNDLE NODE_EXTRA_CA_CERTS NIX_SSL_CERT_FILE
"""
_NAMED = _NAMED_NAMES.split()
"""Variables of the user that name a folder or a file that tools need."""
_PROGRAMS = frozenset({"bin", "sbin"})
_ENVIRONMENTS = ("pyvenv.cfg", "conda-meta")
_SOURCES = (Path("/usr/src"), Path("/usr/local"), Path("/usr/local/src"))
"""System folders in which people keep repositories."""
_MOST_LINKS = 5_000


def installations(environ: Mapping[str, str], real_home: Path, root: Path) -> tuple[Path, ...]:
    """Where the user's tools are: for each folder on PATH what it belongs to (/opt/venv for /opt/venv/bin), what links
    in it lead to, and what the variables of tools name. What the repository `root` has on PATH leads nowhere: its links
    are whose code it is."""
    path = tuple(map(Path, absolute_entries(environ.get("PATH", os.defpath))))
    named = [environ[name] for name in _NAMED if name in environ]
    named += absolute_entries(environ.get("LD_LIBRARY_PATH", ""))
    found = [place for place in map(Path, named) if place.is_absolute() and _may_show(place, real_home)]
    found += _of_path(tuple(folder for folder in path if not folder.is_relative_to(root)), real_home)
    return tuple(dict.fromkeys(found))


def _may_show(place: Path, real_home: Path) -> bool:
    """Not a folder that holds the home, nor one right below the top, which may hold everything. Of either, and of the
    home, only an environment is an installation."""
    if real_home.is_relative_to(place) or not os.access(place, os.R_OK):
        return False
    whole = any((place / mark).exists() for mark in _ENVIRONMENTS)
    return whole or (len(place.parts) > 2 and not place.is_relative_to(real_home))


@cache
def _of_path(path: tuple[Path, ...], real_home: Path) -> tuple[Path, ...]:
    of_folders = (_installation(folder) for folder in path)
    led = (target for folder in path for target in _links_of(folder) if not _is_system(target))
    of_links = (place for target in led for place in (_installation(target.parent), target))
    found = dict.fromkeys((*of_folders, *of_links))
    shown = [place for place in found if not _is_system(place) and _may_show(place, real_home)]
    return tuple(place for place in shown if not any(other in place.parents for other in shown))


def _links_of(folder: Path) -> Iterator[Path]:
    """Where the links among the programs of a folder lead."""
    try:
        with os.scandir(folder) as entries:
            links = [entry.path for _, entry in zip(range(_MOST_LINKS), entries, strict=False) if entry.is_symlink()]
    except OSError:
        return
    for link in links:
        target = Path(os.path.realpath(link))
        if target.is_file():
            yield target


def _installation(folder: Path) -> Path:
    """What a folder of programs belongs to; the folder itself where that is a repository."""
    above = folder.parent if folder.name in _PROGRAMS else folder
    return folder if _in_repository(above) else above


def _in_repository(place: Path) -> bool:
    return any((folder / ".git").exists() for folder in (place, *place.parents))


def _is_system(place: Path) -> bool:
    return any(place.is_relative_to(folder) for folder in SYSTEM)


def hidden_places(root: Path) -> tuple[Path, ...]:
    """What of the system's folders is not shown: other repositories, what stands beside the repository `root`, and what
    not everybody may read, which is there for root alone."""
    beside = root.parent
    own = (beside,) if _is_system(beside) and beside not in (*SYSTEM, *_SOURCES[1:]) else ()
    return (*own, *_repositories(), *_private(Path("/etc")))


def _repositories() -> Iterator[Path]:
    for folder in _SOURCES:
        for name in _names(folder):
            if (folder / name / ".git").exists():
                yield folder / name


@cache
def _private(top: Path) -> tuple[Path, ...]:
    """The files and folders that we may read and not everybody, the outermost."""
    return tuple(_private_below(top))


def _private_below(top: Path) -> Iterator[Path]:
    for name in _names(top):
        place = top / name
        try:
            mode = place.lstat().st_mode
        except OSError:
            continue
        wanted = stat.S_IROTH | (stat.S_IXOTH if stat.S_ISDIR(mode) else 0)
        if not stat.S_ISLNK(mode) and mode & wanted != wanted:
            if os.access(place, os.R_OK):
                yield place
        elif stat.S_ISDIR(mode):
            yield from _private_below(place)


@lru_cache(maxsize=256)
def without(place: Path, hidden: tuple[Path, ...]) -> tuple[Path, ...]:
    """The place, or what is in it that neither is nor holds nor lies in what is hidden: for what can allow places and
    hide none. Links are left out: what they lead to is another place."""
    if not _is_hidden(place, hidden):
        return tuple(_without(place, frozenset(hidden), frozenset(above for each in hidden for above in each.parents)))
    return ()


def _is_hidden(place: Path, hidden: Collection[Path]) -> bool:
    """Whether the place is hidden, or lies in what is."""
    return any(place.is_relative_to(each) for each in hidden)


def _without(place: Path, hidden: frozenset[Path], holding: frozenset[Path]) -> Iterator[Path]:
    if place in hidden:
        return
    if place not in holding:
        yield place
        return
    for name in _names(place):
        if not (place / name).is_symlink():
            yield from _without(place / name, hidden, holding)


def _names(folder: Path) -> list[str]:
    try:
        return sorted(os.listdir(folder))  # noqa: PTH208  names do
    except OSError:
        return []
