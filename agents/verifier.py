"""The QC role: one review, with reading tools, commands over a read-only workspace, and submit_review."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from agents import prompts
from agents.chat.port import Chat
from agents.preambles import preamble_hash, render_preamble
from agents.prompts import PromptText
from agents.session import ChatSession, Opening, result_chars
from agents.tools import catalogue
from agents.transcript import cut
from orchestrator.config.settings import ReviewSettings
from orchestrator.domain.assignment import FailureBrief, ReviewAssignment
from orchestrator.domain.globs import paths_in_words
from orchestrator.domain.ports import Workspace
from orchestrator.domain.review import TOLERANCES

_GOAL_CHARS = 4_000
_MOST_LINES, _LINE_CHARS = 20, 600
_DIFF_PAGES = 6  # a longer diff is cut in the assignment, which says so, and read on with read_output


@dataclass(frozen=True, slots=True)
class VerifierRole:
    """The port Verifier. QC is told the threshold of the settings that its review is judged by."""

    chat_of: Callable[[str | None], Chat]
    settings: ReviewSettings
    redact: Callable[[str], str] = str

    @property
    def preamble_hash(self) -> str:
        """The standing texts by which QC is instructed, as one hash (port Verifier)."""
        return preamble_hash("verifier", "verifier_task")

    def begin(self, assignment: ReviewAssignment, workspace: Workspace) -> ChatSession:
        """Open a review's conversation."""
        chat = self.chat_of(None)
        brief = PromptText(_DIFF_PAGES * result_chars(chat))
        system = render_preamble(
            "verifier",
            role=assignment.task.qc_role,
            threshold=self.settings.threshold,
            strictness=assignment.strictness,
            tolerance=TOLERANCES[assignment.strictness],
            budget=assignment.budget,
        )
        opening = Opening(system, _told(assignment, brief), brief.kept)
        return ChatSession(chat, catalogue.VERIFIER, opening, workspace, read_only=True, redact=self.redact)

    def report(self, brief: FailureBrief) -> ChatSession:
        """Open the one turn about a task that ran out (port Verifier)."""
        task = brief.task
        told = render_preamble(
            "reporter_task",
            key=task.key,
            title=task.title,
            prompt=task.prompt,
            criteria=prompts.bullets(task.criteria),
            summary=brief.report.summary,
            tried=prompts.fenced("\n".join(_short(brief.report.tried))),
            findings=prompts.fenced("\n".join(_short(brief.report.open_findings))),
        )
        opening = Opening(render_preamble("reporter"), told, {})
        return ChatSession(self.chat_of(None), catalogue.REPORTER, opening, None, redact=self.redact)


def _short(lines: Sequence[str]) -> list[str]:
    """The newest of these lines, none of them long."""
    return [cut(line, _LINE_CHARS) for line in lines[-_MOST_LINES:]]


def _told(assignment: ReviewAssignment, brief: PromptText) -> str:
    task = assignment.task
    return render_preamble(
        "verifier_task",
        key=task.key,
        number=assignment.number,
        title=task.title,
        prompt=task.prompt,
        criteria=prompts.bullets(task.acceptance_criteria),
        edge_cases=prompts.bullets(task.edge_cases),
        verification_criteria=prompts.criteria(task.verification_criteria),
        allowed_paths=paths_in_words(task.allowed_paths) or "none",
        checks=brief.checks(assignment.checks),
        diff=brief.excerpt("diff", assignment.diff),
        worker_output=brief.excerpt("worker-output", assignment.worker_output, _GOAL_CHARS),
        goal=brief.excerpt("goal", assignment.goal, _GOAL_CHARS),
        sections="\n\n".join(filter(None, (brief.dependencies(assignment.dependencies), _wanting(assignment.wanting)))),
    )


def _wanting(wanting: Sequence[str]) -> str:
    return render_preamble("overlays/review_wanting", wanting=prompts.bullets(wanting)) if wanting else ""
