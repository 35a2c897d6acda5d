"""One of every event, in the portions in which the engine records them."""

from __future__ import annotations

from datetime import timedelta

from orchestrator.domain.events import (
    BudgetDecided,
    Compacted,
    Event,
    FileWrite,
    Finished,
    ProgressReported,
    Resumed,
    ScopeDecided,
    ToolRequested,
)
from tests.support.samples import T0, call, finished, reply, turn


def long_story() -> list[list[Event]]:
    """One of everything, in the portions in which the engine records."""
    at = [T0 + timedelta(milliseconds=step) for step in range(20)]
    write, again, report = call(2), call(3), call(4, "report_progress", control=True, mutating=False, writes_to=())
    broken = call(8, "nonsense", mutating=False, defect="There is no tool nonsense.", arguments_json="{not json")
    budget, scope = call(9, "request_budget", control=True), call(11, "request_scope", control=True)
    cut_off = call(14, "run_command", pure=False)
    written = (
        FileWrite(path="shop/z.py", added=3, removed=0, blob="b1", before="b0"),
        FileWrite(path="shop/a b ü.py", added=0, removed=9, blob="", substantive=False),
    )
    compacted = turn(
        6,
        at[5],
        compacted=True,
        window_tokens=320,
        uncompacted_tokens=900,
        token_cap=400,
        tools_withheld=True,
        reserved_usd=0.0,
    )
    return [
        [Resumed(at=at[0], last_event_at=T0 - timedelta(hours=1)), turn(1, at[0], reserved_usd=None)],
        [reply(1, (write, again, report), at[1]), ToolRequested(at=at[1], turn_seq=1, call=write)],
        [
            finished(write, at[2], tree_after="tree1", writes=written),
            ToolRequested(at=at[2], turn_seq=1, call=again, duplicate_of=2),
            finished(again, at[3], status="duplicate"),
            ToolRequested(at=at[3], turn_seq=1, call=report),
            ProgressReported(
                seq=5,
                at=at[3],
                call_seq=4,
                at_tool_call=2,
                description="half way",
                tree_after="tree1",
                findings_hash="f0",
            ),
            finished(report, at[4]),
            Compacted(at=at[5], request=compacted.request),
            compacted,
        ],
        [
            reply(6, (broken, budget, scope), at[6], text="", cost_usd=None, estimated=True, wait_ms=3.25),
            ToolRequested(at=at[6], turn_seq=6, call=broken),
            finished(broken, at[7], status="error", error_kind="malformed", error_hash="e1"),
            ToolRequested(at=at[7], turn_seq=6, call=budget),
            BudgetDecided(
                seq=10,
                at=at[7],
                call_seq=9,
                additional=10,
                justification="more, please",
                granted=True,
                granted_calls=0,
                decided_by="pm",
                reason="",
            ),
            finished(budget, at[8], status="refused"),
            ToolRequested(at=at[8], turn_seq=6, call=scope),
            ScopeDecided(
                seq=12,
                at=at[8],
                call_seq=11,
                paths=("lib/**", "x"),
                justification="there",
                granted=False,
                decided_by="rule",
                reason="no",
            ),
            finished(scope, at[9]),
        ],
        [turn(13, at[10])],
        [reply(13, (cut_off,), at[11], failed=False), ToolRequested(at=at[12], turn_seq=13, call=cut_off)],
        [turn(15, at[13])],
        [reply(15, (), at[14], text="connection reset", failed=True, finish_reason="error")],
        [turn(16, at[15])],
        [Finished(at=at[16], reason="model_error")],
    ]
