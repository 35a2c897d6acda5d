"""The execution budget and the request bound."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from orchestrator.domain.events import ReplyReceived, ToolRequested
from orchestrator.domain.model_io import ToolCall
from orchestrator.domain.verdict import Warn
from orchestrator.guards.guard_set import GuardSet
from tests.support.guard_scripts import LIMITS, START, call, choke


def test_budget_with_5_left_of_a_batch_of_20_executes_5_and_refuses_15() -> None:
    """95 of 100 used and a batch of 20 means 5 executed, 15 refused, 100 in all, and no stop yet."""
    run = choke(100).run([[call("read_file", n)] for n in range(95)])
    run.turn([call("read_file", 1000 + n) for n in range(20)])
    assert run.statuses[95:] == ["ok"] * 5 + ["refused"] * 15
    assert run.executed == run.guard_set.calls_executed == 100
    assert run.guard_set.stopped is None
    assert run.guard_set.withholds_tools


def test_budget_grants_one_finishing_turn_and_then_stops() -> None:
    """After a refused call one turn with tools withheld is granted; another call in it stops."""
    run = choke(3).run([[call("read_file", n)] for n in range(4)])
    assert run.statuses == ["ok", "ok", "ok", "refused"]
    assert run.guard_set.withholds_tools
    run.turn([call("read_file", 9)])
    assert run.code == "budget_exhausted"
    assert run.executed == 3


def test_budget_lets_the_worker_finish_in_the_finishing_turn() -> None:
    """finish_task in the finishing turn is free of the budget."""
    run = choke(3).run([[call("read_file", n)] for n in range(4)])
    run.turn([call("finish_task")])
    assert run.statuses[-1] == "ok"
    assert run.code is None


def test_budget_warns_once_at_80_and_once_at_95_percent() -> None:
    """80 of 100 warns once with used, limit and remaining, 95 once more, none is repeated."""
    run = choke(100).run([[call("read_file", n)] for n in range(100)])
    warnings = [w for w in run.warnings if w.guard == "budget"]
    assert [w.observed for w in warnings] == [80, 95]
    assert warnings[0].evidence == {"used": 80, "limit": 100, "remaining": 20}
    assert "20 remain" in warnings[0].message


def test_budget_warns_at_both_shares_when_one_batch_jumps_over_them() -> None:
    """Thresholds fire even if one batch jumps from 70 to 100."""
    run = choke(100).run([[call("read_file", n)] for n in range(70)])
    run.turn([call("read_file", 500 + n) for n in range(30)])
    assert run.warned("budget") == [80, 95]


def test_budget_grows_by_what_is_granted() -> None:
    """A grant adds exactly its calls, also after the budget was used up."""
    run = choke(2).run([[call("read_file", n)] for n in range(3)])
    run.grant(2)
    run.run([[call("read_file", 10 + n)] for n in range(5)])
    assert run.executed == 4
    assert run.guard_set.budget == 4
    assert run.code == "budget_exhausted"


def test_duplicates_and_control_tools_are_free_but_count_as_requests() -> None:
    """Served duplicates and control tools use no execution budget, but at most 3 x N calls are asked for."""
    run = choke(4)
    run.run([[call("report_progress", n)] for n in range(20)])
    assert run.executed == 0
    assert run.code == "request_limit"
    assert run.guard_set.counters.requests_used == 12


def test_the_call_that_finishes_is_allowed_at_the_request_bound() -> None:
    """Requests: at 3 x N tools are withheld, and finish_task is still heard."""
    run = choke(2).run([[call("report_progress", n)] for n in range(6)])
    assert run.guard_set.withholds_tools
    run.turn([call("finish_task")])
    assert run.code is None


def test_identical_calls_of_one_reply_count_once() -> None:
    """157 identical calls in a batch are one execution and one request, every call answered."""
    run = choke(10)
    run.turn([call("pct", 13)] * 157)
    assert run.statuses == ["ok"] + ["duplicate"] * 156
    assert (run.executed, run.guard_set.counters.requests_used) == (1, 1)


def test_calls_running_at_once_cannot_exceed_the_budget_together() -> None:
    """Three reads requested before any result, with two calls left: the third is refused."""
    guard_set = GuardSet.begin(LIMITS, 2, ())
    for seq in (2, 3, 4):
        guard_set, verdict = guard_set.observe(ToolRequested(at=START, turn_seq=1, call=call("read_file", seq)))
    assert type(verdict).__name__ == "Refuse"
    assert guard_set.calls_executed == 2


def test_a_refused_or_malformed_call_is_not_executed() -> None:
    """Budget: what the scope guard refuses or what cannot be parsed uses no execution budget."""
    run = choke(10, allowed=("src/**",))
    run.turn([call("write_file", "etc/x"), call("read_file", 1), call("read_file", 2, defect="not JSON")])
    assert run.statuses == ["refused", "ok", "error"]
    assert run.guard_set.calls_executed == 1


BEYOND = {
    "a served duplicate": call("read_file", 0),
    "a report": call("report_progress", "on it"),
    "a request for more": call("request_budget", 5),
    "a defective call": call("read_file", "x", defect="not JSON"),
}


@pytest.mark.parametrize("each", BEYOND.values(), ids=BEYOND)
def test_at_100_percent_every_call_that_does_not_finish_is_one_beyond_the_budget(each: ToolCall) -> None:
    """With the tools withheld a duplicate, a control tool and a defective call are refused as call N+1 is, and
    after the granted turn the next one stops."""
    run = choke(3).run([[call("read_file", n)] for n in range(3)])
    run.turn([each])
    assert (run.statuses[-1], run.code) == ("refused", None)
    run.turn([each])
    assert (run.code, run.executed) == ("budget_exhausted", 3)


def test_cached_reads_and_reports_do_not_prolong_a_used_up_budget() -> None:
    """After call N a worker gets two more turns, whatever it asks for in them."""
    cached = [[call("read_file", n % 10)] for n in range(40)]
    reports = [[call("report_progress", n)] for n in range(40)]
    for asked in (cached, reports):
        run = choke(20).run([*([call("read_file", n)] for n in range(20)), *asked])
        assert run.code == "budget_exhausted"
        assert sum(isinstance(event, ReplyReceived) for event in run.events) == 22


def test_more_may_be_asked_for_in_the_reply_that_used_up_the_budget() -> None:
    """request_budget beside call N is heard, because its turn had its tools; a grant re-opens."""
    run = choke(2)
    run.turn([call("read_file", 1), call("read_file", 2), call("read_file", 3), call("request_budget", 2)])
    assert run.statuses == ["ok", "ok", "refused", "ok"]
    run.grant(2)
    assert not run.guard_set.withholds_tools
    run.run([[call("read_file", 3)], [call("report_progress", 1)], [call("read_file", 4)]])
    assert (run.statuses[4:], run.code) == (["ok"] * 3, None)


def test_finishing_badly_in_the_granted_turn_is_not_a_call_beyond_the_budget() -> None:
    """finish_task with arguments that do not parse is answered as such, and may be tried again."""
    run = choke(2).run([[call("read_file", n)] for n in range(3)])
    run.turn([call("finish_task", "{", defect="not JSON")])
    run.turn([call("finish_task")])
    assert (run.statuses[-2:], run.code) == (["error", "ok"], None)


@given(budget=st.integers(1, 40), batches=st.lists(st.integers(0, 15), max_size=20), grants=st.lists(st.integers(0, 9)))
def test_no_history_executes_more_than_budget_and_grants(budget: int, batches: list[int], grants: list[int]) -> None:
    """Whatever is asked in whatever batches, executed calls never exceed the budget plus the grants."""
    run, number = choke(budget), 0
    for index, size in enumerate(batches):
        run.run([[call("read_file", number + n) for n in range(size)]])
        number += size
        if index < len(grants) and run.guard_set.stopped is None:
            run.grant(grants[index])
    assert run.executed <= budget + sum(grants[: len(batches)])
    assert sum(isinstance(w, Warn) and w.guard == "budget" for w in run.verdicts) <= 2 * (1 + len(grants))
