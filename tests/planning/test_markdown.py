"""Markdown chain-outputs as plan files: the two real ones, and what people's spellings vary."""

from __future__ import annotations

from itertools import count
from pathlib import Path

import pytest

from orchestrator.config.settings import BudgetsSettings, ComplexitySettings
from orchestrator.planning.formats import dump_plan, read_plan
from orchestrator.planning.plan_file import PlanFile, TaskFile
from orchestrator.planning.preflight import Preflight, judge_plan
from orchestrator.planning.validate import Examined, PlanFileError

PLANS = Path(__file__).parents[1] / "plans"
NAMES = ["auth-endpoints.md", "translate-docs.md"]


class CountingIds:
    """Ids in order."""

    def __init__(self) -> None:
        self._numbers = count(1)

    def new(self, prefix: str) -> str:
        """t1, t2, …"""
        return f"{prefix}{next(self._numbers)}"


def sample(name: str) -> Examined:
    return read_plan((PLANS / name).read_bytes(), ".md")


def judged(plan: PlanFile) -> Preflight:
    rules, budgets = ComplexitySettings(), BudgetsSettings()
    return judge_plan(plan, plan_id="p", ids=CountingIds(), thresholds=rules, budgets=budgets)


def one(body: str) -> TaskFile:
    """The task of a small plan with this section."""
    text = f"**Original Request:** Do it\n\n#### Task 1.1: First\n\n{body}\n"
    (first,) = read_plan(text.encode(), ".md").ready().tasks
    return first


def test_auth_plan_has_its_tasks() -> None:
    """Six tasks in a chain, each with its own dependency line: the reversed graph_add_edge lines are not believed."""
    plan = sample("auth-endpoints.md").ready()
    assert plan.goal == "implement user authentication"
    assert {task.key: task.depends_on for task in plan.tasks} == {
        "task-1.1": (),
        "task-1.2": ("task-1.1",),
        "task-1.3": ("task-1.2",),
        "task-1.4": ("task-1.3",),
        "task-1.5": ("task-1.4",),
        "task-1.6": ("task-1.5",),
    }


def test_auth_task_is_read_field_by_field() -> None:
    """The incident's task: files, criteria, groups, edge cases, commands, and the rest in its prompt."""
    task = sample("auth-endpoints.md").ready().tasks[1]
    assert task.title is not None
    assert task.title.startswith("Implement `/register` and `/login`")
    assert task.role.startswith("Backend engineer with Express")
    assert task.qc_role.startswith("Senior API security specialist")
    assert task.files_read == ("src/auth/model.ts", "src/index.ts", "package.json")
    assert task.files_written == ("src/auth/routes.ts", "src/auth/controller.ts")
    assert len(task.acceptance_criteria) == 4
    assert task.acceptance_criteria[0] == "`/register` accepts email/password, stores hashed password"
    assert task.edge_cases == ("Weak password", "invalid email", "login with wrong password")
    assert task.verification_criteria.security == (
        "Passwords hashed (bcrypt ≥10 rounds)",
        "JWT secret not hardcoded",
        "no sensitive logs",
    )
    assert task.verification[0] == "npx tsc src/auth/routes.ts src/auth/controller.ts"
    for kept in ("No auth endpoints exist.", "read_file('src/auth/model.ts')", "Parallel Group: 1", "30 min"):
        assert kept in task.prompt


def test_auth_plan_is_refused_for_its_manual_verification() -> None:
    """Task 1.2, which spiralled, goes by its score (what QC is to read for counts) and by what nobody can execute; only
    1.5 has commands alone."""
    preflight = judged(sample("auth-endpoints.md").ready())
    status = {planned.task.key: planned.status for planned in preflight.tasks}
    assert status == {f"task-1.{n}": "pending" if n == 5 else "rejected" for n in range(1, 7)}
    score, reason = preflight.tasks[1].assessment.rejected_because
    assert score == "too complex: score 115, limit 100; split it"
    assert "Manual endpoint test (curl or Postman)" in reason
    assert preflight.tasks[1].assessment.score == 115


def test_refused_commands_have_their_lines() -> None:
    """The line of the file where the command stands is told."""
    refusals = {refusal.task: refusal.line for refusal in sample("auth-endpoints.md").refusals}
    rows = (PLANS / "auth-endpoints.md").read_text().split("\n")
    assert rows[(refusals["task-1.2"] or 0) - 1].strip() == "- Manual endpoint test (curl or Postman)"


def test_translation_plan_is_read_in_its_own_spelling() -> None:
    """Five tasks without bullets, a checklist as criteria, and one QC role for all."""
    plan = sample("translate-docs.md").ready()
    assert plan.goal.startswith("translate all docs/configuration files into chinese")
    assert [task.key for task in plan.tasks] == ["task-1.1", "task-2.1", "task-2.2", "task-3.1", "task-4.1"]
    assert plan.tasks[3].depends_on == ("task-2.1", "task-2.2")
    assert plan.tasks[0].acceptance_criteria[0] == "All documentation/configuration files identified"
    assert plan.tasks[0].role.startswith("Documentation and DevOps specialist")
    assert all(task.qc_role.startswith("Senior bilingual documentation") for task in plan.tasks)
    assert plan.tasks[4].prompt.startswith("Create `zh_docs_config/translation_report.md`")


