"""QC's conversation and the PM's, turn by turn, with what came of it."""

from __future__ import annotations

from collections.abc import Iterator

from rich.console import Group, RenderableType
from rich.text import Text

from orchestrator.cli.render.screen import status_text
from orchestrator.cli.render.text import clean, duration, one_line, spent
from orchestrator.cli.render.timeline import note_view, turn_view
from orchestrator.domain.query import ResultRow
from orchestrator.reports.conversation import ConversationDetails
from orchestrator.reports.timeline import TimelineTurn

_SAID = 2_000  # characters of what a model said in a turn


def conversation_view(found: ConversationDetails) -> RenderableType:
    """Head, what was said and done in order, and the verdict or what was wrong with the plan."""
    steps = [turn_view(step, _SAID) if isinstance(step, TimelineTurn) else note_view(step) for step in found.steps]
    return Group(_head(found), *steps, *_end(found), Text(f"\nbelongs to: orchestrate show {found.belongs_to}"))


def _head(found: ConversationDetails) -> Text:
    node = found.properties
    tokens = int(node.get("promptTokens") or 0) + int(node.get("completionTokens") or 0)
    cost = sum(step.cost_usd or 0.0 for step in found.steps if isinstance(step, TimelineTurn))
    facts = (clean(node.get("model") or ""), spent(tokens, cost), duration(node.get("durationMs")))
    what = "QC's review" if found.kind == "Review" else "the PM's round"
    return Text.assemble((f"{what} {found.id}", "bold"), "  ", "  ".join(filter(None, facts)), "\n")


def _end(found: ConversationDetails) -> Iterator[Text]:
    node = found.properties
    if found.kind == "PlanningRound":
        yield from (Text(f"refused: {clean(defect)}", style="red") for defect in node.get("defects") or ())
        return
    for criterion in found.criteria:
        yield _criterion(criterion)
    for finding in found.findings:
        where = f" at {clean(finding['locus'])}" if finding.get("locus") else ""
        head = f"{finding['severity']} {clean(finding['code'])}"
        yield Text.assemble((head, "red"), f"{where}: {clean(finding['message'])}")
    verdict = {True: "passed", False: "failed", None: "no verdict"}[node.get("passed")]
    score = "" if node.get("score") is None else f" {node['score']}"
    yield Text.assemble("\nQC ", status_text(verdict), f"{score} ({node.get('strictness')}): ")
    yield Text(clean(node.get("feedback") or ""))


def _criterion(criterion: ResultRow) -> Text:
    judged = {True: "yes", False: "no", None: "could not be judged"}[criterion.get("passed")]
    return Text(f"{judged}: {one_line(criterion['text'], 100)} [{one_line(criterion.get('evidence') or '', 100)}]")
