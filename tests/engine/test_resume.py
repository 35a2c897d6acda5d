"""Where an attempt starts after its predecessors died, over a real graph and a real Shadow."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest

from orchestrator.app import App
from orchestrator.domain.events import Event, ToolRequested
from orchestrator.domain.lifecycle import AttemptStatus
from orchestrator.domain.run import Claim, ClaimRequest, Orphan
from orchestrator.domain.task import Retry
from orchestrator.engine import runs
from orchestrator.engine.attempt.resume import Start, find_start
from orchestrator.engine.attempt.run_attempt import run_attempt
from orchestrator.engine.cancellation import CancelToken
from orchestrator.engine.lease_heartbeat import LeaseHeartbeat
from orchestrator.engine.runs import ExecuteOptions
from orchestrator.planning.source import PlanSource
from orchestrator.planning.validate import examine
from orchestrator.store.graph_store import GraphStore
from tests.support.processes import wait_until
from tests.support.samples import T0, attempt_owner, call, finished, new_id, reply, turn, unfinished
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
    def task_id(self) -> str:
        """Its only task's."""
        return self.app.graph.tasks(self.plan_id)[0].task.id

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

    def end(self, claim: Claim, status: AttemptStatus, reason: str, tree: str) -> None:
        """The attempt ends so, as its task's last one, and leaves a tree."""
        result = replace(unfinished("failed"), stop_reason=reason, tree_after=tree)
        self.app.graph.conclude(claim, replace(result, attempt_status=status))

    def retry(self, **added: Any) -> Start:
        """A person has the task tried again; where its next attempt begins."""
        at = self.app.clock.now()
        retry = Retry(id=new_id("y"), task_id=self.task_id, task_key="t", at=at, **added)
        self.app.graph.retry_task(self.plan_id, retry)
        return find_start(self.app.services(), self.claim())

    def die(self, claim: Claim) -> None:
        """The process of an attempt is killed, and the next one sees it."""
        at = self.app.clock.now()
        orphan = Orphan(
            plan_id=self.plan_id,
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


def test_a_retried_task_begins_at_the_head_after_a_stop(stage: Stage) -> None:
    """Its analysis is told, its work is not gone on with; unless a person names a tree that it left."""
    first = stage.claim()
    stage.begin(first)
    workspace = stage.app.workspaces.open(first.attempt_id, stage.head, head=stage.head)
    workspace.write("a.txt", b"half done")
    tree = workspace.snapshot()
    workspace.close()
    stage.end(first, "stopped", "stalled", tree)

    start = stage.retry()

    assert (start.tree, start.earlier, start.strategy) == (stage.app.workspaces.tree_of(stage.head), (), "after_stop")
    assert start.previous is not None
    assert start.previous.id == first.attempt_id
    stage.app.graph.cancel_task(stage.task_id, stage.app.clock.now())
    (known,) = stage.app.graph.trees_of_task(stage.task_id, tree[:9])
    assert known == (tree, stage.head)
    assert stage.retry(from_tree=tree, from_base=stage.head).tree == tree


def test_a_tree_that_was_named_is_begun_with_once(stage: Stage) -> None:
    """The attempt that began with it was stopped: one in a new run begins at the head again."""
    first = stage.claim()
    stage.begin(first)
    tree = stage.work(first, "half done")
    stage.end(first, "rejected", "gate_failed", tree)
    graph, at = stage.app.graph, stage.app.clock.now()
    named = Retry(id=new_id("y"), task_id=stage.task_id, task_key="t", at=at, from_tree=tree, from_base=stage.head)
    graph.retry_task(stage.plan_id, named)
    second = stage.claim()
    assert stage.begin(second).tree == tree
    stage.end(second, "stopped", "stalled", tree)
    graph.finish_run(stage.run_id, "failed", at)
    stage.run_id = graph.open_run(replace(graph.run(stage.run_id), id=new_id("r"), status="running")).id

    assert find_start(stage.app.services(), stage.claim()).tree == stage.app.workspaces.tree_of(stage.head)


def test_a_retried_task_goes_on_from_what_was_rejected(stage: Stage) -> None:
    """As a further attempt would have: with the rejected work, and its findings."""
    first = stage.claim()
    stage.begin(first)
    tree = stage.work(first, "wrong")
    stage.end(first, "rejected", "gate_failed", tree)

    start = stage.retry()

    assert (start.tree, start.earlier, start.strategy) == (tree, (), "after_rejection")
    assert start.previous is not None
    assert start.previous.status == "rejected"


def test_an_attempt_whose_start_cannot_be_found_counts(stage: Stage) -> None:
    """The rejected work's commit is gone from the Shadow: each attempt fails before it begins, and the second one of
    them is the task's last."""
    first = stage.claim()
    stage.app.graph.describe_attempt(first, {"tree_before": "1" * 40, "base_commit": "2" * 40, "model": "m"})
    stage.app.graph.await_review(first, "Done.", "1" * 40, stage.app.clock.now())
    rejected = replace(unfinished(), attempt_status="rejected", stop_reason="gate_failed", tree_after="1" * 40)
    stage.app.graph.conclude(first, rejected)
    plan, services = stage.app.graph.plan(stage.plan_id), stage.app.services()

    results = [run_attempt(services, plan, stage.claim(), None) for _ in range(2)]

    assert [result and (result.stop_reason, result.task_status) for result in results] == [
        ("workspace_error", "pending"),
        ("workspace_error", "failed"),
    ]
    start = stage.retry()
    assert (start.base, start.tree) == (stage.head, stage.app.workspaces.tree_of(stage.head))


def test_the_heartbeat_ends_an_attempt_that_was_cancelled(stage: Stage, tmp_path: Path) -> None:
    """Whoever holds no lease any more is told so without writing anything; the others work on."""
    claim = stage.claim()
    graph, cancelled, other = stage.app.graph, CancelToken(), CancelToken()
    life = LeaseHeartbeat(
        owner="me", folder=tmp_path / "owners", reader=graph, writer=graph, clock=stage.app.clock, lease_s=0.3
    )
    with life, life.watching(claim.attempt_id, cancelled):
        assert graph.cancel_task(claim.task.id, stage.app.clock.now())
        wait_until(cancelled.is_set)
    assert "cancelled in another shell" in cancelled.reason
    assert not other.is_set()
    assert CancelToken(cancelled).is_set()
    assert CancelToken(cancelled).reason == cancelled.reason
