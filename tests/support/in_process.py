"""The command line called in this process: as a user's shell would call it, without the second that Python's imports
take. The folder, the environment, the streams and the log are the call's alone and as before afterwards.
"""

from __future__ import annotations

import io
import logging
import os
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, chdir, contextmanager, redirect_stderr, redirect_stdout, suppress
from pathlib import Path
from typing import Any

from orchestrator.cli import run

LOGGERS = ("orchestrator", "agents", "orchestrate")


def call_cli(
    arguments: tuple[str, ...],
    folder: Path,
    environ: Mapping[str, str],
    stdin: str | None = None,
    *,
    together: bool = False,
) -> subprocess.CompletedProcess[str]:
    """What `orchestrate` answers in this folder and environment: its exit code, stdout and stderr (`together`: both in
    stdout, in their order)."""
    out = _stream("strict")
    err = out if together else _stream("backslashreplace")
    with ExitStack() as stage:
        stage.enter_context(environment(environ))
        stage.enter_context(chdir(folder))
        stage.enter_context(_reading(stdin or ""))
        stage.enter_context(_log_as_before())
        stage.enter_context(redirect_stdout(out))
        stage.enter_context(redirect_stderr(err))
        code = run([*arguments])
    return subprocess.CompletedProcess(("orchestrate", *arguments), code, _text(out), "" if together else _text(err))


@contextmanager
def environment(environ: Mapping[str, str]) -> Iterator[None]:
    """This process's environment is exactly `environ`."""
    before = dict(os.environ)
    try:
        _become(environ)
        yield
    finally:
        _become(before)


def _become(environ: Mapping[str, str]) -> None:
    for name in os.environ.keys() - environ.keys():
        del os.environ[name]
    os.environ.update(environ)


def _stream(errors: str) -> io.TextIOWrapper:
    """A pipe as Python opens it in a process of its own: bytes below, UTF-8 above, no terminal."""
    return io.TextIOWrapper(io.BytesIO(), encoding="utf-8", errors=errors, write_through=True)


def _text(stream: io.TextIOWrapper) -> str:
    """What was written, with the line ends that subprocess makes of them in text mode."""
    stream.seek(0)
    return io.TextIOWrapper(stream.detach(), encoding="utf-8").read()


@contextmanager
def _reading(stdin: str) -> Iterator[None]:
    before: Any = sys.stdin
    sys.stdin = io.TextIOWrapper(io.BytesIO(stdin.encode()), encoding="utf-8")
    try:
        yield
    finally:
        sys.stdin = before


@contextmanager
def _log_as_before() -> Iterator[None]:
    """The loggers that a command points at its own log file and stderr are pointed back."""
    loggers = [logging.getLogger(name) for name in LOGGERS]
    before = [(logger, logger.handlers, logger.level, logger.propagate) for logger in loggers]
    try:
        yield
    finally:
        opened = {
            handler for logger, handlers, *_ in before if logger.handlers != handlers for handler in logger.handlers
        }
        for logger, handlers, level, propagate in before:
            logger.handlers, logger.propagate = handlers, propagate
            logger.setLevel(level)
        for handler in opened:
            with suppress(OSError):  # no space left, say: a process that ends lets that pass, too
                handler.close()
