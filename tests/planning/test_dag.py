"""Order, critical path and bounds of a plan."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from orchestrator.domain.errors import UserError
from orchestrator.domain.task import Task
from orchestrator.planning.dag import WorstCase, generations, with_dependencies, worst_case


def task(key: str, *depends_on: str, budget: int = 20, attempts: int = 2) -> Task:
    return Task(
        id=key,
        plan_id="p",
        key=key,
        title=key,
        prompt="Do it.",
        kind="simple",
        role="r",
        qc_role="q",
        tool_call_budget=budget,
        max_attempts=attempts,
        depends_on=depends_on,
    )


DIAMOND = (task("d", "b", "c"), task("c", "a", budget=50), task("b", "a"), task("a"))


def test_generations_keep_the_plan_order_within() -> None:
    """What can start together stands together, in the order of the file."""
    assert generations(DIAMOND) == (("a",), ("c", "b"), ("d",))


def test_named_tasks_come_with_what_they_depend_on() -> None:
    """--task KEY takes its dependencies along and nothing else; an unknown key is named with its neighbour."""
    assert [each.key for each in with_dependencies(DIAMOND, ["c"])] == ["c", "a"]
    with pytest.raises(UserError, match="no task 'dd'; did you mean 'd'"):
        with_dependencies(DIAMOND, ["dd"])


def test_bounds_are_the_worst_case() -> None:
    """All attempts with all their calls and a grant each, three times that asked for and the call that ends it, two
    reviews an attempt, and those of one attempt a task that does not count."""
    most = worst_case(DIAMOND, request_factor=3, review_budget=25, reviews=2, uncounted=1)
    calls = 2 * (3 * 30 + 75)
    assert most == WorstCase(tasks=4, attempts=8, tool_calls=calls, asked=3 * calls + 8, review_calls=12 * 2 * 25)


@given(st.lists(st.sets(st.integers(0, 30)), max_size=20))
def test_every_task_comes_after_what_it_depends_on(edges: list[set[int]]) -> None:
    """In any DAG each task stands once, in a later round than its dependencies."""
    tasks = [task(f"t{n}", *(f"t{other}" for other in others if other < n)) for n, others in enumerate(edges)]
    rounds = {key: number for number, keys in enumerate(generations(tasks)) for key in keys}
    assert rounds.keys() == {each.key for each in tasks}
    assert all(rounds[other] < rounds[each.key] for each in tasks for other in each.depends_on)
