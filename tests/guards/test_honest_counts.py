"""The table of honest counts in docs/guards.md is what the guards measure."""

from __future__ import annotations

import json
from pathlib import Path

from benchmarks.counts import BOUNDS, honest_counts, made_up
from orchestrator.replay.replay import ReplayLimits, replay_trace
from orchestrator.replay.traces import Trace

ROOT = Path(__file__).parents[2]
FILES = sorted((ROOT / "tests" / "data" / "traces").glob("*.jsonl"))
WORK = [json.loads(line) for file in FILES for line in file.read_text().splitlines()]


def test_the_table_of_honest_counts_is_current() -> None:
    """Every measure with its greatest counts and its bounds."""
    real = honest_counts(Trace.model_validate(each) for each in WORK if not each.get("spiral"))
    made, page = honest_counts(made_up()), (ROOT / "docs/guards.md").read_text()
    for measure, (warn, stop) in BOUNDS.items():
        name = measure.replace("_", " ")
        told = real[measure] if not measure.startswith("figures") else "-"
        assert f"| {name} | {made[measure]} | {told} | {warn or '-'} | {stop} |" in page


def test_thirteen_tests_that_answer_alike_are_the_most() -> None:
    """What the documentation says of honest work that comes near a stop."""
    call = {"name": "run_command", "result_sha": "1 passed", "shape_sha": "s", "says": True}
    calls = [{**call, "arguments": {"command": f"pytest -q {n}"}} for n in range(30)]
    stop = replay_trace(Trace.model_validate({"id": "t", "calls": calls}), ReplayLimits()).stop
    assert stop is not None
    assert "thirteen are the most" in (ROOT / "docs/guards.md").read_text()
    assert (stop.verdict.guard, stop.at_tool_call) == ("no_news", 14)
