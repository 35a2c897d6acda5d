"""The one graph adapter: GraphWriter and GraphReader of domain/graph_ports.py on the official driver, over two servers.

Its operations stand by the noun that they are about, one file each; every statement is a file under cypher/, the same
for Neo4j and for the embedded server.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path

from orchestrator.store.artefacts import Artefacts
from orchestrator.store.attempts import Attempts
from orchestrator.store.conclusions import Conclusions
from orchestrator.store.connection import Connection
from orchestrator.store.embedded.cache import cache_folder
from orchestrator.store.embedded.server import HEAP_MB, IDLE_S, Embedded
from orchestrator.store.endpoint import EndpointSource, Server, neo4j_endpoint
from orchestrator.store.event_reader import EventReader
from orchestrator.store.event_writer import EventWriter
from orchestrator.store.leases import Leases
from orchestrator.store.orders import Orders
from orchestrator.store.plans import Plans
from orchestrator.store.records import Redaction
from orchestrator.store.reviews import Reviews
from orchestrator.store.runs import Runs
from orchestrator.store.schema import ensure_schema
from orchestrator.store.user_queries import UserQueries


class GraphStore:
    """The graph: both ports, each operation done by those who know the noun that it is about. Safe to share between
    threads. Raises GraphError kinds, UserError for unknown ids."""

    def __init__(self, connection: Connection, redaction: Redaction, artefacts: Artefacts) -> None:
        self._connection = connection
        self.write_artefacts = artefacts.write_artefacts
        self.artefact_folder = artefacts.artefact_folder
        self._take_plans_and_runs(connection, redaction)
        self._take_attempts(connection, redaction)
        self.query = UserQueries(connection).query

    def _take_plans_and_runs(self, connection: Connection, redaction: Redaction) -> None:
        plans = Plans(connection, redaction)
        self.register_repository = plans.register_repository
        self.store_plan = plans.store_plan
        self.store_round = plans.store_round
        self.plan = plans.plan
        self.newest_plan = plans.newest_plan
        self.tasks = plans.tasks
        self.work_left = plans.work_left
        self.resolve = plans.resolve
        runs = Runs(connection, redaction)
        self.open_run = runs.open_run
        self.finish_run = runs.finish_run
        self.run = runs.run
        self.newest_run = runs.newest_run
        self.owners = runs.owners
        self.spans = runs.spans
        self.spend = runs.spend
        orders = Orders(connection, redaction)
        self.retry_task = orders.retry_task
        self.cancel_task = orders.cancel_task
        self.cancel_run = orders.cancel_run
        self.trees_of_task = orders.trees_of_task

    def _take_attempts(self, connection: Connection, redaction: Redaction) -> None:
        leases = Leases(connection, redaction)
        self.claim = leases.claim
        self.renew_leases = leases.renew_leases
        self.orphans = leases.orphans
        self.close_interrupted = leases.close_interrupted
        self.held_attempts = leases.held_attempts
        attempts = Attempts(connection, redaction)
        self.describe_attempt = attempts.describe_attempt
        self.await_review = attempts.await_review
        self.record_checks = attempts.record_checks
        self.record_baseline = attempts.record_baseline
        reviews = Reviews(connection, redaction)
        self.begin_review = reviews.begin_review
        self.record_review = reviews.record_review
        self.record_later_review = reviews.record_later_review
        self.review_of = reviews.review_of
        self.review_bound_to = reviews.review_bound_to
        self.conclude = Conclusions(connection, redaction).conclude
        self.history = attempts.history
        self.attempt = attempts.attempt
        self.fixes = attempts.fixes
        self.accepted_calls = attempts.accepted_calls
        writer = EventWriter(connection, redaction)
        self.record = writer.record
        self.reserve = writer.reserve
        self.events = EventReader(connection, redaction).events

    @property
    def server(self) -> Server:
        """What answers, for doctor and status."""
        return self._connection.server()

    def close(self) -> None:
        """Give up the connection, and the hold on an embedded server. Safe to call twice."""
        self._connection.close()

    def __enter__(self) -> GraphStore:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def open_graph(
    home: Path,
    environ: Mapping[str, str],
    *,
    wait_s: float,
    redact: Callable[[str], str] = str,
    on_wait: Callable[[str], None] = lambda _message: None,
    idle_s: float = IDLE_S,
    heap_mb: int = HEAP_MB,
) -> GraphStore:
    """The graph of NEO4J_URI (with NEO4J_USERNAME, NEO4J_PASSWORD, NEO4J_DATABASE), else the embedded server of `home`,
    started if need be; its schema is there afterwards. Texts too long for a property go to `<home>/artefacts`.
    `redact` is applied to every stored string; `on_wait` hears of waiting for a graph that is away, which is given up
    after `wait_s` seconds. Raises GraphError, UserError for a NEO4J_URI that cannot be used."""
    if environ.get("NEO4J_URI"):
        source = _neo4j_source(environ)
    else:
        caches = cache_folder(environ)
        embedded = Embedded(home, idle_s=idle_s, heap_mb=heap_mb, on_wait=on_wait, caches=caches)
        source = EndpointSource(locate=embedded.locate, release=embedded.release)
    connection = Connection(source, wait_s=wait_s, on_wait=on_wait)
    try:
        ensure_schema(connection)
    except BaseException:
        connection.close()
        raise
    redaction = Redaction(home / "artefacts", redact)
    return GraphStore(connection, redaction, Artefacts(home / "artefacts" / "tasks", redaction))


def _neo4j_source(environ: Mapping[str, str]) -> EndpointSource:
    endpoint = neo4j_endpoint(environ)
    return EndpointSource(locate=lambda: endpoint)


def neo4j_server(environ: Mapping[str, str], *, wait_s: float) -> Server:
    """What answers at NEO4J_URI within `wait_s` seconds; writes nothing. Raises GraphError when nothing does, UserError
    for an unusable address."""
    connection = Connection(_neo4j_source(environ), wait_s=wait_s, on_wait=lambda _message: None)
    try:
        return connection.server()
    finally:
        connection.close()
