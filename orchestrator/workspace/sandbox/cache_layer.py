"""What build tools keep between the commands of one workspace: a layer of its own over one that nobody writes.

The host's side never follows a path into a layer: a command may have put a link there. It makes and removes layers
whole, copies links as links, and moves folders of the top by name.
"""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from orchestrator.workspace.filesystem import disk, disk_error, make_accessible
from orchestrator.workspace.programs import program

_TOOLS = {
    "XDG_CACHE_HOME": "xdg",  # what is not named below mostly keeps to it
    "GOCACHE": "go-build",
    "GOMODCACHE": "go-mod",
    "CARGO_HOME": "cargo",
    "CARGO_BUILD_BUILD_DIR": "cargo-build",  # what cargo ends with still goes to target/, where commands look for it
    "npm_config_cache": "npm",
    "YARN_CACHE_FOLDER": "yarn",
    "NODE_COMPILE_CACHE": "node",  # the only one that helps tsc: .tsbuildinfo lies in the workspace
    "PIP_CACHE_DIR": "pip",
    "UV_CACHE_DIR": "uv",
    "RUFF_CACHE_DIR": "ruff",
    "MYPY_CACHE_DIR": "mypy",
    "GRADLE_USER_HOME": "gradle",
    "CCACHE_DIR": "ccache",
    "SCCACHE_DIR": "sccache",
}
"""The variable by which a tool is told its cache, and the cache's folder."""


def cache_variables(caches: Path, real_home: Path, *, read_only: bool = False) -> dict[str, str]:
    """The environment that leads build tools to `caches`. Maven reads its own in the home too, if it is new enough to
    (3.9); in a read-only workspace cargo's results go there as well."""
    named = {name: str(caches / folder) for name, folder in _TOOLS.items()}
    maven = f"-Dmaven.repo.local={caches}/maven -Dmaven.repo.local.tail={real_home}/.m2/repository"
    if len(maven.split()) == 2:  # the variable has no way to hold a path with a blank
        named["MAVEN_ARGS"] = maven
    return named | ({"CARGO_TARGET_DIR": str(caches / "cargo-target")} if read_only else {})


TICK_S = 0.01
"""The kernel's clock for files goes on in steps of at most this: what comes after one has a later time."""
_SHARE_BLOCKS = ("--reflink=auto",) if sys.platform == "linux" else ()


@dataclass(frozen=True, slots=True, kw_only=True)
class CacheLayer:
    """The caches of one workspace, in `folder`. `below` are read and never written, the highest first. An `overlaid`
    layer is laid over them by the sandbox and holds what was changed; else it begins as their copy: hard links would
    let a command write through them."""

    folder: Path
    below: tuple[Path, ...]
    overlaid: bool

    @property
    def own(self) -> Path:
        """What commands write."""
        return self.folder / "own"

    @property
    def work(self) -> Path:
        """What an overlay needs beside it."""
        return self.folder / "work"

    def stand(self) -> None:
        """Make it, for the first command that needs it. Raises WorkspaceError, DiskFullError."""
        if self.own.exists():
            return
        new = self.folder / "new"
        with disk(f"{self.folder} cannot be made"):
            new.mkdir(parents=True)
            self.work.mkdir()
        for layer in () if self.overlaid else reversed(self.below):
            make_accessible(layer)
            copy_tree(layer, new)
        with disk(f"{self.folder} cannot be made"):
            (self.folder / "begun").touch()
            time.sleep(0 if self.overlaid else TICK_S)
            new.rename(self.own)

    def over(self, folder: Path) -> CacheLayer:
        """A layer over this one, which is not written while that one is used."""
        begun = self.own.exists()
        if self.overlaid:
            return CacheLayer(folder=folder, below=(self.own, *self.below) if begun else self.below, overlaid=True)
        return CacheLayer(folder=folder, below=(self.own,) if begun else self.below, overlaid=False)

    def changed(self) -> tuple[str, ...]:
        """The caches, by folder, that commands wrote to."""
        if not self.own.exists():
            return ()
        folders = sorted(e.name for e in os.scandir(self.own) if e.is_dir(follow_symlinks=False))
        return tuple(name for name in folders if self.overlaid or self._is_newer(self.own / name))

    def _is_newer(self, folder: Path) -> bool:
        """Whether something in it was written since the copy was made. A command may set a file's time, but not when it
        did so."""
        begun = str(self.folder / "begun")
        found = subprocess.run(
            [program("find"), str(folder), "-cnewer", begun, "-print", "-quit"], capture_output=True, check=False
        )
        return bool(found.stdout)

    def give(self, names: Sequence[str], target: Path) -> None:
        """Put these caches, as commands saw them, into `target`, readable; an own copy is moved. Raises
        WorkspaceError, DiskFullError."""
        for name in names:
            make_accessible(self.own / name)
            if self.overlaid:
                self._copy_view(name, target)
            else:
                with disk(f"{target} cannot be written"):
                    (self.own / name).rename(target / name)

    def _copy_view(self, name: str, target: Path) -> None:
        sources = [word for layer in (*reversed(self.below), self.own) for word in ("--overlay-src", str(layer))]
        machine = ["--unshare-all", "--unshare-user", "--ro-bind", "/", "/", "--bind", str(target), str(target)]
        view = str(self.work)
        copying = [program("cp"), "-a", "--", f"{view}/{name}", str(target)]
        _copy([program("bwrap"), *machine, *sources, "--ro-overlay", view, "--", *copying], "build caches")


def copy_tree(source: Path, target: Path, *, linked: bool = False) -> None:
    """Copy what is in a folder, links as links, blocks shared where the file system can; `linked`: as hard links, for
    what nobody writes. Raises WorkspaceError, DiskFullError."""
    how = ("-al",) if linked else ("-a", *_SHARE_BLOCKS)
    _copy([program("cp"), *how, "--", f"{source}/.", str(target)], "build caches")


def copy_entry(source: Path, target: Path) -> None:
    """Copy a file or a folder as one that is not there yet, links as links. Raises WorkspaceError, DiskFullError."""
    _copy([program("cp"), "-a", *_SHARE_BLOCKS, "--", str(source), str(target)], str(source))


def _copy(argv: Sequence[str], what: str) -> None:
    done = subprocess.run(argv, capture_output=True, check=False)
    if done.returncode != 0:
        said = done.stderr.decode("utf-8", "replace").strip()[-500:]
        raise disk_error(f"{what} cannot be copied", said or f"exit code {done.returncode}")
