"""Who is alive: leases are renewed by a heartbeat, and a process proves its life with a locked file.

A lease that is not renewed expires by itself; on the same machine the lock tells at once that its owner is dead, so
that a resumed run need not wait.
"""

from __future__ import annotations

import fcntl
import logging
import threading
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from datetime import timedelta
from pathlib import Path
from types import TracebackType
from typing import IO

from orchestrator.domain.errors import GraphError, WorkspaceError
from orchestrator.domain.graph_ports import GraphReader, GraphWriter
from orchestrator.domain.ports import Clock
from orchestrator.engine.cancellation import CancelToken

_log = logging.getLogger(__name__)


class LeaseHeartbeat:
    """One owner of leases: holds `owners/<owner>.lock` for as long as the process lives, renews its leases, and ends
    the attempts of which it has lost the lease: they were cancelled in another shell, or taken over."""

    def __init__(
        self, *, owner: str, folder: Path, reader: GraphReader, writer: GraphWriter, clock: Clock, lease_s: float
    ) -> None:
        self.owner = owner
        self.lease = timedelta(seconds=lease_s)
        self._attempts: dict[str, CancelToken] = {}
        self._folder = folder
        self._reader = reader
        self._writer = writer
        self._clock = clock
        self._over = threading.Event()
        self._heartbeat = threading.Thread(target=self._beat, name="leases", daemon=True)
        self._lock: IO[str] | None = None
        self._abandoned = False

    def abandon(self) -> None:
        """Leases may be left that could not be given back: the lock file stays, so that they are seen to be a dead
        owner's at once, not when they expire."""
        self._abandoned = True

    @contextmanager
    def watching(self, attempt_id: str, cancelled: CancelToken) -> Iterator[None]:
        """Cancel the attempt when its lease turns out to be lost, for as long as the block runs."""
        self._attempts[attempt_id] = cancelled
        try:
            yield
        finally:
            del self._attempts[attempt_id]

    def __enter__(self) -> LeaseHeartbeat:
        try:
            self._folder.mkdir(parents=True, exist_ok=True)
            self._lock = (self._folder / f"{self.owner}.lock").open("w")
        except OSError as error:
            raise WorkspaceError(
                f"Cannot write to {self._folder}: {error.strerror}.",
                next_step="Make room there, or set ORCHESTRATE_HOME to a writable folder.",
            ) from error
        fcntl.flock(self._lock, fcntl.LOCK_EX)
        self._heartbeat.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._over.set()
        self._heartbeat.join(timeout=5)
        if self._lock is not None:
            if not self._abandoned:
                Path(self._lock.name).unlink(missing_ok=True)
            self._lock.close()

    def _beat(self) -> None:
        while not self._over.wait(self.lease.total_seconds() / 3):
            try:
                self._renew()
            except GraphError:
                continue  # the graph is away: the next write of an attempt says so, with all its patience
            except Exception:  # whatever it is: a dead thread would let all leases expire with nobody told of it, while
                # going on harms nothing, because the fence refuses what is written too late
                _log.exception("A lease could not be renewed.")

    def _renew(self) -> None:
        begun = dict(self._attempts)  # before the look: what is claimed after it is not in its answer
        self._writer.renew_leases(self.owner, self._clock.now() + self.lease)
        held = self._reader.held_attempts(self.owner) if begun else frozenset()
        for attempt_id in begun.keys() - held:
            begun[attempt_id].cancel("Its task was cancelled in another shell, or taken over.")


def dead_owners(owners: Iterable[str], folder: Path) -> tuple[str, ...]:
    """The owners that lived on this machine and are provably dead: their lock file is there, and nobody holds it."""
    return tuple(owner for owner in owners if _is_dead(folder / f"{owner}.lock"))


def _is_dead(path: Path) -> bool:
    try:
        with path.open() as lock:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            return True
    except OSError:
        return False  # held by a living process, or an owner of another machine
