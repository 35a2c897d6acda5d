"""What an attempt's worker is told, and what the graph is told of that."""

from __future__ import annotations

import json
from typing import Any

from orchestrator.config.settings import Settings
from orchestrator.domain.assignment import Assignment, DependencyResult
from orchestrator.domain.plan import Plan
from orchestrator.domain.run import Claim
from orchestrator.engine.attempt.resume import Start


def commands_of(plan: Plan, claim: Claim) -> tuple[str, ...]:
    """The verification commands of an attempt: the task's own, then the plan's."""
    return tuple(dict.fromkeys((*claim.task.verification, *plan.verification)))


def assignment(
    plan: Plan, claim: Claim, start: Start, settings: Settings, dependencies: tuple[DependencyResult, ...]
) -> Assignment:
    """What the worker is told."""
    previous = start.previous
    return Assignment(
        goal=plan.goal,
        task=claim.task,
        number=claim.number,
        budget=claim.task.tool_call_budget,
        allowed_paths=start.allowed_paths,
        verification=commands_of(plan, claim),
        dependencies=dependencies,
        findings=tuple(f for f in previous.findings if f.blocking) if previous else (),
        failed_checks=tuple(c for c in previous.checks if c.outcome != "passed") if previous else (),
        previous=previous,
        progress_every=settings.guards.progress_every,
    )


def attempt_properties(claim: Claim, start: Start, settings: Settings, model: str) -> dict[str, Any]:
    """What the attempt's node gets once its start is known (GraphWriter.describe_attempt)."""
    budget, allowed = claim.task.tool_call_budget, list(start.allowed_paths)
    limits = {"guards": settings.guards.model_dump(mode="json"), "budget": budget, "allowedPaths": allowed}
    return {
        "model": model,
        "tree_before": start.tree,
        "base_commit": start.base,
        "allowed_paths": allowed,
        "tool_call_budget": budget,
        "stage": start.stage,
        "limits_json": json.dumps(limits, sort_keys=True),
        "follows": start.earlier[-1].id if start.earlier else None,
    }
