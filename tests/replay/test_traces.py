"""The format of traces: what it may tell of a call, and what is said of rules that it tells too little for."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace

import pytest

from orchestrator.domain.events import Event, FileWrite, ReplyReceived, ToolFinished, ToolRequested
from orchestrator.domain.model_io import ToolCall
from orchestrator.domain.verdict import Allow
from orchestrator.guards.guard_set import GuardSet
from orchestrator.guards.limits import GuardLimits
from orchestrator.replay.history import trace_of
from orchestrator.replay.replay import ReplayLimits, replay_trace
from orchestrator.replay.traces import Trace, TraceCall, read_traces
from tests.support.guard_scripts import Answer, Result, call, choke

UNBOUNDED = GuardLimits(progress_every=10**9, progress_warn=10**9, progress_stop=10**9, deadline_s=None)
TOLD = TraceCall(name="run_command", shape_sha="s", says=True, turn=1)
WRITE = TraceCall(name="edit_file", shape_sha="s", says=True, turn=1, rewritten=0)

Said = tuple[str, str, str, float, int]


def live(events: Sequence[Event]) -> list[Said]:
    """The verdicts over a script, each with the number of the call that it was about."""
    guard_set, said, number = GuardSet.begin(UNBOUNDED, 10**9, ("**",)), list[Said](), 0
    for event in events:
        number += isinstance(event, ToolFinished)
        at = number + isinstance(event, ReplyReceived | ToolRequested)
        guard_set, verdicts = guard_set.judge(event)
        said += [(v.guard, v.kind, v.code, v.observed, at) for v in verdicts if not isinstance(v, Allow)]
        if guard_set.stopped is not None:
            break
    return said


def replayed(trace: Trace) -> list[Said]:
    """The same of its trace."""
    fired = replay_trace(trace, ReplayLimits()).fired
    return [(f.verdict.guard, f.verdict.kind, f.verdict.code, f.verdict.observed, f.at_tool_call) for f in fired]


def write(each: ToolCall) -> Result:
    """A write of lines that the attempt had put there."""
    wrote = FileWrite(path="a.py", added=2, removed=2, blob=each.signature, rewritten=2)
    return Result(f"wrote {each.signature}", tree=f"tree {each.signature}", writes=(wrote,))


def clock(each: ToolCall) -> Result:
    """Another text each time, of one shape."""
    return Result(f"{each.seq} o'clock", shape="o'clock")


def asked(tool: str, argument: object = "") -> ToolCall:
    """A call whose arguments say what its signature does."""
    path = str(argument).split("=")[0]
    return replace(call(tool, argument), arguments_json=json.dumps({"path": path, "new_str": str(argument)}))


SCRIPTS: dict[str, tuple[Answer, list[list[ToolCall]]]] = {
    "the same calls in one reply, over and over": (
        lambda each: Result("same"),
        [[asked("read_file", "a"), asked("read_file", "b"), asked("read_file", "a")]] * 8,
    ),
    "replies of three calls that bring no news": (
        lambda each: Result("seen"),
        [[asked("run_command", f"{n} {k}") for k in range(3)] for n in range(20)],
    ),
    "rewriting its own lines": (write, [[asked("edit_file", f"a.py={n}")] for n in range(20)]),
    "a clock": (clock, [[asked("run_command", "date")] for _ in range(20)]),
    "work, then one error in other words": (
        lambda each: Result(error="boom" if "fails" in each.signature else ""),
        [[asked("run_command", n)] for n in range(9)] + [[asked("run_command", f"fails {n}")] for n in range(9)],
    ),
    "a circle of two": (lambda each: Result("same"), [[asked("search", n % 2)] for n in range(20)]),
}


@pytest.mark.parametrize("name", SCRIPTS)
def test_a_trace_of_a_run_has_the_runs_verdicts_at_the_same_calls(name: str) -> None:
    """Replay equals live, also where all that is left of a run is its trace."""
    answer, batches = SCRIPTS[name]
    events = choke(10**9, answer, limits=UNBOUNDED).run(batches).events
    verdicts = live(events)
    assert verdicts[-1][1] == "stop"
    trace = trace_of("run", events)
    [again] = read_traces(trace.model_dump_json())
    assert replayed(again) == verdicts


def test_calls_of_one_turn_are_one_reply() -> None:
    """Twelve calls that were asked for at once are asked before any is answered: no loop, unlike twelve replies."""
    calls = [{"name": "run_command", "arguments": {"command": f"ls #{n}"}, "result_sha": "r", "result_chars": 400}
             for n in range(14)]  # fmt: skip
    for key, stops in (("turn", False), ("batch", False), ("other", True)):
        [trace] = read_traces(json.dumps({"id": "t", "calls": [{**each, key: 7} for each in calls]}))
        assert (replay_trace(trace, ReplayLimits()).stop is not None) == stops, key


def test_a_round_that_is_repeated_is_another_reply() -> None:
    """One call of a turn, repeated for ever, does not melt into one endless reply."""
    stop = replay_trace(Trace(id="t", calls=(TOLD,)), ReplayLimits(), repeat_last=1).stop
    assert stop is not None and stop.at_tool_call <= 5


@pytest.mark.parametrize(
    ("wanting", "why"),
    [
        (TOLD.model_copy(update={"shape_sha": ""}), "figures: no shape_sha"),
        (TOLD.model_copy(update={"says": None}), "no_news: says is guessed from the length"),
        (TOLD.model_copy(update={"turn": None}), "stall: no turn, so each call is a reply of its own"),
        (
            WRITE.model_copy(update={"rewritten": None, "arguments": {"old_str": "a", "new_str": "b"}}),
            "thrash: rewritten is guessed from the arguments",
        ),
        (WRITE.model_copy(update={"rewritten": None}), "thrash: rewritten is not known"),
    ],
)
def test_what_a_trace_does_not_tell_is_said(wanting: TraceCall, why: str) -> None:
    """A rule that could not be judged, or by a guess, is named with what is wanting; where all is told none is."""
    assert replay_trace(Trace(id="t", calls=(TOLD, WRITE)), ReplayLimits()).unjudged == ()
    assert replay_trace(Trace(id="t", calls=(TOLD, WRITE, wanting)), ReplayLimits()).unjudged == (why,)
