"""What an execution is going to do: the dry run and the run that follows say the same, and it is so."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path

import pytest

from orchestrator.app import App
from orchestrator.domain.plan import Plan
from orchestrator.domain.progress import Progress, RunStarted
from orchestrator.domain.run import ClaimRequest, Run
from orchestrator.engine import runs
from orchestrator.engine.runs import ExecuteOptions, outlook
from orchestrator.planning.source import PlanSource
from orchestrator.planning.validate import examine
from orchestrator.store.graph_store import GraphStore
from tests.support.samples import complete, statuses, unfinished
from tests.support.story import Story, make_repository

PLAN = {
    "goal": "Better",
    "verification": ["true"],
    "tasks": [
        {"key": "stopped", "prompt": "Do.", "files_written": ["a.txt"]},
        {"key": "behind", "prompt": "Do.", "files_written": ["b.txt"], "depends_on": ["stopped"]},
        {"key": "done", "prompt": "Do.", "files_written": ["c.txt"]},
        {"key": "cancelled", "prompt": "Do.", "files_written": ["d.txt"]},
    ],
}


@dataclass
class Stage:
    """A run in which one task was stopped by a bound, one completed and one cancelled."""

    app: App
    run: Run
    plan: Plan

    def open(self, options: ExecuteOptions) -> RunStarted:
        """Execute with these options, up to the first claim; what was told of it."""
        told: list[Progress] = []
        services = replace(self.app.services(), listener=told.append)
        assert runs.prepare_run(services, self.plan, options, self.app.home) is not None
        (started,) = (event for event in told if isinstance(event, RunStarted))
        return started

    def pending(self) -> list[str]:
        """The tasks that are to be executed, as the graph has it."""
        return [key for key, status in statuses(self.app.graph, self.plan).items() if status == "pending"]


@pytest.fixture
def stage(tmp_path: Path, embedded_home: Path, empty_graph: GraphStore) -> Iterator[Stage]:
    """A fresh one, whose run goes on."""
    story = Story(make_repository(tmp_path / "repository")).share(embedded_home / "graph")
    with App(story.repository, story.environ, flags={}, on_wait=lambda _message: None) as app:
        plan = app.graph.plan(app.load_plan(examine(PlanSource(PLAN))).plan.id)
        prepared = runs.prepare_run(app.services(), plan, ExecuteOptions(), app.home)
        assert prepared is not None
        now, run = app.clock.now(), prepared[1]
        request = ClaimRequest(run_id=run.id, plan_id=plan.id, owner="me", at=now, lease_until=now, keys=None)
        for key in ("stopped", "done"):
            claim = app.graph.claim(replace(request, keys=(key,)))
            assert claim is not None
            if key == "done":
                complete(app.graph, claim)
                continue
            app.graph.conclude(claim, replace(unfinished("failed", "stalled"), attempt_status="stopped"))
        (lone,) = (planned.task.id for planned in plan.tasks if planned.task.key == "cancelled")
        assert app.graph.cancel_task(lone, now)
        yield Stage(app, replace(run, head_commit=app.graph.run(run.id).head_commit), plan)


def told_of(stage: Stage, options: ExecuteOptions) -> tuple[list[str], tuple[str, ...]]:
    """What the dry run says: the tasks, and the bounds."""
    ahead = outlook(stage.app.services(), stage.plan, options)
    return [task.key for task in ahead.tasks], runs.bounds_in_words(stage.app.services(), ahead.tasks)


def test_a_new_run_tries_what_was_cancelled_and_not_what_is_left_out(stage: Stage) -> None:
    """What waits for the task that is left out is not tried either; the bounds are those of the one task that is."""
    stage.app.graph.finish_run(stage.run.id, "failed", stage.app.clock.now())
    keys, bounds = told_of(stage, ExecuteOptions())

    started = stage.open(ExecuteOptions())

    assert keys == stage.pending() == ["cancelled"]
    assert started.bounds == bounds
    assert " attempts of 1 task " in bounds[0]


def test_a_run_that_is_gone_on_with_tries_nothing_that_has_ended(stage: Stage) -> None:
    """Cancelled, failed and blocked tasks stay what they are."""
    keys, bounds = told_of(stage, ExecuteOptions())

    started = stage.open(ExecuteOptions())

    assert keys == stage.pending() == []
    assert started.joined and started.bounds == bounds


def test_a_fresh_run_tries_everything_again(stage: Stage) -> None:
    """What is completed and what a bound has ended too."""
    keys, bounds = told_of(stage, ExecuteOptions(fresh=True))

    started = stage.open(ExecuteOptions(fresh=True))

    assert keys == stage.pending() == ["stopped", "behind", "done", "cancelled"]
    assert started.bounds == bounds
