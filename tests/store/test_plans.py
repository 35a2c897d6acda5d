"""Storing plans and reading them back; finding things by id."""

from __future__ import annotations

import dataclasses
from datetime import timedelta

import pytest

from orchestrator.domain.errors import GraphError, UserError
from orchestrator.domain.plan import CheckNeeds, PlannedTask, PlanningRound
from orchestrator.store.graph_store import GraphStore
from tests.support.samples import (
    T0,
    attempt_owner,
    call,
    claimed,
    new_id,
    new_plan,
    new_run,
    new_task,
    opened,
    reply,
    statuses,
    turn,
)


def test_a_plan_comes_back_as_written(any_graph: GraphStore) -> None:
    """Tasks in plan order, with every field, assessment and repository, and what its commands need."""
    plan = new_plan(12, lambda index: [index - 1, 0] if index > 1 else [])
    plan = dataclasses.replace(
        plan, checks=(CheckNeeds("make", heavy=True), CheckNeeds("curl", services=("a", "b"), network=True))
    )
    any_graph.store_plan(plan)
    assert any_graph.plan(plan.id) == plan


def test_storing_a_plan_twice_changes_nothing(any_graph: GraphStore) -> None:
    """Ids are deterministic: nothing doubles."""
    plan = new_plan(3, lambda index: [0] if index else [])
    for _ in range(2):
        any_graph.store_plan(plan)
    assert any_graph.plan(plan.id) == plan
    counted = any_graph.query(
        "MATCH (:Plan {id: $id})-[h:HAS_TASK]->(t) OPTIONAL MATCH (t)-[d:DEPENDS_ON|READS|WRITES]->() "
        "RETURN count(DISTINCT t), count(DISTINCT h), count(d)",
        {"id": plan.id},
    )
    assert list(counted.rows) == [[3, 3, 2 + 3 + 3]]


def test_a_plan_is_replaced_with_what_it_depends_on(any_graph: GraphStore) -> None:
    """Tasks that nobody attempted may go, with their assessments; dependencies and files are written anew."""
    plan = new_plan(3, lambda index: [0] if index else [])
    any_graph.store_plan(plan)
    first = dataclasses.replace(plan.tasks[0].task, files_written=("other.py",))
    second = dataclasses.replace(plan.tasks[1].task, depends_on=())
    replaced = tuple(dataclasses.replace(p, task=t) for p, t in zip(plan.tasks, (first, second), strict=False))
    changed = dataclasses.replace(plan, tasks=replaced, status="draft")
    any_graph.store_plan(changed)
    assert any_graph.plan(plan.id) == changed
    left = any_graph.query("MATCH (n) WHERE n.id STARTS WITH $id RETURN n.id", {"id": f"{plan.id}:t2"})
    assert list(left.rows) == []


def test_a_task_that_was_attempted_is_not_dropped(any_graph: GraphStore) -> None:
    """History is not deleted by an edit; and what is running stays running."""
    plan, run = opened(any_graph, 2)
    claimed(any_graph, run)
    with pytest.raises(UserError, match=r"attempted: .*:t0"):
        any_graph.store_plan(dataclasses.replace(plan, tasks=plan.tasks[1:]))
    more = PlannedTask(new_task(plan.id, 7, [0]), plan.tasks[0].assessment, "rejected")
    any_graph.store_plan(dataclasses.replace(plan, tasks=(*plan.tasks, more)))
    assert statuses(any_graph, plan) == {"t0": "running", "t1": "pending", "t7": "rejected"}


def test_what_waits_for_a_rejected_task_is_blocked_in_a_run(any_graph: GraphStore) -> None:
    """A rejected task is not executed without an override, nor is what depends on it."""
    plan = new_plan(3, lambda index: [0] if index == 1 else [])
    rejected = dataclasses.replace(plan.tasks[0], status="rejected")
    any_graph.store_plan(dataclasses.replace(plan, tasks=(rejected, *plan.tasks[1:])))
    run = any_graph.open_run(new_run(plan))
    assert statuses(any_graph, plan) == {"t0": "rejected", "t1": "blocked", "t2": "pending"}
    assert claimed(any_graph, run).task.key == "t2"


def test_a_prompt_longer_than_the_limit_is_given_to_the_worker_whole(any_graph: GraphStore) -> None:
    """What the graph holds is cut; what a task is executed by is not."""
    plan = new_plan(1)
    prompt = "Do this: " + "ü" * 30_000
    long = dataclasses.replace(plan.tasks[0].task, prompt=prompt)
    any_graph.store_plan(dataclasses.replace(plan, tasks=(dataclasses.replace(plan.tasks[0], task=long),)))
    run = any_graph.open_run(new_run(plan))
    assert claimed(any_graph, run).task == long
    assert any_graph.tasks(plan.id)[0].task == long


