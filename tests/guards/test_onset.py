"""What is promised of the guards over made-up spirals and made-up honest work."""

from __future__ import annotations

from benchmarks.onset import SHARE, honest, spirals
from benchmarks.other_detectors import gemini_fires_at, openhands_fires_at
from orchestrator.replay.traces import TraceCall


def test_spirals_are_stopped_soon_after_their_onset() -> None:
    """Of at least sixty kinds 52 in 60 are stopped within forty calls, and none before it began."""
    seen = spirals()
    assert len(seen) >= 60
    assert [each.kind for each in seen if each.ours is not None and each.ours < each.onset] == []
    late = [each.kind for each in seen if not each.in_time(each.ours)]
    assert len(late) <= (1 - SHARE) * len(seen), late


def test_honest_work_is_never_stopped() -> None:
    """None of at least forty kinds."""
    seen = honest()
    assert len(seen) >= 40
    assert [(each.kind, each.guard, each.ours) for each in seen if each.ours is not None] == []


def test_the_other_detectors_do_as_documented() -> None:
    """The same action and observation four times, an error three times, the same call five times."""
    same, error = TraceCall(name="read_file", result_sha="r"), TraceCall(name="run_command", ok=False)
    assert openhands_fires_at([same] * 9) == 4
    assert openhands_fires_at([error] * 9) == 3
    assert openhands_fires_at([same, error] * 9) == 6
    assert gemini_fires_at([same] * 9) == 5
    assert gemini_fires_at([same, error] * 9) is None
