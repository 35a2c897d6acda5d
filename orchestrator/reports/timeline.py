"""The story of an attempt, told from its recorded turns, calls, reports and guard events.

Each turn carries its diagnostics: its number, the window that it was asked with, executed calls against the budget,
how many identical batches stand in a row, and for each call its signature and whether it was unique, a duplicate or
refused, and why.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, fields
from typing import Any, Literal, TypeVar

from orchestrator.domain.attempt import AttemptSummary, Check
from orchestrator.domain.graph_ports import GraphReader
from orchestrator.domain.next_commands import next_commands
from orchestrator.domain.query import ResultRow
from orchestrator.domain.review import Review
from orchestrator.domain.task import Assessment
from orchestrator.domain.text import camel
from orchestrator.domain.tools import CONTROL_NAMES
from orchestrator.reports.ask import ask_first, ask_graph, attempt_figures, loosened_assessments

Uniqueness = Literal["unique", "duplicate", "refused", "control"]


@dataclass(frozen=True, slots=True, kw_only=True)
class TimelineCall:
    """One tool call. `why` says what a duplicate was served from, or why a call was refused or failed."""

    seq: int
    tool: str
    arguments: str
    signature: str = ""
    uniqueness: Uniqueness
    why: str
    status: str
    result: str = ""
    duration_ms: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class TimelineTurn:
    """One reply of the model. `finish_reason` is one of FinishReason, or an older release's word. `calls_used` counts
    executed calls up to its end; `stall_count` the identical batches in a row, this one included; `turns_used` the
    turns before it that had a reply, of `turns_limit` (0: an older release told none)."""

    seq: int
    number: int
    model: str = ""
    status: str
    finish_reason: str = ""
    text: str = ""
    prompt_tokens: int = 0
    cached_tokens: int = 0
    cache_write_tokens: int = 0
    completion_tokens: int = 0
    reasoning_tokens: int = 0
    cost_usd: float | None = None
    window_messages: int = 0
    window_tokens: int = 0
    compacted: bool = False
    calls_used: int
    calls_limit: int
    turns_used: int = 0
    turns_limit: int = 0
    stall_count: int
    calls: tuple[TimelineCall, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class TimelineNote:
    """What happened beside the turns: a progress report, a guard's verdict, a request's decision."""

    seq: int
    kind: Literal["progress", "guard", "request"]
    what: str
    verdict: str
    text: str
    observed: float | None = None
    limit: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class HeldFinding:
    """A finding that was held against the attempt."""

    id: str
    code: str
    severity: str
    message: str
    required_fix: str | None
    locus: str | None
    source: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Timeline:
    """An attempt in full. `steps` are in the order in which they happened, `next` are commands to paste, `figures` what
    it has come to; `assessment` is its task's where that names a bound set wider than its default."""

    plan_id: str
    task_id: str
    task_key: str
    title: str
    attempt: AttemptSummary
    steps: tuple[TimelineTurn | TimelineNote, ...]
    findings: tuple[HeldFinding, ...]
    checks: tuple[Check, ...]
    review: Review | None
    diagnosis: Mapping[str, Any] = field(default_factory=dict)
    next: tuple[str, ...] = ()
    figures: Mapping[str, Any] = field(default_factory=dict)
    assessment: Assessment | None = None


_Step = TypeVar("_Step", TimelineTurn, TimelineCall)


def newest_failure(reader: GraphReader, repository_id: str, run_id: str | None = None) -> str | None:
    """The id of the newest attempt (of a run) that did not succeed, those of failed tasks first."""
    return ask_first(reader, "newest_failure", repository=repository_id, run=run_id).get("attempt")


def attempt_timeline(reader: GraphReader, attempt_id: str) -> Timeline:
    """The story of one attempt. Raises UserError for an unknown id."""
    attempt = reader.attempt(attempt_id)
    place = ask_first(reader, "place", id=attempt_id)
    return Timeline(
        plan_id=place["plan"],
        task_id=place["task"],
        task_key=place["key"],
        title=place["title"] or "",
        attempt=attempt,
        steps=tell(ask_graph(reader, "attempt_facts", attempt=attempt_id), attempt.tool_call_budget),
        findings=tuple(HeldFinding(**row) for row in ask_graph(reader, "attempt_findings", attempt=attempt_id)),
        checks=attempt.checks,
        review=reader.review_of(attempt_id),
        diagnosis=ask_first(reader, "task_diagnosis", task=place["task"]),
        next=_next(reader, place, attempt),
        figures=next(iter(attempt_figures(reader, attempt_id)), {}),
        assessment=loosened_assessments(reader, place["plan"]).get(place["key"]),
    )


