"""Replay of traces and recorded attempts under other limits."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from orchestrator.domain.errors import UserError
from orchestrator.domain.events import Event, GuardFired, ToolFinished
from orchestrator.domain.verdict import Allow, Refuse, Stop, Warn
from orchestrator.guards.guard_set import GuardSet
from orchestrator.guards.limits import GuardLimits
from orchestrator.replay.replay import (
    ReplayLimits,
    parse_limits,
    replay_attempt,
    replay_trace,
    replay_traces,
    shape,
)
from orchestrator.replay.traces import Trace, TraceCall, read_traces
from tests.guards.reduce_traces import reduced
from tests.support.guard_scripts import Result, call, choke
from tests.support.replays import disagreements

TRACES = Path(__file__).parents[1] / "data" / "traces"
WORK = [json.loads(line) for file in sorted(TRACES.glob("*.jsonl")) for line in file.read_text().splitlines()]
HONEST_WORK = [Trace.model_validate(each) for each in WORK if not each.get("spiral")]
SPIRALS = [Trace.model_validate(each) for each in WORK if each.get("spiral")]

ROUNDS = 5


def step(name: str, sha: str = "r", *, ok: bool = True, chars: int = 400, **arguments: Any) -> TraceCall:
    """One call of a trace."""
    return TraceCall(name=name, arguments=arguments, ok=ok, result_sha=sha, result_chars=chars)


def trace(*calls: TraceCall) -> Trace:
    """A trace of these calls."""
    return Trace(id="t", calls=calls)


def edit(number: int, path: str = "a.py") -> TraceCall:
    """A successful edit with something new."""
    return step("edit_file", f"e{number}", path=path, old_str=f"v{number}", new_str=f"v{number + 1}")


def run(command: str, sha: str, *, ok: bool = True, chars: int = 400) -> TraceCall:
    """A command."""
    return step("run_command", sha, ok=ok, chars=chars, command=command)


CALLS = st.builds(
    step,
    st.sampled_from(["read_file", "write_file", "edit_file", "run_command", "search"]),
    st.sampled_from(["r1", "r2", "r3"]),
    ok=st.booleans(),
    path=st.sampled_from(["a", "b"]),
    new_str=st.sampled_from(["", "x", "y"]),
)


@settings(deadline=None)  # a busy machine is no failure
@given(st.lists(CALLS, min_size=1, max_size=12), st.integers(1, 8))
def test_any_last_k_calls_repeated_for_ever_stop_within_five_rounds(calls: list[TraceCall], k: int) -> None:
    """Whatever the cycle holds (failures, writes, equal calls), five rounds of it are the end."""
    stop = replay_trace(trace(*calls), ReplayLimits(), repeat_last=k).stop
    assert stop is not None
    assert stop.at_tool_call <= len(calls) + (ROUNDS - 1) * min(k, len(calls))


@pytest.mark.parametrize("each", HONEST_WORK, ids=lambda each: each.id)
def test_no_real_trace_is_stopped(each: Trace) -> None:
    """Real agents' work, some of it clumsy, runs to its end under the defaults."""
    assert replay_trace(each, ReplayLimits()).stop is None


@pytest.mark.parametrize("each", HONEST_WORK + SPIRALS, ids=lambda each: each.id)
def test_every_repetition_of_a_real_trace_is_stopped_within_five_rounds(each: Trace) -> None:
    """Whatever a real agent's last calls were: repeated for ever, they are stopped."""
    kept = len(each.calls) - (each.calls[-1].name == "finish_task")
    for k in range(1, 9):
        stop = replay_trace(each, ReplayLimits(), repeat_last=k).stop
        assert stop is not None
        assert stop.at_tool_call <= kept + (ROUNDS - 1) * k, k


def test_real_spirals_are_stopped_before_their_end() -> None:
    """Of the five runs that truly went in circles the guards cut short four, each by more than thirty of its calls."""
    stops = [(each, stop) for each in SPIRALS if (stop := replay_trace(each, ReplayLimits()).stop)]
    assert (len(SPIRALS), len(stops)) == (5, 4)
    assert [each.id for each, stop in stops if len(each.calls) - stop.at_tool_call <= 30] == []


