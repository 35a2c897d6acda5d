"""The ledger: nested budgets, reserve then commit, unsettled turns in full."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from orchestrator.domain.forecast import Forecast
from orchestrator.domain.usage import NO_USAGE, Usage, total_usage
from orchestrator.domain.usage_limits import (
    UsageAccount,
    UsageLedger,
    UsageLevel,
    UsageLimits,
)
from orchestrator.domain.verdict import Allow, Stop, Verdict

AT = datetime(2026, 1, 1, tzinfo=UTC)
CHAIN = ("run", "task", "attempt")
LEVELS: tuple[UsageLevel, ...] = ("run", "task", "attempt")


def _ledger(**run: Any) -> UsageLedger:
    ledger = UsageLedger()
    for level in LEVELS:
        bounds = UsageLimits(level, **run) if level == "run" else UsageLimits(level)
        ledger = ledger.opened(level, UsageAccount(bounds, AT))
    return ledger


def _tokens(count: int) -> Usage:
    return Usage(prompt_tokens=count)


def _code(verdict: Verdict) -> str | None:
    return verdict.code if isinstance(verdict, Stop) else None


def test_a_turn_is_reserved_in_full_and_committed_at_what_it_cost() -> None:
    """Reserve then commit: the difference is free again."""
    ledger = _ledger(max_tokens=1000).reserve(CHAIN, "t1", _tokens(900))
    assert _code(ledger.judge(CHAIN, _tokens(101), AT)) == "token_limit"
    settled = ledger.settle(CHAIN, "t1", Usage(prompt_tokens=100, completion_tokens=50, cost_usd=0.0))
    assert _code(settled.judge(CHAIN, _tokens(850), AT)) is None
    assert _code(settled.judge(CHAIN, _tokens(851), AT)) == "token_limit"


def test_a_runs_bound_holds_over_parallel_tasks() -> None:
    """Nested: two attempts' open turns share the run's budget, each its own task's."""
    ledger = _ledger(max_tokens=1000).opened("other", UsageAccount(UsageLimits("task", max_tokens=300), AT))
    ledger = ledger.reserve(CHAIN, "t1", _tokens(800))
    assert _code(ledger.judge(("run", "other"), _tokens(200), AT)) is None
    verdict = ledger.judge(("run", "other"), _tokens(250), AT)
    assert isinstance(verdict, Stop)
    assert verdict.evidence["level"] == "run"
    freed = ledger.settle(CHAIN, "t1", NO_USAGE)
    inner = freed.judge(("run", "other"), _tokens(301), AT)
    assert isinstance(inner, Stop)
    assert inner.evidence["level"] == "task"


def test_what_earlier_processes_left_unsettled_counts_in_full() -> None:
    """A restart refills nothing: the graph's Spend opens the account."""
    account = UsageAccount(
        UsageLimits("run", max_usd=1.0), AT, settled=Usage(prompt_tokens=10, completion_tokens=10, cost_usd=0.9)
    )
    assert _code(account.judge(Usage(cost_usd=0.2), AT)) == "cost_limit"


def test_an_unknown_price_refuses_under_a_cost_limit_and_only_there() -> None:
    """Cost: a state of its own, at the start already, and absorbing."""
    assert _code(_ledger(max_usd=5.0).judge(CHAIN, Usage(cost_usd=None), AT)) == "cost_limit"
    assert _code(_ledger(max_tokens=5).judge(CHAIN, Usage(cost_usd=None), AT)) is None
    spent = _ledger(max_usd=5.0).settle(CHAIN, "t", Usage(cost_usd=None))
    verdict = spent.judge(CHAIN, NO_USAGE, AT)
    assert isinstance(verdict, Stop)
    assert "no price" in verdict.message


def test_a_deadline_leaves_out_the_time_that_nobody_worked() -> None:
    """Deadline: elapsed since the start, without what lies between two processes."""
    account = UsageAccount(UsageLimits("run", deadline_s=60), AT, away_s=1000)
    assert _code(account.judge(NO_USAGE, AT + timedelta(seconds=1059))) is None
    assert _code(account.judge(NO_USAGE, AT + timedelta(seconds=1060))) == "deadline"


def test_without_limits_everything_is_allowed() -> None:
    """Ledger: None is unbounded."""
    assert isinstance(
        _ledger().judge(
            CHAIN, Usage(prompt_tokens=10**12, completion_tokens=10**12, cost_usd=None), AT + timedelta(days=999)
        ),
        Allow,
    )


