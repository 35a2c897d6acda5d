"""Running one confined command to its end, or ending it at its bounds.

Memory is the proportional set size of the command's whole process tree, polled: an address space limit (RLIMIT_AS) ends
node and the JVM, which reserve far more than they use, and RLIMIT_DATA counts each process alone. Processes are counted
in the same look, because RLIMIT_NPROC does not bind root.
"""

from __future__ import annotations

import os
import selectors
import signal
import subprocess
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from functools import partial
from pathlib import Path

from orchestrator.domain.workspace import CommandResult, EndedBy
from orchestrator.workspace.sandbox import process_tree
from orchestrator.workspace.sandbox.room import Room, room, shortage
from orchestrator.workspace.sandbox.spec import CommandLimits, Launch

TICK_S = 0.02
"""How often bounds are looked at."""
MEASURE_S = 0.2
"""How often the process tree is."""


_Ending = tuple[EndedBy, int | None, str]
"""In the words of CommandResult: by what it ended, its exit code, and what there is to say about it."""


def run_bounded(command: str, build: Callable[[int], Launch], bounds: CommandLimits, folder: Path) -> CommandResult:
    """Run what `build` launches for the command, given the descriptor on which to tell that the sandbox stands; it
    writes to the disk that holds `folder`. Nothing that it started is left when this returns, also not when it
    raises."""
    began, started_at = time.monotonic(), datetime.now(UTC)
    before, output, took_s = room(folder), b"", 0.0
    ready, marker = os.pipe()
    try:
        watch = _Watch(_start(build, marker), bounds, began, folder, before)
        try:
            watch.follow()
        finally:
            watch.end()
        ended, exit_code, detail = watch.ending(stood=_told(ready))
        output, took_s = bytes(watch.output[: bounds.output_bytes]), time.monotonic() - began
    except OSError as error:
        ended, exit_code, detail = "not_started", None, f"the sandbox could not be started: {error.strerror}"
    finally:
        os.close(ready)
    return CommandResult(
        command=command,
        ended=ended,
        exit_code=exit_code,
        output=output.decode("utf-8", "replace"),
        duration_ms=took_s * 1_000,
        started_at=started_at,
        detail=detail,
    )


