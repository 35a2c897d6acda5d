"""Plans, runs and events for tests; every id is new, so that tests can share a database."""

from __future__ import annotations

import uuid
from collections.abc import Callable, Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

from orchestrator.domain.attempt import AttemptResult, AttemptSummary, Decision, Owner
from orchestrator.domain.events import (
    CallStatus,
    FileWrite,
    GuardCounters,
    ReplyReceived,
    ToolFinished,
    TurnRequested,
)
from orchestrator.domain.model_io import ModelReply, ModelRequest, ToolCall, ToolResult
from orchestrator.domain.plan import Plan, PlannedTask, Repository
from orchestrator.domain.run import Claim, ClaimRequest, Run
from orchestrator.domain.task import Assessment, Task
from orchestrator.domain.usage import Usage
from orchestrator.store.graph_store import GraphStore

T0 = datetime(2026, 11, 21, 10, 0, 0, 123456, tzinfo=UTC)

Needs = Callable[[int], Sequence[int]]


def new_id(prefix: str) -> str:
    """An id that nobody else has."""
    return prefix + uuid.uuid4().hex[:12]


def new_plan(size: int, needs: Needs = lambda _: (), repository: Repository | None = None) -> Plan:
    """A ready plan of tasks t0, t1, …; `needs` says by index on which others each depends."""
    plan_id = new_id("p")
    tasks = tuple(PlannedTask(new_task(plan_id, index, needs(index)), new_assessment()) for index in range(size))
    return Plan(
        id=plan_id,
        repository=repository or Repository(new_id("r"), "/home/ada/shop", "", "main"),
        goal="Sell things",
        status="ready",
        base_commit="c0",
        created_at=T0,
        tasks=tasks,
        verification=("python -m pytest -q",),
    )


def new_task(plan_id: str, index: int, needs: Sequence[int]) -> Task:
    """One task with every kind of field set."""
    return Task(
        id=f"{plan_id}:t{index}",
        plan_id=plan_id,
        key=f"t{index}",
        title=f"Task {index}",
        prompt="Make the shop sell.",
        kind="simple",
        role="Backend engineer",
        qc_role="Reviewer",
        tool_call_budget=20,
        max_attempts=3,
        acceptance_criteria=("It sells", "It does not crash"),
        verification=("true",),
        verification_criteria={"security": ("no secrets",), "functionality": ()},
        allowed_paths=("shop/**",),
        files_read=("shop/api.py",),
        files_written=(f"shop/m{index}.py",),
        depends_on=tuple(f"t{need}" for need in needs),
    )


def new_assessment() -> Assessment:
    """A simple task's assessment."""
    return Assessment(
        score=27,
        band="simple",
        estimated_tool_calls=27,
        files_written=1,
        files_read=1,
        acceptance_criteria=2,
        edge_cases=0,
        dependencies=0,
        verification_commands=1,
        threshold=50,
    )


def new_run(plan: Plan, at: datetime = T0) -> Run:
    """A run over the plan."""
    return Run(
        id=new_id("u"),
        plan_id=plan.id,
        status="running",
        started_at=at,
        parallelism=1,
        settings_json="{}",
        branch="orchestrate/x",
        base_commit="c0",
        head_commit="c0",
        sandbox_level="none",
        version="0.1.0",
    )


def opened(graph: GraphStore, size: int, needs: Needs = lambda _: ()) -> tuple[Plan, Run]:
    """A stored plan with an open run."""
    plan = new_plan(size, needs)
    graph.store_plan(plan)
    return plan, graph.open_run(new_run(plan))


def request(run: Run, owner: str = "me", keys: tuple[str, ...] | None = None, at: datetime = T0) -> ClaimRequest:
    """A claim request with a lease of a minute."""
    return ClaimRequest(
        run_id=run.id, plan_id=run.plan_id, owner=owner, at=at, lease_until=at + timedelta(seconds=60), keys=keys
    )


def claimed(graph: GraphStore, run: Run, owner: str = "me", keys: tuple[str, ...] | None = None) -> Claim:
    """A claim that must succeed."""
    claim = graph.claim(request(run, owner, keys))
    assert claim is not None
    return claim


def attempt_owner(claim: Claim) -> Owner:
    """Who records for a claim."""
    return Owner("Attempt", claim.attempt_id, claim.attempt_id, claim.fence)


