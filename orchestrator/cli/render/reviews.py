"""What QC holds of accepted work, task by task."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from rich.console import Group, RenderableType
from rich.text import Text

from orchestrator.cli.render.screen import status_text
from orchestrator.cli.render.text import clean

if TYPE_CHECKING:
    from orchestrator.engine.later_review import LaterReview

_VERDICTS = {True: "passed", False: "failed", None: "gave no verdict"}


def later_reviews_view(found: Sequence[LaterReview]) -> RenderableType:
    """A line a task, with what QC found below it."""
    return Group(*(text for each in found for text in _of_task(each)))


def _of_task(found: LaterReview) -> Iterator[Text]:
    review, score = found.review, ""
    if review is not None:
        score = f" {'' if review.score is None else review.score} ({clean(review.model)})"
    head = (f"{clean(found.state.task.key)}", "bold")
    yield Text.assemble(head, "  QC ", status_text(_VERDICTS[found.passed]), score)
    if found.passed is None:
        yield Text(f"  {clean(found.detail)}")
    for finding in review.findings if review else ():
        where = f" at {clean(finding.locus)}" if finding.locus else ""
        yield Text(f"  {finding.severity} {clean(finding.code)}{where}: {clean(finding.message)}")
    if review is not None:
        yield Text(f"  in full: orchestrate show {review.id}", style="dim")
