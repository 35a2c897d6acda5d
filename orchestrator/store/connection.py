"""The one connection to the graph: managed transactions, errors in our words, bounded and visible waiting."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable
from functools import cache
from importlib.resources import files
from typing import Any, LiteralString, TypeVar

import neo4j
import tenacity
from neo4j.exceptions import (
    AuthError,
    ConfigurationError,
    ConnectionAcquisitionTimeoutError,
    ConstraintError,
    DatabaseUnavailable,
    DriverError,
    Neo4jError,
    ServiceUnavailable,
    SessionExpired,
    TransientError,
)

from orchestrator.domain.errors import GraphError
from orchestrator.domain.lifecycle import TransitionError
from orchestrator.store.endpoint import (
    NO_DATABASE,
    EndpointSource,
    GraphEndpoint,
    Server,
    ask_server,
    translate,
    unusable,
)

_T = TypeVar("_T")
Row = dict[str, Any]

AWAY = (ServiceUnavailable, SessionExpired, DatabaseUnavailable, ConnectionAcquisitionTimeoutError)
"""Errors of a server that does not answer."""

CONFLICT = (TransientError, ConstraintError)
"""Errors of a transaction that met another one. A broken constraint is one too: every write of ours is a MERGE, so two
transactions created the same node at once."""

RACES = frozenset(
    {
        "Neo.ClientError.Schema.EquivalentSchemaRuleAlreadyExists",  # IF NOT EXISTS, run twice at once
        "Neo.ClientError.Transaction.TransactionNotFound",  # the embedded server: a commit lost against another one
    }
)
"""Codes that are conflicts too, though the driver does not know them as such. Nothing was written then."""

CONFLICTS_S = 10.0
"""Seconds for which a transaction that met others is repeated at least."""

DRIVER_S = 2.0
"""Seconds that the driver itself repeats a transaction. Short, because it also repeats silently when the server is
gone, which is ours to tell and to heal."""

logging.getLogger("neo4j").addHandler(logging.NullHandler())  # else its retries are printed where nobody logs


@cache
def statement(name: str) -> LiteralString:
    """The Cypher of `cypher/<name>.cypher`, without its header comment (each server caches plans by text). Only
    `$parameters`, never string formatting."""
    text = files("orchestrator.store").joinpath("cypher", f"{name}.cypher").read_text(encoding="utf-8")
    return "\n".join(line for line in text.splitlines() if not line.startswith("//")).strip()


class Transaction:
    """A managed transaction that runs statements by name."""

    def __init__(self, tx: neo4j.ManagedTransaction) -> None:
        self._tx = tx

    def run(self, name: str, /, **parameters: Any) -> list[Row]:
        """The rows of `cypher/<name>.cypher`."""
        return self._tx.run(statement(name), parameters).data()

    def execute(self, text: LiteralString) -> list[Row]:
        """The rows of a statement of the schema."""
        return self._tx.run(text).data()


class Connection:
    """Sessions on one endpoint. When it is away, operations wait up to `wait_s` seconds, telling `on_wait`, and locate
    it anew: an embedded server that was killed is started again. Safe to share between threads."""

    def __init__(self, source: EndpointSource, *, wait_s: float, on_wait: Callable[[str], None]) -> None:
        self._source = source
        self._wait_s = wait_s
        self._on_wait = on_wait
        self._lock = threading.Lock()
        self._drivers: tuple[neo4j.Driver, neo4j.Driver] | None = None
        self._endpoint: GraphEndpoint | None = None
        self._closed = False

    def write(self, work: Callable[[Transaction], _T]) -> _T:
        """Run `work` as one write transaction, again where its end is unknown: it must be repeatable."""

        def call(session: neo4j.Session) -> _T:
            return session.execute_write(lambda tx: work(Transaction(tx)))

        try:
            return self._patiently(call)
        except TransitionError:
            # The embedded server finds conflicts at commit: before that, a transaction may see one record as it was
            # and another as it is. Look once more before an impossible step is believed.
            return self._patiently(call)

    def read(self, work: Callable[[Transaction], _T]) -> _T:
        """Run `work` as one read transaction."""
        return self._patiently(lambda session: session.execute_read(lambda tx: work(Transaction(tx))))

    def user_session(
        self, call: Callable[[neo4j.Session], _T], refusal: Callable[[Neo4jError], Exception | None], *, write: bool
    ) -> _T:
        """Give `call` a session for the user's own Cypher: read-only by right of the connection unless `write`.
        `refusal` turns what the user's words caused into the user's error, and anything else into None."""
        return self._patiently(
            call, reader=not write, refusal=refusal, again=(lambda _error: False) if write else _away
        )

    def server(self) -> Server:
        """What answers."""
        agent = self._patiently(lambda session: session.run("RETURN 1").consume().server.agent)
        _, endpoint = self._open()
        return Server(kind=endpoint.kind, version=agent, uri=endpoint.uri, database=endpoint.database)

    def close(self) -> None:
        """Close the sessions' pool and let the embedded server go. Safe to call twice."""
        with self._lock:
            self._closed = True
            self._disconnect()
            self._source.release()

    def _patiently(
        self,
        call: Callable[[neo4j.Session], _T],
        *,
        reader: bool = False,
        again: Callable[[BaseException], bool] | None = None,
        refusal: Callable[[Neo4jError], Exception | None] = lambda _error: None,
    ) -> _T:
        retrying = tenacity.Retrying(
            retry=tenacity.retry_if_exception(again or (lambda error: _away(error) or _met_another(error))),
            stop=self._stop,
            wait=_wait,
            before_sleep=self._tell,
            reraise=True,
        )
        try:
            answer: _T = retrying(self._once, call, reader)
            return answer
        except (DriverError, Neo4jError) as error:
            users = refusal(error) if isinstance(error, Neo4jError) else None
            raise users or translate(error, self._endpoint) from error

    def _once(self, call: Callable[[neo4j.Session], _T], reader: bool) -> _T:
        drivers, endpoint = self._open()
        access = neo4j.READ_ACCESS if reader else neo4j.WRITE_ACCESS
        try:
            with drivers[reader].session(database=endpoint.database, default_access_mode=access) as session:
                return call(session)
        except (ServiceUnavailable, SessionExpired):
            self._forget(drivers)
            raise
        except Neo4jError as error:
            if not _is_last_word(error, endpoint):
                raise
            self._forget(drivers)
            raise ServiceUnavailable(f"It is ending: {error.message or error.code}") from error

    def _open(self) -> tuple[tuple[neo4j.Driver, neo4j.Driver], GraphEndpoint]:
        with self._lock:
            if self._closed:
                raise GraphError("The connection to the graph was closed.")
            if self._drivers is None:
                self._endpoint = self._source.locate()
                self._drivers = _drivers(self._endpoint)
            assert self._endpoint is not None  # noqa: S101  set together with the drivers
            return self._drivers, self._endpoint

    def _forget(self, drivers: tuple[neo4j.Driver, neo4j.Driver]) -> None:
        """Locate the endpoint anew at the next try, unless another thread did already."""
        with self._lock:
            if self._drivers is drivers:
                self._disconnect()

    def _disconnect(self) -> None:
        for driver in set(self._drivers or ()):
            driver.close()
        self._drivers = None

    def _stop(self, state: tenacity.RetryCallState) -> bool:
        limit = max(self._wait_s, CONFLICTS_S) if _conflicted(state) else self._wait_s
        return (state.seconds_since_start or 0.0) >= limit

    def _tell(self, state: tenacity.RetryCallState) -> None:
        if _conflicted(state):
            return  # it does answer
        where = self._endpoint.uri if self._endpoint else "the graph"
        left = max(0.0, self._wait_s - (state.seconds_since_start or 0.0))
        self._on_wait(f"The graph at {where} does not answer; waiting up to {left:.0f} s more.")


