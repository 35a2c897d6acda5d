"""What the PM is told when it plans and when it decides, and which tools it has."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from agents.planner import PlannerRole
from orchestrator.config.settings import BudgetsSettings, ComplexitySettings
from orchestrator.domain.assignment import (
    GrantRequest,
    PlanningAssignment,
)
from orchestrator.domain.ports import Workspace
from tests.support.chat_world import World, first_request
from tests.support.samples import new_task


def test_the_pm_is_told_the_rules_that_pre_flight_judges_by(desk: World, workspace: Workspace) -> None:
    """The complexity rules carry the settings' own numbers, and the assignment its round and files."""
    role = PlannerRole(lambda name: desk.chat, ComplexitySettings(refused_above=90), BudgetsSettings(simple=17))
    assignment = PlanningAssignment(goal="Add a health endpoint", repository_files=("app/main.py",), round=1)
    system, told, tools = first_request(desk, role.begin(assignment, workspace))
    assert "Round: 1" in told.splitlines()
    assert "app/main.py" in told
    assert "Above 90 it is refused" in system
    assert "gets 17 tool calls" in system
    assert "10 * files written + 2 * files read" in system
    assert tools == ["read_file", "list_files", "search", "read_output", "submit_plan"]


def test_a_refused_plan_comes_back_with_its_defects(desk: World, workspace: Workspace) -> None:
    """Later rounds hold the plan and every defect."""
    role = PlannerRole(lambda name: desk.chat, ComplexitySettings(), BudgetsSettings())
    assignment = PlanningAssignment(
        goal="g", repository_files=(), round=2, previous_plan={"tasks": [{"key": "a"}]}, defects=("a: too complex",)
    )
    _, told, _ = first_request(desk, role.begin(assignment, workspace))
    assert "- a: too complex" in told
    assert '"key": "a"' in told


def test_a_decision_is_one_call_of_submit_decision(desk: World) -> None:
    """The PM decides a request with nothing but submit_decision, over the attempt's facts."""
    request = GrantRequest(
        kind="calls",
        task=new_task("p1", 0, []),
        justification="nearly done",
        additional=10,
        paths=(),
        calls_used=18,
        budget=20,
        files_changed=("app/health.py",),
        recent_calls=("read_file a",),
        most=10,
    )
    role = PlannerRole(lambda name: desk.chat, ComplexitySettings(), BudgetsSettings())
    session = role.decide(request)
    _, told, tools = first_request(desk, session)
    assert tools == ["submit_decision"]
    assert session.control_tools == {"submit_decision"}
    body: Any = desk.model.requests[-1]
    assert body["tool_choice"] == {"type": "function", "function": {"name": "submit_decision"}}
    for part in ("10 more tool calls", "18 of 20", "app/health.py", "nearly done", "read_file a"):
        assert part in told
    scope = replace(request, kind="scope", paths=("lib/**",), additional=0)
    _, told, _ = first_request(desk, role.decide(scope))
    assert "lib/**" in told
