"""Guards over random histories: Stop is absorbing, a rebuilt set equals the live one, judging is cheap."""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import timedelta

from hypothesis import given
from hypothesis import strategies as st

from orchestrator.domain.events import (
    BudgetDecided,
    Compacted,
    Event,
    FileWrite,
    Finished,
    GuardFired,
    ProgressReported,
    Resumed,
    ScopeDecided,
    ToolFinished,
)
from orchestrator.domain.model_io import ModelRequest, ToolCall
from orchestrator.domain.stop_reasons import ATTEMPT_STOPS
from orchestrator.domain.verdict import Allow, Stop, Verdict, Warn
from orchestrator.guards.guard_set import GuardSet, replay
from orchestrator.guards.limits import GuardLimits
from tests.support.guard_scripts import START, Choke, Result, call, choke

Step = list[ToolCall] | Event
History = tuple[list[Step], list[Result]]

LIMITS = GuardLimits(max_tokens=300, max_cost_usd=2.0, working_time_s=400)
LATER = START + timedelta(seconds=5)
TOOLS = ("read_file", "search", "write_file", "edit_file", "run_command", "report_progress", "finish_task")
CALLS = st.builds(
    call,
    st.sampled_from(TOOLS),
    st.sampled_from(["a", "b", "c/d"]),
    defect=st.sampled_from([None, None, None, None, "not JSON"]),
)
RESULTS = st.builds(
    Result,
    text=st.sampled_from(["x", "y"]),
    error=st.sampled_from(["", "", "E"]),
    tree=st.sampled_from([None, "t1", "t2"]),
    writes=st.sampled_from(
        [
            (),
            (FileWrite(path="a", added=2, removed=1, blob="b1"),),
            (FileWrite(path="a", added=1, removed=0, blob="b2"),),
        ]
    ),
)
EXTRAS: list[Event] = [
    Compacted(
        at=LATER,
        request=ModelRequest(
            model="m",
            window_messages=0,
            reserved_tokens=0,
            reserved_usd=None,
            window_tokens=500,
            uncompacted_tokens=900,
            token_cap=510,
        ),
    ),
    ProgressReported(
        seq=900, at=LATER, call_seq=1, at_tool_call=1, description="going well", tree_after="t1", findings_hash="f"
    ),
    BudgetDecided(
        seq=901,
        at=LATER,
        call_seq=1,
        additional=3,
        justification="",
        granted=True,
        granted_calls=3,
        decided_by="pm",
        reason="",
    ),
    ScopeDecided(
        seq=902, at=LATER, call_seq=1, paths=("x",), justification="", granted=True, decided_by="pm", reason=""
    ),
    Resumed(at=LATER, last_event_at=START),
    Finished(at=LATER, reason="accepted"),
    GuardFired(
        seq=903,
        at=LATER,
        at_tool_call=1,
        verdict=Warn(guard="budget", code="budget_exhausted", message="", observed=1, limit=1, evidence={}),
    ),
]
STEPS: st.SearchStrategy[Step] = st.one_of(st.lists(CALLS, max_size=4), st.sampled_from(EXTRAS))
HISTORIES = st.tuples(st.lists(STEPS, max_size=25), st.lists(RESULTS, min_size=1, max_size=8))


def _begin() -> GuardSet:
    return GuardSet.begin(LIMITS, 25, ("a", "b"))


def _play(history: History) -> Choke:
    steps, results = history
    held = iter(results * 50)
    run = Choke(_begin(), lambda _: next(held, Result()))
    for step in steps:
        if isinstance(step, list):
            run.run([step])
        else:
            run.judge(step)
    return run


@given(HISTORIES, st.integers(0, 200))
def test_a_panel_rebuilt_from_its_events_equals_the_live_one(history: History, cut: int) -> None:
    """replay(a + b) is replay(b) after replay(a), and both are the live GuardSet."""
    run = _play(history)
    assert replay(_begin(), run.events) == run.guard_set
    assert replay(replay(_begin(), run.events[:cut]), run.events[cut:]) == run.guard_set