@pytest.mark.parametrize("figure", [0, 7])
def test_reserving_a_turn_again_replaces_what_it_held(figure: int) -> None:
    """A retry of one turn reserves once."""
    ledger = _ledger().reserve(CHAIN, "t", _tokens(500)).reserve(CHAIN, "t", _tokens(figure))
    assert ledger.accounts["run"].spent.prompt_tokens == figure


@given(st.lists(st.tuples(st.integers(0, 300), st.integers(0, 300), st.booleans()), max_size=30))
def test_what_is_settled_never_exceeds_a_limit_that_was_asked(turns: list[tuple[int, int, bool]]) -> None:
    """Whatever turns cost at most what they reserved, asked first, the run's spend stays within its limit."""
    ledger = _ledger(max_tokens=1000)
    for number, (most, actual, settles) in enumerate(turns):
        if isinstance(ledger.judge(CHAIN, _tokens(most), AT), Stop):
            continue
        ledger = ledger.reserve(CHAIN, str(number), _tokens(most))
        if settles:
            ledger = ledger.settle(CHAIN, str(number), _tokens(min(actual, most)))
    assert all(account.spent.prompt_tokens <= 1000 for account in ledger.accounts.values())


def test_total_is_unknown_as_soon_as_one_price_is() -> None:
    """Spend: None is not zero."""
    assert total_usage(
        [
            Usage(prompt_tokens=1, completion_tokens=2, cost_usd=0.5),
            Usage(prompt_tokens=1, completion_tokens=2, cost_usd=0.25),
        ]
    ) == Usage(prompt_tokens=2, completion_tokens=4, cost_usd=0.75)
    assert (
        total_usage(
            [
                Usage(prompt_tokens=1, completion_tokens=2, cost_usd=0.5),
                Usage(prompt_tokens=1, completion_tokens=2, cost_usd=None),
            ]
        ).cost_usd
        is None
    )
    assert total_usage([]) == NO_USAGE


def test_an_account_learns_what_other_processes_use() -> None:
    """What the graph holds of others stands beside what this process knows of itself, newest figures only."""
    account = UsageAccount(
        UsageLimits("run"), AT, Usage(prompt_tokens=100, completion_tokens=10, cost_usd=1.0)
    ).reserve("t", Usage(prompt_tokens=50, completion_tokens=0, cost_usd=0.5))
    assert account.refreshed(Usage(prompt_tokens=350, completion_tokens=30, cost_usd=3.5)).spent == Usage(
        prompt_tokens=500, completion_tokens=40, cost_usd=5.0
    )
    assert account.refreshed(Usage(prompt_tokens=350, completion_tokens=30, cost_usd=3.5)).refreshed(
        Usage(prompt_tokens=20, completion_tokens=0, cost_usd=0.5)
    ).spent == Usage(prompt_tokens=170, completion_tokens=10, cost_usd=2.0)
    assert account.refreshed(Usage(prompt_tokens=350, completion_tokens=30, cost_usd=None)).spent.cost_usd is None


SHARES = (0.8, 0.95)


def test_a_bound_warns_once_at_80_and_95_percent_of_what_is_committed() -> None:
    """Settled and reserved together count, each share is told once a level, also where one turn
    jumps over both."""
    ledger = UsageLedger().opened("run", UsageAccount(UsageLimits("run", max_tokens=1000), AT))
    ledger = ledger.opened("task", UsageAccount(UsageLimits("task", max_tokens=900), AT))
    ledger, warnings = ledger.warn(("run", "task"), _tokens(790), AT, SHARES)
    assert [(w.evidence["level"], w.evidence["share"]) for w in warnings] == [("task", 0.8)]
    ledger, warnings = ledger.warn(("run", "task"), _tokens(960), AT, SHARES)
    told = [(w.evidence["level"], w.evidence["share"], w.observed, w.limit) for w in warnings]
    assert told == [("run", 0.8, 960, 1000), ("run", 0.95, 960, 1000), ("task", 0.95, 960, 900)]
    assert ledger.warn(("run", "task"), _tokens(1000), AT, SHARES)[1] == ()


def test_every_bound_warns() -> None:
    """Dollars, elapsed and working time warn as tokens do, with their own codes."""
    bounds = UsageLimits("task", max_usd=1.0, deadline_s=100, working_time_s=50)
    account = UsageAccount(bounds, AT).begun("a1", AT)
    _, warnings = account.warn(Usage(cost_usd=0.85), AT + timedelta(seconds=96), (0.8, 0.95))
    assert [(w.code, w.evidence["measured"], w.evidence["share"]) for w in warnings] == [
        ("deadline", "elapsed time", 0.8),
        ("deadline", "elapsed time", 0.95),
        ("deadline", "working time", 0.8),
        ("deadline", "working time", 0.95),
        ("cost_limit", "cost", 0.8),
    ]


