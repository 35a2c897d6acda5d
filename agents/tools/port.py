"""What a tool is: arguments as one pydantic model, a function over a ToolEnv, and what the guards must know of it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Literal, Protocol

from pydantic import BaseModel, ConfigDict

from agents.chat.port import ToolSchema
from agents.tools.schema import tool_schema
from orchestrator.domain.ports import Workspace


class Arguments(BaseModel):
    """Base of all tools' arguments. The class docstring is the tool's description, a field's docstring the field's."""

    model_config = ConfigDict(extra="forbid", use_attribute_docstrings=True, frozen=True)


class Outputs(Protocol):
    """The results of earlier calls in full (agents/transcript.py)."""

    def output(self, call_id: str) -> str | None:
        """The whole result of a call, None for an unknown id."""

    def ids(self) -> tuple[str, ...]:
        """Every id that `output` knows, oldest first."""


@dataclass(frozen=True, slots=True)
class ToolEnv:
    """What tools work on. `page_chars` is the most that read_output shows at once; `within_s` are the seconds until the
    deadline of the work, which no command outlives."""

    workspace: Workspace
    outputs: Outputs
    page_chars: int
    read_only: bool = False
    within_s: float | None = None


@dataclass(frozen=True, slots=True)
class ToolOutput:
    """What a tool says. A failed one may name what its error belongs to, so that equal texts of different causes (a
    search command that finds nothing, exit code 1) are no repeated error. `infrastructure` marks a failure of ours.
    `says` is off where there was nothing to say but how it ended. A `lesson` about the surroundings failed, and is
    counted as no error."""

    text: str
    ok: bool = True
    error_of: str = ""
    infrastructure: bool = False
    says: bool = True
    lesson: bool = False


@dataclass(frozen=True, slots=True)
class Tool:
    """One tool. `run` is None for control tools, whose effect is the engine's. `touches` says what it may change:
    nothing, the file `path`, or anything. `pure`: the same call over an unchanged workspace gives the same result.
    `cosmetic` arguments are no part of the signature; `path`, where there is one, is normalised in it. `schema` is the
    wire form; its parameters may be `drawn_from` another model than the one that reads them."""

    name: str
    arguments: type[Arguments]
    run: Callable[[ToolEnv, Any], ToolOutput] | None = None
    touches: Literal["nothing", "path", "anything"] = "nothing"
    pure: bool = False
    cosmetic: frozenset[str] = frozenset()
    drawn_from: type[BaseModel] | None = None
    schema: ToolSchema = field(init=False, compare=False, repr=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "schema", tool_schema(self.name, self.arguments, self.drawn_from or self.arguments))
