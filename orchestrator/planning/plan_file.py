"""The plan file: what a person or the PM writes, field by field.

A person writes a `PlanFile`. The PM submits a `SubmittedPlan`, which has no field that sets a bound: budgets, attempts,
sizes, the model and the override are for a person. Reading one with all its defects named at once is
`validate.examine`; judging its tasks is `preflight.judge_plan`.
"""

from __future__ import annotations

import re
from typing import Annotated, Any, Literal, TypeVar

from pydantic import AfterValidator, AliasChoices, BaseModel, ConfigDict, Field, StrictBool, StrictInt, model_validator

from orchestrator.domain.git_names import is_git_name
from orchestrator.domain.globs import NEW_ONLY
from orchestrator.domain.review import Strictness
from orchestrator.domain.task import TaskKind

MAX_TASKS = 5_000
MAX_ENTRIES = 500
_KEY = re.compile(r"[a-z0-9][a-z0-9.-]*")
_DRIVE = re.compile(r"[A-Za-z]:")


def _text(value: str) -> str:
    if not value.strip():
        raise ValueError("is empty")
    if "\0" in value:
        raise ValueError("holds a NUL character, which no file or command can")
    if any("\ud800" <= char <= "\udfff" for char in value):
        raise ValueError("holds half a character (a lone surrogate)")
    return value


def _key(value: str) -> str:
    if not _KEY.fullmatch(value):
        raise ValueError(f"{value[:80]!r} is no key: lower case letters, digits, '.' and '-', a letter or digit first")
    return value


def repository_path(value: str) -> str:
    """The path from the git top level in its one spelling (`./a//b` is `a/b`). Raises ValueError for what lies outside
    the repository or in its `.git`."""
    _text(value)
    shown = repr(value[:200])
    if value.startswith(("/", "\\")) or _DRIVE.match(value):
        raise ValueError(f"{shown} is absolute: paths are from the git top level")
    if value.startswith("~"):
        raise ValueError(f"{shown} is in a home folder: paths are from the git top level")
    parts = [part for part in value.split("/") if part not in ("", ".")]
    if ".." in parts:
        raise ValueError(f"{shown} leads out of the repository by '..'")
    if any(map(is_git_name, parts)):
        raise ValueError(f"{shown} is in .git, which is not for tasks to touch")
    return "/".join(parts) + ("/" if parts and value.endswith("/") else "") or "."


def _written(value: str) -> str:
    path = repository_path(value)
    if "\\" in path:
        raise ValueError(f"{value[:200]!r} holds a backslash: folders are parted by '/'")
    if path.endswith("/") or path == "." or "*" in path or "?" in path:
        raise ValueError(f"{value[:200]!r} is no single file: name every file, since their number is what is judged")
    return path


def _allowed(value: str) -> str:
    if not value.startswith(NEW_ONLY):
        path = repository_path(value)
        # "./+name" is how a name that starts with a plus is told from a new-files pattern
        return f"./{path}" if path.startswith(NEW_ONLY) else path
    return NEW_ONLY + repository_path(value[len(NEW_ONLY) :])


def _once(values: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(values))


Name = Annotated[str, Field(max_length=300), AfterValidator(_text)]
Sentence = Annotated[str, Field(max_length=4_000), AfterValidator(_text)]
Prose = Annotated[str, Field(max_length=100_000), AfterValidator(_text)]
Key = Annotated[str, Field(max_length=80), AfterValidator(_key)]
Sentences = Annotated[tuple[Sentence, ...], Field(max_length=MAX_ENTRIES)]
CommandText = Annotated[str, Field(max_length=10_000), AfterValidator(_text)]
Commands = Annotated[tuple[CommandText, ...], Field(max_length=50)]
_T = TypeVar("_T")
_Distinct = Annotated[tuple[_T, ...], Field(max_length=MAX_ENTRIES), AfterValidator(_once)]
TaskKeys = _Distinct[Annotated[str, Field(max_length=300)]]
ReadPaths = _Distinct[Annotated[str, Field(max_length=1_000), AfterValidator(repository_path)]]
WrittenPaths = _Distinct[Annotated[str, Field(max_length=1_000), AfterValidator(_written)]]
AllowedPaths = _Distinct[Annotated[str, Field(max_length=1_000), AfterValidator(_allowed)]]


