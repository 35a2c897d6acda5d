"""Turns: whatever is asked for in them, and whatever it costs in calls, there are so many."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from orchestrator.domain.events import Event, ReplyReceived, Resumed, TurnRequested
from orchestrator.domain.model_io import FinishReason, ToolCall
from orchestrator.domain.verdict import Allow, Refuse, Stop
from orchestrator.guards.guard_set import GuardSet, replay
from orchestrator.guards.limits import GuardLimits
from orchestrator.guards.turns import TurnGuard, turns_for
from tests.support.guard_scripts import START, Choke, call, choke, reply
from tests.support.samples import turn

SIX = GuardLimits(max_turns=6)
READS = [[call("read_file", n)] for n in range(200)]
EVER = 99
CHEAP = st.lists(
    st.sampled_from(
        [call("read_file", n) for n in range(4)]
        + [call("report_progress", n) for n in range(4)]
        + [call("write_file", "elsewhere"), call("read_file", "x", defect="not JSON")]
    ),
    max_size=3,
)


def replies(run: Choke) -> int:
    """The replies that the model made."""
    return sum(isinstance(event, ReplyReceived) and not event.failed for event in run.events)


def folded(guard: TurnGuard, events: Sequence[Event]) -> TurnGuard:
    """The guard alone after the events, none of which stopped."""
    for event in events:
        guard, verdict = guard.observe(event)
        assert not isinstance(verdict, Stop)
    return guard


@pytest.mark.parametrize(("budget", "turns"), [(1, 11), (20, 30), (50, 60), (51, 62), (100, 120), (150, 180)])
def test_the_limit_goes_with_the_budget_of_calls(budget: int, turns: int) -> None:
    """A fifth more, rounded up, and at least ten more; for reviews and planning rounds as for attempts."""
    assert turns_for(budget) == turns
    for role in ("worker", "verifier", "planner"):
        assert GuardSet.begin(GuardLimits(), budget, (), role=role).counters.turns_limit == turns


def test_a_limit_of_its_own_is_the_attempts_alone() -> None:
    """`max_turns` bounds attempts; a review has what goes with its budget."""
    assert GuardSet.begin(SIX, 20, ()).counters.turns_limit == 6
    assert GuardSet.begin(SIX, 20, (), role="verifier").counters.turns_limit == 30


def test_a_single_turn_is_no_limit() -> None:
    """The last turn is only to finish in, so that there must be one before it."""
    with pytest.raises(ValidationError, match="greater than or equal to 2"):
        GuardLimits(max_turns=1)


def test_the_last_turn_has_its_tools_withheld_and_may_finish() -> None:
    """Five of six are used: the sixth finishes, and what it asks for beside that is refused."""
    run = choke(limits=SIX).run(READS[:4])
    offered = [run.guard_set.withholds_tools]
    offered.append(run.run(READS[4:5]).guard_set.withholds_tools)
    assert offered == [False, True]
    run.turn([call("read_file", 5), call("finish_task")])
    assert (run.statuses[-2:], run.code) == (["refused", "ok"], None)


@pytest.mark.parametrize(
    "last",
    [[], [call("read_file", 9)], [call("request_budget", 9)], [call("finish_task", "{", defect="not JSON")]],
    ids=["a text", "a call", "a request for more", "finishing badly"],
)
def test_a_last_turn_that_does_not_finish_stops(last: list[ToolCall]) -> None:
    """Nothing that it asks for is executed."""
    run = choke(limits=SIX).run([*READS[:5], last])
    assert (run.code, run.executed, replies(run)) == ("turn_limit", 5, 6)


def test_a_turn_beyond_the_limit_is_not_sent() -> None:
    """Where the tools of the last turn were not withheld, as in an attempt that had other limits, the next one stops,
    before it is sent."""
    guard = folded(TurnGuard((), 1, own=2), [turn(1), reply(1, ()), turn(2), reply(2, ())])
    _, verdict = guard.observe(turn(3))
    assert isinstance(verdict, Stop)
    assert (verdict.code, verdict.observed, verdict.limit) == ("turn_limit", 2, 2)


def test_turns_warn_once_at_each_share() -> None:
    """At the shares of the budget, with what is left."""
    run = choke(20).run([[call("report_progress", n)] for n in range(29)])
    assert run.warned("turns") == [24, 29]
    assert "6 remain" in next(w.message for w in run.warnings if w.guard == "turns")


@pytest.mark.parametrize(("limits", "grown"), [(GuardLimits(), 45), (SIX, 16)], ids=["by the budget", "its own"])
def test_a_grant_of_calls_enlarges_the_turns(limits: GuardLimits, grown: int) -> None:
    """25 calls and 10 granted are 35 calls, and so many turns; its own limit grows by the calls."""
    run = choke(25, limits=limits).run(READS[:5])
    run.grant(10)
    counters = run.guard_set.counters
    assert (counters.turns_used, counters.turns_limit, run.guard_set.withholds_tools) == (5, grown, False)


@pytest.mark.parametrize("finish_reason", ["error", "lost", "not_sent"])
def test_a_request_without_a_reply_is_no_turn(finish_reason: FinishReason) -> None:
    """It failed, its reply was lost or it was never sent: the model made nothing of it."""
    asked = turn(1)
    failed = ReplyReceived.without_reply(asked, "it failed", START)
    failed = replace(failed, reply=replace(failed.reply, finish_reason=finish_reason))
    guard = folded(TurnGuard((), 1, own=2), [asked, failed] * 9)
    assert (guard.used, guard.withholds_tools) == (0, False)


def test_a_paused_reply_is_a_turn() -> None:
    """The model made it."""
    paused = reply(1, ())
    paused = replace(paused, reply=replace(paused.reply, finish_reason="pause"))
    assert folded(TurnGuard((), 1), [turn(1), paused]).used == 1


def test_a_successor_has_the_turns_that_are_left() -> None:
    """Killed after four of six, again and again, also within a request: the rebuilt set is the live one, and none of
    them refills anything."""
    run = choke(limits=SIX).run(READS[:4])
    for _ in range(3):
        run.judge(Resumed(at=START, last_event_at=START))
        run.judge(TurnRequested(seq=0, at=START, request=turn(1).request))
    assert (run.guard_set.counters.turns_used, run.guard_set.counters.turns_limit) == (4, 6)
    assert replay(choke(limits=SIX).guard_set, run.events) == run.guard_set
    assert run.run(READS[10:]).code == "turn_limit"
    assert replies(run) == 6


def test_cached_files_read_in_no_order_for_ever_end() -> None:
    """At a budget of 50 nine files read over and over, with talk between, take 60 turns at most."""
    chance = random.Random(1)
    asked = [[call("read_file", chance.randrange(9))] if chance.random() < 0.7 else [] for _ in range(EVER)]
    for quiet in (GuardLimits(), GuardLimits(no_news_stop=EVER, no_news_warn=EVER, no_action_turns=EVER)):
        run = choke(50, limits=quiet).run(asked)
        assert run.code is not None and replies(run) <= 60
    assert run.code == "turn_limit"


@given(budget=st.integers(1, 30), own=st.none() | st.integers(2, 40), turns=st.lists(CHEAP, max_size=80))
def test_no_history_has_more_turns_than_its_limit(budget: int, own: int | None, turns: list[list[ToolCall]]) -> None:
    """Whatever is asked for: without a grant the limit is that of the beginning, and no reply comes after it."""
    run = choke(budget, allowed=("src/**",), limits=GuardLimits(max_turns=own))
    limit = run.guard_set.counters.turns_limit
    run.run(turns)
    assert run.guard_set.counters.turns_limit == limit == (own or turns_for(budget))
    assert replies(run) == run.guard_set.counters.turns_used <= limit
    assert replay(choke(budget, allowed=("src/**",), limits=GuardLimits(max_turns=own)).guard_set, run.events) == (
        run.guard_set
    )


@given(budget=st.integers(1, 200), tools=st.lists(st.sampled_from(["read_file", "search", "run_command"]), max_size=40))
def test_one_call_a_turn_within_the_budget_is_never_held_back(budget: int, tools: list[str]) -> None:
    """Work that brings something new in each turn is bounded by its calls, not by its turns."""
    guard = TurnGuard((0.8, 0.95), budget)
    for number, tool in enumerate(tools[:budget]):
        asked = replace(call(tool, number), seq=2 * number + 2)
        for event in (turn(2 * number + 1), reply(2 * number + 1, (asked,))):
            guard, verdict = guard.observe(event)
            assert not isinstance(verdict, Stop | Refuse)
            assert isinstance(verdict, Allow) or number + 1 >= 0.8 * guard.limit
        assert not guard.withholds_tools
