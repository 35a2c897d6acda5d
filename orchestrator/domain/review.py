"""QC's answer to the work of one attempt."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Literal

from orchestrator.domain.finding import Finding


@dataclass(frozen=True, slots=True)
class Criterion:
    """One criterion as QC judged it; `passed` None means that it could not be judged."""

    group: Literal["security", "functionality", "code_quality", "other"]
    text: str
    passed: bool | None
    evidence: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Review:
    """QC's answer. `passed` is the rule's verdict over it, not the model's claim alone."""

    id: str
    passed: bool | None
    score: int | None
    feedback: str
    strictness: Literal["strict", "normal", "lenient"]
    model: str
    content_hash: str
    prompt_tokens: int
    completion_tokens: int
    tool_call_count: int
    duration_ms: float
    at: datetime
    criteria: tuple[Criterion, ...] = ()
    findings: tuple[Finding, ...] = ()