def _away(error: BaseException) -> bool:
    return isinstance(error, AWAY)


def _is_last_word(error: Neo4jError, endpoint: GraphEndpoint) -> bool:
    """Whether a refusal is an outage: what a server says while it ends (that it knows no such user, transaction or
    database) is not about what it was asked. Whether it still answers afterwards tells which it is. The embedded
    server's passwords and database are ours, so that a refusal of them is not the user's to mend: locating it anew sees
    to that. Of a Neo4j they are the user's, and to be told at once."""
    if _away(error) or _met_another(error):
        return False
    if isinstance(error, AuthError) or error.code == NO_DATABASE:
        return endpoint.kind == "embedded"
    return ask_server(endpoint) != "yes"


def _met_another(error: BaseException) -> bool:
    return not _away(error) and (isinstance(error, CONFLICT) or getattr(error, "code", None) in RACES)


def _conflicted(state: tenacity.RetryCallState) -> bool:
    error = state.outcome.exception() if state.outcome else None
    return error is not None and _met_another(error)


_CONFLICT_WAIT = tenacity.wait_random(0.005, 0.05)
_AWAY_WAIT = tenacity.wait_exponential(multiplier=0.1, max=5.0) + tenacity.wait_random(0, 0.1)


def _wait(state: tenacity.RetryCallState) -> float:
    return _CONFLICT_WAIT(state) if _conflicted(state) else _AWAY_WAIT(state)


def _drivers(endpoint: GraphEndpoint) -> tuple[neo4j.Driver, neo4j.Driver]:
    """The driver for our own work and the one for the user's reads (the same where rights need no second user)."""
    main = _driver(endpoint, (endpoint.username, endpoint.password))
    return main, (main if endpoint.reader is None else _driver(endpoint, endpoint.reader))


def _driver(endpoint: GraphEndpoint, auth: tuple[str, str]) -> neo4j.Driver:
    try:
        return neo4j.GraphDatabase.driver(
            endpoint.uri,
            auth=auth,
            connection_timeout=10.0,
            connection_acquisition_timeout=20.0,
            initial_retry_delay=0.01,  # the driver's own first retry waits a second
            max_transaction_retry_time=DRIVER_S,
            notifications_min_severity="OFF",
            user_agent="orchestrate",
        )
    except (ConfigurationError, ValueError) as error:
        raise unusable(endpoint.uri) from error
