"""The demo's walk over every wire: plan, work, a failed review, a spiral that is stopped."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

from agents.chat.wire import WireName
from agents.chat.wires import WIRES
from agents.scripted.server import serve
from orchestrator.demo import EXPECTED, make_sample, plan, script
from orchestrator.store.graph_store import GraphStore
from tests.support.replays import assert_replay_agrees
from tests.support.story import Story, git

ASKED = (
    "MATCH (t:Task)-[:HAS_ATTEMPT]->(a) RETURN t.key AS task, a.number AS number, a.stopReason AS reason, "
    "a.toolCallCount AS calls ORDER BY task, number"
)
ENDS = [
    ("durations", 1, "stalled", 5),
    ("durations", 2, "loop_detected", 3),
    ("median", 1, "accepted", 4),
    ("report", 1, "review_failed", 5),
    ("report", 2, "accepted", 3),
]
PATHS = {"chat": "/v1/chat/completions", "responses": "/v1/responses", "messages": "/v1/messages"}


@pytest.fixture
def sample(tmp_path: Path, embedded_home: Path, empty_graph: GraphStore) -> Iterator[Story]:
    """A user at the demo's repository, with an empty graph."""
    make_sample(tmp_path / "sample")
    with Story(tmp_path / "sample").share(embedded_home / "graph").closing() as story:
        yield story
        assert_replay_agrees(empty_graph)


def thinking(apis: list[WireName]) -> Mapping[str, Any]:
    """The demo's script, of a model that thinks before each reply and speaks these APIs alone."""
    told = script()
    for conversation in told["conversations"]:
        conversation["replies"] = [{**reply, "reasoning": True} for reply in conversation["replies"]]
    return {**told, "apis": apis}


@pytest.mark.parametrize("api", WIRES)
def test_the_demo_comes_to_the_same_end_over_every_wire(sample: Story, api: WireName) -> None:
    """The model thinks, and checks with every request that what it thought came back: nothing of it is dropped or
    changed on the way."""
    sample.environ |= {"ORCHESTRATE_MODELS_API": api, "ORCHESTRATE_MODELS_MAX_OUTPUT_TOKENS": "4096"}
    with serve(thinking([api])) as model:
        sample.use_model(model.base_url)
        sample.ok("plan", plan()["goal"])
        done = sample.run("execute", "--json")

    answer = json.loads(done.stdout)
    assert {task["key"]: (task["status"], task["attempts"]) for task in answer["tasks"]} == EXPECTED, done.stderr
    assert [tuple(row.values()) for row in sample.ask(ASKED)] == ENDS
    assert {path.partition("?")[0] for path in model.paths} == {PATHS[api]}
    assert int(git(sample.repository, "rev-list", "--count", f"main..{answer['branch']}")) == 2
