"""The greatest count that honest work brings each rule's measure to, beside the counts that warn and stop."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator

from benchmarks.calls import rounds
from benchmarks.honest_work import HONEST
from orchestrator.guards.figures import FiguresGuard
from orchestrator.guards.guard import Guard
from orchestrator.guards.guard_set import GuardSet
from orchestrator.guards.limits import GuardLimits
from orchestrator.guards.no_news import NoNewsGuard
from orchestrator.guards.repetition import RepetitionGuard
from orchestrator.guards.same_error import SameErrorGuard
from orchestrator.guards.same_failure import SameFailureGuard
from orchestrator.guards.stall import StallGuard
from orchestrator.guards.thrash import ThrashGuard
from orchestrator.replay.replay import ReplayLimits
from orchestrator.replay.traces import Trace, events_of_trace

_LIMITS = GuardLimits()
BOUNDS: dict[str, tuple[int | None, int]] = {
    "repetition: in a row": (_LIMITS.repetition_warn, _LIMITS.repetition_stop),
    "stall: batches in a row": (_LIMITS.stall_batches, _LIMITS.stall_batches + 2),
    "figures: in a row": (_LIMITS.figures_warn, _LIMITS.figures_stop),
    "same_error: in a row": (_LIMITS.same_error_warn, _LIMITS.same_error_stop),
    "same_failure: times": (_LIMITS.same_failure_warn, _LIMITS.same_failure_stop),
    "no_news: of the window": (_LIMITS.no_news_warn, _LIMITS.no_news_stop),
    "thrash: rewrites": (_LIMITS.thrash_warn, _LIMITS.thrash_stop),
    "thrash: steps made again": (_LIMITS.revert_warn, _LIMITS.revert_stop),
    "thrash: writes": (None, _LIMITS.writes_stop),
}
"""Each measure's counts that warn and stop."""


def honest_counts(traces: Iterable[Trace]) -> Counter[str]:
    """The greatest count of each measure over the traces."""
    greatest: Counter[str] = Counter()
    for trace in traces:
        guard_set = GuardSet.begin(ReplayLimits().for_traces(), 10**9, ())
        for event in events_of_trace(trace):
            guard_set, _ = guard_set.judge(event)
            greatest |= Counter(dict(measure for guard in guard_set.guards for measure in _measures(guard)))
    return greatest


def made_up() -> list[Trace]:
    """The kinds of honest work as traces."""
    return [Trace(id=kind, calls=tuple(rounds(each, most))) for kind, (each, most) in HONEST.items()]


def _measures(guard: Guard) -> Iterator[tuple[str, int]]:
    match guard:
        case RepetitionGuard():
            yield "repetition: in a row", guard.triples.in_a_row
        case StallGuard():
            yield "stall: batches in a row", guard.count
        case FiguresGuard():
            yield "figures: in a row", guard.shapes.in_a_row
        case SameErrorGuard():
            yield "same_error: in a row", max((count for _, count, _ in guard.streaks.values()), default=0)
        case SameFailureGuard():
            yield "same_failure: times", max((count for _, count in guard.failed.values()), default=0)
        case NoNewsGuard():
            yield "no_news: of the window", sum(guard.stale)
        case ThrashGuard():
            files = guard.files.values()
            yield "thrash: rewrites", max((file.rewrites for file in files), default=0)
            yield "thrash: steps made again", max((file.returns for file in files), default=0)
            yield "thrash: writes", max((file.writes for file in files), default=0)


def print_counts(traces: Iterable[Trace]) -> None:
    """Print each measure's greatest count, over made-up work and over real traces, beside what warns and stops."""
    real, made = honest_counts(traces), honest_counts(made_up())
    print(f"\n{'greatest count of honest work':<32} made up  real  warns  stops")
    for measure, (warn, stop) in BOUNDS.items():
        print(f"{measure:<32} {made[measure]:>7} {real[measure]:>5} {warn or '-':>6} {stop:>6}")
