"""Why no plan came of a goal: one error, by how the PM's last round ended."""

from __future__ import annotations

from orchestrator.domain.errors import PlanError
from orchestrator.engine.loop.conversation import ConversationResult
from orchestrator.guards.guard import CUT

MOST_ROUNDS = 3
MOST_SILENT_ROUNDS = 2
"""A model that calls no tool in so many rounds, asked again in each, is not going to in another."""


def no_plan(last: ConversationResult, defects: tuple[str, ...], *, silent: int, see: str) -> PlanError:
    """The error of `plan`. `silent` rounds ended without a tool call, `defects` are the last one's, `see` says where
    the rounds can be looked at ("" where nothing was stored)."""
    if last.reason == "model_declined":
        return _declined(last, see)
    return _called_nothing(last, see) if silent == MOST_SILENT_ROUNDS else _not_usable(defects, see)


def _declined(last: ConversationResult, see: str) -> PlanError:
    seen = last.stop.evidence if last.stop else {}
    said = f", and said: {seen['said']}" if seen.get("said") else "."
    return PlanError(
        f"The PM's model declined to plan this (model_declined; declined by {seen.get('declined by')}){said}",
        next_step=f"Reword the goal, {see}take another model (ORCHESTRATE_PM_MODEL), or use --file.",
    )


def _called_nothing(last: ConversationResult, see: str) -> PlanError:
    cut = last.stop.evidence.get(CUT) if last.stop else None
    longer = "Raise max_output_tokens in [models.planner], where its replies were cut off. " if cut else ""
    return PlanError(
        f"The PM's model called no tool in {MOST_SILENT_ROUNDS} rounds, asked again in each (no_action): a plan comes "
        "only by the tool submit_plan.",
        next_step=f'{longer}Try it out with `orchestrate doctor --model`; set tools = "json" in [models.planner] if '
        f"it cannot call tools, or another model (ORCHESTRATE_PM_MODEL), {see}or use --file.",
    )


def _not_usable(defects: tuple[str, ...], see: str) -> PlanError:
    listed = "".join(f"\n  {defect}" for defect in defects)
    return PlanError(
        f"The PM gave no usable plan in {MOST_ROUNDS} rounds. Say the goal more exactly, {see}or use --file. "
        f"The last round's defects:{listed}"
    )