def _start(build: Callable[[int], Launch], marker: int) -> subprocess.Popen[bytes]:
    descriptors = [marker]
    try:
        launch = build(marker)
        descriptors += launch.handed
        return subprocess.Popen(
            launch.argv,
            cwd="/",
            env=launch.environment,
            pass_fds=descriptors,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
    finally:
        for descriptor in descriptors:
            os.close(descriptor)


def _told(ready: int) -> bool:
    """Whether the sandbox stood. Every process in it holds the pipe, so its end means that all are gone; killing a PID
    namespace takes the kernel some milliseconds after bwrap's own death."""
    stood = False
    with selectors.DefaultSelector() as selector:
        selector.register(ready, selectors.EVENT_READ)
        while selector.select(process_tree.GRACE_S):
            if not os.read(ready, 64):
                break
            stood = True
    return stood


@dataclass
class _Watch:
    """One running command."""

    running: subprocess.Popen[bytes]
    bounds: CommandLimits
    began: float
    folder: Path
    before: Room
    output: bytearray = field(default_factory=bytearray)
    ended: EndedBy = "exited"
    detail: str = ""
    _overrun: bool = False
    _last_output: float = 0.0
    _next_measure: float = 0.0
    _threads_before: int = field(default_factory=process_tree.threads)

    def follow(self) -> None:
        """Collect output until it exits or a bound is reached."""
        self._last_output, self._next_measure = self.began, self.began + MEASURE_S
        with self._reader() as reader, _exit_of(self.running.pid, reader):
            while self.running.poll() is None and self.ended == "exited":
                for key, _ in reader.select(TICK_S):
                    if key.fileobj is self.running.stdout and not self._collect():
                        reader.unregister(key.fileobj)
                self._look()

    def end(self) -> None:
        """End whatever is left of it: SIGTERM, two seconds, SIGKILL (a fork bomb at once); take what it wrote."""
        if self.running.poll() is None and not self._overrun:
            process_tree.terminate(self.running.pid)
            with suppress(subprocess.TimeoutExpired):
                self._drain(process_tree.GRACE_S)
                self.running.wait(0.01)
        process_tree.kill(self.running)
        self._drain(0.2)
        if self.running.stdout:
            self.running.stdout.close()

    def ending(self, stood: bool) -> _Ending:
        """How it ended. A shell reports a child's death by signal n as 128 + n."""
        code = self.running.returncode
        if self.ended != "exited":
            return self.ended, None, self.detail
        if not stood:
            return "not_started", None, f"the sandbox could not be set up (exit code {code})"
        number = -code if code < 0 else code - 128
        return ("signal", None, _signal_name(number)) if 0 < number < 65 else ("exited", code, "")

    def _reader(self) -> selectors.BaseSelector:
        reader = selectors.DefaultSelector()
        if self.running.stdout:
            os.set_blocking(self.running.stdout.fileno(), False)
            reader.register(self.running.stdout, selectors.EVENT_READ)
        return reader

    def _collect(self) -> bool:
        """Take what there is; False at the end."""
        if self.running.stdout is None:
            return False
        try:
            chunk = os.read(self.running.stdout.fileno(), 65_536)
        except BlockingIOError:
            return True
        most = self.bounds.output_bytes
        self._last_output = time.monotonic()
        self.output += chunk[: max(0, most + 1 - len(self.output))]
        if len(self.output) > most and self.ended == "exited":
            self._stop("output", f"more than {most} bytes of output")
        return bool(chunk)

    def _look(self) -> None:
        now, bounds = time.monotonic(), self.bounds
        if now - self.began > bounds.timeout_s:
            self._stop("timeout", f"it took longer than {bounds.timeout_s:g} seconds")
        elif now - self._last_output > bounds.idle_s:
            self._stop("idle", f"no output for {bounds.idle_s:g} seconds")
        elif now > self._next_measure or process_tree.threads() > self._threads_before + bounds.tasks:
            self._look_at_tree()
            self._next_measure = time.monotonic() + MEASURE_S

    def _look_at_tree(self) -> None:
        """This reads every process, so it waits its turn, unless the machine suddenly has so many more threads that
        this may be a fork bomb, which doubles within milliseconds."""
        count, memory = process_tree.measure(self.running.pid, self.bounds.memory_bytes)
        if count > self.bounds.tasks:
            self._stop("memory", f"{count} processes, limit {self.bounds.tasks}")
            self._overrun = True
        elif memory > self.bounds.memory_bytes:
            self._stop("memory", f"{memory // 1_000_000} MB of memory, limit {self.bounds.memory_bytes // 1_000_000}")
        elif short := self._shortage():
            self._stop(*short)

    def _shortage(self) -> tuple[EndedBy, str] | None:
        """What the machine lacks since this command runs. Others may give back memory meanwhile, which is not to hide
        what this one takes."""
        now, tree = room(self.folder), partial(process_tree.descendants, self.running.pid)
        self.before = replace(self.before, shared=min(self.before.shared, now.shared))
        return shortage(self.before, now, self.bounds.memory_bytes, tree)

    def _stop(self, ended: EndedBy, detail: str) -> None:
        self.ended, self.detail = ended, detail

    def _drain(self, seconds: float) -> None:
        """Read on for at most so long, until the pipe is closed or the process is gone."""
        until = time.monotonic() + seconds
        with self._reader() as reader:
            while time.monotonic() < until:
                if reader.select(0.02):
                    if not self._collect():
                        return
                elif self.running.poll() is not None:
                    return


@contextmanager
def _exit_of(pid: int, reader: selectors.BaseSelector) -> Iterator[None]:
    """Let the selector wake at the exit, where the kernel can tell; else the next tick sees it."""
    try:
        descriptor = os.pidfd_open(pid)
    except (AttributeError, OSError):
        yield
        return
    try:
        reader.register(descriptor, selectors.EVENT_READ)
        yield
    finally:
        os.close(descriptor)


def _signal_name(number: int) -> str:
    try:
        return f"ended by {signal.Signals(number).name}"
    except ValueError:
        return f"ended by signal {number}"
