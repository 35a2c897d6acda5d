"""The only module that joins agents, store, workspace, engine and settings into one application.

An App's services come into being when they are first needed, so that `status` starts no sandbox and `plan --file` asks
for no key. What only some commands need is imported there: the openai client, the roles and the engine cost half a
second, which `status` and `query` need not wait for, git's library and the graph's driver a quarter each.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, ExitStack, contextmanager, nullcontext
from functools import cached_property
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any

from orchestrator.clock import RandomIds, SystemClock
from orchestrator.config.file import read_settings_file
from orchestrator.config.load import Configuration, load_configuration
from orchestrator.config.secrets import Redactor, secrets_of
from orchestrator.config.settings import ModelSettings, Settings
from orchestrator.config.trust import TrustStore, Untrusted
from orchestrator.domain.errors import UserError
from orchestrator.domain.live_text import LiveTexts, unwatched
from orchestrator.domain.plan import Plan
from orchestrator.domain.progress import Listener, PhaseEnded, PhaseStarted, Waiting, silent
from orchestrator.engine.cancellation import CancelToken
from orchestrator.engine.services import Services
from orchestrator.workspace.absent import absent_files
from orchestrator.workspace.repository import UserRepository, discover, ensure_home
from orchestrator.workspace.repository_id import repository_id

if TYPE_CHECKING:
    from agents.chat.port import Chat
    from orchestrator.engine.planning import PlanningResult
    from orchestrator.engine.runs import ExecuteOptions
    from orchestrator.engine.scheduler import RunResult
    from orchestrator.planning.validate import Examined
    from orchestrator.store.graph_store import GraphStore
    from orchestrator.workspace.workspaces import ShadowWorkspaces

Interrupts = Callable[[Callable[[], None]], AbstractContextManager[None]]
"""Takes what ends a run softly, and leads there for as long as the context holds."""


class App:
    """One invocation's application over the repository that holds `folder`; `flags` are settings from the command line
    (dotted names); `may_trust` asks the user about a settings file of the repository that nobody has trusted yet. A
    context manager: leaving it lets go of the graph."""

    def __init__(
        self,
        folder: Path,
        environ: Mapping[str, str],
        *,
        flags: Mapping[str, Any],
        on_wait: Callable[[str], None],
        may_trust: Callable[[Untrusted], bool] = lambda _waiting: False,
    ) -> None:
        self._folder = folder
        self._environ = environ
        self._flags = flags
        self._on_wait = on_wait
        self._may_trust = may_trust
        self._closing = ExitStack()
        self._chats: dict[str, Chat] = {}
        self.listener: Listener = silent
        self.live: LiveTexts = unwatched
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

    @property
    def warnings(self) -> tuple[str, ...]:
        """What the user should know before work starts."""
        absent = map(str, absent_files(self.repository, self.settings))
        return (*self.repository.warnings, *absent, *self.workspaces.remarks)

    @cached_property
    def home(self) -> Path:
        """ORCHESTRATE_HOME, made if it is missing; before it the repository's id, which looks at what stands there."""
        repository_id(self.repository.common_dir, self.repository.home, self.repository.root)
        ensure_home(self.repository.home)
        return self.repository.home

    @cached_property
    def configuration(self) -> Configuration:
        """The settings with where they come from; of a repository's file that is not trusted only the harmless ones."""
        return load_configuration(self.repository.root, self._environ, self._flags)

    @property
    def settings(self) -> Settings:
        """The settings of user, repository, environment and command line. Raises UserError, and UntrustedSettingsError
        for a repository's file that asks for what is not trusted, now neither."""
        waiting = self.configuration.untrusted
        if waiting is not None and self._may_trust(waiting):
            self.trust()
        return self.configuration.required()

    def trust(self) -> None:
        """Remember the repository's settings file, as it was read, as trusted; from now on all of it counts."""
        if self.configuration.untrusted is not None:
            TrustStore.of(self._environ).add(self.configuration.untrusted.file)
        del self.configuration  # read anew, and compared with what was trusted

    def revoke_trust(self) -> bool:
        """Trust the repository's settings file no longer; False when it was not."""
        return TrustStore.of(self._environ).remove(read_settings_file(self.repository.root))

    @cached_property
    def redact(self) -> Redactor:
        """Replaces every secret that the settings know by ***. Asks nobody about trust: it is used for every line of
        the log."""
        return Redactor(secrets_of(self.configuration.required(), self._environ))

    @property
    def redact_shown(self) -> Callable[[str], str]:
        """The same for what is shown while a settings file waits for trust."""
        return Redactor(secrets_of(self.configuration.settings, self._environ))

    @cached_property
    def graph(self) -> GraphStore:
        """The graph, reader and writer. Raises GraphError kinds."""
        from orchestrator.store.graph_store import open_graph

        wait_s, home, redact = self.settings.run.graph_wait_s, self.home, self.redact
        with self._phase("opening the graph"):
            graph = open_graph(home, self._environ, wait_s=wait_s, redact=redact, on_wait=self._waiting)
        self._closing.callback(graph.close)
        return graph

    @cached_property
    def workspaces(self) -> ShadowWorkspaces:
        """The Shadow and its sandbox."""
        from orchestrator.workspace.workspaces import open_workspaces

        repository, home, settings = self.repository, self.home, self.settings
        with self._phase("preparing a copy of the repository"):
            return open_workspaces(repository, home, settings, phases=self._phase)

    def chat(self, role: ModelSettings, name: str | None = None) -> Chat:
        """The model of a role, or the named one at the role's endpoint. Raises UserError without key or name."""
        from agents.chat.model_chat import ModelChat

        settings = role if name is None else role.model_copy(update={"name": name})
        key = settings.model_dump_json()
        if key not in self._chats:
            chat = ModelChat(settings, clock=self.clock, env=self.environ_for(settings), on_wait=self._waiting)
            self._closing.callback(chat.close)
            self._chats[key] = chat
        return self._chats[key]

    def environ_for(self, model: ModelSettings) -> Mapping[str, str]:
        """The environment as a model's endpoint may know it: its key only where it is paired with the host."""
        return self.configuration.keys.environ_for(model, self._environ)

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
            live=self.live,
        )

    def make_plan(self, goal: str, *, store: bool = True) -> PlanningResult:
        """Ask the PM for a plan. Raises UserError for a missing name or key before anything is stored."""
        from orchestrator.engine import planning

        self.chat(self.settings.models.planner)
        return planning.plan_goal(self.services(), self.repository.record, self.repository.head, goal, store=store)

    def load_plan(self, examined: Examined, *, store: bool = True) -> PlanningResult:
        """Judge and store a plan that was written by hand. Raises PlanFileError."""
        from orchestrator.engine import planning

        repository = self.repository
        return planning.plan_from_file(self.services(), repository.record, repository.head, examined, store=store)

    def execute_plan(
        self, plan: Plan, options: ExecuteOptions, interrupts: Interrupts = lambda _interrupt: nullcontext()
    ) -> RunResult | None:
        """Execute a plan to its end, or until what `interrupts` is given is called, as it may be for as long as the run
        is worked for; None when everything was completed before."""
        from orchestrator.engine import runs

        if plan.status == "ready":
            self._require_models(plan)
        prepared = runs.prepare_run(self.services(), plan, options, self.home)
        if prepared is None:
            return None
        scheduler, _ = prepared
        with interrupts(scheduler.interrupt):
            return scheduler.execute(options.parallel)

    def _require_models(self, plan: Plan) -> None:
        """Raise UserError for a missing name or key, or an unknown price under a cost limit, before a run is opened."""
        models, run = self.settings.models, self.settings.run
        workers = {planned.task.model for planned in plan.tasks}
        chats = [self.chat(models.verifier), *(self.chat(models.worker, name) for name in workers)]
        limits = (run.max_cost_usd, run.task_max_cost_usd, self.settings.guards.max_cost_usd)
        unpriced = sorted({chat.model for chat in chats if chat.price(1, 1) is None})
        if unpriced and any(limit is not None for limit in limits):
            raise UserError(
                f"The price of {', '.join(unpriced)} is unknown, so the cost limit cannot be kept.",
                next_step="Set models.<role>.price (input, cached_input, output per million tokens), or bound the "
                "tokens.",
            )

    @contextmanager
    def _phase(self, words: str) -> Iterator[None]:
        self.listener(PhaseStarted(at=self.clock.now(), words=words))
        try:
            yield
        finally:
            self.listener(PhaseEnded(at=self.clock.now(), words=words))

    def _waiting(self, message: str) -> None:
        self._on_wait(message)
        self.listener(Waiting(at=self.clock.now(), message=message))