def test_working_time_sums_attempts_without_their_waits() -> None:
    """Working time: attempts under way and over, here and elsewhere, without waiting for rate limits."""
    account = UsageAccount(UsageLimits("run", working_time_s=100), AT).begun("a1", AT).begun("a2", AT)
    at = AT + timedelta(seconds=30)
    account = account.settle("t", NO_USAGE, waited_s=10.0).ended("a2", at)
    assert account.seconds_left(at) == 100 - (30 + 30 - 10)
    assert account.seconds_left(at + timedelta(seconds=5)) == 45  # only one works on
    elsewhere = account.refreshed(NO_USAGE, worked_s=50)
    assert _code(elsewhere.judge(NO_USAGE, at)) == "deadline"
    assert _code(account.judge(NO_USAGE, at)) is None
    stop = elsewhere.in_time(at)
    assert isinstance(stop, Stop)
    assert stop.evidence["measured"] == "working time"


def test_a_pause_counts_for_no_bound_of_time() -> None:
    """Between a death and the work's going on nobody worked: neither elapsed nor working time passes."""
    bounds = UsageLimits("attempt", deadline_s=100, working_time_s=90)
    account = UsageAccount(bounds, AT).begun("a", AT).paused(1000)
    at = AT + timedelta(seconds=1060)
    assert [figure.amount for figure in account.figures(NO_USAGE, at)] == [60, 60]
    assert account.seconds_left(at) == 30


def test_a_turn_that_is_written_off_counts_in_full_for_good() -> None:
    """A turn without a reply keeps what it reserved, also when another one of the same number is reserved."""
    account = UsageAccount(UsageLimits("attempt", max_tokens=1000), AT).reserve("1", _tokens(600)).written_off()
    assert account.reserve("1", _tokens(300)).spent == _tokens(900)


def test_an_attempts_bounds_are_told_by_guards_of_their_own() -> None:
    """Those of a run and a task are the ledger's; the codes are the same."""
    told = []
    for level in LEVELS:
        bounds = UsageLimits(level, max_tokens=1, max_usd=1.0, deadline_s=1)
        figures = UsageAccount(bounds, AT).figures(Usage(prompt_tokens=2, cost_usd=None), AT)
        told.append([(stop.guard, stop.code) for stop in (figure.stop() for figure in figures)])
    codes = ["deadline", "token_limit", "cost_limit"]
    assert told[0] == told[1] == [("ledger", code) for code in codes]
    assert told[2] == list(zip(("deadline", "tokens", "cost"), codes, strict=True))


def test_time_is_asked_apart_from_what_is_paid_for() -> None:
    """Before a tool call time alone is asked: a call costs no tokens."""
    account = UsageAccount(UsageLimits("run", max_tokens=10, deadline_s=60), AT, Usage(prompt_tokens=11))
    assert isinstance(account.in_time(AT), Allow)
    assert _code(account.in_time(AT + timedelta(seconds=60))) == "deadline"
    assert account.seconds_left(AT + timedelta(seconds=20)) == 40
    assert UsageAccount(UsageLimits("run"), AT).seconds_left(AT) is None


def test_the_last_turn_that_fits_is_told_before_it() -> None:
    """A turn is the last one where what it uses and what the next reserves go beyond the bound, or where a turn
    as long as the last one would end behind it."""
    account = UsageAccount(UsageLimits("run", max_tokens=1000), AT, _tokens(400))
    assert _code(account.judge(_tokens(600), AT)) is None
    assert _code(account.judge(_tokens(601), AT)) == "token_limit"
    timed = UsageAccount(UsageLimits("run", deadline_s=60), AT)
    assert _code(timed.judge(NO_USAGE, AT + timedelta(seconds=40), later_s=19)) is None
    assert _code(timed.judge(NO_USAGE, AT + timedelta(seconds=40), later_s=20)) == "deadline"


def test_a_pace_expects_requests_to_grow_on() -> None:
    """Pace: what a turn uses and the next reserves, each grown by the largest step so far; nothing before a turn."""
    assert Forecast().two_turns == 0
    steady = Forecast().requested(500).settled(100).requested(500).settled(110)
    assert steady.two_turns == 610
    growing = Forecast().requested(500).settled(100).requested(550).settled(150)
    assert growing.two_turns == 150 + 550 + 3 * 50