def test_a_trace_reduced_to_facts_is_judged_as_it_was() -> None:
    """Hashes in the place of texts change no verdict, and nothing that was said is left."""
    told = {"path": "./secret/a.py", "old_str": "was said", "new_str": "was  said"}
    whole = {
        "id": "me",
        "source": "me",
        "calls": [{"name": "edit_file", "arguments": told, "ok": ok, "result_sha": "r"} for ok in [True, False] * 9],
    }
    (facts,) = reduced([whole])
    for k in range(4):
        one, other = (
            replay_trace(Trace.model_validate(each), ReplayLimits(), repeat_last=k) for each in (whole, facts)
        )
        assert (
            [(f.verdict.code, f.at_tool_call) for f in one.fired]
            == [(f.verdict.code, f.at_tool_call) for f in other.fired]
            != []
        )
    assert not {"said", "secret"} & set(re.findall(r"[a-z]+", json.dumps(facts)))


HONEST = {
    "eight reads in a row": [step("read_file", f"r{n}", path=f"{n}.py") for n in range(8)],
    "tests after each of seven edits": [c for n in range(7) for c in (edit(n), run("pytest", "1 failed", ok=False))],
    "polling with news": [run("tail log", f"{n} %") for n in range(60)],
    "four equal reads, then work": [*[step("read_file", "r", path="d")] * 4, edit(1), run("pytest", "ok")],
    "greps without a match": [run(f"grep x{n}", "empty", ok=False, chars=300) for n in range(9)],
    "six undos in a row": [step("edit_file", f"u{n}", path="a.py") for n in range(6)],
    "many undos do not count as rewriting": [step("edit_file", f"u{n}", path="a.py") for n in range(30)],
    "an edit retried after reading again": [
        *[
            c
            for n in range(6)
            for c in (
                step("edit_file", f"no match {n}", ok=False, path="a", old_str=f"{n}"),
                step("read_file", "r", path="a", view_range=[n, n + 9]),
            )
        ],
        edit(1),
    ],
    "one long file in thirty parts": [
        step("edit_file", f"p{n}", path="a.py", old_str=f"part {n}", new_str=f"part {n}\nand more") for n in range(30)
    ],
}


@pytest.mark.parametrize("name", HONEST)
def test_honest_work_is_not_stopped(name: str) -> None:
    """What looks repetitive and is not, runs to its end."""
    replayed = replay_trace(trace(*HONEST[name]), ReplayLimits())
    assert replayed.stop is None


def test_budget_and_checkpoints_apply_to_a_trace_only_where_the_limits_set_them() -> None:
    """300 different reads run on under the defaults, and stop under a budget or a checkpoint limit."""
    reads = trace(*(step("read_file", f"r{n}", path=f"{n}") for n in range(300)))
    assert replay_trace(reads, ReplayLimits()).stop is None
    for toml, code, at in (("budget = 20", "budget_exhausted", 22), ("progress_stop = 30", "no_progress", 31)):
        stop = replay_trace(reads, parse_limits(toml)).stop
        assert stop is not None
        assert (stop.verdict.code, stop.at_tool_call) == (code, at)


def test_turns_bound_a_trace_only_where_the_limits_set_them() -> None:
    """Nobody knows a trace's budget, and the attempts' own setting is not the trace's; beside a budget the turns that
    go with it bound what costs no call."""
    reports = trace(*(step("report_progress", f"r{n}", description=f"{n}") for n in range(45)))
    own = ReplayLimits(GuardLimits(max_turns=30))
    assert replay_trace(reports, ReplayLimits()).stop is None and replay_trace(reports, own).stop is None
    for toml, code, at in (("max_turns = 12", "turn_limit", 12), ("budget = 20", "turn_limit", 30)):
        stop = replay_trace(reports, parse_limits(toml)).stop
        assert stop is not None
        assert (stop.verdict.code, stop.at_tool_call) == (code, at)


def test_the_answer_has_the_shape_that_calibrate_prints() -> None:
    """Traces with id, calls, stop (guard, reason, atToolCall) or null, and warnings."""
    traces = read_traces(json.dumps({"id": "t", "calls": [{"name": "search", "arguments": None, "ok": True}] * 9}))
    looping, honest = replay_traces([*traces, trace(edit(1))], ReplayLimits())["traces"]
    assert looping["id"] == "t"
    assert looping["calls"] == 9
    assert looping["stop"] == {"guard": "stall", "reason": "stalled", "atToolCall": 5}
    assert looping["warnings"][0] == {"guard": "stall", "reason": "stalled", "atToolCall": 3}
    assert honest == {"id": "t", "calls": 1, "stop": None, "warnings": [], "unjudged": honest["unjudged"]}


def test_a_trace_of_commands_that_fail_alike_is_the_same_error() -> None:
    """Same error: four commands with one error text stop; four without output do not."""
    told, silent = ([run(f"x{n}", "E", ok=False, chars=chars) for n in range(9)] for chars in (400, 200))
    stop = replay_trace(trace(*told), ReplayLimits()).stop
    assert stop is not None
    assert (stop.verdict.code, stop.at_tool_call) == ("same_error", 4)
    assert replay_trace(trace(*silent), ReplayLimits()).stop is None


