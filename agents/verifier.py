"""The QC role: one review, with reading tools, commands over a read-only workspace, and submit_review."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass

from agents import briefing
from agents.briefing import Briefing
from agents.chat.port import Chat
from agents.preambles import render
from agents.session import ChatSession, Opening, result_chars
from agents.tools import catalogue
from orchestrator.domain.ports import ReviewAssignment, Workspace
from orchestrator.settings import ReviewSettings

_GOAL_CHARS = 4_000
_DIFF_PAGES = 6  # a longer diff is cut in the assignment, which says so, and read on with read_output (R2.8)


@dataclass(frozen=True, slots=True)
class VerifierRole:
    """The port Reviewer. QC is told the threshold of the settings that its review is judged by (R1.15)."""

    chat_of: Callable[[str | None], Chat]
    settings: ReviewSettings
    redact: Callable[[str], str] = str
    monotonic: Callable[[], float] = time.monotonic

    def begin(self, assignment: ReviewAssignment, workspace: Workspace) -> ChatSession:
        """Open a review's conversation."""
        chat = self.chat_of(None)
        brief = Briefing(_DIFF_PAGES * result_chars(chat))
        system = render(
            "verifier",
            role=assignment.task.qc_role,
            threshold=self.settings.threshold,
            strictness=assignment.strictness,
            budget=assignment.budget,
        )
        opening = Opening(system, _told(assignment, brief), brief.kept)
        return ChatSession(
            chat,
            catalogue.VERIFIER,
            opening,
            workspace,
            read_only=True,
            submit=catalogue.SUBMIT_REVIEW.name,
            redact=self.redact,
            monotonic=self.monotonic,
        )


def _told(assignment: ReviewAssignment, brief: Briefing) -> str:
    task = assignment.task
    return render(
        "verifier_task",
        key=task.key,
        number=assignment.number,
        title=task.title,
        prompt=task.prompt,
        criteria=briefing.bullets(task.acceptance_criteria),
        edge_cases=briefing.bullets(task.edge_cases),
        verification_criteria=briefing.criteria(task.verification_criteria),
        allowed_paths=briefing.listed(task.allowed_paths),
        checks=brief.checks(assignment.checks),
        diff=brief.excerpt("diff", assignment.diff),
        worker_output=brief.excerpt("worker-output", assignment.worker_output, _GOAL_CHARS),
        goal=brief.excerpt("goal", assignment.goal, _GOAL_CHARS),
        sections=brief.dependencies(assignment.dependencies),
    )
