"""QC's answer to the work of one attempt, and what each strictness lets pass."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Literal

from orchestrator.domain.finding import Finding
from orchestrator.domain.text import counted

Strictness = Literal["strict", "normal", "lenient"]


@dataclass(frozen=True, slots=True)
class Tolerance:
    """How many errors and warnings a review may hold and still pass. A critical finding never passes."""

    errors: int
    warnings: int

    def __str__(self) -> str:
        return f"{counted(self.errors, 'error')} and {counted(self.warnings, 'warning')}"


TOLERANCES: Mapping[Strictness, Tolerance] = {
    "strict": Tolerance(errors=0, warnings=0),
    "normal": Tolerance(errors=0, warnings=3),
    "lenient": Tolerance(errors=2, warnings=10),
}
"""The one table that QC is told and judged by, the most exacting first."""

ProofKind = Literal["command", "lines", "text"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Proof:
    """What QC cites for a criterion. `command`: it ends with `exit_code`, and prints `contains` where that is given.
    `lines`: `contains` stands in the lines `first` to `last` of `path`, counted from 1. `text`: nothing that can be
    looked up, in the words of `text`."""

    kind: ProofKind
    command: str = ""
    exit_code: int = 0
    contains: str = ""
    path: str = ""
    first: int = 0
    last: int = 0
    text: str = ""

    def __str__(self) -> str:
        if self.kind == "text":
            return self.text
        if self.kind == "command":
            prints = f", prints {self.contains!r}" if self.contains else ""
            return f"`{self.command}` ends with {self.exit_code}{prints}"
        return f"{self.path}:{self.first}-{self.last} holds {self.contains!r}"


@dataclass(frozen=True, slots=True)
class Criterion:
    """One criterion as QC judged it; `passed` None means that it could not be judged. `evidence` is what QC cites, in
    words, `evidence_kind` what it is (None: nothing, or of an older release), and `evidence_holds` whether it was so
    when it was looked up again (None: it was not)."""

    group: Literal["security", "functionality", "code_quality", "other"]
    text: str
    passed: bool | None
    evidence: str
    evidence_kind: ProofKind | None = None
    evidence_holds: bool | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Review:
    """QC's answer. `passed` is the rule's verdict over it, not the model's claim alone; None as long as there is no
    verdict. `content_hash` is what the verdict is bound to, and `cached` says that it was taken over from an earlier
    review that is bound to the same. `afterwards`: a person asked for it when the work had been accepted."""

    id: str
    passed: bool | None
    score: int | None
    feedback: str
    strictness: Strictness
    model: str
    content_hash: str
    prompt_tokens: int
    completion_tokens: int
    tool_call_count: int
    duration_ms: float
    at: datetime
    cached: bool | None = None
    afterwards: bool | None = None
    criteria: tuple[Criterion, ...] = ()
    findings: tuple[Finding, ...] = ()
