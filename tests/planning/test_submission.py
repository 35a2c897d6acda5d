"""What the PM may submit: a plan without bounds of its own."""

from __future__ import annotations

from typing import Any

import pytest

from agents.tools.catalogue import SUBMIT_PLAN
from orchestrator.planning.path_width import is_wide
from orchestrator.planning.plan_file import PlanFile
from orchestrator.planning.validate import Examined, examine_submission

FILES = ("app/main.py", "app/core/a.py", "README.md", "setup.cfg", "src/x.py")
PERSONS = {
    "tool_call_budget": 5_000,
    "max_attempts": 100,
    "max_changed_files": 900,
    "max_changed_lines": 90_000,
    "model": "big",
    "override": "I promise",
}


def submitted(plan: dict[str, Any] | None = None, **task: Any) -> Examined:
    """A submission of one task."""
    whole = {"key": "a", "prompt": "Do it.", "files_written": ["app/new.py"], "verification": ["make"], **task}
    return examine_submission({"goal": "A goal", "tasks": [whole], **(plan or {})}, FILES)


def told(examined: Examined) -> str:
    """Its defects."""
    return "\n".join(map(str, examined.defects))


def test_the_tool_shows_no_field_that_sets_a_bound() -> None:
    """What the model sees of submit_plan has nothing that is a person's to set."""
    parameters = SUBMIT_PLAN.schema["function"]["parameters"]
    task = parameters["properties"]["tasks"]["items"]
    assert not PERSONS.keys() & set(task["properties"])
    assert task["additionalProperties"] is False
    assert task["properties"]["kind"]["enum"] == ["simple", "moderate"]


@pytest.mark.parametrize(
    ("field", "value"), list(zip(PERSONS, (5_000, 100, 900, 90_000, "big", "I promise"), strict=True))
)
def test_a_bound_of_the_pms_own_is_a_defect(field: str, value: Any) -> None:
    """A model that sends one all the same gets it back by name; in a person's file it is a field like others."""
    examined = submitted(**{field: value})
    assert examined.plan is None
    assert f"a, {field}: is for a person to set, not for the PM: leave it out" in told(examined)
    PlanFile.model_validate({"goal": "g", "tasks": [{"key": "a", "prompt": "p", field: value}]})


def test_a_kind_above_moderate_is_a_defect_that_asks_for_no_override() -> None:
    """The PM is not sent to a field that it does not have."""
    found = told(submitted(kind="complex"))
    assert "kind: must be 'simple' or 'moderate', is 'complex'" in found
    assert "override" not in found


def test_everything_is_told_at_once() -> None:
    """The four ways out of a bound in one submission are four defects, and a plan-level command is one more."""
    examined = submitted(
        {"verification": ["make || true"]},
        tool_call_budget=5_000,
        max_attempts=100,
        allowed_paths=["**"],
        verification=["true"],
    )
    found = told(examined)
    assert len(examined.defects) == 5
    assert "a, allowed_paths[0]: '**' is wider than the folders of the files that the task writes (app)" in found
    assert "a, verification[0]: 'true' always succeeds, so it proves nothing" in found
    assert "verification[0]: 'make || true' always succeeds" in found


def test_a_plan_within_its_bounds_is_a_plan_file() -> None:
    """What passes is judged as every plan, with the defaults of the fields that the PM does not have."""
    plan = submitted(allowed_paths=["app/**", "+app/*"], kind="moderate").ready()
    assert (plan.tasks[0].max_attempts, plan.tasks[0].tool_call_budget, plan.tasks[0].override) == (6, None, None)


@pytest.mark.parametrize(
    "pattern",
    ["app/**", "app", "app/", "+app/sub/**", "app/core/a.py", "./app/x", "README.md", "*.md", "+*"],
)
def test_paths_within_the_folders_of_the_written_files_are_narrow(pattern: str) -> None:
    """A folder that is written in, what is below it, and single parts where the top level is."""
    assert not is_wide(pattern, ["app/new.py", "CHANGES.md"], FILES)


@pytest.mark.parametrize(
    "pattern", ["**", "+**", "*/**", "**/*.py", "src", "src/", "src/x.py", "a*/x.py", "ap?/x", "lib/**", ".", "unknown"]
)
def test_paths_beyond_them_are_wide(pattern: str) -> None:
    """Though the top level holds everything: a plain name there may be a folder with all that is below it."""
    assert is_wide(pattern, ["app/new.py", "CHANGES.md"], FILES)
    assert is_wide("README.md", ["app/new.py"], FILES)
    assert is_wide("app/x.py", [], FILES)


def test_a_folder_that_spells_a_pattern_is_that_folder() -> None:
    """`app/[id]` is a folder where files are written in it; as a pattern it would be another one."""
    assert is_wide("app/[id]/**", ["app/[id]/page.tsx"], FILES)
    assert not is_wide("app/\\[id]/**", ["app/[id]/page.tsx"], FILES)
