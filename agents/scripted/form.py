"""What the scripted model knows of an API: how its requests are read and its replies written. One module a form."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol

from agents.chat.wire import Json
from agents.scripted.script import ApiName, ScriptedCall, ScriptedReply

SIGNED = "_s"
"""What the ids of calls and items end in whose signature must come back with them."""


class BadRequestError(Exception):
    """The request is none that the API takes; the message and the code are what the provider says."""

    def __init__(self, message: str, code: str | None = None, param: str | None = None) -> None:
        super().__init__(message)
        self.message = message
        self.code = code
        self.param = param


@dataclass(frozen=True, slots=True, kw_only=True)
class AskedReply:
    """A request, as far as the script and the count of tokens need it."""

    model: str
    system: str
    """The system text, "" where there is none."""
    assignment: str
    """The first message of the user's."""
    tools: frozenset[str]
    """The names of the tools offered."""
    items: Sequence[Any]
    """All of the prompt in order, each part as it came: what is counted, and found again in the provider's cache."""
    marks: tuple[int, ...] | None = None
    """Behind how many items the request asks the provider to keep all before; None: it keeps all by itself."""
    streamed: bool
    usage: bool = True
    """Whether a stream is to tell the usage."""


@dataclass(frozen=True, slots=True)
class ScriptedTokens:
    """What a reply used. `cached` and `written` are those of the prompt's that came from the cache and went into it."""

    prompt: int
    output: int
    cached: int = 0
    written: int = 0
    reasoning: int = 0


class NumberedCall(NamedTuple):
    """A call with an id that no other call of any conversation has, unless the script gives it one."""

    call_id: str
    call: ScriptedCall


@dataclass(frozen=True, slots=True, kw_only=True)
class ScriptedTurn:
    """A scripted reply with all that it takes to write it in any form. `number` is of the conversation and the turn:
    the same again when a whole run is repeated."""

    number: str
    model: str
    reply: ScriptedReply
    calls: Sequence[NumberedCall]
    tokens: ScriptedTokens | None
    """None: the reply tells no usage."""
    empty: bool = False
    """Whether everything in it is missing."""


class StreamEvent(NamedTuple):
    """One server-sent event: its name ("" for none) and its data, an object or a text as it stands."""

    name: str
    told: Json | str


class ScriptedForm(Protocol):
    """One API. Pure: the same request is read, and the same turn written, in the same way always."""

    @property
    def api(self) -> ApiName:
        """As scripts and settings name it."""

    @property
    def path(self) -> str:
        """What the request's path ends in."""

    def asked(self, body: Json) -> AskedReply:
        """Read a request, signatures checked as the provider does. Raises BadRequestError."""

    def whole(self, turn: ScriptedTurn) -> dict[str, Any]:
        """The reply's body."""

    def events(self, whole: Json, asked: AskedReply, /) -> Iterator[StreamEvent]:
        """The same reply as the events of a stream, in the pieces in which endpoints send them."""

    def error(self, message: str, *, kind: str, code: str | None = None, param: str | None = None) -> Json:
        """The body of an error reply; `kind` is its type."""


def openai_error(message: str, *, kind: str, code: str | None = None, param: str | None = None) -> Json:
    """An error's body as OpenAI has it."""
    return {"error": {"message": message, "type": kind, "code": code, "param": param}}


def first_text(messages: Sequence[Json], role: str) -> str:
    """The content of the first message with the role: its text, parts of a list joined as JSON; "" without one."""
    content = next((message.get("content") for message in messages if message.get("role") == role), "")
    return content if isinstance(content, str) else joined_parts(content)


def joined_parts(content: Any) -> str:
    """The texts of a list of parts, so that a conversation is the same one whichever way it is told."""
    parts = content if isinstance(content, list) else ()
    return "".join(str(part.get("text", "")) if isinstance(part, dict) else str(part) for part in parts)


def listed_objects(value: Any, complaint: str) -> list[Json]:
    """A list of JSON objects. Raises BadRequestError with the complaint for anything else."""
    if not isinstance(value, list) or not all(isinstance(item, dict) for item in value):
        raise BadRequestError(complaint)
    return value


def halves(text: str) -> Iterator[str]:
    """A text in the two pieces in which it is streamed; none of an empty one."""
    middle = len(text) // 2
    yield from filter(None, (text[:middle], text[middle:]))