def _next(reader: GraphReader, place: ResultRow, attempt: AttemptSummary) -> tuple[str, ...]:
    if attempt.stop_reason is None:
        return ()
    known = place["key"] if reader.newest_plan(place["repository"]) == place["plan"] else place["task"]
    return next_commands(
        attempt.stop_reason,
        place["status"],
        plan=place["plan"],
        task=known,
        budget=attempt.tool_call_budget,
        task_code=place["reason"],
    )


def tell(rows: Iterable[ResultRow], budget: int) -> tuple[TimelineTurn | TimelineNote, ...]:
    """The steps of an attempt from its nodes in order of seq; a grant raises the limit from there on."""
    facts = [(row["node"]["labels"][0], row["node"]["properties"], row["answers"]) for row in rows]
    calls = _calls_by_turn(facts)
    executed = Counter(node["turnSeq"] for label, node, _ in facts if label == "ToolCall" and node.get("executed"))
    steps: list[TimelineTurn | TimelineNote] = []
    limit, used, stall, batch = budget, 0, 0, None
    for label, node, _ in facts:
        if label == "Turn":
            mine = calls.get(node["seq"], ())
            signatures = sorted(call.signature for call in mine)
            stall = stall + 1 if signatures and signatures == batch else int(bool(signatures))
            batch = signatures
            used += executed[node["seq"]]
            number = 1 + sum(isinstance(step, TimelineTurn) for step in steps)
            counts = {"number": number, "calls_used": used, "calls_limit": limit, "stall_count": stall}
            steps.append(_from_node(TimelineTurn, node, calls=mine, **counts))
        elif label != "ToolCall":
            limit += int(node.get("grantedCalls") or 0)
            steps.append(_note(label, node))
    return tuple(steps)


def _calls_by_turn(facts: Iterable[tuple[str, ResultRow, int | None]]) -> dict[int, tuple[TimelineCall, ...]]:
    found: dict[int, tuple[TimelineCall, ...]] = {}
    for label, node, answers in facts:
        if label == "ToolCall":
            turn = int(node["turnSeq"])
            found[turn] = (*found.get(turn, ()), _call(node, answers))
    return found


def _call(node: ResultRow, answers: int | None) -> TimelineCall:
    status, tool, result = node["status"], node["tool"], node.get("result") or ""
    uniqueness: Uniqueness = "control" if tool in CONTROL_NAMES else "unique"
    why = ""
    if status == "refused":
        uniqueness, why = "refused", result or "the attempt ended before it was executed"
    elif status == "duplicate":
        uniqueness, why = "duplicate", f"same as call {answers}" if answers is not None else "same call in this reply"
    elif status == "error":
        # What does not parse or validate was not executed and used nothing of the budget.
        uniqueness, why = ("refused" if node.get("errorKind") == "malformed" else uniqueness), result
    arguments = node.get("argumentsJson") or "{}"
    return _from_node(TimelineCall, node, arguments=arguments, uniqueness=uniqueness, why=why)


def _from_node(kind: type[_Step], node: ResultRow, **told: Any) -> _Step:
    """The node's properties by the names of the kind's fields, and what is told of it."""
    own = {field.name: node.get(camel(field.name)) for field in fields(kind)}
    return kind(**{name: value for name, value in own.items() if value is not None} | told)


def _note(label: str, node: ResultRow) -> TimelineNote:
    seq, what = node["seq"], str(node.get("kind") or node.get("guard") or "progress")
    if label == "Checkpoint":
        return TimelineNote(seq=seq, kind="progress", what=what, verdict="", text=node.get("description") or "")
    if label == "BudgetRequest":
        verdict = "granted" if node.get("granted") else "refused"
        asked = node.get("additional") if what == "calls" else ", ".join(node.get("paths") or [])
        text = f"{asked}: {node.get('justification') or ''} ({node.get('reason') or ''})"
        return TimelineNote(seq=seq, kind="request", what=what, verdict=verdict, text=text)
    return TimelineNote(
        seq=seq,
        kind="guard",
        what=what,
        verdict=node["verdict"],
        text=node.get("reason") or "",
        observed=node.get("observed"),
        limit=node.get("limit"),
    )
