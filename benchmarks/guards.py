"""The guards on real traces, beside a detector that sees tool names alone; and what one event costs.

Prints, for every trace of the file: whether it is stopped before its end, and after how many rounds it is stopped when
its last k calls (k = 1 to 8; a closing finish_task left out) are repeated for ever. Then the median of
`GuardSet.observe` over one call's events around call 10, 100, 1,000 and 10,000. Before it, from the onset of made-up
spirals to their stop, beside other detectors, and the greatest counts of honest work. Exits with 1 when a promise of
benchmarks/onset.py is broken.

Run: python -m benchmarks.guards [TRACES.jsonl]
"""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from statistics import median

from benchmarks.counts import print_counts
from benchmarks.names import names_fire_at
from benchmarks.onset import print_onsets
from orchestrator.domain.events import (
    Event,
    FileWrite,
    ReplyReceived,
    ToolFinished,
    ToolRequested,
    TurnRequested,
)
from orchestrator.domain.model_io import ModelReply, ModelRequest, ToolCall, ToolResult
from orchestrator.guards.guard_set import GuardSet
from orchestrator.guards.limits import GuardLimits
from orchestrator.replay.replay import ReplayLimits, replay_trace
from orchestrator.replay.traces import Trace, events_of_trace, read_traces

TRACES = Path(__file__).resolve().parents[1] / "tests" / "data" / "traces" / "coding-agents.jsonl"
AT = datetime(2000, 1, 1, tzinfo=UTC)
KS = range(1, 9)


def main() -> None:
    """Print all tables."""
    path = Path(sys.argv[1]) if len(sys.argv) > 1 else TRACES
    if not path.exists():
        sys.exit(f"No traces at {path}. Name a file: python -m benchmarks.guards TRACES.jsonl")
    traces = read_traces(path.read_text(encoding="utf-8"))
    _print_traces(traces)
    kept = print_onsets()
    print_counts([trace for trace in traces if replay_trace(trace, ReplayLimits()).stop is None])
    _print_cost()
    sys.exit(not kept)


def _print_traces(traces: list[Trace]) -> None:
    print("Rounds until stop when the last k calls repeat (k = 1 to 8), and a detector on five names, three in ten")
    print(f"{'trace':<32} calls  {'ours':<8} {'k = 1 ... 8':<48} names only")
    early = by_name = late = 0
    for trace in traces:
        stop = replay_trace(trace, ReplayLimits()).stop
        rounds = [_rounds(trace, k) for k in KS]
        named = [_named(trace, k) for k in (0, *KS)]
        early += stop is not None
        by_name += named[0] is not None
        late += sum(r is None or r > 5 for r in rounds)
        _print_trace(trace, stop.at_tool_call if stop else None, rounds, named)
    print(f"stopped before the end, of {len(traces)}: ours {early}, names only {by_name}")
    print(f"repetitions stopped later than 5 rounds: ours {late}")


def _print_trace(trace: Trace, stopped: int | None, rounds: list[float | None], named: list[int | None]) -> None:
    shown = " ".join(f"{r:5.2f}" if r is not None else " none" for r in rounds)
    ours = f"call {stopped}" if stopped else "runs on"
    names = f"stops at call {named[0]}" if named[0] else "runs on"
    missed = sum(call is None for call in named[1:])
    print(f"{trace.id[:32]:<32} {len(trace.calls):5}  {ours:<8} {shown:<48} {names}, misses {missed} of 8")


def _kept(trace: Trace) -> int:
    calls = list(trace.calls)
    while calls and calls[-1].name == "finish_task":
        calls.pop()
    return len(calls)


def _rounds(trace: Trace, k: int) -> float | None:
    """Rounds of the cycle until the stop; the one that is in the trace itself is the first."""
    stop = replay_trace(trace, ReplayLimits(), repeat_last=k).stop
    return (stop.at_tool_call - _kept(trace)) / k + 1 if stop else None


def _named(trace: Trace, k: int) -> int | None:
    """The call at which the detector on names alone fires."""
    return names_fire_at(e.call.tool for e in events_of_trace(trace, k) if isinstance(e, ToolFinished))


def honest_turn(number: int) -> Iterator[Event]:
    """One turn of work that no guard minds: reads, writes and commands, each with something new."""
    seq = number * 2 + 1
    tool = ("read_file", "edit_file", "run_command")[number % 3]
    writes = (
        (FileWrite(path=f"src/{number // 3 % 400}.py", added=3, removed=1, blob=f"blob{number}"),)
        if tool == "edit_file"
        else ()
    )
    call = ToolCall(
        seq=seq + 1,
        call_id=str(seq),
        tool=tool,
        arguments_json="{}",
        signature=f"signature{number}",
        mutating=tool != "read_file",
        pure=tool == "read_file",
        control=False,
        writes_to=tuple(write.path for write in writes),
    )
    yield TurnRequested(
        seq=seq,
        at=AT,
        request=ModelRequest(
            model="m", reserved_tokens=2_000, reserved_usd=0.01, window_messages=40, window_tokens=20_000
        ),
    )
    yield ReplyReceived(
        seq=seq,
        at=AT,
        reply=ModelReply(
            text="",
            calls=(call,),
            prompt_tokens=1_500,
            completion_tokens=50,
            cost_usd=0.001,
            latency_ms=1.0,
            finish_reason="tool_calls",
            model="m",
        ),
    )
    yield ToolRequested(at=AT, turn_seq=seq, call=call)
    finished = ToolFinished(
        at=AT,
        call=call,
        status="ok",
        writes=writes,
        result=ToolResult(text="", outcome_hash=f"outcome{number}", shape_hash=f"shape{number}", duration_ms=1.0),
    )
    yield replace(finished, tree_after=f"tree{number}") if call.mutating else finished


def _print_cost() -> None:
    usual = GuardLimits(progress_warn=10**9, progress_stop=10**9)
    bounded = usual.model_copy(update={"max_tokens": 10**9, "max_cost_usd": 1e6, "working_time_s": 1e9})
    print("\nGuardSet.observe, median of one event in microseconds (honest work)")
    _print_cost_of("by default", usual)
    _print_cost_of("with bounds of tokens, dollars and working time too", bounded)


def _print_cost_of(named: str, limits: GuardLimits) -> None:
    print(f" {named}")
    guard_set = GuardSet.begin(limits, 10**9, ("**",))
    number = 0
    for mark in (10, 100, 1_000, 10_000):
        while number < mark:
            guard_set = _fold(guard_set, number)[0]
            number += 1
        spent: list[float] = []
        for _ in range(100):
            guard_set, times = _fold(guard_set, number)
            spent += times
            number += 1
        print(f"  call {mark:>6}: {median(spent) * 1e6:6.1f}   (worst of 400: {max(spent) * 1e6:.0f})")
    assert guard_set.stopped is None, guard_set.stopped


def _fold(guard_set: GuardSet, number: int) -> tuple[GuardSet, list[float]]:
    times = []
    for event in honest_turn(number):
        before = time.perf_counter()
        guard_set, _ = guard_set.observe(event)
        times.append(time.perf_counter() - before)
    return guard_set, times


if __name__ == "__main__":
    main()
