"""The PM role: a planning round with reading tools and submit_plan, and the one-turn decision about a request."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from agents import prompts
from agents.chat.port import Chat
from agents.preambles import render_preamble
from agents.prompts import PromptText
from agents.session import ChatSession, Opening, result_chars
from agents.tools import catalogue
from agents.transcript import RESULT_CHARS
from orchestrator.config.settings import BudgetsSettings, ComplexitySettings
from orchestrator.domain.assignment import GrantRequest, PlanningAssignment
from orchestrator.domain.ports import Workspace

_PLAN_PAGES = 6


@dataclass(frozen=True, slots=True)
class PlannerRole:
    """The port Planner. The thresholds that it is told are those that pre-flight judges by."""

    chat_of: Callable[[str | None], Chat]
    complexity: ComplexitySettings
    budgets: BudgetsSettings
    redact: Callable[[str], str] = str

    def begin(self, assignment: PlanningAssignment, workspace: Workspace) -> ChatSession:
        """Open a planning round."""
        chat = self.chat_of(None)
        brief = PromptText(_PLAN_PAGES * result_chars(chat))
        system = render_preamble(
            "planner",
            moderate_from=self.complexity.moderate_from,
            refused_above=self.complexity.refused_above,
            max_criteria=self.complexity.max_criteria,
            simple_budget=self.budgets.simple,
            moderate_budget=self.budgets.moderate,
            budget=assignment.budget,
        )
        opening = Opening(system, _told(assignment, brief), brief.kept)
        return ChatSession(chat, catalogue.PLANNER, opening, workspace, redact=self.redact)

    def decide(self, request: GrantRequest) -> ChatSession:
        """Open a one-turn decision."""
        opening = Opening(render_preamble("decider"), _asked(request), {})
        return ChatSession(self.chat_of(None), catalogue.DECIDER, opening, None, redact=self.redact)


def _told(assignment: PlanningAssignment, brief: PromptText) -> str:
    return render_preamble(
        "planner_task",
        round=assignment.round,
        goal=assignment.goal,
        files=brief.excerpt("files", "\n".join(assignment.repository_files), RESULT_CHARS),
        sections="\n\n".join(_sections(assignment, brief)),
    )


def _sections(assignment: PlanningAssignment, brief: PromptText) -> Iterator[str]:
    if assignment.verification:
        yield render_preamble("overlays/verification", commands=prompts.bullets(assignment.verification))
    if assignment.known_failures:
        yield render_preamble("overlays/failing_before", failures=prompts.bullets(assignment.known_failures))
    if assignment.defects or assignment.previous_plan:
        yield _replan(assignment, brief)


def _replan(assignment: PlanningAssignment, brief: PromptText) -> str:
    plan = json.dumps(assignment.previous_plan, indent=1, ensure_ascii=False, default=str)
    return render_preamble(
        "overlays/replan", defects=prompts.bullets(assignment.defects), plan=brief.excerpt("previous-plan", plan)
    )


def _asked(request: GrantRequest) -> str:
    calls = request.kind == "calls"
    return render_preamble(
        "decider_task",
        key=request.task.key,
        kind=request.kind,
        title=request.task.title,
        prompt=request.task.prompt,
        asked=f"{request.additional} more tool calls" if calls else prompts.listed(request.paths),
        most=f"{request.most} tool calls" if calls else "the paths asked for",
        justification=prompts.fenced(request.justification),
        calls_used=request.calls_used,
        budget=request.budget,
        files_changed=prompts.listed(request.files_changed),
        recent_calls=prompts.fenced("\n".join(request.recent_calls)),
    )
