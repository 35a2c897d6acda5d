"""The only module that joins agents, store, workspace, engine and settings into one application.

`open_app` makes an App whose services come into being when they are first needed, so that `status` starts no sandbox
and `plan --file` asks for no key. What only planning or executing needs is imported there: the openai client, the roles
and the engine cost half a second, which `status` and `query` need not wait for.
"""

from __future__ import annotations

import signal
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from functools import cached_property
from pathlib import Path
from types import FrameType, TracebackType
from typing import TYPE_CHECKING, Any

from orchestrator.clock import RandomIds, SystemClock
from orchestrator.config.load import load_settings
from orchestrator.config.secrets import redactor, secrets_of
from orchestrator.config.settings import ModelSettings, Settings
from orchestrator.domain.errors import UserError
from orchestrator.domain.plan import Plan
from orchestrator.domain.progress import Listener, Waiting, silent
from orchestrator.engine.cancellation import CancelToken
from orchestrator.engine.services import Services
from orchestrator.store.graph_store import GraphStore, open_graph
from orchestrator.workspace.repository import UserRepository, discover, ensure_home
from orchestrator.workspace.workspaces import ShadowWorkspaces, open_workspaces

if TYPE_CHECKING:
    from agents.chat.port import Chat
    from orchestrator.engine.planning import PlanningResult
    from orchestrator.engine.runs import ExecuteOptions
    from orchestrator.engine.scheduler import RunResult
    from orchestrator.planning.validate import Examined


class App:
    """One invocation's application over one repository. A context manager: leaving it lets go of the graph."""

    def __init__(
        self, folder: Path, environ: Mapping[str, str], flags: Mapping[str, Any], on_wait: Callable[[str], None]
    ) -> None:
        self._folder = folder
        self._environ = environ
        self._flags = flags
        self._on_wait = on_wait
        self._closing = ExitStack()
        self._chats: dict[str, Chat] = {}
        self.listener: Listener = silent
        self.cancelled = CancelToken()
        self.clock = SystemClock(self.cancelled)

    def __enter__(self) -> App:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._closing.close()

    @cached_property
    def repository(self) -> UserRepository:
        """The user's repository. Raises UserError for a folder that cannot be used."""
        return discover(self._folder, self._environ)

    @cached_property
    def home(self) -> Path:
        """ORCHESTRATE_HOME, made if it is missing."""
        ensure_home(self.repository.home)
        return self.repository.home

    @cached_property
    def settings(self) -> Settings:
        """The settings of this repository, environment and command line."""
        return load_settings(self.repository.root, self._environ, self._flags)

    @cached_property
    def redact(self) -> Callable[[str], str]:
        """Replaces every secret that the settings know by ***."""
        return redactor(secrets_of(self.settings, self._environ))

    @cached_property
    def graph(self) -> GraphStore:
        """The graph, reader and writer. Raises GraphError kinds."""
        graph = open_graph(
            self.home,
            self._environ,
            wait_s=self.settings.run.graph_wait_s,
            redact=self.redact,
            on_wait=self._waiting,
        )
        self._closing.callback(graph.close)
        return graph

    @cached_property
    def workspaces(self) -> ShadowWorkspaces:
        """The Shadow and its sandbox."""
        return open_workspaces(self.repository, self.home, self.settings)

    def chat(self, role: ModelSettings, name: str | None = None) -> Chat:
        """The model of a role, or the named one at the role's endpoint. Raises UserError without key or name."""
        from agents.chat.openai_adapter import OpenAIChat

        settings = role if name is None else role.model_copy(update={"name": name})
        key = settings.model_dump_json()
        if key not in self._chats:
            chat = OpenAIChat(settings, clock=self.clock, env=self._environ, on_wait=self._waiting)
            self._closing.callback(chat.close)
            self._chats[key] = chat
        return self._chats[key]

    def services(self) -> Services:
        """Everything that the engine works with. Chats are opened by the roles when a conversation begins."""
        from agents.planner import PlannerRole
        from agents.verifier import VerifierRole
        from agents.worker import WorkerRole

        models = self.settings.models
        return Services(
            reader=self.graph,
            writer=self.graph,
            workspaces=self.workspaces,
            planner=PlannerRole(
                lambda name: self.chat(models.planner, name),
                self.settings.complexity,
                self.settings.budgets,
                self.redact,
            ),
            worker=WorkerRole(lambda name: self.chat(models.worker, name), self.redact),
            verifier=VerifierRole(lambda name: self.chat(models.verifier, name), self.settings.review, self.redact),
            clock=self.clock,
            ids=RandomIds(),
            settings=self.settings,
            listener=self.listener,
            cancelled=self.cancelled,
        )

    def _waiting(self, message: str) -> None:
        self._on_wait(message)
        self.listener(Waiting(at=self.clock.now(), message=message))


