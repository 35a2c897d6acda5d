"""Tokens, dollars and time of one attempt: reserve then commit, and what counts for no deadline."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

from orchestrator.domain.events import ReplyReceived, Resumed, ToolRequested, TurnRequested
from orchestrator.domain.verdict import Stop, Verdict, Warn
from orchestrator.guards.limits import GuardLimits
from orchestrator.guards.panel import Panel
from tests.guards.scripts import START, call, reply


def _panel(**limits: float) -> Panel:
    return Panel.begin(GuardLimits(deadline_s=None).model_copy(update=limits), 1000, ())


def _turn(seq: int, *, tokens: int = 0, usd: float | None = 0.0, seconds: float = 0) -> TurnRequested:
    return TurnRequested(seq, START + timedelta(seconds=seconds), "m", tokens, usd, 1, 1)


def _reply(
    seq: int, *, tokens: int = 0, usd: float | None = 0.0, seconds: float = 0, wait_ms: float = 0
) -> ReplyReceived:
    event = reply(seq, (call("read_file", seq),), START + timedelta(seconds=seconds), tokens=tokens)
    return replace(event, cost_usd=usd, wait_ms=wait_ms)


def _stop(verdict: Verdict) -> Stop:
    assert isinstance(verdict, Stop), verdict
    return verdict


def test_tokens_are_reserved_before_and_committed_after() -> None:
    """Tokens: a turn that could exceed the limit is not sent; what was reserved and not used is free again."""
    panel = _panel(max_tokens=1000)
    panel, verdict = panel.observe(_turn(1, tokens=900))
    panel, _ = panel.observe(_reply(1, tokens=100))
    panel, verdict = panel.observe(_turn(2, tokens=900))
    assert panel.stopped is None
    panel, _ = panel.observe(_reply(2, tokens=101))
    panel, verdict = panel.observe(_turn(3, tokens=900))
    stop = _stop(verdict)
    assert (stop.code, stop.observed, stop.limit) == ("token_limit", 1101, 1000)
    assert "1101" in stop.message
    assert "1000" in stop.message


def test_an_unsettled_turn_counts_in_full() -> None:
    """Tokens: a crash between request and reply refills nothing."""
    panel = _panel(max_tokens=1000)
    panel, _ = panel.observe(_turn(1, tokens=600))
    panel, _ = panel.observe(Resumed(START, START))
    _, verdict = panel.observe(_turn(2, tokens=600))
    assert _stop(verdict).observed == 1200


def test_spending_warns_at_80_and_95_percent_once_each() -> None:
    """Tokens, cost: the same warnings as the budget's, with what is left."""
    panel, warnings = _panel(max_cost_usd=1.0), []
    for seq in range(1, 100):
        for event in (_turn(seq), _reply(seq, usd=0.01)):
            panel, verdicts = panel.judge(event)
            warnings += [v for v in verdicts if isinstance(v, Warn) and v.guard == "cost"]
    assert [round(w.observed, 2) for w in warnings] == [0.8, 0.95]


def test_an_unknown_price_refuses_at_the_start_under_a_cost_limit_only() -> None:
    """Cost: an unknown price is a state of its own."""
    _, verdict = _panel(max_cost_usd=5).observe(_turn(1, usd=None))
    assert _stop(verdict).code == "cost_limit"
    assert "unknown price" in _stop(verdict).message
    panel, _ = _panel(max_tokens=100).observe(_turn(1, usd=None))
    assert panel.stopped is None


def test_the_deadline_warns_and_stops_before_the_next_turn() -> None:
    """Deadline: elapsed time from the first turn on."""
    panel, _ = _panel(deadline_s=100).observe(_turn(1))
    panel, verdict = panel.observe(_reply(1, seconds=80))
    assert isinstance(verdict, Warn)
    panel, _ = panel.observe(_reply(1, seconds=120))
    assert panel.stopped is None
    _, verdict = panel.observe(_turn(2, seconds=121))
    assert (_stop(verdict).code, _stop(verdict).observed) == ("deadline", 121)


def test_the_call_that_finishes_is_heard_after_the_deadline() -> None:
    """Deadline: it stops before further work, not before the end of it."""
    panel, _ = _panel(deadline_s=100).observe(_turn(1))
    late = START + timedelta(seconds=200)
    panel, _ = panel.observe(ToolRequested(2, late, 1, call("finish_task")))
    assert panel.stopped is None
    panel, _ = panel.observe(ToolRequested(3, late, 1, call("read_file", 1)))
    assert panel.stopped is not None


def test_time_between_a_death_and_resumed_counts_for_no_deadline() -> None:
    """Deadline: a night between two processes is no working time."""
    panel, _ = _panel(deadline_s=100).observe(_turn(1))
    resumed = Resumed(at=START + timedelta(seconds=10_010), last_event_at=START + timedelta(seconds=10))
    panel, _ = panel.observe(resumed)
    panel, _ = panel.observe(_turn(2, seconds=10_050))
    assert panel.stopped is None
    panel, _ = panel.observe(_turn(3, seconds=10_100))
    assert panel.stopped is not None


def test_waiting_for_rate_limits_is_no_working_time() -> None:
    """Deadline: working time leaves waitMs out, elapsed time does not."""
    for limits, stopped in (({"working_time_s": 100.0}, False), ({"deadline_s": 100.0}, True)):
        panel, _ = _panel(**limits).observe(_turn(1))
        panel, _ = panel.observe(_reply(1, seconds=150, wait_ms=90_000))
        panel, _ = panel.observe(_turn(2, seconds=151))
        assert (panel.stopped is not None) is stopped
