"""The conversation as it happened: an opening that never changes, then turns with their results, and reminders.

Results are kept whole here, for read_output; what the model is shown of a long one is its head and tail. Every call
of a turn gets exactly one result before the turn joins `entries`, so that no pair is ever torn. A message is
built once and never changed, so that its size can be remembered by its identity.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

from agents.chat.port import Message
from orchestrator.domain.model_io import ToolCall

RESULT_CHARS = 16 * 1024
"""A longer result is shown head and tail, with the way to read on."""
DIGEST = "digest"
"""The id under which read_output lists every call of the conversation."""
_HEAD_SHARE = 0.6  # of what is left of a cut text stands before the cut


@dataclass(frozen=True)
class Pair:
    """A call and its result as the model is shown it, with one word on how it went."""

    asked: ToolCall
    result: str
    status: str

    @cached_property
    def message(self) -> Message:
        """The result in wire form."""
        return {"role": "tool", "tool_call_id": self.asked.call_id, "content": self.result}

    @cached_property
    def line(self) -> str:
        """The digest's line: id to read it by, name, arguments, how it went, a short result."""
        arguments = excerpt(self.asked.arguments_json, 80)
        return f"- {self.asked.call_id}: {self.asked.tool} {arguments} -> {self.status}: {excerpt(self.result, 80)}"


@dataclass(frozen=True)
class Turn:
    """One reply with tool calls, as it came, and their results in the order asked."""

    said: Message
    pairs: tuple[Pair, ...]

    @cached_property
    def messages(self) -> tuple[Message, ...]:
        """The turn in wire form."""
        return (self.said, *(pair.message for pair in self.pairs))


@dataclass(frozen=True)
class Remark:
    """A message without calls: the model's, as it came, or a reminder of ours (role user)."""

    said: Message

    @property
    def role(self) -> str:
        """Whose it is."""
        return str(self.said["role"])

    @property
    def messages(self) -> tuple[Message, ...]:
        """The remark in wire form."""
        return (self.said,)


TranscriptEntry = Turn | Remark


def assistant_message(text: str, asked: Sequence[ToolCall]) -> Message:
    """What a model said, in the words that every wire knows: where nothing that came can be sent back."""
    if not asked:
        return {"role": "assistant", "content": text or "(empty reply)"}
    calls = [
        {
            "id": call.call_id,
            "type": "function",
            "function": {"name": call.tool, "arguments": call.arguments_json},
        }
        for call in asked
    ]
    return {"role": "assistant", "content": text or None, "tool_calls": calls}


def excerpt(text: str, limit: int) -> str:
    """One line of at most `limit` characters: the text's beginning and end."""
    ends = text if len(text) <= 20 * limit else f"{text[: 10 * limit]} {text[-10 * limit :]}"
    flat = " ".join(ends.split())
    if len(flat) <= limit:
        return flat
    half = (limit - 3) // 2
    return f"{flat[: limit - 3 - half]}...{flat[-half:]}"


def cut(text: str, limit: int, call_id: str = "") -> str:
    """The text in at most `limit` characters: head and tail 60 to 40 around one marker, which says how to read on."""
    if len(text) <= limit:
        return text
    room = limit - len(_marker(call_id, limit))
    if room < 2:
        return text[: max(limit, 0)]
    head = int(room * _HEAD_SHARE)
    tail = room - head
    return f"{text[:head]}{_marker(call_id, head)}{text[-tail:]}"


def _marker(call_id: str, offset: int) -> str:
    if not call_id:
        return "\n[... cut ...]\n"
    return f'\n[... cut; read_output(call_id="{call_id}", offset={offset}) reads on from here ...]\n'


class Transcript:
    """Grows by say, answer and remind; composing a window only reads it."""

    def __init__(self, head: Sequence[Message], *, result_chars: int = RESULT_CHARS) -> None:
        self.head = tuple(head)
        self.entries: list[TranscriptEntry] = []
        self._result_chars = result_chars
        self._outputs: dict[str, str] = {}
        self._said: Message = {}
        self._asked: tuple[ToolCall, ...] = ()
        self._answered: dict[str, Pair] = {}

    @property
    def unanswered(self) -> tuple[str, ...]:
        """The ids of calls that have no result yet; a request can be composed only when there are none."""
        return tuple(asked.call_id for asked in self._asked if asked.call_id not in self._answered)

    @property
    def paused(self) -> bool:
        """Whether the model spoke last: a reply without calls that nothing was said to."""
        return bool(self.entries) and isinstance(last := self.entries[-1], Remark) and last.role == "assistant"

    @property
    def messages(self) -> int:
        """How many messages the conversation has, were it sent whole."""
        return len(self.head) + sum(len(entry.messages) for entry in self.entries)

    def say(self, said: Message, asked: Sequence[ToolCall]) -> None:
        """The model's reply as it is sent back, and its calls; a turn as soon as all of them are answered."""
        if not asked:
            self.entries.append(Remark(said))
            return
        self._said, self._asked, self._answered = said, tuple(asked), {}

    def answer(self, call_id: str, text: str, status: str) -> None:
        """Give a call its result. Raises ValueError for a call that is not waiting for one."""
        asked = next((a for a in self._asked if a.call_id == call_id), None)
        if asked is None or call_id in self._answered:
            raise ValueError(f"Call {call_id} is not waiting for a result; waiting: {', '.join(self.unanswered)}.")
        self._outputs[call_id] = text
        self._answered[call_id] = Pair(asked, cut(text, self._result_chars, call_id), status)
        if len(self._answered) == len(self._asked):
            self.entries.append(Turn(self._said, tuple(self._answered[a.call_id] for a in self._asked)))
            self._asked = ()

    def remind(self, text: str) -> None:
        """Add a user message."""
        self.entries.append(Remark({"role": "user", "content": text}))

    def keep(self, name: str, text: str) -> None:
        """Make a text of the assignment readable by read_output under `name`."""
        self._outputs[name] = text

    def output(self, call_id: str) -> str | None:
        """The whole result of a call, the list of all calls for `digest`, or None for an unknown id."""
        if call_id == DIGEST:
            return "\n".join(pair.line for entry in self.entries if isinstance(entry, Turn) for pair in entry.pairs)
        return self._outputs.get(call_id)

    def ids(self) -> tuple[str, ...]:
        """Every id that `output` knows, oldest first."""
        return (*self._outputs, DIGEST)