@contextmanager
def open_app(
    folder: Path, environ: Mapping[str, str], *, flags: Mapping[str, Any], on_wait: Callable[[str], None]
) -> Iterator[App]:
    """An App for the repository that holds `folder`; `flags` are settings from the command line (dotted names)."""
    with App(folder, environ, flags, on_wait) as app:
        yield app


def make_plan(app: App, goal: str, *, store: bool = True) -> PlanningResult:
    """Ask the PM for a plan. Raises UserError for a missing name or key before anything is stored."""
    from orchestrator.engine import planning

    app.chat(app.settings.models.planner)
    return planning.plan_goal(app.services(), app.repository.record, app.repository.head, goal, store=store)


def load_plan(app: App, examined: Examined, *, store: bool = True) -> PlanningResult:
    """Judge and store a plan that was written by hand. Raises PlanFileError."""
    from orchestrator.engine import planning

    return planning.plan_from_file(app.services(), app.repository.record, app.repository.head, examined, store=store)


def find_plan(app: App, text: str | None) -> Plan:
    """The plan with the id, or the newest ready one of the repository. Raises UserError."""
    from orchestrator.engine import runs

    return runs.find_plan(app.graph, app.repository.record.id, text)


def execute_plan(app: App, plan: Plan, options: ExecuteOptions) -> RunResult | None:
    """Execute a plan to its end, or until the user interrupts; None when everything was completed before."""
    from orchestrator.engine import runs

    if plan.status == "ready":
        _require_models(app, plan)
    services = app.services()
    prepared = runs.prepare_run(services, plan, options, app.home)
    if prepared is None:
        return None
    scheduler, _ = prepared
    with _interrupts(scheduler.interrupt, app.listener, app.clock):
        return runs.run_plan(scheduler, options)


def _require_models(app: App, plan: Plan) -> None:
    """Raise UserError for a missing name or key, or an unknown price under a cost limit, before a run is opened."""
    models, run = app.settings.models, app.settings.run
    workers = {planned.task.model for planned in plan.tasks}
    chats = [app.chat(models.verifier), *(app.chat(models.worker, name) for name in workers)]
    limits = (run.max_cost_usd, run.task_max_cost_usd, app.settings.guards.max_cost_usd)
    unpriced = sorted({chat.model for chat in chats if chat.price(1, 0, 1) is None})
    if unpriced and any(limit is not None for limit in limits):
        raise UserError(
            f"The price of {', '.join(unpriced)} is unknown, so the cost limit cannot be kept.",
            next_step="Set models.<role>.price (input, cached_input, output per million tokens), or bound the tokens.",
        )


@contextmanager
def _interrupts(interrupt: Callable[[], None], listener: Listener, clock: SystemClock) -> Iterator[None]:
    """The first Ctrl-C (or SIGTERM) finishes the call under way and releases the tasks; the second ends us at once."""
    asked = threading.Event()

    def on_signal(_number: int, _frame: FrameType | None) -> None:
        if asked.is_set():
            import os

            os._exit(130)  # now: leases expire or are seen to be dead, the next process takes over
        asked.set()
        listener(Waiting(clock.now(), "Interrupted: finishing the call under way; once more to stop at once."))
        interrupt()

    previous = {number: signal.signal(number, on_signal) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield
    finally:
        for number, handler in previous.items():
            signal.signal(number, handler)
