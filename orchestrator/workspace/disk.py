"""What the file system refuses us, as errors: a full disk is the run's trouble, not a task's."""

from __future__ import annotations

import errno
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from orchestrator.domain.errors import DiskFullError, WorkspaceError

FULL = frozenset({errno.ENOSPC, errno.EDQUOT})
_SAYS_FULL = ("no space left on device", "disk quota exceeded")


def disk_error(what: str, error: Exception | str) -> WorkspaceError:
    """`what` failed: a DiskFullError where the disk is full, else a WorkspaceError with the system's own words. git and
    libgit2 tell it in text."""
    said = (error.strerror or str(error)) if isinstance(error, OSError) else str(error)
    if (isinstance(error, OSError) and error.errno in FULL) or any(told in said.lower() for told in _SAYS_FULL):
        return DiskFullError(f"No space left on the disk: {what}.")
    return WorkspaceError(f"{what}: {said}")


@contextmanager
def disk(what: str) -> Iterator[None]:
    """Writing to ORCHESTRATE_HOME; `what` says what fails if it does. Raises WorkspaceError, DiskFullError."""
    try:
        yield
    except OSError as error:
        raise disk_error(what, error) from error


def replace_text(path: Path, text: str) -> None:
    """Write a file whole or not at all. Raises WorkspaceError, DiskFullError."""
    new = path.with_suffix(".new")
    with disk(f"{path} cannot be written"):
        new.write_text(text, "utf-8", "surrogateescape")
        new.rename(path)
