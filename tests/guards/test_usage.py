"""Tokens, dollars and time of one attempt: reserve then commit, and what counts for no deadline."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from orchestrator.domain.events import ReplyReceived, Resumed, ToolRequested, TurnRequested
from orchestrator.domain.model_io import ModelRequest
from orchestrator.domain.verdict import Stop, Verdict, Warn
from orchestrator.guards.guard_set import GuardSet, replay
from orchestrator.guards.limits import GuardLimits
from tests.support.guard_scripts import START, call, reply


def _guards(**limits: float) -> GuardSet:
    return GuardSet.begin(GuardLimits(deadline_s=None).model_copy(update=limits), 1000, ())


def _turn(
    seq: int, *, tokens: int = 0, usd: float | None = 0.0, seconds: float = 0, withheld: bool = False
) -> TurnRequested:
    return TurnRequested(
        seq=seq,
        at=START + timedelta(seconds=seconds),
        request=ModelRequest(
            model="m",
            reserved_tokens=tokens,
            reserved_usd=usd,
            window_messages=1,
            window_tokens=1,
            tools_withheld=withheld,
        ),
    )


def _reply(
    seq: int, *, tokens: int = 0, usd: float | None = 0.0, seconds: float = 0, wait_ms: float = 0
) -> ReplyReceived:
    event = reply(seq, (call("read_file", seq),), START + timedelta(seconds=seconds), tokens=tokens)
    return replace(event, reply=replace(event.reply, cost_usd=usd, wait_ms=wait_ms))


def _stop(verdict: Verdict) -> Stop:
    assert isinstance(verdict, Stop), verdict
    return verdict


def test_tokens_are_reserved_before_and_committed_after() -> None:
    """Tokens: a turn that could exceed the limit is not sent; what was reserved and not used is free again."""
    guard_set = _guards(max_tokens=1000)
    guard_set, verdict = guard_set.observe(_turn(1, tokens=900))
    guard_set, _ = guard_set.observe(_reply(1, tokens=100))
    guard_set, verdict = guard_set.observe(_turn(2, tokens=900))
    assert guard_set.stopped is None
    guard_set, _ = guard_set.observe(_reply(2, tokens=101))
    guard_set, verdict = guard_set.observe(_turn(3, tokens=900))
    stop = _stop(verdict)
    assert (stop.code, stop.observed, stop.limit) == ("token_limit", 1101, 1000)
    assert "1101" in stop.message
    assert "1000" in stop.message


def test_an_unsettled_turn_counts_in_full() -> None:
    """Tokens: a crash between request and reply refills nothing."""
    guard_set = _guards(max_tokens=1000)
    guard_set, _ = guard_set.observe(_turn(1, tokens=600))
    guard_set, _ = guard_set.observe(Resumed(at=START, last_event_at=START))
    _, verdict = guard_set.observe(_turn(2, tokens=600))
    assert _stop(verdict).observed == 1200


def test_spending_warns_at_80_and_95_percent_once_each() -> None:
    """Tokens, cost: the same warnings as the budget's, with what is left."""
    guard_set, warnings = _guards(max_cost_usd=1.0), []
    for seq in range(1, 100):
        for event in (_turn(seq), _reply(seq, usd=0.01)):
            guard_set, verdicts = guard_set.judge(event)
            warnings += [v for v in verdicts if isinstance(v, Warn) and v.guard == "cost"]
    assert [round(w.observed, 2) for w in warnings] == [0.8, 0.95]


def test_an_unknown_price_refuses_at_the_start_under_a_cost_limit_only() -> None:
    """Cost: an unknown price is a state of its own."""
    _, verdict = _guards(max_cost_usd=5).observe(_turn(1, usd=None))
    assert _stop(verdict).code == "cost_limit"
    assert "unknown price" in _stop(verdict).message
    guard_set, _ = _guards(max_tokens=100).observe(_turn(1, usd=None))
    assert guard_set.stopped is None


