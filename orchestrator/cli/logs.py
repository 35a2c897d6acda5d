"""The log file under ORCHESTRATE_HOME, and what is left of a crash."""

from __future__ import annotations

import logging
import os
import sys
import tempfile
import traceback
from collections.abc import Callable
from contextlib import suppress
from datetime import UTC, datetime
from logging.handlers import RotatingFileHandler
from pathlib import Path

from orchestrator.domain.errors import OrchestrateError

LOG_BYTES = 5_000_000
_NOT_FOR_THE_SCREEN = frozenset({"orchestrator.progress", "orchestrate.turn"})  # it shows that in its own way
_FORMAT = "%(asctime)s %(levelname)s %(name)s %(message)s"


def log_path(home: Path) -> Path:
    """Where the log of a home is."""
    return home / "logs" / "orchestrate.log"


_opened: list[tuple[Path, Callable[[str], str]]] = []  # home and redaction of the applications of this process


def log_to(home: Path, level: str, redact: Callable[[str], str]) -> None:
    """Send our own log lines to the log file (info and above, or all when debugging) and those from `level` on to
    stderr, secrets replaced by `redact`."""
    log_path(home).parent.mkdir(parents=True, exist_ok=True)
    _opened.append((home, redact))
    file = RotatingFileHandler(log_path(home), maxBytes=LOG_BYTES, backupCount=2, encoding="utf-8", delay=True)
    screen = logging.StreamHandler(sys.stderr)
    screen.setLevel(level.upper())
    screen.addFilter(lambda record: record.name not in _NOT_FOR_THE_SCREEN)
    least = logging.DEBUG if level == "debug" else logging.INFO
    for name in ("orchestrator", "agents", "orchestrate"):
        logger = logging.getLogger(name)
        logger.setLevel(least)
        logger.propagate = False
        for earlier in logger.handlers:
            earlier.close()
        logger.handlers = [file, screen]
    for handler in (file, screen):
        handler.setFormatter(_Redacting(redact))


class _Redacting(logging.Formatter):
    """Takes the secrets out of whole lines, tracebacks too. Fails closed: where the settings cannot be read, nobody
    knows the secrets, and the line is withheld."""

    def __init__(self, redact: Callable[[str], str]) -> None:
        super().__init__(_FORMAT)
        self._redact = redact

    def format(self, record: logging.LogRecord) -> str:
        """The line as it is written."""
        try:
            return self._redact(super().format(record))
        except OrchestrateError:
            return f"{record.levelname} {record.name} (withheld: the settings cannot be read)"


def redacted(text: str) -> str:
    """The text without the secrets of the application opened last, or, where none was, of the environment."""
    from orchestrator.config.secrets import Redactor, secrets_of
    from orchestrator.config.settings import Settings

    for _, redact in _opened[-1:]:
        with suppress(OrchestrateError):  # its settings cannot be read
            text = redact(text)
    return Redactor(secrets_of(Settings(), os.environ))(text)


def record_crash(error: BaseException, arguments: list[str]) -> Path:
    """Write the traceback of a defect, without secrets, to the log file of the application opened last, or to a
    temporary file where there is none; return which."""
    text = "".join(traceback.format_exception(error))
    entry = redacted(f"{datetime.now(UTC).isoformat()} CRASH {arguments}\n{text}")
    for folder in (*(home for home, _ in _opened[-1:]), Path(tempfile.mkdtemp(prefix="orchestrate-"))):
        path = log_path(folder)
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            with path.open("a", encoding="utf-8") as log:
                log.write(entry)
        except OSError:
            continue
        return path
    return Path(os.devnull)
