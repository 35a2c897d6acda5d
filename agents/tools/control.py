"""Control tools: their effect is the engine's, here are only their arguments. The submit tools are read tolerantly,
because the gates judge what they hold."""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import AfterValidator, ConfigDict, Field, field_validator

from agents.tools.port import Arguments
from orchestrator.planning.plan_file import repository_path


class FinishTask(Arguments):
    """Say that the task is done. This alone completes it; then checks and a review judge the workspace."""

    summary: str = Field(min_length=1)
    """What was done and how it was verified; the reviewer and later tasks read it."""
    artefacts: list[str] = Field(default_factory=list)
    """Paths of the files that matter."""


class GiveUp(Arguments):
    """End the attempt because the task cannot be done."""

    reason: str = Field(min_length=1)
    """What stands in the way, and what would have to change."""


class ReportProgress(Arguments):
    """Report what has been achieved since the last report and what comes next."""

    description: str = Field(min_length=1)
    """Two or three sentences."""


class RequestBudget(Arguments):
    """Ask for more tool calls. Granted at most once."""

    additional: int = Field(ge=1, le=10_000)
    """How many more calls."""
    justification: str = Field(min_length=1)
    """What is done, what is left, and why it takes so many."""


class RequestScope(Arguments):
    """Ask to be allowed to change further files. Granted at most once."""

    paths: list[Annotated[str, AfterValidator(repository_path)]] = Field(min_length=1)
    """Paths or globs, from the repository's top level."""
    justification: str = Field(min_length=1)
    """Why the task cannot be done without them."""


class _Tolerant(Arguments):
    model_config = ConfigDict(extra="ignore", use_attribute_docstrings=True, frozen=True)

    @field_validator("*", mode="before")
    @classmethod
    def _null_is_absent(cls, value: Any, info: Any) -> Any:
        """null where a list or text belongs is the empty one; null stays null where it is a value of its own."""
        default = cls.model_fields[info.field_name].get_default(call_default_factory=True)
        return default if value is None else value


def _required(*names: str) -> Any:
    return {"required": list(names), "additionalProperties": False}


class JudgedCriterion(_Tolerant):
    """One acceptance or verification criterion, as judged."""

    model_config = ConfigDict(json_schema_extra=_required("group", "text", "passed", "evidence"))

    group: str = Field(
        default="other", json_schema_extra={"enum": ["security", "functionality", "code_quality", "other"]}
    )
    """Which kind of criterion it is."""
    text: str = ""
    """The criterion as given."""
    passed: bool | None = None
    """true or false; absent when it could not be judged."""
    evidence: str = ""
    """What shows it: a command and its result, or a file and its lines."""


class RaisedFinding(_Tolerant):
    """One defect."""

    model_config = ConfigDict(json_schema_extra=_required("code", "severity", "message", "locus", "required_fix"))

    code: str = ""
    """A short stable name of the kind of defect, such as missing_test."""
    severity: str = Field(default="error", json_schema_extra={"enum": ["critical", "error", "warning", "info"]})
    """critical and error keep the task from being completed."""
    message: str = ""
    """What is wrong."""
    locus: str = ""
    """Where: a path with line, a command, or a criterion."""
    required_fix: str = ""
    """What must be done about it."""


class SubmitReview(_Tolerant):
    """Submit the review. Judge by evidence that you saw, not by what the worker claims."""

    model_config = ConfigDict(json_schema_extra=_required("passed", "score", "feedback", "criteria", "findings"))

    passed: bool | None = None
    """Whether the task is done as asked."""
    score: float | None = Field(default=None, json_schema_extra={"type": "integer", "minimum": 0, "maximum": 100})
    """0 to 100."""
    feedback: str = ""
    """For the worker: what is good, what is missing."""
    criteria: list[JudgedCriterion] = Field(default_factory=list)
    """Every criterion of the task, each with evidence."""
    findings: list[RaisedFinding] = Field(default_factory=list)
    """Every defect; empty when there is none."""


class SubmitDecision(_Tolerant):
    """Submit the decision about the worker's request."""

    model_config = ConfigDict(json_schema_extra=_required("granted", "amount", "paths", "reason"))

    granted: bool = False
    """Whether anything is granted."""
    amount: int = Field(default=0, ge=0)
    """Tool calls granted; 0 when refused or when paths were asked for."""
    paths: list[str] = Field(default_factory=list)
    """Paths granted; empty when refused or when calls were asked for."""
    reason: str = ""
    """One or two sentences that the worker reads."""


class SubmitPlan(Arguments):
    """Submit the plan: the whole plan file as one object."""

    model_config = ConfigDict(extra="allow", use_attribute_docstrings=True, frozen=True)