def test_the_deadline_warns_and_stops_before_the_next_turn() -> None:
    """Deadline: elapsed time from the first turn on."""
    guard_set, _ = _guards(deadline_s=100).observe(_turn(1))
    guard_set, verdict = guard_set.observe(_reply(1, seconds=80))
    assert isinstance(verdict, Warn)
    guard_set, _ = guard_set.observe(_reply(1, seconds=120))
    assert guard_set.stopped is None
    _, verdict = guard_set.observe(_turn(2, seconds=121))
    assert (_stop(verdict).code, _stop(verdict).observed) == ("deadline", 121)


def test_the_call_that_finishes_is_heard_after_the_deadline() -> None:
    """Deadline: it stops before further work, not before the end of it."""
    guard_set, _ = _guards(deadline_s=100).observe(_turn(1))
    late = START + timedelta(seconds=200)
    guard_set, _ = guard_set.observe(ToolRequested(at=late, turn_seq=1, call=call("finish_task")))
    assert guard_set.stopped is None
    guard_set, _ = guard_set.observe(ToolRequested(at=late, turn_seq=1, call=call("read_file", 1)))
    assert guard_set.stopped is not None


def test_time_between_a_death_and_resumed_counts_for_no_deadline() -> None:
    """Deadline: a night between two processes is no working time."""
    guard_set, _ = _guards(deadline_s=100).observe(_turn(1))
    resumed = Resumed(at=START + timedelta(seconds=10_010), last_event_at=START + timedelta(seconds=10))
    guard_set, _ = guard_set.observe(resumed)
    guard_set, _ = guard_set.observe(_turn(2, seconds=10_050))
    assert guard_set.stopped is None
    guard_set, _ = guard_set.observe(_turn(3, seconds=10_100))
    assert guard_set.stopped is not None


def test_waiting_for_rate_limits_is_no_working_time() -> None:
    """Deadline: working time leaves waitMs out, elapsed time does not."""
    for limits, stopped in (({"working_time_s": 100.0}, False), ({"deadline_s": 100.0}, True)):
        guard_set, _ = _guards(**limits).observe(_turn(1))
        guard_set, _ = guard_set.observe(_reply(1, seconds=150, wait_ms=90_000))
        guard_set, _ = guard_set.observe(_turn(2, seconds=151))
        assert (guard_set.stopped is not None) is stopped


def _shares(guard_set: GuardSet, *events: TurnRequested | ReplyReceived) -> list[tuple[str, float]]:
    told = []
    for event in events:
        guard_set, verdicts = guard_set.judge(event)
        told += [(v.guard, round(v.observed / v.limit, 2)) for v in verdicts if isinstance(v, Warn)]
    return told


def test_what_a_turn_reserves_is_warned_of() -> None:
    """Settled and reserved together cross 80 %, once, whatever the turn then costs."""
    events = (_turn(1, tokens=850), _reply(1, tokens=10), _turn(2, tokens=850), _reply(2, tokens=10))
    assert _shares(_guards(max_tokens=1000), *events) == [("tokens", 0.85)]


def test_a_turn_that_jumps_over_both_shares_is_warned_of_twice() -> None:
    """80 and 95 % are each told once, also when one turn crosses both."""
    events = (_turn(1, tokens=960), _reply(1, tokens=10), _turn(2, tokens=960), _reply(2, tokens=10))
    assert _shares(_guards(max_tokens=1000), *events) == [("tokens", 0.96), ("tokens", 0.96)]
    late = (_turn(1), _reply(1, seconds=97), _turn(2, seconds=98), _reply(2, seconds=99))
    assert _shares(_guards(deadline_s=100), *late) == [("deadline", 0.97), ("deadline", 0.98)]


FINISHES = (("finish_task", None), ("give_up", None), ("read_file", "token_limit"), ("report_progress", "token_limit"))


@pytest.mark.parametrize(("tool", "code"), FINISHES)
def test_the_last_turn_that_fits_is_the_finishing_one(tool: str, code: str | None) -> None:
    """Tools are withheld when no further turn is going to fit; in that turn only finishing is heard."""
    guard_set = _guards(max_tokens=1000)
    for seq in (1, 2):
        assert not guard_set.withholds_tools
        for event in (_turn(seq, tokens=500), _reply(seq, tokens=200)):
            guard_set, _ = guard_set.judge(event)
    assert guard_set.withholds_tools  # 400 + 200 + 500 > 1000
    guard_set, _ = guard_set.judge(_turn(3, tokens=500, withheld=True))
    assert guard_set.stopped is None
    guard_set, verdict = guard_set.observe(reply(3, (call(tool),), START, tokens=100))
    assert (guard_set.stopped.code if guard_set.stopped else None) == code
    if code:
        assert _stop(verdict).observed == 1100
        assert tool in _stop(verdict).message


