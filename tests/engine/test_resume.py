"""Where an attempt starts after its predecessors died, over a real graph and a real Shadow."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from orchestrator.app import App
from orchestrator.domain.events import Event, ToolRequested
from orchestrator.domain.run import Claim, ClaimRequest, Orphan
from orchestrator.engine import runs
from orchestrator.engine.attempt.resume import Start, find_start
from orchestrator.engine.runs import ExecuteOptions
from orchestrator.planning.source import PlanSource
from orchestrator.planning.validate import examine
from orchestrator.store.graph_store import GraphStore
from tests.support.samples import T0, attempt_owner, call, finished, reply, turn
from tests.support.story import Story, git, make_repository

PLAN = {
    "goal": "Better",
    "verification": ["true"],
    "tasks": [{"key": "t", "prompt": "Do.", "files_written": ["a.txt"]}],
}


@dataclass
class Stage:
    """A run of one task, whose attempts the test claims and lets die."""

    app: App
    run_id: str
    plan_id: str

    @property
    def head(self) -> str:
        """The run's head."""
        return self.app.graph.run(self.run_id).head_commit

    def claim(self) -> Claim:
        """The next attempt."""
        now = self.app.clock.now()
        claim = self.app.graph.claim(
            ClaimRequest(run_id=self.run_id, plan_id=self.plan_id, owner="me", at=now, lease_until=now, keys=None)
        )
        assert claim is not None
        return claim

    def begin(self, claim: Claim) -> Start:
        """What the engine writes at an attempt's begin."""
        start = find_start(self.app.services(), claim)
        self.app.graph.describe_attempt(claim, {"tree_before": start.tree, "base_commit": start.base, "model": "m"})
        return start

    def work(self, claim: Claim, text: str) -> str:
        """A workspace's tree with a file written; what the worker submits as finished."""
        workspace = self.app.workspaces.open(claim.attempt_id, self.head, head=self.head)
        workspace.write("a.txt", text.encode())
        tree = workspace.snapshot(["a.txt"])
        workspace.close()
        self.app.graph.await_review(claim, "Done.", tree, self.app.clock.now())
        return tree

    def die(self, claim: Claim) -> None:
        """The process of an attempt is killed, and the next one sees it."""
        at = self.app.clock.now()
        orphan = Orphan(
            task_id=claim.task.id,
            task_key=claim.task.key,
            attempt_id=claim.attempt_id,
            owner="me",
            fence=claim.fence,
            started_at=claim.at,
            last_event_at=at,
        )
        assert self.app.graph.close_interrupted(orphan, at)


@pytest.fixture
def stage(tmp_path: Path, embedded_home: Path, empty_graph: GraphStore) -> Iterator[Stage]:
    """A fresh one, in a graph of its own."""
    story = Story(make_repository(tmp_path / "repository")).share(embedded_home / "graph")
    with App(story.repository, story.environ, flags={}, on_wait=lambda _message: None) as app:
        outcome = app.load_plan(examine(PlanSource(PLAN)))
        assert outcome.defects == ()
        prepared = runs.prepare_run(app.services(), app.graph.plan(outcome.plan.id), ExecuteOptions(), app.home)
        assert prepared is not None
        yield Stage(app, prepared[1].id, outcome.plan.id)


def test_work_survives_a_chain_of_deaths(stage: Stage) -> None:
    """Finished, then killed in the review; its successors killed before and just after they began: the work of the
    first is what the fourth starts from, and it only has its gates to pass."""
    first = stage.claim()
    stage.begin(first)
    tree = stage.work(first, "work")
    stage.die(first)
    stage.die(stage.claim())  # claimed, and killed before it began

    third = stage.claim()
    start = stage.begin(third)

    assert start.tree == tree
    assert start.submitted is not None
    stage.die(third)  # began, and changed nothing
    fourth = find_start(stage.app.services(), stage.claim())
    assert fourth.tree == tree
    assert [a.status for a in fourth.earlier] == ["interrupted"] * 3


def test_a_killed_attempt_goes_on_from_its_last_recorded_call(stage: Stage) -> None:
    """The worker had not handed in: its successor finds the files as the last recorded call left them."""
    first = stage.claim()
    stage.begin(first)
    workspace = stage.app.workspaces.open(first.attempt_id, stage.head, head=stage.head)
    workspace.write("a.txt", b"half done")
    tree = workspace.snapshot(["a.txt"])
    workspace.close()
    write = call(2, writes_to=("a.txt",))
    events: list[Event] = [turn(1), reply(1, (write,)), ToolRequested(at=T0, turn_seq=1, call=write)]
    stage.app.graph.record(attempt_owner(first), [*events, finished(write, tree_after=tree)])
    stage.die(first)

    start = find_start(stage.app.services(), stage.claim())

    assert start.tree == tree
    assert start.submitted is None
    assert [type(event).__name__ for event in start.inherited][-1] == "ToolFinished"


def test_finished_work_that_no_longer_merges_is_done_again(stage: Stage) -> None:
    """The run's head moved on in a conflicting way while the finished attempt was dead: nothing is submitted any more,
    so an empty diff never stands for the work."""
    first = stage.claim()
    stage.begin(first)
    stage.work(first, "work")
    stage.die(first)
    repository = stage.app.repository.root
    (repository / "a.txt").write_text("others\n")
    git(repository, "add", "a.txt")
    git(repository, "commit", "-qm", "meanwhile")
    moved = stage.app.workspaces.resolve(git(repository, "rev-parse", "HEAD"))

    stage.app.graph.query(
        "MATCH (r:Run {id: $id}) SET r.headCommit = $head", {"id": stage.run_id, "head": moved}, write=True
    )

    start = find_start(stage.app.services(), stage.claim())

    assert start.submitted is None
    assert start.tree == stage.app.workspaces.tree_of(moved)
