"""`orchestrate review`: QC alone, over work that was accepted."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from orchestrator.cli.completing import task_keys
from orchestrator.cli.execute import settings_of
from orchestrator.cli.invocation import Invocation, pass_invocation, say
from orchestrator.cli.progress import line_teller, shown_progress
from orchestrator.cli.values import changed_meanwhile, json_option
from orchestrator.domain.errors import UserError
from orchestrator.domain.next_commands import execute_command
from orchestrator.domain.review import TOLERANCES

if TYPE_CHECKING:
    from orchestrator.app import App
    from orchestrator.engine.later_review import LaterReview


@click.command("review")
@click.argument("id_", metavar="TASK|RUN", shell_complete=task_keys)
@click.option("--reopen", is_flag=True, help="Make completed tasks pending in which QC finds something.")
@click.option(
    "--strictness",
    type=click.Choice(list(TOLERANCES)),
    help="What a review may hold and still pass, where a task of the plan has no strictness of its own.",
)
@json_option
@pass_invocation
def command(invocation: Invocation, id_: str, reopen: bool, strictness: str | None, as_json: bool) -> int:
    """Have QC look again at the accepted work of TASK, or at all that RUN has merged as it stands at the run's head.

    Nothing changes but that the reviews are recorded. With --reopen the next `execute` works on each task that does not
    pass, and tells its worker what blocks.
    """
    from orchestrator.cli.render.reviews import later_reviews_view
    from orchestrator.cli.render.screen import present

    with invocation.app(settings_of({"strictness": strictness})) as app:
        label, found_id = app.graph.resolve(id_, app.repository.record.id)
        if label not in ("Task", "Run"):
            raise UserError(f"{id_} is a {label}, not a task or a run.", next_step="`orchestrate status` names them.")
        with shown_progress(app, line_teller(codes=invocation.verbose), words=not as_json):
            found = _reviews(app, label, found_id)
        reopened = _reopened(app, found) if reopen else []
        document = {"reviews": [_told(each) for each in found], "reopened": reopened}
        present(document, later_reviews_view(found), as_json=as_json)
        if reopened:
            plan_id = found[0].state.task.plan_id
            say(f"Pending again: {', '.join(reopened)}. Next: {execute_command(plan_id)}")
        return int(not all(each.passed for each in found))


def _reviews(app: App, label: str, id_: str) -> list[LaterReview]:
    from orchestrator.engine.later_review import later_reviews
    from orchestrator.reports.details import task_state

    plan_id = app.graph.run(id_).plan_id if label == "Run" else task_state(app.graph, id_).task.plan_id
    asked = {"run_id": id_} if label == "Run" else {"task_id": id_}
    return list(later_reviews(app.services(), app.graph.plan(plan_id), **asked))


def _reopened(app: App, found: list[LaterReview]) -> list[str]:
    from orchestrator.engine.later_review import reopen

    against = [each for each in found if each.passed is False and each.state.status == "completed"]
    for each in against:
        with changed_meanwhile():
            reopen(app.services(), each)
    return [each.state.task.key for each in against]


def _told(found: LaterReview) -> dict[str, Any]:
    review, task = found.review, found.state.task
    told: dict[str, Any] = {"task": task.key, "taskId": task.id, "passed": found.passed, "detail": found.detail}
    if review is None:
        return told | {"reviewId": None, "score": None, "model": None, "findings": []}
    findings = [
        {"code": f.code, "severity": f.severity, "message": f.message, "locus": f.locus, "requiredFix": f.required_fix}
        for f in review.findings
    ]
    return told | {"reviewId": review.id, "score": review.score, "model": review.model, "findings": findings}
