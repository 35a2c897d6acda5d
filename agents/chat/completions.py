"""The wire of chat completions, which nearly every endpoint speaks: OpenAI's own models without reasoning, Gemini,
OpenRouter, vLLM, llama.cpp, Ollama, LM Studio and many more."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from typing import Any

from agents.chat.failures import MalformedReplyError
from agents.chat.port import ChatRequest, Message
from agents.chat.refusal import IN_MESSAGES
from agents.chat.sse import DONE
from agents.chat.wire import Json, RequestOptions, WireName, objects, plain_text, token_count, told_calls, told_usage
from orchestrator.domain.model_io import FinishReason, ModelReply, ToolCall

STREAMING: Json = {"stream": True, "stream_options": {"include_usage": True}}
"""What asks for a stream, with the usage that the endpoint would report otherwise."""

_FINISHED: Mapping[str, FinishReason] = {"length": "length", "content_filter": "content_filter", "refusal": "refusal"}
_Pieces = defaultdict[str, list[Any]]


class Completions:
    """POST /chat/completions (Wire). Messages are sent as they stand: the port's own form is this API's."""

    name: WireName = "chat"
    path = "/chat/completions"
    reply_name = "a chat completion"

    def body(self, request: ChatRequest, options: RequestOptions) -> dict[str, Any]:
        """Messages and tools pass without a transform, but for fields of its own messages that the endpoint does not
        take back."""
        body: dict[str, Any] = {"model": options.model, "messages": _without(options.learnt, request.messages)}
        if request.tools:
            body["tools"] = request.tools
            body["tool_choice"] = _tool_choice(request.tool_choice, plain=not options.takes("tool_choice"))
        if options.temperature is not None and options.takes("temperature"):
            body["temperature"] = options.temperature
        if options.effort is not None and options.takes("reasoning_effort"):
            body["reasoning_effort"] = options.effort
        if options.takes("max_tokens") or options.takes("max_completion_tokens"):
            body["max_tokens" if options.takes("max_tokens") else "max_completion_tokens"] = options.max_output_tokens
        if options.json_object and options.takes("response_format"):
            body["response_format"] = {"type": "json_object"}
        if options.streams:
            body |= STREAMING
        return body

    def said(self, reply: ModelReply) -> Message:
        """The message as it came; a call whose id or arguments are others now keeps its other fields."""
        came = objects(reply.message.get("tool_calls"))
        if came and not reply.calls:  # none that counts, and nobody will answer them
            return {name: value for name, value in reply.message.items() if name != "tool_calls"}
        calls = [_known_as(call, known) for call, known in zip(came, reply.calls, strict=True)]
        return {**reply.message, "tool_calls": calls} if calls != came else reply.message

    def reply(self, answer: Json) -> ModelReply:
        """The first choice's message."""
        choices = objects(answer.get("choices"))
        if not choices:
            raise MalformedReplyError("no choices")
        message = choices[0].get("message")
        if not isinstance(message, dict):
            raise MalformedReplyError("a choice without a message")
        calls = _tool_calls(message.get("tool_calls"))
        finish = _FINISHED.get(str(choices[0].get("finish_reason")), "tool_calls" if calls else "stop")
        if message.get("refusal") and not (message.get("content") or calls):
            finish = "refusal"
        return ModelReply(
            text=_text(message),
            calls=calls,
            finish_reason=finish,
            model=str(answer.get("model") or ""),
            message={**message, "role": "assistant"},
            **_usage(answer.get("usage")),
        )

    def joined(self, events: Sequence[Json]) -> Json:
        """The chat completion that the deltas are parts of, with the fields that we do not know too."""
        reply = _Reply()
        for event in events:
            if event is not DONE:
                reply.add(event)
        if not (any(event is DONE for event in events) or reply.finish_reason or reply.top.get("error")):
            raise MalformedReplyError("a stream that breaks off")
        return reply.completion()

    def ends(self, event: Json) -> bool:
        """[DONE]."""
        return event is DONE

    def text(self, event: Json) -> str:
        """The first choice's piece of content."""
        delta = next((choice.get("delta") for choice in objects(event.get("choices"))), None)
        content = delta.get("content") if isinstance(delta, dict) else None
        return content if isinstance(content, str) else ""


def _without(learnt: frozenset[str], messages: Sequence[Message]) -> Sequence[Message]:
    refused = frozenset(name.removeprefix(IN_MESSAGES) for name in learnt if name.startswith(IN_MESSAGES))
    return [_message_without(refused, message) for message in messages] if refused else messages


def _message_without(refused: frozenset[str], message: Message) -> Message:
    if message.get("role") != "assistant":
        return message
    kept = {name: value for name, value in message.items() if name not in refused}
    if calls := objects(message.get("tool_calls")):
        kept["tool_calls"] = [{name: at for name, at in call.items() if name not in refused} for call in calls]
    return kept


def _tool_choice(choice: str, *, plain: bool) -> str | dict[str, Any]:
    """The choice as the API has it; `plain` for endpoints that know no more than auto and none."""
    if choice in ("auto", "none"):
        return choice
    if plain:
        return "auto"
    return choice if choice == "required" else {"type": "function", "function": {"name": choice}}