def accepted(claim: Claim, head: tuple[str, str] | None = None) -> AttemptResult:
    """The conclusion of an attempt that passed; `head` moves the run's head."""
    before, after = head or (None, None)
    return AttemptResult(
        attempt_status="accepted",
        stop_reason="accepted",
        stop_detail="",
        task_status="completed",
        task_stop_reason="completed",
        at=T0 + timedelta(minutes=5),
        duration_ms=300_000.0,
        usage=Usage(
            tool_call_count=2,
            turn_count=1,
            prompt_tokens=100,
            cached_tokens=80,
            cache_write_tokens=10,
            completion_tokens=20,
            reasoning_tokens=15,
            cost_usd=0.25,
        ),
        files_changed=1,
        lines_changed=3,
        worker_output="Done.",
        tree_after="tree9",
        decision=Decision("complete", "check1", ("all gates passed",), (), 1, "pass1", T0),
        commit=after,
        head_before=before,
    )


def unfinished(task_status: str = "pending", reason: str = "gave_up") -> AttemptResult:
    """The conclusion of an attempt that gave up; the task may be tried again, or `failed`."""
    assert task_status in ("pending", "failed")
    return AttemptResult(
        attempt_status="failed",
        stop_reason=reason,
        stop_detail="I cannot",
        task_status="failed" if task_status == "failed" else "pending",
        task_stop_reason="attempts_exhausted" if task_status == "failed" else None,
        at=T0 + timedelta(minutes=5),
        duration_ms=1.5,
        usage=Usage(cost_usd=None),
    )


def complete(graph: GraphStore, claim: Claim) -> None:
    """Take a claimed task all the way to completed."""
    graph.await_review(claim, "Done.", "tree9", T0)
    assert graph.conclude(claim, accepted(claim))


def statuses(graph: GraphStore, plan: Plan) -> dict[str, str]:
    """Each task's status by key."""
    return {state.task.key: state.status for state in graph.tasks(plan.id)}


def call(seq: int, tool: str = "write_file", **changes: Any) -> ToolCall:
    """A requested call."""
    fields: dict[str, Any] = {
        "seq": seq,
        "call_id": f"call_{seq}",
        "tool": tool,
        "arguments_json": '{"path":"shop/m.py"}',
        "signature": f"s{seq}",
        "mutating": True,
        "pure": False,
        "control": False,
        "writes_to": ("shop/m.py",),
    }
    return ToolCall(**fields | changes)


def attempt_summary(**changes: Any) -> AttemptSummary:
    """A first attempt that its gate rejected, as the graph tells it."""
    summary = AttemptSummary(
        id="t:1",
        task_key="t",
        run_id="r",
        number=1,
        status="rejected",
        stage=1,
        stop_reason="gate_failed",
        stop_detail="Two checks failed.",
        started_at=T0,
        last_event_at=T0,
        finished_at=T0,
        model="m",
        tool_call_budget=20,
        tree_before=None,
        tree_after=None,
        worker_output="I did it.",
        commit=None,
        usage=Usage(),
    )
    return replace(summary, **changes)


def turn(seq: int, at: datetime = T0, counters: GuardCounters | None = None, **changes: Any) -> TurnRequested:
    """A requested turn."""
    fields: dict[str, Any] = {
        "model": "m1",
        "reserved_tokens": 900,
        "reserved_usd": 0.5,
        "window_messages": 4,
        "window_tokens": 640,
    }
    request = ModelRequest(**fields | changes)
    return TurnRequested(seq=seq, at=at, request=request, counters=counters or GuardCounters())


def reply(
    seq: int, calls: tuple[ToolCall, ...] = (), at: datetime = T0, *, failed: bool = False, **changes: Any
) -> ReplyReceived:
    """A reply that asks for `calls`."""
    fields: dict[str, Any] = {
        "text": "I begin.",
        "calls": calls,
        "prompt_tokens": 100,
        "cached_tokens": 60,
        "cache_write_tokens": 30,
        "completion_tokens": 20,
        "reasoning_tokens": 8,
        "cost_usd": 0.125,
        "latency_ms": 12.5,
        "finish_reason": "tool_calls",
        "model": "m1-2026",
    }
    answer = ModelReply(**fields | changes)
    return ReplyReceived(seq=seq, at=at, reply=answer, failed=failed)


def finished(
    asked: ToolCall,
    at: datetime = T0,
    *,
    status: CallStatus = "ok",
    tree_after: str | None = None,
    writes: tuple[FileWrite, ...] = (),
    **changes: Any,
) -> ToolFinished:
    """A call's end."""
    fields: dict[str, Any] = {"text": "fine", "outcome_hash": "o1", "duration_ms": 1.5}
    result = ToolResult(**fields | changes)
    return ToolFinished(at=at, call=asked, status=status, result=result, tree_after=tree_after, writes=writes)