@given(HISTORIES)
def test_observing_twice_from_one_value_gives_one_answer(history: History) -> None:
    """Fold purity: a guard is not changed by observing."""
    guard_set = _begin()
    for event in _play(history).events:
        first, second = guard_set.judge(event), guard_set.judge(event)
        assert first == second
        guard_set = first[0]


@given(HISTORIES)
def test_stop_is_absorbing_and_has_a_code_of_the_taxonomy(history: History) -> None:
    """After a Stop every event is answered by that Stop."""
    run = _play(history)
    if run.guard_set.stopped is None:
        return
    assert run.guard_set.stopped.code in ATTEMPT_STOPS
    for event in [*EXTRAS, *run.events]:
        assert run.guard_set.observe(event) == (run.guard_set, run.guard_set.stopped)


@given(HISTORIES)
def test_verdicts_come_strictest_first_without_allow(history: History) -> None:
    """Every verdict is told, the strictest first, and observe gives that one."""
    guard_set = _begin()
    for event in _play(history).events:
        after, verdicts = guard_set.judge(event)
        ranks = [v.rank for v in verdicts]
        assert ranks == sorted(ranks, reverse=True)
        assert not any(isinstance(v, Allow) for v in verdicts)
        assert guard_set.observe(event)[1] == (verdicts[0] if verdicts else Allow())
        guard_set = after


@dataclass(frozen=True)
class Broken:
    """A guard with a defect."""

    def observe(self, event: Event) -> tuple[Broken, Verdict]:
        """Fail at the first result."""
        if isinstance(event, ToolFinished):
            raise ZeroDivisionError("division by zero")
        return self, Allow()


def test_a_guard_that_raises_stops_the_attempt() -> None:
    """Fail closed, with the error in the evidence."""
    run = choke()
    run.guard_set = replace(run.guard_set, guards=(*run.guard_set.guards, Broken()))
    run.run([[call("read_file", 1)], [call("read_file", 2)]])
    assert run.code == "guard_failed"
    assert run.guard_set.stopped is not None
    assert "ZeroDivisionError: division by zero" in run.guard_set.stopped.message
    assert len(run.statuses) == 1


def test_reviews_and_planning_have_neither_scope_nor_checkpoints() -> None:
    """QC and PM write nothing and report to nobody; everything else bounds them too."""
    guard_set = GuardSet.begin(GuardLimits(), 300, (), role="verifier")
    run = Choke(guard_set).run([[call("read_file", n)] for n in range(400)])
    assert (run.code, run.executed) == ("budget_exhausted", 300)


def test_the_panel_does_not_grow_with_the_attempt() -> None:
    """After 2,000 calls of honest work the GuardSet is no larger than after 1,000."""
    sizes = []
    limits = GuardLimits(progress_stop=10**6, deadline_s=None, same_error_stop=10**6)
    run = choke(
        10**6,
        lambda each: Result(each.signature, error=f"E {each.signature}" if "7" in each.signature else ""),
        limits=limits,
    )
    for number in range(2_000):
        run.turn([call(("read_file", "run_command")[number % 2], number)])
        run.events.clear()
        if number + 1 in (1_000, 2_000):
            sizes.append(len(repr(run.guard_set)))
    assert run.code is None
    assert sizes[1] < sizes[0] * 1.05


def test_every_stop_says_what_was_seen_and_what_to_do() -> None:
    """A stop's message holds its figures and the next step."""
    run = choke(limits=GuardLimits(repetition_stop=4)).run([[call("run_command", "ls")]] * 9)
    stop = run.guard_set.stopped
    assert isinstance(stop, Stop)
    assert stop.message.startswith("The same was asked 4 times over unchanged files")
    assert "the limit is 4" in stop.message
    assert stop.message.endswith("not retried unchanged.")
