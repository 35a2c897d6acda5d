"""A worker whose every reply fills its window."""

from __future__ import annotations

from pathlib import Path

from agents.scripted.server import serve
from orchestrator.store.graph_store import GraphStore
from tests.support.replays import assert_replay_agrees
from tests.support.scripts import call, finish, plan_of, review, script, task, worker
from tests.support.story import CALC, TEST_CALC, Story, make_repository

LONG = {f"d/f{n}.txt": "".join(f"line {n} {m} lorem ipsum dolor {n * m}\n" for m in range(420)) for n in range(18)}


def test_a_worker_that_reads_much_at_once_goes_on_while_compaction_makes_room(
    tmp_path: Path, embedded_home: Path, empty_graph: GraphStore
) -> None:
    """Nine replies of two long files each in a window for 14,000 tokens: every compaction makes room again, so none
    counts against the attempt; the graph tells what each gained, and a replay agrees."""
    reads = [call("read_file", path=path)["call"] for path in LONG]
    replies = [{"calls": reads[n : n + 2]} for n in range(0, len(reads), 2)]
    done = call("write_file", path="two.txt", file_text="x\n")
    repository = make_repository(tmp_path / "repository", {"calc.py": CALC, "test_calc.py": TEST_CALC, **LONG})
    with (
        Story(repository).share(embedded_home / "graph").closing() as story,
        serve(script(worker("two", *replies, done, finish()), review())) as served,
    ):
        story.use_model(served.base_url)
        story.environ["ORCHESTRATE_MODELS_WORKER_CONTEXT_WINDOW"] = "16000"
        story.environ["ORCHESTRATE_MODELS_WORKER_MAX_OUTPUT_TOKENS"] = "2000"
        story.plan(plan_of(task("two", writes=["two.txt"], more="    max_attempts: 1\n"), verification="true"))
        story.ok("execute")
        rows = story.ask(
            "MATCH (:Attempt)-[:TOOK]->(t:Turn {compacted: true}) "
            "RETURN t.uncompactedTokens AS before, t.windowTokens AS after, t.tokenCap AS cap"
        )
        assert len(rows) >= 6
        assert all(row["after"] < row["cap"] < row["before"] for row in rows)
        assert story.ask("MATCH (g:GuardEvent {guard: 'window'}) RETURN count(g) AS n") == [{"n": 0}]
        assert_replay_agrees(empty_graph)
