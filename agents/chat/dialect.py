"""How an endpoint is spoken to, as its refusals teach it: by which wire, and without which fields."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

from agents.chat.client import EndpointClient
from agents.chat.failures import NoSuchWireError, UnsupportedFieldError
from agents.chat.refusal import IN_MESSAGES, MARK, SAID_WHEN_LEFT_OUT
from agents.chat.wire import Json, WireName, objects
from agents.chat.wires import WIRES, next_wire
from orchestrator.domain.errors import ModelRefusedError, UserError
from orchestrator.domain.model_io import ModelReply

MOST_MESSAGE_FIELDS = 8
"""Fields of messages that are left out at most: each costs a request, and the endpoint itself makes them up."""


class Spoken(NamedTuple):
    """How it is spoken to now: over which wire, and the fields that it refused on it, sent otherwise since."""

    client: EndpointClient
    learnt: frozenset[str] = frozenset()

    @property
    def streams(self) -> bool:
        """Whether replies are asked for as streams: until it refuses that, or answers whole all the same."""
        return self.client.streams and not {"stream", "stream_options"} & self.learnt


class Dialect:
    """What is known of one endpoint, for as long as its chat lives. `connect` opens a wire and raises UserError for one
    that cannot be had here; `tell` is told in a sentence what is left out or taken instead. Thread-safe."""

    def __init__(
        self,
        wires: Sequence[WireName],
        connect: Callable[[WireName], EndpointClient],
        tell: Callable[[str], None],
        *,
        named: bool,
    ) -> None:
        self.now = Spoken(connect(wires[0]))
        self._untried, self._named = tuple(wires[1:]), named
        self._connect, self._tell = connect, tell
        self._left: list[EndpointClient] = []
        self._replied = False
        self._lock = threading.Lock()

    def close(self) -> None:
        """Close the kept connections."""
        for client in (self.now.client, *self._left):
            client.close()

    def ask(self, body: Callable[[Spoken], dict[str, Any]], on_text: Callable[[str], None]) -> ModelReply:
        """One request, whose body is made anew for each way of speaking that it takes. Raises what the client does but
        for UnsupportedFieldError and NoSuchWireError."""
        while True:
            spoken = self.now
            sent = body(spoken)
            try:
                reply = spoken.client.ask(sent, on_text)
            except UnsupportedFieldError as error:
                self._leave_out(error, sent, spoken)
            except NoSuchWireError as error:
                self._switch(error, spoken)
            else:
                if self._is_current(spoken):
                    return reply

    def _is_current(self, spoken: Spoken) -> bool:
        """Whether the reply came over the wire of now: messages of any other could not go out on it."""
        with self._lock:
            current = self.now.client is spoken.client
            self._replied = self._replied or current
            return current

    def _leave_out(self, error: UnsupportedFieldError, sent: Json, spoken: Spoken) -> None:
        of_messages = sum(name.startswith(IN_MESSAGES) for name in spoken.learnt)
        if error.name in spoken.learnt or not _holds(sent, error.name) or of_messages >= MOST_MESSAGE_FIELDS:
            raise error.refusal from None
        with self._lock:
            is_new = self.now.client is spoken.client and error.name not in self.now.learnt
            if is_new:
                self.now = self.now._replace(learnt=self.now.learnt | {error.name})
        if is_new and (error.name in SAID_WHEN_LEFT_OUT or error.name.startswith(IN_MESSAGES)):
            self._tell(f"The endpoint does not take {error.name}: it is left out from now on.")

    def _switch(self, error: NoSuchWireError, spoken: Spoken) -> None:
        """Take the next wire, as long as no reply came over this one."""
        with self._lock:
            if self.now.client is not spoken.client:
                return  # another request has switched already
            client = None if self._replied else self._next(error)
            if client is None:
                raise self._ended(error, spoken) from None
            self._left.append(spoken.client)
            self.now = Spoken(client)
        self._tell(f"The endpoint does not answer to {spoken.client.wire.path}: trying {client.wire.path}.")

    def _next(self, error: NoSuchWireError) -> EndpointClient | None:
        while (wire := next_wire(self._untried, error.others)) is not None:
            self._untried = tuple(name for name in self._untried if name != wire)
            try:
                return self._connect(wire)
            except UserError:  # its client library is not installed
                continue
        return None

    def _ended(self, error: NoSuchWireError, spoken: Spoken) -> ModelRefusedError:
        name, otherwise = spoken.client.wire.name, error.refusal.next_step
        if self._replied:
            told = f'Replies came over api = "{name}" until now, and a conversation cannot change over.'
            return ModelRefusedError(error.refusal.message, next_step=f"{told} See what changed there. {otherwise}")
        if self._named:
            others = [wire for wire in error.others if wire in WIRES] or [wire for wire in WIRES if wire != name]
            either = " or ".join(map(_quoted, others))
            told = f'It does not have the api = "{name}" of the settings: try {either}, or auto.'
        else:
            tried = " and ".join(client.wire.path for client in (*self._left, spoken.client))
            told = f"It answered to none of the APIs that were tried: {tried}."
        return ModelRefusedError(error.refusal.message, next_step=f"{told} {otherwise}")


def _quoted(name: str) -> str:
    return f'"{name}"'


def _holds(sent: Json, name: str) -> bool:
    """Whether the field was sent at all, in the body, in an assistant's message, or as a mark somewhere."""
    if name == MARK:
        return f'"{MARK}"' in json.dumps(sent, default=str)
    if not name.startswith(IN_MESSAGES):
        return name in sent
    field, messages = name.removeprefix(IN_MESSAGES), _messages(sent.get("messages"))
    own = [message for message in messages if message.get("role") == "assistant"]
    return any(field in each for message in own for each in (message, *objects(message.get("tool_calls"))))


def _messages(messages: Any) -> list[Json]:
    """The messages of a body, ours or as they came; none of a wire that has none."""
    return [each for each in messages if isinstance(each, Mapping)] if isinstance(messages, Sequence) else []