def test_dollars_have_their_finishing_turn_too() -> None:
    """Cost."""
    guard_set = _guards(max_cost_usd=1.0)
    for seq in (1, 2, 3):
        assert not guard_set.withholds_tools
        for event in (_turn(seq, usd=0.3), _reply(seq, usd=0.2)):
            guard_set, _ = guard_set.judge(event)
    assert guard_set.withholds_tools
    guard_set, _ = guard_set.judge(_turn(4, usd=0.3, withheld=True))
    assert guard_set.stopped is None
    assert _stop(guard_set.judge(_reply(4, usd=0.1))[1][0]).code == "cost_limit"


@pytest.mark.parametrize(("limits", "wait_ms"), [({"deadline_s": 100.0}, 0), ({"working_time_s": 70.0}, 30_000)])
def test_time_has_its_finishing_turn_too(limits: dict[str, float], wait_ms: float) -> None:
    """A turn as long as the last one would end behind the limit; waits do not count for working time."""
    guard_set = _guards(**limits)
    for event in (_turn(1), _reply(1, seconds=40, wait_ms=wait_ms)):
        guard_set, _ = guard_set.judge(event)
    assert not guard_set.withholds_tools
    for event in (_turn(2, seconds=40), _reply(2, seconds=80)):
        guard_set, _ = guard_set.judge(event)
    assert guard_set.withholds_tools
    guard_set, _ = guard_set.judge(_turn(3, seconds=81, withheld=True))
    assert guard_set.stopped is None
    guard_set, verdict = guard_set.observe(_reply(3, seconds=82))
    assert (_stop(verdict).code, _stop(verdict).guard) == ("deadline", "deadline")


def test_a_deadline_tells_what_is_left_of_it() -> None:
    """Deadline: the nearer of elapsed and working time, None without a bound."""
    guard_set, _ = _guards(deadline_s=100, working_time_s=60).observe(_turn(1))
    guard_set, _ = guard_set.observe(_reply(1, seconds=20, wait_ms=5_000))
    assert guard_set.seconds_left(START + timedelta(seconds=30)) == 35
    assert _guards().seconds_left(START) is None


@given(st.lists(st.tuples(st.integers(1, 300), st.integers(0, 300), st.integers(0, 30)), min_size=1, max_size=40))
def test_the_bounds_are_hard_and_replay_agrees(turns: list[tuple[int, int, int]]) -> None:
    """Whatever turns use of what they reserved, nothing exceeds the limit, each share is told once,
    and the GuardSet folded again from what was recorded is the live one."""
    guard_set = begun = _guards(max_tokens=1000, deadline_s=600)
    events: list[TurnRequested | ReplyReceived] = []
    told: list[tuple[str, object]] = []
    seconds = 0.0
    for number, (most, used, lasted) in enumerate(turns, start=1):
        pair = (
            _turn(number, tokens=most, seconds=seconds, withheld=guard_set.withholds_tools),
            _reply(number, tokens=min(used, most), seconds=seconds + lasted),
        )
        seconds += lasted
        for event in pair:
            guard_set, verdicts = guard_set.judge(event)
            events.append(event)
            bounds = (v for v in verdicts if isinstance(v, Warn) and v.guard in ("tokens", "deadline"))
            told += [(v.guard, v.evidence["share"]) for v in bounds]
            if guard_set.stopped is not None:
                break
        if guard_set.stopped is not None:
            break
    assert len(set(told)) == len(told)
    assert (
        sum(e.reply.prompt_tokens + e.reply.completion_tokens for e in events if isinstance(e, ReplyReceived)) <= 1000
    )
    assert replay(begun, events) == guard_set