def test_a_number_behind_an_id_names_its_part(any_graph: GraphStore) -> None:
    """Every form that the product prints: an attempt behind its task's key, id or beginning of one, a call behind an
    attempt, the branch of a run. A part that is not there is named."""
    plan, run = opened(any_graph, 1)
    claim = claimed(any_graph, run)
    any_graph.record(attempt_owner(claim), [turn(1), reply(1, (call(7),))])
    repository, task = plan.repository.id, plan.tasks[0].task.id

    def found(text: str) -> tuple[str, str]:
        return any_graph.resolve(text, repository)

    for text in (claim.attempt_id, "t0:1", "t0#1", "t0 #1", f"{task} #1", f"{plan.id}:t:01"):
        assert found(text) == ("Attempt", claim.attempt_id)
    for text in ("t0:1:7", "t0 #1 #7", f"{claim.attempt_id}:7"):
        assert found(text) == ("ToolCall", f"{claim.attempt_id}:7")
    assert found(f"orchestrate/{run.id}") == ("Run", run.id)
    assert found("plan #2") == ("Plan", plan.id)
    for text, said in {
        "t0:2": f"Task {task} has no attempt 2.",
        "t0:1:1": "has no tool call 1",
        "t9:1": "has the id or key 't9'",
        f"{run.id}:1": "is a Run and has no numbered parts",
        ":1": "has the id or key ':1'",
    }.items():
        with pytest.raises(UserError, match=said):
            found(text)


def test_the_newest_plan_is_found_by_repository_and_status(any_graph: GraphStore) -> None:
    """One shared server holds many repositories: every lookup starts from one."""
    old = new_plan(1)
    new = dataclasses.replace(new_plan(1, repository=old.repository), created_at=T0 + timedelta(days=1), status="draft")
    for plan in (new, old, new_plan(1)):
        any_graph.store_plan(plan)
    repository = old.repository.id
    assert any_graph.newest_plan(repository) == new.id
    assert any_graph.newest_plan(repository, status="ready") == old.id
    assert any_graph.newest_plan(repository, status="done") is None
    assert any_graph.newest_plan(new_id("r")) is None


def test_a_planning_round_is_created_and_completed(any_graph: GraphStore) -> None:
    """A round hangs on its plan, a draft will do; without one it is refused."""
    draft = dataclasses.replace(new_plan(0), status="draft")
    any_graph.store_plan(draft)
    begun = PlanningRound(f"{draft.id}:round1", draft.id, 1)
    any_graph.store_round(begun)
    any_graph.store_round(dataclasses.replace(begun, prompt_tokens=0, cost_usd=0.0, defects=("no verification",)))
    found = any_graph.query(
        "MATCH (:Plan {id: $id})-[:PLANNED_IN]->(r) RETURN r.number, r.costUsd, r.defects, r.promptTokens",
        {"id": draft.id},
    )
    assert list(found.rows) == [[1, 0.0, ["no verification"], 0]]
    with pytest.raises(GraphError, match="not in the graph"):
        any_graph.store_round(dataclasses.replace(begun, plan_id=new_id("p")))


def test_unknown_ids_are_the_users_error(any_graph: GraphStore) -> None:
    """Exit code 2, with the id in the message."""
    for read in (any_graph.plan, any_graph.run, any_graph.attempt):
        with pytest.raises(UserError, match="pnothing"):
            read("pnothing")
    assert any_graph.newest_run("pnothing") is None
    assert any_graph.tasks("pnothing") == ()


def test_an_id_is_a_full_id_a_unique_prefix_or_a_key(any_graph: GraphStore) -> None:
    """An ID is a full id, a unique prefix of one, or a task's key in the newest plan."""
    plan, run = opened(any_graph, 11)
    claim = claimed(any_graph, run)
    repository = plan.repository.id
    assert any_graph.resolve(plan.id, repository) == ("Plan", plan.id)
    assert any_graph.resolve(run.id[:9], repository) == ("Run", run.id)
    assert any_graph.resolve(f"{plan.id}:t1", repository) == ("Task", f"{plan.id}:t1")
    assert any_graph.resolve("t10", repository) == ("Task", f"{plan.id}:t10")
    assert any_graph.resolve(claim.attempt_id, repository) == ("Attempt", claim.attempt_id)
    with pytest.raises(UserError, match="beginning of several ids"):
        any_graph.resolve(f"{plan.id}:t", repository)
    with pytest.raises(UserError, match="Nothing here"):
        any_graph.resolve("zzz", repository)
    with pytest.raises(UserError, match="Nothing here"):
        any_graph.resolve(plan.id, new_id("r"))


def test_an_ambiguous_prefix_names_its_candidates(any_graph: GraphStore) -> None:
    """The error lists what it could be."""
    first, second = new_plan(1), new_plan(1)
    any_graph.store_plan(first)
    any_graph.store_plan(dataclasses.replace(second, repository=first.repository))
    with pytest.raises(UserError) as caught:
        any_graph.resolve("p", first.repository.id)
    assert first.id in str(caught.value) and second.id in str(caught.value)


def test_a_plan_of_a_thousand_tasks_is_stored_and_opened(any_graph: GraphStore) -> None:
    """Ingestion is in batches; benchmarks/graph_ingest.py prints how long it takes."""
    plan, run = opened(any_graph, 1_000, lambda index: range(max(0, index - 3), index))
    assert len(any_graph.tasks(plan.id)) == 1_000
    assert claimed(any_graph, run).task.key == "t0"
