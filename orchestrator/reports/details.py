"""A plan, run, task or tool call in full, and which two states of the repository a diff of it compares."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from orchestrator.domain.attempt import AttemptSummary
from orchestrator.domain.errors import UserError
from orchestrator.domain.events import ReplyReceived, ToolFinished, ToolRequested
from orchestrator.domain.fix import Fix
from orchestrator.domain.graph_ports import GraphReader
from orchestrator.domain.lives import FindingLife
from orchestrator.domain.plan import Plan
from orchestrator.domain.query import ResultRow
from orchestrator.domain.run import Run
from orchestrator.domain.task import Assessment, TaskState
from orchestrator.domain.usage import Usage
from orchestrator.gates.lives import finding_lives
from orchestrator.gates.progress import recorded_pass
from orchestrator.reports.ask import ask_first, ask_graph, attempt_figures, loosened_assessments
from orchestrator.reports.conversation import ConversationDetails, conversation_details
from orchestrator.reports.delivered import accepted_with
from orchestrator.reports.effort import TaskEffort, task_efforts
from orchestrator.reports.status import with_all_attempts
from orchestrator.reports.timeline import Timeline, attempt_timeline, newest_failure, tell


@dataclass(frozen=True, slots=True)
class PlanDetails:
    """A plan with the PM's rounds in order, each with its `steps` as an attempt's story has them; a plan from a file
    has none."""

    plan: Plan
    rounds: tuple[ResultRow, ...]


@dataclass(frozen=True, slots=True)
class RunDetails:
    """A run with its attempts in the order in which they began, what they have used together, by key the tasks whose
    bounds are wider than their defaults, and what of its bounds each task has used."""

    run: Run
    attempts: tuple[ResultRow, ...]
    spend: Usage
    loosened: Mapping[str, Assessment]
    used: tuple[TaskEffort, ...] = ()


@dataclass(frozen=True, slots=True)
class TaskDetails:
    """A task with what has become of it, its attempts oldest first, why it failed, what it has used in all, which
    files its newest attempt may not change, and the folder with the documents about it. `used` is what it has used of
    its bounds, `lives` what became of each finding over its check passes, those of the attempts `passes`, `fixes` what
    was mended, and `warnings` what is said of the accepted work and not held against it."""

    state: TaskState
    attempts: tuple[ResultRow, ...]
    diagnosis: ResultRow
    spend: Usage
    protected: ResultRow
    artefacts: str = ""
    used: tuple[TaskEffort, ...] = ()
    lives: tuple[FindingLife, ...] = ()
    fixes: tuple[Fix, ...] = ()
    passes: tuple[int, ...] = ()
    warnings: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class CallDetails:
    """A tool call with its arguments, as the JSON that the model sent, and its result, both whole. A `status` of
    `not executed` or `not finished` goes without a result."""

    attempt_id: str
    seq: int
    tool: str
    status: str
    arguments: str
    result: str = ""
    duration_ms: float | None = None


Details = PlanDetails | RunDetails | TaskDetails | CallDetails | ConversationDetails | Timeline
"""What can be shown in full."""


def details_of(reader: GraphReader, label: str, id_: str) -> Details:
    """What an id of this label stands for. Raises UserError for a label that is shown by none of these, and for a call
    that the attempt has not."""
    if label == "Plan":
        return PlanDetails(reader.plan(id_), tuple(_rounds(reader, id_)))
    if label == "Run":
        return _run(reader, id_)
    if label == "Task":
        return _task(reader, id_)
    if label == "Attempt":
        return attempt_timeline(reader, id_)
    if label == "ToolCall":
        attempt_id, _, seq = id_.rpartition(":")
        return _call_details(reader, attempt_id, int(seq))
    if label in ("Review", "PlanningRound") and (conversation := conversation_details(reader, id_)) is not None:
        return conversation
    raise UserError(f"{id_} is a {label}; a plan, run, task, attempt, review or planning round can be shown.")


def _rounds(reader: GraphReader, plan_id: str) -> list[ResultRow]:
    facts = ask_graph(reader, "round_facts", plan=plan_id)
    return [
        dict(row) | {"steps": tell([fact for fact in facts if fact["number"] == row["number"]], 0)}
        for row in ask_graph(reader, "plan_rounds", plan=plan_id)
    ]


def _call_details(reader: GraphReader, attempt_id: str, seq: int) -> CallDetails:
    events = reader.events(attempt_id)
    asked = {call.seq: call for event in events if isinstance(event, ReplyReceived) for call in event.reply.calls}
    if seq not in asked:
        known = ", ".join(map(str, sorted(asked))) or "none"
        raise UserError(f"Attempt {attempt_id} has no call {seq}; its calls are {known}.")
    found = CallDetails(
        attempt_id=attempt_id,
        seq=seq,
        tool=asked[seq].tool,
        status="not executed",
        arguments=asked[seq].arguments_json,
    )
    of_it = [event for event in events if isinstance(event, ToolRequested | ToolFinished) and event.seq == seq]
    if not of_it:
        return found
    done = of_it[-1]
    if not isinstance(done, ToolFinished):
        return replace(found, status="not finished")
    return replace(found, status=done.status, result=done.result.text, duration_ms=done.result.duration_ms)


def _run(reader: GraphReader, run_id: str) -> RunDetails:
    run = reader.run(run_id)
    loosened = loosened_assessments(reader, run.plan_id)
    attempts = attempt_figures(reader, run_id)
    used = task_efforts(reader, [row["attempt"] for row in attempts])
    return RunDetails(run, attempts, reader.spend(run_id=run_id), loosened, used)


def task_state(reader: GraphReader, task_id: str) -> TaskState:
    """A task with what has become of it."""
    plan_id = ask_first(reader, "place", id=task_id)["plan"]
    return next(state for state in reader.tasks(plan_id) if state.task.id == task_id)


def _task(reader: GraphReader, task_id: str) -> TaskDetails:
    attempts, spend = attempt_figures(reader, task_id), reader.spend(task_id=task_id)
    state = with_all_attempts(task_state(reader, task_id), attempts)
    diagnosis = ask_first(reader, "task_diagnosis", task=task_id)
    protected = ask_first(reader, "task_protected", task=task_id)
    history = reader.history(task_id)
    return TaskDetails(
        state=state,
        attempts=attempts,
        diagnosis=diagnosis,
        spend=spend,
        protected=protected,
        artefacts=reader.artefact_folder(task_id),
        used=task_efforts(reader, [row["attempt"] for row in attempts]),
        lives=finding_lives(history),
        fixes=reader.fixes(task_id),
        passes=tuple(attempt.number for attempt in history if recorded_pass(attempt) is not None),
        warnings=accepted_with(history),
    )


def newest_subject(reader: GraphReader, repository_id: str) -> tuple[str, str] | None:
    """Label and id of what is told where nothing is named: the newest run when it completed everything, else its newest
    failure, else the run; without a run the newest plan. None where there is nothing."""
    run = ask_first(reader, "newest_run", repository=repository_id)
    if not run:
        plan_id = reader.newest_plan(repository_id)
        return ("Plan", plan_id) if plan_id else None
    failed = None if run["status"] == "completed" else newest_failure(reader, repository_id, run["run"])
    return ("Attempt", failed) if failed else ("Run", run["run"])


def trees_of(reader: GraphReader, label: str, id_: str) -> tuple[str, str]:
    """The tree or commit before and after. Of a task that is its whole change: what its last attempt with a change made
    of the commit under it, the work of the attempts before it included. Raises UserError where there is no change to
    look at."""
    if label == "Run":
        run = reader.run(id_)
        return run.base_commit, run.head_commit
    if label == "Task":
        return _whole_change(change_shown(reader.history(id_), id_))
    if label != "Attempt":
        raise UserError(f"{id_} is a {label} and has no diff.", next_step="Name an attempt, a task or a run.")
    attempt = reader.attempt(id_)
    if attempt.tree_before is None or attempt.tree_after is None:
        raise UserError(f"Attempt {id_} has not ended, so it has no diff yet.")
    return attempt.tree_before, attempt.tree_after


def change_shown(history: Sequence[AttemptSummary], task_id: str) -> AttemptSummary:
    """The attempt whose work is a task's change: the last that has changed something, else the last. Raises UserError
    where none has ended."""
    ended = [attempt for attempt in history if attempt.tree_before is not None and attempt.tree_after is not None]
    if not ended:
        raise UserError(f"Task {task_id} has had no attempt that has ended, so it has no diff.")
    untouched, made = set(), set()  # trees that nobody made in this task, and those that somebody did
    shown = None
    for attempt in ended:
        if attempt.tree_before not in made:
            untouched.add(attempt.tree_before)
        if attempt.tree_after not in untouched:
            made.add(attempt.tree_after)
            shown = attempt
    return shown or ended[-1]


def _whole_change(attempt: AttemptSummary) -> tuple[str, str]:
    if attempt.commit is not None:
        return f"{attempt.commit}^", attempt.commit
    return attempt.base_commit or str(attempt.tree_before), str(attempt.tree_after)
