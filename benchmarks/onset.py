"""From the onset of a spiral to its stop, kind by kind, beside other detectors; and what honest work comes to."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from benchmarks.calls import read, rounds, run, search
from benchmarks.honest_work import HONEST
from benchmarks.names import names_fire_at
from benchmarks.other_detectors import gemini_fires_at, openhands_fires_at
from benchmarks.spirals import SPIRALS
from orchestrator.replay.replay import ReplayLimits, replay_trace
from orchestrator.replay.traces import Trace, TraceCall

WITHIN = 40
"""Calls after the onset within which a stop is in time."""
SHARE = 52 / 60
"""Of the kinds of spiral at least so many are stopped in time."""
_CALLS = 200

PRELUDE = [read("README.md"), search("start", "main.py: start"), run("ls src", "main.py"), read("main.py")]
OTHERS: dict[str, Callable[[Sequence[TraceCall]], int | None]] = {
    "names": lambda calls: names_fire_at(call.name for call in calls),
    "openhands": openhands_fires_at,
    "gemini-cli": gemini_fires_at,
}


@dataclass(frozen=True, slots=True)
class Seen:
    """One kind: where it began (0: it is honest work) and where each detector stopped it."""

    kind: str
    onset: int
    ours: int | None
    guard: str
    others: tuple[int | None, ...]

    def in_time(self, at: int | None) -> bool:
        """Whether a stop there is one of the spiral, and early."""
        return at is not None and self.onset <= at < self.onset + WITHIN


def spirals() -> list[Seen]:
    """Every kind of spiral, behind a few calls of work."""
    return [_seen(kind, len(PRELUDE) + 1, [*PRELUDE, *rounds(each, _CALLS)]) for kind, each in SPIRALS.items()]


def honest() -> list[Seen]:
    """Every kind of honest work."""
    return [_seen(kind, 0, rounds(each, most)) for kind, (each, most) in HONEST.items()]


def _seen(kind: str, onset: int, calls: list[TraceCall]) -> Seen:
    stop = replay_trace(Trace(id=kind, calls=tuple(calls)), ReplayLimits()).stop
    others = tuple(fires(calls) for fires in OTHERS.values())
    return Seen(kind, onset, stop.at_tool_call if stop else None, stop.verdict.guard if stop else "", others)


def print_onsets() -> bool:
    """Print both tables; whether the guards keep what is promised of them."""
    spiral, work = spirals(), honest()
    _print("spiral", spiral)
    _print("honest work", [seen for seen in work if seen.ours or any(seen.others)])
    ours = sum(seen.in_time(seen.ours) for seen in spiral)
    false = sum(seen.ours is not None for seen in work)
    print(f"\n{'':<12} stopped within {WITHIN} calls, of {len(spiral)}   honest work stopped, of {len(work)}")
    print(f"{'ours':<12} {ours:>6} {false:>40}")
    for number, name in enumerate(OTHERS):
        early = sum(seen.in_time(seen.others[number]) for seen in spiral)
        print(f"{name:<12} {early:>6} {sum(seen.others[number] is not None for seen in work):>40}")
    return ours >= SHARE * len(spiral) and not false


def _print(what: str, seen: Sequence[Seen]) -> None:
    print(f"\n{what:<44} onset  ours  {'guard':<14} {'  '.join(OTHERS)}")
    for each in seen:
        others = "  ".join(f"{at or '-':>{len(name)}}" for name, at in zip(OTHERS, each.others, strict=True))
        print(f"{each.kind:<44} {each.onset or '-':>5} {each.ours or '-':>5}  {each.guard:<14} {others}")
