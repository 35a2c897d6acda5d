"""Pre-flight's judgement over a whole plan."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
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


def preflight(
    *tasks: dict[str, Any],
    files: tuple[str, ...] = (),
    history: Mapping[str, Sequence[int]] | None = None,
    budgets: BudgetsSettings | None = None,
    **fields: Any,
) -> Preflight:
    whole = [{"prompt": "Do it.", "files_written": ["app/x.py"], **task} for task in tasks]
    document = {"goal": "A goal", "verification": ["make test"], **fields, "tasks": whole}
    plan = PlanFile.model_validate(document)
    return judge_plan(
        plan,
        plan_id="p1",
        ids=CountingIds(),
        thresholds=ComplexitySettings(),
        budgets=budgets or BudgetsSettings(),
        repository_files=files,
        history=history or {},
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


TRIVIAL = {"simple": (3, 3, 3, 3, 3)}


def test_history_is_a_suggestion_until_a_setting_makes_it_the_budget() -> None:
    """After five trivial tasks an honest one still has its kind's budget, and is told what they took; with
    budgets.from_history it has theirs. A budget that the plan sets stands either way."""
    tasks = ({"key": "a"}, {"key": "b", "tool_call_budget": 7})
    suggested = preflight(*tasks, history=TRIVIAL).tasks
    applied = preflight(*tasks, history=TRIVIAL, budgets=BudgetsSettings(from_history=True)).tasks
    assert [[each.task.tool_call_budget for each in judged] for judged in (suggested, applied)] == [[20, 7], [10, 7]]
    assert "95 % took at most 10 calls: budgets.from_history" in suggested[0].assessment.recommendation
    assert "Budget 10 instead of 20" in applied[0].assessment.recommendation
    assert not suggested[1].assessment.recommendation


def test_a_wider_bound_is_told_with_its_task() -> None:
    """What a person's file sets wider than the default is named with value and default; what is within is not."""
    wide = {
        "tool_call_budget": 200,
        "max_attempts": 9,
        "max_changed_files": 50,
        "max_changed_lines": 4_000,
        "allowed_paths": ["app/**", "**"],
        "verification": ["make", "make check || true"],
        "override": "A rename everywhere.",
    }
    narrow = {"tool_call_budget": 20, "max_attempts": 2, "max_changed_lines": 3, "allowed_paths": ["+app/*"]}
    first, second = preflight({"key": "a", **wide}, {"key": "b", **narrow}).tasks
    assert first.assessment.loosened == (
        "tool_call_budget is 200, a simple task's is 20",
        "max_attempts is 9, the default is 6",
        "max_changed_files is 50, the default is 10",
        "max_changed_lines is 4,000, the default is 400",
        "allowed_paths holds '**', wider than the folders of files_written",
        "verification holds 'make check || true', which always succeeds",
    )
    assert (first.assessment.justification, second.assessment.loosened) == ("A rename everywhere.", ())


def test_an_override_is_a_wider_bound() -> None:
    """Neither a kind above moderate nor a refusal that was overridden goes without being told."""
    many = {"files_written": [f"f{n}" for n in range(11)], "override": "One rename."}
    first, second = preflight({"key": "a", **many}, {"key": "b", "kind": "research", "override": "Unknown."}).tasks
    assert first.assessment.loosened == ("overridden: too complex: score 110, limit 100; split it",)
    assert second.assessment.loosened == ("kind is research, above moderate",)


def test_a_plan_that_is_verified_by_nothing_is_warned_of() -> None:
    """A person may do so, and is told."""
    (warning,) = preflight({"key": "a"}, verification=["true"]).warnings
    assert "verified by 'true', which always succeeds" in warning


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
