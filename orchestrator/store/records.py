"""What all records in the graph share: how a record becomes a row and comes back, and the rules about its texts:
nothing is silently cut, and no secret that the settings know is stored."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import datetime
from pathlib import Path
from typing import Any, TypeVar

from orchestrator.domain.attempt import Check
from orchestrator.domain.errors import StaleFenceError
from orchestrator.domain.usage import Usage
from orchestrator.gates.end_report import end_without_work
from orchestrator.store.connection import Connection, Row, Transaction
from orchestrator.store.mapping import build, finish, iso, properties

_T = TypeVar("_T")

LIVE = ["running", "awaiting_qc"]
"""Statuses of an attempt about which something may still be written."""


LIMIT = 16 * 1024
"""Bytes of UTF-8 above which a text is stored as head and tail."""

_PART = 8_000


class Redaction:
    """Cuts and restores long texts. The whole of a cut text is a file of the artefact folder named by its SHA-256."""

    def __init__(self, artefacts: Path, redact: Callable[[str], str]) -> None:
        self._artefacts = artefacts
        self._redact = redact

    def fit(self, properties: Mapping[str, Any]) -> dict[str, Any]:
        """The properties as they are stored: redacted, and long texts as head and tail with `...Chars` and
        `...Sha256`. Ids are left alone."""
        fitted: dict[str, Any] = {}
        for key, value in properties.items():
            clean = value if key == "id" else self.clean(value)
            if isinstance(clean, str) and len(clean) > LIMIT // 4 and len(clean.encode()) > LIMIT:
                fitted |= self._cut(key, clean)
            else:
                fitted[key] = clean
        return fitted

    def clean(self, value: Any) -> Any:
        """The value with known secrets replaced and made encodable, in lists and maps too."""
        if isinstance(value, str):
            if not value.isascii():  # a model's JSON can hold lone surrogates, which UTF-8 cannot
                value = value.encode("utf-8", "replace").decode("utf-8")
            return self._redact(value)
        if isinstance(value, Mapping):
            return {key: self.clean(item) for key, item in value.items()}
        if isinstance(value, list | tuple):
            return [self.clean(item) for item in value]
        return value

    def whole(self, properties: Mapping[str, Any]) -> dict[str, Any]:
        """The properties with cut texts restored from the artefact folder, where it still has them."""
        restored = dict(properties)
        for key, digest in properties.items():
            if key.endswith("Sha256") and isinstance(digest, str):
                path = self._path(digest)
                if path.is_file():
                    restored[key.removesuffix("Sha256")] = path.read_bytes().decode()
        return restored

    def _cut(self, key: str, text: str) -> dict[str, Any]:
        encoded = text.encode()
        digest = hashlib.sha256(encoded).hexdigest()
        path = self._path(digest)
        if not path.is_file():
            path.parent.mkdir(parents=True, exist_ok=True)
            fresh = path.with_name(f"{path.name}.{os.getpid()}.{os.urandom(4).hex()}")
            fresh.write_bytes(encoded)
            fresh.replace(path)
        head, tail = encoded[:_PART].decode(errors="ignore"), encoded[-_PART:].decode(errors="ignore")
        left_out = len(text) - len(head) - len(tail)
        cut = f"{head}\n[... {left_out} characters left out; the whole is artefact {digest} ...]\n{tail}"
        return {key: cut, f"{key}Chars": len(text), f"{key}Sha256": digest}

    def _path(self, digest: str) -> Path:
        return self._artefacts / digest[:2] / f"{digest}.txt"


class Records:
    """Records of one kind, and what is done with them. Safe to share between threads."""

    def __init__(self, connection: Connection, texts: Redaction) -> None:
        self._connection = connection
        self._texts = texts

    def _row(self, record: Any, *, without: tuple[str, ...] = (), **more: Any) -> Row:
        """A dataclass's properties and some more, as they are stored."""
        return self._stored(properties(record, without=without) | more)

    def _stored(self, values: Mapping[str, Any]) -> Row:
        """Properties redacted, cut and written out."""
        return finish(self._texts.fit(values))

    def _rows(self, name: str, **parameters: Any) -> list[Row]:
        """What one statement reads, in a transaction of its own."""
        return self._connection.read(lambda tx: tx.run(name, **parameters))

    def _build(self, cls: type[_T], stored: Row, **known: Any) -> _T:
        """A dataclass from a node's properties, its long texts whole."""
        return build(cls, self._texts.whole(stored), **known)


def end_properties(reason: str, detail: str, commands: Sequence[str], checks: Iterable[Check] = ()) -> Row:
    """How an attempt is told that nobody was there to conclude, to be stored; `commands` are what to paste then."""
    report = end_without_work(reason, detail, commands, checks)
    return {
        "stopReason": reason,
        "stopDetail": detail,
        "issues": report["issues"],
        "requiredFixes": report["requiredFixes"],
        "errorContextJson": report,
    }


def summed_usage(row: Row) -> Usage:
    """What a statement summed up over turns; an unknown price makes the sum's unknown."""
    usd = None if row["unknown"] else float(row["usd"])
    return Usage(
        prompt_tokens=int(row["promptTokens"]),
        cached_tokens=int(row.get("cachedTokens") or 0),
        cache_write_tokens=int(row.get("cacheWriteTokens") or 0),
        completion_tokens=int(row["completionTokens"]),
        reasoning_tokens=int(row.get("reasoningTokens") or 0),
        cost_usd=usd,
        reserved_tokens=int(row.get("reservedTokens") or 0),
        reserved_usd=float(row.get("reservedUsd") or 0.0),
    )


def fence(tx: Transaction, attempt_id: str, expected: int | None, at: datetime | None = None) -> Row:
    """Lock the attempt, then refuse when its fence is not `expected` or it is closed. The first statement of
    every write about an attempt; `at` tells that something happened to it. Returns its fence, status, repository and
    finishedAt."""
    if at is None:
        rows = tx.run("attempt_touch", attemptId=attempt_id, by=str(expected))
    else:
        rows = tx.run("attempt_lock", attemptId=attempt_id, at=iso(at))
    if not rows:
        raise StaleFenceError(f"Attempt {attempt_id} is not in the graph.")
    if rows[0]["fence"] != expected or rows[0]["status"] not in LIVE:
        raise stale(attempt_id, expected, rows[0])
    return rows[0]


def stale(attempt_id: str, expected: int | None, found: Row) -> StaleFenceError:
    """The error of a writer that lost its task."""
    return StaleFenceError(
        f"Attempt {attempt_id} was taken over: our fence is {expected}, the graph's is {found['fence']} "
        f"(status {found['status']}).",
        next_step="Nothing more is written for it; the process that took it over goes on.",
    )
