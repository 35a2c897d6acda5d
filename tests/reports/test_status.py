"""How a plan stands: what is going on now, and which plan an id belongs to."""

from __future__ import annotations

import pytest

from orchestrator.domain.errors import UserError
from orchestrator.reports.ask import ask_graph
from orchestrator.reports.saved_queries import saved_query
from orchestrator.reports.status import plan_and_run
from orchestrator.reports.timeline import TimelineTurn, tell
from tests.reports.conftest import World


def test_what_is_running_counts_executed_calls_alone(world: World) -> None:
    """`status`, the saved query and the story tell the same number: no duplicate, refused call or control tool is in
    it; the last call is the last that was asked for."""
    (row,) = ask_graph(world.graph, "running_calls", plan=world.id("p"))
    assert (row["calls"], row["budget"], row["tool"]) == (2, 20, "search")
    saved = saved_query("running-now")
    table = world.graph.query(saved.cypher, {"repository": world.id("r")})
    assert dict(zip(table.columns, table.rows[0], strict=True))["toolCalls"] == row["calls"]
    (turn,) = tell(ask_graph(world.graph, "attempt_facts", attempt=world.id("a4")), 20)
    assert isinstance(turn, TimelineTurn)
    assert turn.calls_used == row["calls"]


def test_the_plan_of_any_id_is_found(world: World) -> None:
    """A plan, task or attempt names its plan; nothing named is the newest plan of the repository."""
    repository, plan = world.id("r"), world.id("p")
    for wanted in (None, plan, world.id("t1"), world.id("a3"), "beta"):
        assert plan_and_run(world.graph, repository, wanted) == (plan, None)


def test_what_belongs_to_no_plan_is_the_users_error(world: World) -> None:
    """A repository without a plan, and an id of something else, say the way out."""
    with pytest.raises(UserError, match=r"no plan yet.*orchestrate plan"):
        plan_and_run(world.graph, "nothing", None)
    with pytest.raises(UserError, match="Nothing here has the id"):
        plan_and_run(world.graph, world.id("r"), "no-such-thing")
