"""The programs of the machine that we start ourselves, outside every sandbox."""

from __future__ import annotations

import errno
import os
import shutil


def absolute_entries(path: str) -> list[str]:
    """The entries of a PATH that mean the same folder wherever one is."""
    return [entry for entry in path.split(os.pathsep) if entry.startswith("/")]


def program(name: str, path: str | None = None) -> str:
    """Where a program stands, by `path` or our own PATH. An entry that is relative or empty means the folder that one
    happens to be in, which may be a cloned repository: it is passed over. Raises FileNotFoundError."""
    entries = absolute_entries(os.environ.get("PATH", os.defpath) if path is None else path)
    found = shutil.which(name, path=os.pathsep.join(entries))
    if found is None:
        raise FileNotFoundError(errno.ENOENT, f"{name} was not found on PATH", name)
    return found
