"""Control tools: their effect is the engine's, here are only their arguments. The submit tools are read tolerantly,
because the gates judge what they hold."""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import AfterValidator, BeforeValidator, ConfigDict, Field

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
    """Files by name, from the repository's top level."""
    justification: str = Field(min_length=1)
    """Why the task cannot be done without them."""


def _all_required(schema: dict[str, Any]) -> None:
    """What is read tolerantly is asked for in full."""
    schema |= {"required": list(schema["properties"]), "additionalProperties": False}


class _Tolerant(Arguments):
    """Null and what is missing are the default, and what is unknown is passed over."""

    model_config = ConfigDict(extra="ignore", json_schema_extra=_all_required)


def _kind_required(schema: dict[str, Any]) -> None:
    """Of evidence only what its kind needs is asked for."""
    schema |= {"required": ["kind"], "additionalProperties": False}


class CitedEvidence(Arguments):
    """What shows that the criterion is met. It is looked up: a command is run again, lines are found."""

    model_config = ConfigDict(extra="ignore", json_schema_extra=_kind_required)

    kind: str = Field(default="", json_schema_extra={"enum": ["command", "lines", "text"]})
    """command, or lines of a file; text alone only for criteria to judge by reading."""
    command: str = ""
    """A shell command that you ran, which fails where the criterion is not met."""
    exit_code: int = 0
    """What the command ends with."""
    path: str = ""
    """For lines: the file, from the repository's top level."""
    first: int = 0
    """For lines: the first one's number, as read_file shows it."""
    last: int = 0
    """For lines: the last one's number."""
    contains: str = ""
    """What stands in the lines, word for word; or what the command prints, where its exit code alone shows nothing."""
    text: str = ""
    """For text: what you read, and where."""


def _written_out(value: Any) -> Any:
    """Evidence that a model writes as a plain text."""
    return {"kind": "text", "text": value} if isinstance(value, str) else value


class JudgedCriterion(_Tolerant):
    """One acceptance criterion, edge case or verification criterion, as judged."""

    group: str = Field(
        default="other", json_schema_extra={"enum": ["security", "functionality", "code_quality", "other"]}
    )
    """Which kind of criterion it is."""
    text: str = ""
    """The criterion as given, word for word."""
    passed: bool | None = None
    """true or false; absent when it could not be judged."""
    evidence: Annotated[CitedEvidence, BeforeValidator(_written_out)] = CitedEvidence()
    """What shows it."""


class RaisedFinding(_Tolerant):
    """One defect."""

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

    passed: bool | None = None
    """Whether the task is done as asked."""
    score: float | None = Field(default=None, json_schema_extra={"type": "integer", "minimum": 0, "maximum": 100})
    """0 to 100."""
    feedback: str = ""
    """For the worker: what is good, what is missing."""
    criteria: list[JudgedCriterion] = Field(default_factory=list)
    """Each acceptance criterion, edge case and verification criterion once, with evidence, and no others."""
    findings: list[RaisedFinding] = Field(default_factory=list)
    """Every defect; empty when there is none."""


class SubmitDecision(_Tolerant):
    """Submit the decision about the worker's request."""

    granted: bool = False
    """Whether anything is granted."""
    amount: int = Field(default=0, ge=0)
    """Tool calls granted; 0 when refused or when paths were asked for."""
    paths: list[str] = Field(default_factory=list)
    """Paths granted; empty when refused or when calls were asked for."""
    reason: str = ""
    """One or two sentences that the worker reads."""


class SubmitReport(_Tolerant):
    """Submit the report on a task that has failed."""

    summary: str = ""
    """Two or three sentences: what kept it from being completed, as far as what is recorded shows."""
    actions: list[str] = Field(default_factory=list)
    """What a person can do about it, the most promising first; at most three, one sentence each."""


class SubmitPlan(Arguments):
    """Submit the plan: the whole plan file as one object."""

    model_config = ConfigDict(extra="allow")