def _known_as(call: Json, known: ToolCall) -> Json:
    function = call["function"]
    if (call.get("id"), function.get("name"), function.get("arguments")) == (
        known.call_id,
        known.tool,
        known.arguments_json,
    ):
        return call
    renamed = {**function, "name": known.tool, "arguments": known.arguments_json}
    return {"type": "function", **call, "id": known.call_id, "function": renamed}


def _text(message: Json) -> str:
    return plain_text(message.get("content")) or str(message.get("refusal") or "")


def _tool_calls(raw: Any) -> tuple[ToolCall, ...]:
    asked = []
    for item in objects(raw):
        function = item.get("function")
        if not isinstance(function, dict):
            raise MalformedReplyError("a tool call without a function")
        asked.append((item.get("id"), function.get("name"), function.get("arguments")))
    return told_calls(asked)


def _usage(raw: Any) -> dict[str, Any]:
    """The endpoint's own count of tokens, as a reply's fields."""
    usage = raw if isinstance(raw, dict) else {}
    cached = _detail(usage, "prompt_tokens_details", "cached_tokens")
    if cached is None:
        cached = token_count(usage.get("prompt_cache_hit_tokens"))  # DeepSeek's name for it
    return told_usage(
        prompt=token_count(usage.get("prompt_tokens")),
        output=token_count(usage.get("completion_tokens")),
        cached=cached,
        reasoning=_detail(usage, "completion_tokens_details", "reasoning_tokens"),
    )


def _detail(usage: Json, group: str, name: str) -> int | None:
    details = usage.get(group)
    return token_count(details.get(name)) if isinstance(details, dict) else None


class _Reply:
    """What the events have brought so far. `top` are the newest values of the fields around the choice: usage comes
    with the last event, or grows with each."""

    def __init__(self) -> None:
        self.top: dict[str, Any] = {}
        self.finish_reason: str | None = None
        self._begun = False
        self._message: _Pieces = defaultdict(list)
        self._calls: list[_Call] = []
        self._by_index: dict[int | None, _Call] = {}

    def add(self, event: Mapping[str, Any]) -> None:
        """Take in one event; other choices than the first were not asked for."""
        self.top |= {name: value for name, value in event.items() if name != "choices" and value}
        for choice in objects(event.get("choices")):
            if choice.get("index") in (0, None):
                self._begun = True
                self.finish_reason = choice.get("finish_reason") or self.finish_reason
                self._add_delta(choice.get("delta"))

    def _add_delta(self, delta: Any) -> None:
        for name, value in delta.items() if isinstance(delta, dict) else ():
            if name == "tool_calls":
                for part in objects(value):
                    self._call_of(part).add(part)
            elif value is not None:
                self._message[name].append(value)

    def _call_of(self, part: Mapping[str, Any]) -> _Call:
        """The call that a delta begins or goes on with: by its index, where a server sends one."""
        index = part.get("index") if isinstance(part.get("index"), int) else None
        call = self._by_index.get(index)
        if call is None or call.is_followed_by(part):
            call = self._by_index[index] = _Call()
            self._calls.append(call)
        return call

    def completion(self) -> Mapping[str, Any]:
        """The whole, in the shape of a reply that was not streamed."""
        said = {name: _joined(pieces) for name, pieces in self._message.items()}
        message = {"content": None} | said | {"role": "assistant"}
        if self._calls:
            message["tool_calls"] = [call.whole() for call in self._calls]
        choice = {"index": 0, "finish_reason": self.finish_reason, "message": message}
        return {**self.top, "choices": [choice] if self._begun else []}


class _Call:
    """One tool call: name and arguments come in pieces, the id with the first of them."""

    def __init__(self) -> None:
        self._fields: _Pieces = defaultdict(list)
        self._function: _Pieces = defaultdict(list)

    def is_followed_by(self, part: Mapping[str, Any]) -> bool:
        """Whether the delta begins another call: some servers send whole calls that all have one index, or none."""
        function, given = part.get("function"), part.get("id")
        if "name" not in self._function or not isinstance(function, dict) or not function.get("name"):
            return False
        return given not in self._fields.get("id", ()) if given else part.get("index") is None

    def add(self, part: Mapping[str, Any]) -> None:
        """Take in one delta."""
        for name, value in part.items():
            if name == "function":
                for inner, piece in value.items() if isinstance(value, dict) else ():
                    if piece is not None:
                        self._function[inner].append(str(piece) if inner == "name" else piece)
            elif value and name != "index":  # of the stream, not of the call
                self._fields[name].append(value)

    def whole(self) -> Mapping[str, Any]:
        """The call as a reply that was not streamed has it; an id, a type or a name that was told again counts once."""
        function = {inner: _joined(pieces) for inner, pieces in self._function.items()}
        function["name"] = "".join(dict.fromkeys(self._function.get("name", ())))
        told = {name: pieces[0] if name in ("id", "type") else _joined(pieces) for name, pieces in self._fields.items()}
        return {**told, "function": function} if self._function else told


def _joined(pieces: Sequence[Any]) -> Any:
    """One value of a field's pieces: texts joined, lists behind each other, of anything else the last one."""
    if all(isinstance(piece, str) for piece in pieces):
        return "".join(pieces)
    if all(isinstance(piece, str | list) for piece in pieces):
        lists = ([{"type": "text", "text": piece}] if isinstance(piece, str) else piece for piece in pieces)
        return [part for parts in lists for part in parts]
    return pieces[-1]