def test_a_closing_finish_task_is_left_out_of_the_cycle() -> None:
    """The graft repeats work, not the end of it."""
    work = trace(edit(1), run("pytest", "ok"), step("finish_task", "done"))
    stop = replay_trace(work, ReplayLimits(), repeat_last=2).stop
    assert stop is not None
    assert stop.at_tool_call <= 2 + 4 * 2


@pytest.mark.parametrize("line", ["[]", "{", '{"id": "x"}', '{"id": "x", "calls": [{"name": 1}]}'])
def test_a_line_that_is_no_trace_is_named(line: str) -> None:
    """Bad input: the line's number and what is wrong with it."""
    good = trace(edit(1)).model_dump_json()
    with pytest.raises(UserError, match="Line 3"):
        read_traces(f"{good}\n\n{line}\n")


def test_an_empty_trace_is_replayed_to_nothing() -> None:
    """Bad input: a trace without calls has nothing to repeat."""
    assert replay_trace(trace(), ReplayLimits(), repeat_last=3).stop is None


# --- recorded attempts ------------------------------------------------------------------------------------------------


def _recorded() -> list[Event]:
    """An attempt as the engine records it: every verdict behind the event that it is about."""
    script = choke(30, lambda each: Result(error="E" if each.tool == "search" else ""))
    script.run([[call("read_file", n)] for n in range(25)])
    script.run([[call("search", n)] for n in range(20)])
    guard_set, recorded = GuardSet.begin(GuardLimits(), 30, ("**",)), list[Event]()
    for event in script.events:
        guard_set, verdicts = guard_set.judge(event)
        recorded.append(event)
        recorded += [_fired(v, guard_set.calls_executed) for v in verdicts if not isinstance(v, Allow)]
    return recorded


def _fired(verdict: Warn | Refuse | Stop, at: int) -> GuardFired:
    return GuardFired(seq=0, at=_EPOCH, at_tool_call=at, verdict=verdict)


_EPOCH = choke().at


def test_live_and_replayed_verdicts_agree() -> None:
    """A replay under an attempt's own limits fires what was recorded, where it was recorded."""
    recorded = _recorded()
    fired = [event for event in recorded if isinstance(event, GuardFired)]
    assert "stop" in [event.verdict.kind for event in fired]
    assert disagreements(recorded, fired, GuardLimits(), 30, ("**",)) == ()
    assert disagreements(recorded, fired, GuardLimits(same_error_stop=3, same_error_warn=2), 30, ("**",)) != ()
    assert disagreements(recorded, fired[:-1], GuardLimits(), 30, ("**",)) != ()


def test_verdicts_of_a_guard_that_is_gone_are_no_disagreement() -> None:
    """What 0.1 recorded of tool names alone is left out, wherever it stands among the others."""
    recorded = _recorded()
    fired = [event for event in recorded if isinstance(event, GuardFired)]
    gone = replace(fired[0], verdict=replace(fired[0].verdict, guard="names_only", code="names_only"))
    assert disagreements(recorded, [gone, *fired], GuardLimits(), 30, ("**",)) == ()


def test_other_limits_say_what_would_have_been_saved() -> None:
    """What would have fired, when, and the calls saved."""
    recorded = _recorded()
    earlier = replay_attempt(recorded, GuardLimits(same_error_warn=1, same_error_stop=2), 30, ("**",))
    assert earlier.stop is not None
    assert (earlier.stop.verdict.code, earlier.stop.at_tool_call) == ("same_error", 27)
    assert earlier.calls == 29


def test_a_resumed_attempts_inherited_calls_are_not_counted_as_its_own() -> None:
    """What it continues counts towards its budget, a call that was cut off too; its own are printed."""
    before, after = choke(30), choke(30)
    before.run([[call("read_file", n)] for n in range(20)])
    after.run([[call("read_file", n)] for n in range(20, 28)])
    started = next(e for e in before.events if isinstance(e, ToolFinished))
    inherited = [event for event in before.events if event is not started]  # one was cut off before its result
    replayed = replay_attempt(after.events, GuardLimits(), 24, ("**",), inherited)
    assert (replayed.calls, replayed.inherited) == (8, 20)
    assert shape("a", replayed)["stop"] == {
        "guard": "budget",
        "reason": "budget_exhausted",
        "atToolCall": 5,
    }  # one finishing turn
