"""Pre-flight's judgement over a whole plan."""

from __future__ import annotations

from itertools import count
from typing import Any

from orchestrator.config.settings import BudgetsSettings, ComplexitySettings
from orchestrator.domain.globs import allows
from orchestrator.planning.plan_file import PlanFile
from orchestrator.planning.preflight import Preflight, default_allowed_paths, judge_plan


class CountingIds:
    """Ids in order."""

    def __init__(self) -> None:
        self._numbers = count(1)

    def new(self, prefix: str) -> str:
        """t1, t2, …"""
        return f"{prefix}{next(self._numbers)}"


def preflight(*tasks: dict[str, Any], files: tuple[str, ...] = (), **fields: Any) -> Preflight:
    whole = [{"prompt": "Do it.", "files_written": ["app/x.py"], **task} for task in tasks]
    document = {"goal": "A goal", "verification": ["make test"], **fields, "tasks": whole}
    plan = PlanFile.model_validate(document)
    budgets = BudgetsSettings()
    return judge_plan(
        plan, plan_id="p1", ids=CountingIds(), thresholds=ComplexitySettings(), budgets=budgets, repository_files=files
    )


def test_accepted_task_is_ready_for_the_engine() -> None:
    """A task within the rules is pending, with its budget from the band and its scope from its files."""
    judged = preflight({"key": "a", "title": None, "files_written": ["app/health.py"]})
    (planned,) = judged.tasks
    assert judged.accepted
    assert planned.status == "pending"
    assert (planned.task.id, planned.task.plan_id, planned.task.title) == ("t1", "p1", "a")
    assert (planned.task.kind, planned.task.tool_call_budget, planned.task.max_attempts) == ("simple", 20, 6)
    assert planned.task.allowed_paths == ("app/health.py", "+app/*")


def test_declared_budget_and_kind_hold() -> None:
    """A budget of the plan is used as it is; a kind gives its band's."""
    first, second = preflight({"key": "a", "tool_call_budget": 7}, {"key": "b", "kind": "moderate"}).tasks
    assert (first.task.tool_call_budget, second.task.tool_call_budget) == (7, 50)


def test_verification_that_nobody_can_execute_rejects_its_task() -> None:
    """One such command is enough, beside others that can be executed."""
    judged = preflight({"key": "a", "verification": ["make", "Manual endpoint test (curl or Postman)"]}, {"key": "b"})
    assert [planned.status for planned in judged.tasks] == ["rejected", "pending"]
    assert not judged.accepted
    (reason,) = judged.tasks[0].assessment.rejected_because
    assert "Manual endpoint test" in reason


def test_no_verification_at_all_rejects() -> None:
    """Neither the task nor the plan has a command that can be executed."""
    judged = preflight({"key": "a"}, {"key": "b", "verification": ["make b"]}, verification=[])
    assert [planned.status for planned in judged.tasks] == ["rejected", "pending"]
    assert "no executable verification" in judged.tasks[0].assessment.rejected_because[0]


def test_unexecutable_command_of_the_plan_refuses_the_plan() -> None:
    """A plan-level command concerns every task, so the plan is refused by name."""
    judged = preflight({"key": "a", "verification": ["make"]}, verification=["Check it in the browser"])
    assert not judged.accepted
    assert "in the browser" in judged.refusals[0]
    assert judged.tasks[0].status == "pending"


def test_override_passes_and_moves_prose_to_review() -> None:
    """An override lets a refused task pass; what nobody can execute becomes a criterion of QC, never a command."""
    fields = {"verification": ["make", "Manual look"], "override": "The layout is a matter of taste."}
    (planned,) = preflight({"key": "a", **fields}).tasks
    assert planned.status == "pending"
    assert planned.assessment.overridden
    assert planned.task.verification == ("make",)
    assert planned.task.verification_criteria == {"other": ("Manual look",)}


def test_override_of_a_complex_task_sets_its_budget() -> None:
    """By override complex gets 100 and research 150 tool calls."""
    large = {"files_written": [f"f{n}" for n in range(11)], "override": "One rename."}
    first, second = preflight({"key": "a", **large}, {"key": "b", "kind": "research", "override": "Unknown."}).tasks
    assert (first.task.kind, first.task.tool_call_budget) == ("complex", 100)
    assert (second.task.kind, second.task.tool_call_budget) == ("research", 150)
    assert first.assessment.overridden
    assert second.assessment.overridden


def test_default_scope_is_the_files_and_new_ones_beside_them() -> None:
    """files_written and new files beside them; not what is already there."""
    allowed = default_allowed_paths(["app/[id].tsx", "README.md"])
    assert allows("app/[id].tsx", allowed, existed=True)
    assert allows("app/new.tsx", allowed, existed=False)
    assert allows("NEW.md", allowed, existed=False)
    assert not allows("app/i.tsx", allowed, existed=True)
    assert not allows("app/main.tsx", allowed, existed=True)
    assert not allows("lib/new.tsx", allowed, existed=False)


def test_allowed_path_that_spells_a_known_file_is_that_file() -> None:
    """`app/[id].tsx` in allowed_paths is the file where there is one, not a character class."""
    (planned,) = preflight({"key": "a", "allowed_paths": ["app/[id].tsx", "lib/**"]}, files=("app/[id].tsx",)).tasks
    assert allows("app/[id].tsx", planned.task.allowed_paths, existed=True)
    assert not allows("app/d.tsx", planned.task.allowed_paths, existed=True)
    assert allows("lib/a/b", planned.task.allowed_paths, existed=True)


def test_warnings_name_what_may_go_wrong() -> None:
    """Files that do not exist, tasks that may change nothing, and two writers of one file in no order."""
    judged = preflight(
        {"key": "a", "files_read": ["gone.py", "app/", "docs/*.md", "app/x.py"]},
        {"key": "b"},
        {"key": "c", "files_written": [], "depends_on": ["a"]},
        files=("app/main.py",),
    )
    assert judged.accepted
    text = "\n".join(judged.warnings)
    assert len(judged.warnings) == 3
    assert "'gone.py'" in text
    assert "c: declares neither" in text
    assert "a and b both write app/x.py" in text


def test_ordered_writers_are_no_warning() -> None:
    """Two tasks that write one file after each other are as it should be."""
    assert not preflight({"key": "a"}, {"key": "b", "depends_on": ["a"]}).warnings
