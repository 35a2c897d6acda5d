"""The worker role: one attempt's conversation, with all tools but the submit tools."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from agents import prompts
from agents.chat.port import Chat
from agents.preambles import render_preamble
from agents.prompts import PromptText
from agents.session import ChatSession, Opening, result_chars
from agents.tools import catalogue
from orchestrator.domain.assignment import Assignment, StageNotice
from orchestrator.domain.attempt import AttemptSummary
from orchestrator.domain.globs import paths_in_words
from orchestrator.domain.lives import Course, PastAttempt
from orchestrator.domain.ports import Workspace

_GOAL_CHARS = 4_000


@dataclass(frozen=True, slots=True)
class WorkerRole:
    """The port Worker. `chat_of` gives the chat of a model by name, None for the settings' own; `redact` takes secrets
    out of what the model is shown."""

    chat_of: Callable[[str | None], Chat]
    redact: Callable[[str], str] = str

    def begin(self, assignment: Assignment, workspace: Workspace) -> ChatSession:
        """Open an attempt's conversation."""
        chat = self.chat_of(assignment.task.model)
        brief = PromptText(result_chars(chat))
        opening = Opening(
            system=render_preamble("worker", role=assignment.task.role, progress_every=assignment.progress_every),
            task=_told(assignment, brief),
            kept=brief.kept,
        )
        return ChatSession(chat, catalogue.WORKER, opening, workspace, redact=self.redact)


def _told(assignment: Assignment, brief: PromptText) -> str:
    task = assignment.task
    return render_preamble(
        "worker_task",
        key=task.key,
        number=assignment.number,
        title=task.title,
        prompt=task.prompt,
        criteria=prompts.bullets(task.acceptance_criteria),
        edge_cases=prompts.bullets(task.edge_cases),
        verification=prompts.bullets(map(prompts.inline, assignment.verification)),
        files_read=prompts.listed(task.files_read),
        files_written=prompts.listed(task.files_written),
        allowed_paths=paths_in_words(assignment.allowed_paths) or "none",
        max_files=task.max_changed_files,
        max_lines=task.max_changed_lines,
        budget=assignment.budget,
        surroundings=prompts.bullets(assignment.surroundings),
        goal=brief.excerpt("goal", assignment.goal, _GOAL_CHARS),
        sections=_sections(assignment, brief),
    )


def _sections(assignment: Assignment, brief: PromptText) -> str:
    found, failed = assignment.findings, assignment.failed_checks
    fixers = assignment.fixers
    note, again, known = assignment.task.note, assignment.repeated, assignment.known_failures
    parts = (
        brief.dependencies(assignment.dependencies),
        render_preamble("overlays/note", note=note) if note else "",
        render_preamble("overlays/known_failures", failures=prompts.bullets(known)) if known else "",
        _previous(assignment.previous, brief) if assignment.previous else "",
        _course(assignment.course) if assignment.course else "",
        _notice(assignment.notice) if assignment.notice else "",
        render_preamble("overlays/repeated", calls=prompts.repeated(again)) if again else "",
        render_preamble("overlays/fixed", commands=prompts.bullets(map(prompts.inline, fixers))) if fixers else "",
        render_preamble("overlays/findings", findings=prompts.findings(found)) if found else "",
        prompts.fix_advice(found),
        render_preamble("overlays/failed_checks", checks=brief.checks(failed)) if failed else "",
    )
    return "\n\n".join(filter(None, parts))


def _notice(notice: StageNotice) -> str:
    return render_preamble(
        "overlays/stage",
        stage=notice.stage,
        passes=notice.passes,
        max_files=notice.max_files,
        max_lines=notice.max_lines,
        failures=prompts.fenced("\n".join(notice.failures)),
        reasons=prompts.fenced("\n".join(notice.reasons)),
    )


def _course(course: Course) -> str:
    ended = [f"attempt {each.number}: {each.status}, {each.reason}{_came_to(each)}" for each in course.attempts]
    return render_preamble(
        "overlays/course",
        attempts=prompts.fenced("\n".join(ended)),
        lives=prompts.fenced("\n".join(prompts.life_lines(course.lives))),
    )


def _came_to(attempt: PastAttempt) -> str:
    return f"; it came to {attempt.outcome}" if attempt.outcome else ""


def _previous(previous: AttemptSummary, brief: PromptText) -> str:
    if previous.status == "accepted":
        summary = brief.excerpt("previous-summary", previous.worker_output, _GOAL_CHARS)
        return render_preamble("overlays/previous_accepted", number=previous.number, summary=summary)
    return render_preamble(
        "overlays/previous_rejected" if previous.status == "rejected" else "overlays/previous_stopped",
        number=previous.number,
        reason=previous.stop_reason or previous.status,
        detail=previous.stop_detail or "",
        summary=brief.excerpt("previous-summary", previous.worker_output, _GOAL_CHARS),
    )
