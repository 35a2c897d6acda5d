"""The PM role: a planning round with reading tools and submit_plan, and the one-turn decision about a request."""

from __future__ import annotations

import json
import time
from collections.abc import Callable

from agents import briefing
from agents.briefing import Briefing
from agents.chat.port import Chat
from agents.preambles import render
from agents.session import ChatSession, Opening, result_chars
from agents.tools import catalogue
from orchestrator.domain.ports import GrantRequest, PlanningAssignment, Workspace
from orchestrator.settings import BudgetsSettings, ComplexitySettings

_PLAN_PAGES = 6


class ChatPlanner:
    """The port Planner. The thresholds that it is told are those that pre-flight judges by (R1.15)."""

    def __init__(
        self,
        chat: Chat,
        complexity: ComplexitySettings,
        budgets: BudgetsSettings,
        *,
        monotonic: Callable[[], float] = time.monotonic,
    ) -> None:
        self._chat = chat
        self._complexity = complexity
        self._budgets = budgets
        self._monotonic = monotonic

    def begin(self, assignment: PlanningAssignment, workspace: Workspace) -> ChatSession:
        """Open a planning round."""
        brief = Briefing(_PLAN_PAGES * result_chars(self._chat))
        system = render(
            "planner",
            moderate_from=self._complexity.moderate_from,
            refused_above=self._complexity.refused_above,
            many_criteria=self._complexity.many_criteria,
            simple_budget=self._budgets.simple,
            moderate_budget=self._budgets.moderate,
            budget=assignment.budget,
        )
        opening = Opening(system, self._told(assignment, brief), brief.kept)
        return ChatSession(
            self._chat,
            catalogue.PLANNER,
            opening,
            workspace,
            submit=catalogue.SUBMIT_PLAN.name,
            monotonic=self._monotonic,
        )

    def _told(self, assignment: PlanningAssignment, brief: Briefing) -> str:
        files = "\n".join(assignment.repository_files)
        return render(
            "planner_task",
            round=assignment.round,
            goal=assignment.goal,
            files=brief.excerpt("files", files, result_chars(self._chat)),
            sections=_replan(assignment, brief) if assignment.defects or assignment.previous_plan else "",
        )

    def decide(self, request: GrantRequest) -> ChatSession:
        """Open a one-turn decision."""
        opening = Opening(render("decider"), _asked(request), {})
        return ChatSession(
            self._chat,
            catalogue.ARBITER,
            opening,
            None,
            submit=catalogue.SUBMIT_DECISION.name,
            monotonic=self._monotonic,
        )


def _replan(assignment: PlanningAssignment, brief: Briefing) -> str:
    plan = json.dumps(assignment.previous_plan, indent=1, ensure_ascii=False, default=str)
    return render(
        "overlays/replan", defects=briefing.bullets(assignment.defects), plan=brief.excerpt("previous-plan", plan)
    )


def _asked(request: GrantRequest) -> str:
    calls = request.kind == "calls"
    return render(
        "decider_task",
        key=request.task.key,
        kind=request.kind,
        title=request.task.title,
        prompt=request.task.prompt,
        asked=f"{request.additional} more tool calls" if calls else briefing.listed(request.paths),
        most=f"{request.most} tool calls" if calls else "the paths asked for",
        justification=briefing.fenced(request.justification),
        calls_used=request.calls_used,
        budget=request.budget,
        files_changed=briefing.listed(request.files_changed),
        recent_calls=briefing.fenced("\n".join(request.recent_calls)),
    )
