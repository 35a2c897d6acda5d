"""One verification command as a check: run, asked once more where it gave no answer, and looked at again where what it
shows may be a flaky test; and several at once, each with a checkout of its own."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, closing, contextmanager
from dataclasses import dataclass
from queue import SimpleQueue

from orchestrator.domain.attempt import Check, CheckPhase
from orchestrator.domain.ports import Workspace
from orchestrator.domain.workspace import CommandResult
from orchestrator.engine.attempt.record import Deadlines
from orchestrator.engine.services import Services
from orchestrator.gates.answer import Answer, read_answer
from orchestrator.gates.confirm import alone, passed_alone, suspects, with_flaky
from orchestrator.gates.decision_file import asked_command, is_decision_command


@dataclass(frozen=True, slots=True, kw_only=True)
class AskedCheck:
    """A check that is to be made, as it is going to be recorded."""

    id: str
    command: str
    phase: CheckPhase
    pass_id: str
    tree: str


def run_check(
    services: Services, workspace: Workspace, asked: AskedCheck, base: Check | None, deadlines: Deadlines
) -> Check:
    """Run a command over its tree, which the workspace holds before and after. New failures beside those of `base` are
    confirmed as often as the settings say, by their tests alone. What QC cites has to hold as it is, and cannot write
    to the workspace."""
    cited = asked.phase == "review"
    result, answer = _answer(services, workspace, asked.command, asked.id, deadlines, read_only=cited)
    if answer.outcome == "infrastructure" and _may_go_on(services, deadlines):
        result, answer = _answer(services, workspace, asked.command, asked.id, deadlines, read_only=cited)
    check = Check(
        id=asked.id,
        command=asked.command,
        exit_code=result.exit_code,
        outcome=answer.outcome,
        duration_ms=result.duration_ms,
        output=answer.output,
        started_at=result.started_at,
        phase=asked.phase,
        pass_id=asked.pass_id,
        tree=asked.tree,
        failures=answer.failures,
        tests=answer.tests,
    )
    return check if cited else _confirmed(services, workspace, check, base, deadlines)


def _confirmed(
    services: Services, workspace: Workspace, check: Check, base: Check | None, deadlines: Deadlines
) -> Check:
    """The check with those of its new failures marked as flaky whose tests pass once when they are run alone."""
    for _ in range(services.settings.checks.confirmations):
        narrowed = alone(check.command, suspects(check, base))
        if narrowed is None or services.cancelled.is_set() or not _may_go_on(services, deadlines):
            break
        _, answer = _answer(services, workspace, check.command, check.id, deadlines, run=narrowed)
        check = with_flaky(check, passed_alone(answer))
    return check


def _may_go_on(services: Services, deadlines: Deadlines) -> bool:
    left_s = deadlines.seconds_left(services.clock.now())
    return left_s is None or left_s > 0


def _answer(
    services: Services,
    workspace: Workspace,
    command: str,
    check_id: str,
    deadlines: Deadlines,
    *,
    run: str = "",
    read_only: bool = False,
) -> tuple[CommandResult, Answer]:
    """What the command answers (or `run` in its place), after which the workspace is what it was: no command finds what
    another has made of the tests, or left for their tools to load."""
    left_s, timeout_s = deadlines.seconds_left(services.clock.now()), services.settings.checks.timeout_s
    asked = run or (asked_command(command, check_id) if is_decision_command(command) else command)
    result = workspace.run(asked, timeout_s=timeout_s, within_s=left_s, read_only=read_only, reports=True)
    workspace.restore()
    return result, read_answer(command, check_id, result, workspace.seen_root)


class IdleWorkspaces:
    """Workspaces of one content that no command is running in."""

    def __init__(self, workspaces: Sequence[Workspace]) -> None:
        self._at_once = len(workspaces)
        self._idle: SimpleQueue[Workspace] = SimpleQueue()
        for workspace in workspaces:
            self._idle.put(workspace)

    @contextmanager
    def one(self) -> Iterator[Workspace]:
        """One of them, to be had by nobody else meanwhile."""
        workspace = self._idle.get()
        try:
            yield workspace
        finally:
            self._idle.put(workspace)

    def in_order(self, check_of: Callable[[int, str], Check], commands: Sequence[str]) -> tuple[Check, ...]:
        """The checks of the commands, numbered from 1, in their order whichever ends first. What one of them raises is
        raised once those that run have ended; none is begun after it."""
        numbers = range(1, len(commands) + 1)
        if self._at_once == 1:
            return tuple(map(check_of, numbers, commands))
        with ThreadPoolExecutor(self._at_once, "check") as pool:
            return tuple(pool.map(check_of, numbers, commands))


@contextmanager
def side_by_side(workspace: Workspace, at_once: int) -> Iterator[IdleWorkspaces]:
    """So many workspaces of one content, of which `workspace` is the first. What commands leave in the build caches of
    the others goes with them."""
    with ExitStack() as opened:
        others = [opened.enter_context(closing(workspace.beside(number))) for number in range(2, at_once + 1)]
        yield IdleWorkspaces((workspace, *others))