def test_translation_plan_is_refused_for_lack_of_verification() -> None:
    """No task has a command, nor has the plan."""
    preflight = judged(sample("translate-docs.md").ready())
    assert {planned.status for planned in preflight.tasks} == {"rejected"}
    assert "no executable verification" in preflight.tasks[0].assessment.rejected_because[0]


@pytest.mark.parametrize("name", NAMES)
def test_markdown_is_told_by_its_content(name: str) -> None:
    """From standard input the same file is the same plan."""
    assert read_plan((PLANS / name).read_bytes(), "").ready() == sample(name).ready()


@pytest.mark.parametrize("name", NAMES)
def test_markdown_written_as_yaml_is_the_same_plan(name: str) -> None:
    """--file plan.md --out plan.yaml keeps everything."""
    plan = sample(name).ready()
    assert read_plan(dump_plan(plan).encode(), ".yaml").ready() == plan


def test_sections_outside_of_tasks_are_reported() -> None:
    """What no task takes over is named, so that nothing is dropped in silence."""
    assert "Decision Rationale" in sample("auth-endpoints.md").left_out


def test_code_fences_are_no_commands() -> None:
    """Commands in a fenced block are taken without the fence; comments become notes."""
    task = one("- **Verification Commands:**\n  ```bash\n  # all of them\n  npm test\n  $ npm run lint\n  ```\n")
    assert task.verification == ("npm test", "npm run lint")
    assert "# all of them" in task.prompt


def test_code_spans_are_stripped_and_remarks_kept() -> None:
    """Backticks go; what is said beside a command or file stays in the prompt."""
    task = one(
        "- **Files WRITTEN:** [`src/a.ts`, `src/b.ts` (new)]\n- **Files READ:** src/c.ts - the model\n"
        "- **Verification Commands:**\n    - `npm test -- a.test.ts`\n    - `npm run lint` - no warnings\n"
    )
    assert task.files_written == ("src/a.ts", "src/b.ts")
    assert task.files_read == ("src/c.ts",)
    assert task.verification == ("npm test -- a.test.ts", "npm run lint")
    for kept in ("(new)", "the model", "no warnings"):
        assert kept in task.prompt


@pytest.mark.parametrize("nothing", ["None", "none", "N/A", "[]", "-", "", "None."])
def test_nothing_is_an_empty_list(nothing: str) -> None:
    """`None` in a list's place is an empty list."""
    task = one(
        f"- **Files READ:** {nothing}\n- **Dependencies:** {nothing}\n- **Verification Commands:**\n  - {nothing}\n"
    )
    assert task.files_read == task.depends_on == task.verification == ()


def test_numbers_name_their_tasks() -> None:
    """`Dependencies: 1.1` means task-1.1; a name that no task has is a defect with its line."""
    first, second = "## Task 1.1: A\n**Prompt:** a\n", "## Task 1.2: B\n**Prompt**: b\n"
    text = f"**User Request:** x\n{first}{second}**Dependencies:** 1.1 (model)\n"
    assert read_plan(text.encode(), ".md").ready().tasks[1].depends_on == ("task-1.1",)
    with pytest.raises(PlanFileError, match=r"task-1\.2, depends_on\[0\], line 6: there is no task '1\.3'"):
        read_plan(text.replace("1.1 (model)", "1.3").encode(), ".md").ready()


def test_unknown_bullets_and_groups_are_kept() -> None:
    """A label that no plan knows goes into the prompt, an unknown group of criteria into `other` with its name."""
    task = one(
        "- **Prompt:** Build it.\n- **Max Retries:** 2\n- **Verification Criteria:**\n  - **Performance:** fast, small"
        "\n  - **Security:** no leaks\n- **Notes:**\n  - one\n  - two\n"
    )
    assert "Max Retries: 2" in task.prompt
    assert "Notes:\n- one\n  - two" in task.prompt
    assert task.verification_criteria.other == ("Performance: fast", "Performance: small")
    assert task.verification_criteria.security == ("no leaks",)


def test_plan_without_goal_or_tasks_is_refused() -> None:
    """Both are named with how they are written."""
    with pytest.raises(PlanFileError, match="goal: is required"):
        read_plan(b"## Task 1.1: A\n**Prompt:** a\n", ".md").ready()
    with pytest.raises(PlanFileError, match="no task was found"):
        read_plan(b"# A report\n\nNothing to do.\n", ".md").ready()


def test_goal_may_stand_in_a_quotation_below() -> None:
    """The request stands behind its label or in the lines below it."""
    text = "**Original Request:**\n\n> Do this\n> and that\n\nMore text.\n\n## Task 1.1: A\n**Prompt:** a\n"
    assert read_plan(text.encode(), ".md").ready().goal == "Do this\nand that"
