"""The scripted model's script: which conversation gets which replies. A YAML or JSON file:

conversations:
  - when: {role: worker, task: health-route, attempt: 1}
    replies:
      - call: [read_file, {path: app/main.py}]
      - {text: "Thinking.", latency_ms: 200}
      - {call: [edit_file, {path: a.py, old_str: x, new_str: y}], times: 3}
      - fault: {status: 429, retry_after: 1}
    then: finish
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any, Literal

import yaml
from pydantic import BaseModel, ConfigDict, Field, ValidationError, field_validator, model_validator
from pydantic_core import ErrorDetails

from orchestrator.domain.errors import UserError
from orchestrator.domain.tools import ToolRole

ApiName = Literal["chat", "responses", "messages"]


class _Entry(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class When(_Entry):
    """Which conversations an entry answers. `role` is told by the tools offered; the rest is looked for in the first
    user message: the lines `Task: <key>` and `Attempt: <n>`, and any text."""

    role: ToolRole | None = None
    task: str | None = None
    attempt: int | None = None
    contains: tuple[str, ...] = ()

    @field_validator("contains", mode="before")
    @classmethod
    def _one_is_a_list(cls, value: Any) -> Any:
        return (value,) if isinstance(value, str) else value

    def matches(self, role: str | None, assignment: str) -> bool:
        """Whether a conversation with this role (None: unknown) and first user message is meant."""
        return (
            (self.role is None or role is None or self.role == role)
            and (self.task is None or _has_line(assignment, f"Task: {self.task}"))
            and (self.attempt is None or _has_line(assignment, f"Attempt: {self.attempt}"))
            and all(text in assignment for text in self.contains)
        )


class ScriptedCall(_Entry):
    """One tool call, as {tool, arguments} or [tool, arguments]. Arguments that are a string are sent as they are, so
    that they may be broken JSON; nothing checks that the tool exists. `id` is a fresh one unless it is given."""

    tool: str
    arguments: dict[str, Any] | str = Field(default_factory=dict)
    id: str | None = None

    @property
    def arguments_json(self) -> str:
        """The arguments as they are sent."""
        return self.arguments if isinstance(self.arguments, str) else json.dumps(self.arguments)

    @model_validator(mode="before")
    @classmethod
    def _short(cls, value: Any) -> Any:
        if isinstance(value, str):
            return {"tool": value}
        if isinstance(value, list) and len(value) in (1, 2):
            return dict(zip(("tool", "arguments"), value, strict=False))
        return value


class ScriptedFault(_Entry):
    """What goes wrong with one reply. `status` (with `body`, `retry_after`), `html`, `hang_s` and `close` come instead
    of the reply; `drip`, `stall_s`, `cut`, `no_usage`, `usage` and `empty_choices` spoil it."""

    status: int | None = Field(default=None, ge=200, le=599)
    body: str | dict[str, Any] = "scripted fault"
    retry_after: float | str | None = None
    html: bool = False
    hang_s: float = Field(default=0, ge=0)
    close: bool = False
    drip: float | None = Field(default=None, gt=0)
    """Bytes a second, from the first byte of the headers on."""
    stall_s: float = Field(default=0, ge=0)
    """Half of the body, then silence for so many seconds, then the connection is closed."""
    cut: bool = False
    """Half of the body, then the connection is closed."""
    no_usage: bool = False
    usage: tuple[int, int] | None = None
    """Tokens of prompt and reply that are told instead of the true ones."""
    empty_choices: bool = False

    @property
    def instead(self) -> bool:
        """Whether the model never gets to reply."""
        return bool(self.status or self.html or self.hang_s or self.close)


class ScriptedReply(_Entry):
    """One reply: text, tool calls, or both; `times` over, each after `latency_ms`. Its `reasoning` (true: some) comes
    signed, and a later request that holds the reply without it, or changed, is refused as the provider does.
    `finish_reason` is in the words of chat completions, and `refusal`; each API has its own for it."""

    text: str = ""
    reasoning: str = ""
    call: ScriptedCall | None = None
    calls: tuple[ScriptedCall, ...] = ()
    times: int = Field(default=1, ge=1, le=10_000)
    latency_ms: float = Field(default=0, ge=0)
    finish_reason: str | None = None
    fault: ScriptedFault | None = None

    @field_validator("reasoning", mode="before")
    @classmethod
    def _some(cls, value: Any) -> Any:
        return "I think about it first." if value is True else value or ""

    @property
    def all_calls(self) -> tuple[ScriptedCall, ...]:
        """`call` and `calls`, as one."""
        return (*((self.call,) if self.call else ()), *self.calls)


class ScriptedConversation(_Entry):
    """Replies in order; each is consumed by one request. `then` says what follows the last: `repeat` it, `cycle N`
    (the last N again and again), `finish` (finish_task, or a plain text), or `error`. A prompt longer than
    `context_chars` is refused with context_length_exceeded and consumes nothing."""

    when: When = When()
    replies: tuple[ScriptedReply, ...] = Field(min_length=1)
    then: str = Field(default="repeat", pattern=r"^(repeat|finish|error|cycle [1-9]\d*)$")
    context_chars: int | None = Field(default=None, ge=1)

    @cached_property
    def steps(self) -> tuple[ScriptedReply, ...]:
        """The replies with `times` spelt out."""
        return tuple(reply for reply in self.replies for _ in range(reply.times))

    def reply_at(self, position: int) -> ScriptedReply | None:
        """The reply to the request number `position` (from 0), or None when the script has none."""
        steps = self.steps
        if position < len(steps):
            return steps[position]
        if self.then == "finish":
            return ScriptedReply(call=ScriptedCall(tool="finish_task", arguments={"summary": "Done."}))
        if self.then == "error":
            return None
        period = 1 if self.then == "repeat" else min(int(self.then.split()[1]), len(steps))
        return steps[len(steps) - period + (position - len(steps)) % period]


class Script(_Entry):
    """A whole script: the model's name, the APIs that it speaks, the context length that /v1/models tells (None: it
    does not) or, as llama.cpp does it, /props, whether replies are streamed when they are asked for so (else they come
    whole all the same), and conversations of which the first that matches is taken."""

    model: str = "scripted"
    apis: tuple[ApiName, ...] = ("chat", "responses", "messages")
    context_length: int | None = Field(default=None, ge=1)
    llama_cpp: bool = False
    streams: bool = True
    conversations: tuple[ScriptedConversation, ...] = Field(min_length=1)


def load_script(source: Path | Mapping[str, Any]) -> Script:
    """A script from a file or a value. Raises UserError that names entry and line of every defect."""
    if isinstance(source, Mapping):
        return _validated(source, "the script", None)
    try:
        text = source.read_text(encoding="utf-8")
        node, value = yaml.compose(text, Loader=yaml.SafeLoader), yaml.safe_load(text)
    except (OSError, UnicodeDecodeError) as error:
        raise UserError(f"The script {source} cannot be read: {error}.") from None
    except yaml.YAMLError as error:
        raise UserError(f"The script {source} is no YAML: {' '.join(str(error).split())}.") from None
    return _validated(value, str(source), node)


def _validated(value: Any, name: str, node: yaml.Node | None) -> Script:
    try:
        return Script.model_validate(value)
    except ValidationError as error:
        found = [item for item in error.errors() if not _follows_from_another(item, error)]
        defects = [f"{_place(item['loc'], node)}: {item['msg']}" for item in found]
        raise UserError(f"{name} has {len(defects)} defect(s): {'; '.join(defects)}.") from None


def _follows_from_another(defect: ErrorDetails, error: ValidationError) -> bool:
    """A list that is empty only because its items are wrong is no defect of its own."""
    place = defect["loc"]
    return defect["type"] == "too_short" and any(
        other["loc"][: len(place)] == place and len(other["loc"]) > len(place) for other in error.errors()
    )


def _place(location: Sequence[int | str], node: yaml.Node | None) -> str:
    """`conversations[0].replies[2].text (line 7)`."""
    path = (
        "".join(f"[{part}]" if isinstance(part, int) else f".{part}" for part in location).lstrip(".") or "the script"
    )
    for part in location:
        node = _child(node, part) or node
    return path if node is None else f"{path} (line {node.start_mark.line + 1})"


def _child(node: yaml.Node | None, part: int | str) -> yaml.Node | None:
    if isinstance(node, yaml.SequenceNode) and isinstance(part, int) and part < len(node.value):
        found: yaml.Node = node.value[part]
        return found
    if isinstance(node, yaml.MappingNode):
        return next((value for key, value in node.value if key.value == part), None)
    return None


def _has_line(text: str, line: str) -> bool:
    return re.search(rf"^{re.escape(line)}\s*$", text, re.MULTILINE) is not None