class _PlanPart(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid", use_attribute_docstrings=True)

    @model_validator(mode="before")
    @classmethod
    def _null_is_absent(cls, given: Any) -> Any:
        """`edge_cases:` with nothing behind it is the default, as in strict tool schemas, where null is absence."""
        if not isinstance(given, dict):
            return given
        optional = {name for name, info in cls.model_fields.items() if not info.is_required()}
        return {name: value for name, value in given.items() if value is not None or name not in optional}


class VerificationCriteria(_PlanPart):
    """What QC judges by reading, one Criterion each, by group."""

    security: Sentences = ()
    """What must hold for security."""
    functionality: Sentences = ()
    """What must work."""
    code_quality: Sentences = ()
    """How the code must be."""
    other: Sentences = ()
    """Whatever fits none of the groups."""


class _TaskPart(_PlanPart):
    """What a task asks for, whoever wrote it."""

    key: Key
    """Unique in the plan: lower case letters, digits, '.' and '-', such as `health-route`."""
    title: Name | None = None
    """What the task achieves, in one line; the key where absent."""
    kind: TaskKind | None = None
    """simple or moderate; complex and research need `override`. Derived from the complexity where absent."""
    role: Sentence = "Software engineer"
    """Who the worker is."""
    qc_role: Sentence = "Code reviewer"
    """Who reviews the work."""
    prompt: Prose
    """What is to be done, with all that the worker has to know: it sees nothing of the conversation before."""
    depends_on: TaskKeys = ()
    """Keys of the tasks that must be completed before."""
    files_read: ReadPaths = ()
    """Files that the worker needs to read, from the git top level."""
    files_written: WrittenPaths = ()
    """Files that the worker creates or changes, each by name, from the git top level."""
    allowed_paths: AllowedPaths | None = None
    """Globs of what may change; `+dir/*` allows new files only. Default: files_written and new files beside them."""
    acceptance_criteria: Sentences = ()
    """What must be true afterwards, one fact each."""
    edge_cases: Sentences = ()
    """Cases that the work must cover."""
    verification: Commands = Field(default=(), validation_alias=AliasChoices("verification", "verification_commands"))
    """Shell commands that prove the task done by exit code 0. Nothing that needs a person."""
    verification_criteria: VerificationCriteria = VerificationCriteria()
    """What QC judges by reading."""


class SubmittedTask(_TaskPart):
    """A task as the PM submits it: it sets no bounds of its own."""

    kind: Literal["simple", "moderate"] | None = None
    """Derived from the complexity where absent; what would be larger has to be split."""


class TaskFile(_TaskPart):
    """One task: the smallest unit that a worker executes and QC reviews."""

    tool_call_budget: StrictInt | None = Field(default=None, ge=1, le=10_000)
    """Tool calls of one attempt; default from the band."""
    max_attempts: StrictInt = Field(default=6, ge=1, le=100)
    """Attempts before the task fails; convergence usually ends earlier."""
    max_changed_files: StrictInt = Field(default=10, ge=1, le=100_000)
    """Files that the task may change at most."""
    max_changed_lines: StrictInt = Field(default=400, ge=1, le=10_000_000)
    """Lines that the task may add and remove at most."""
    model: Name | None = None
    """The worker's model, where it is not the one of the settings."""
    strictness: Strictness | None = None
    """How many errors and warnings QC may hold and still pass, where it is not the one of the settings."""
    override: Sentence | None = None
    """Why pre-flight's refusal does not hold for this task; recorded."""


class _Goal(_PlanPart):
    """What holds for all tasks of a plan, whoever wrote it."""

    goal: Prose
    """What the user asked for, in their words."""
    verification: Commands = Field(default=(), validation_alias=AliasChoices("verification", "verification_commands"))
    """Shell commands that hold for the whole repository: checked after every task."""
    full_verification: Commands = ()
    """Commands that are checked only before a merge: suites too slow for every attempt."""


class SubmittedPlan(_Goal):
    """A plan as the PM submits it."""

    tasks: Annotated[tuple[SubmittedTask, ...], Field(min_length=1, max_length=MAX_TASKS)]
    """The tasks; their order is the order among those that could start together."""


class DeclaredCheck(_PlanPart):
    """What a person declares that one of the plan's commands needs."""

    command: CommandText
    """The command, as verification has it."""
    heavy: StrictBool = False
    """Whether a command of full_verification is run before the work too, so that what failed before is known."""
    services: Sentences = ()
    """What has to run beside it, such as `postgres on 5432`: told before the run, started by nobody."""
    network: StrictBool = False
    """Whether it needs the network. That allows none: where sandbox.network does not, the plan is refused."""


class PlanFile(_Goal):
    """A goal as a DAG of tasks for workers, each small enough to be finished and checked by commands."""

    checks: Annotated[tuple[DeclaredCheck, ...], Field(max_length=MAX_ENTRIES)] = ()
    """What commands need; each may also stand in its command's place under verification."""

    tasks: Annotated[tuple[TaskFile, ...], Field(min_length=1, max_length=MAX_TASKS)]
    """The tasks; the order of the file is the order among those that could start together."""
