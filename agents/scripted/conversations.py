"""Where the scripted model's conversations stand, and what comes next in each."""

from __future__ import annotations

import hashlib
import json
import re
import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import takewhile
from typing import Any

from agents.scripted.script import Script, ScriptedConversation, ScriptedFault, ScriptedReply
from orchestrator.domain.tools import CONTROL_TOOLS

_ROLE_BY_TOOL = {tool.name: tool.role for tool in CONTROL_TOOLS if tool.ends}
_CHARS_PER_TOKEN = 4


@dataclass(frozen=True, slots=True)
class ScriptedAnswer:
    """What to send: a status and a JSON body, spoilt by `fault`. `take_back` gives the reply back to the script when
    the client is gone before it was sent, so that its successor gets it."""

    status: int
    body: Mapping[str, Any]
    fault: ScriptedFault | None = None
    latency_s: float = 0.0
    take_back: Callable[[], None] = lambda: None


@dataclass(slots=True)
class _Progress:
    """One conversation: how many replies were consumed, and the last request's messages with their tokens."""

    key: str
    conversation: ScriptedConversation
    position: int = 0
    calls: int = 0
    messages: Sequence[Any] = ()
    tokens: list[int] = field(default_factory=list)


class Conversations:
    """Every conversation with the scripted model, told apart by system text and first user message: the two stay the
    same while windows are compacted and tools withheld. Thread-safe."""

    def __init__(self, script: Script) -> None:
        self._script = script
        self._lock = threading.Lock()
        self._progress: dict[str, _Progress] = {}

    def answer(self, request: Mapping[str, Any]) -> ScriptedAnswer:
        """The answer to a chat completion request, and one step on in its conversation."""
        messages = request.get("messages")
        if not isinstance(messages, list) or not all(isinstance(message, dict) for message in messages):
            return _refused("The request has no list of messages.")
        system, assignment = _first(messages, "system"), _first(messages, "user")
        key = hashlib.sha256(f"{system}\0{assignment}".encode("utf-8", "replace")).hexdigest()[:12]
        role = _role(request.get("tools") or (), system)
        with self._lock:
            progress = self._progress.get(key) or self._begin(key, role, assignment)
            if progress is None:
                return _refused(self._no_match(role, assignment))
            return self._next(progress, request, messages)

    def _begin(self, key: str, role: str | None, assignment: str) -> _Progress | None:
        for conversation in self._script.conversations:
            if conversation.when.matches(role, assignment):
                return self._progress.setdefault(key, _Progress(key, conversation))
        return None

    def _next(self, progress: _Progress, request: Mapping[str, Any], messages: Sequence[Any]) -> ScriptedAnswer:
        limit = progress.conversation.context_chars
        if limit is not None and (size := len(json.dumps(messages))) > limit:
            message = f"This model's maximum context length is {limit} characters. However, your messages have {size}."
            return _refused(message, "invalid_request_error", "context_length_exceeded")
        reply = progress.conversation.reply_at(progress.position)
        if reply is None:
            return _refused(f"The script has no reply number {progress.position + 1} for this conversation.")
        usage = _usage(progress, messages, reply)
        taken = progress.position
        progress.position += 1
        body = _completion(progress, reply, usage, request)
        return ScriptedAnswer(200, body, reply.fault, reply.latency_ms / 1000, lambda: self._take_back(progress, taken))

    def _take_back(self, progress: _Progress, position: int) -> None:
        with self._lock:
            if progress.position == position + 1:
                progress.position = position

    def _no_match(self, role: str | None, assignment: str) -> str:
        entries = "; ".join(
            f"conversations[{number}] wants {entry.when.model_dump(exclude_defaults=True) or 'anything'}"
            for number, entry in enumerate(self._script.conversations)
        )
        return (
            f"No conversation of the script matches: role {role or 'unknown'} (by the tools offered), first user "
            f"message {assignment[:200]!r}. {entries}."
        )


def _role(tools: Sequence[Any], system: str) -> str | None:
    """The role by its submit tool; in JSON tool mode the tools stand in the system text."""
    offered = {tool.get("function", {}).get("name") for tool in tools if isinstance(tool, dict)}
    if not offered:
        offered = set(re.findall(r"^- (\w+):", system, re.MULTILINE))
    return next((role for tool, role in _ROLE_BY_TOOL.items() if tool in offered), None)


def _first(messages: Sequence[Mapping[str, Any]], role: str) -> str:
    content = next((message.get("content") for message in messages if message.get("role") == role), "")
    return content if isinstance(content, str) else json.dumps(content)


def _usage(progress: _Progress, messages: Sequence[Any], reply: ScriptedReply) -> dict[str, Any]:
    """Deterministic tokens; cached are those of the messages that the conversation's last request began with too."""
    pairs = zip(progress.messages, messages, strict=False)
    same = sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], pairs))
    tokens = progress.tokens[:same] + [4 + len(json.dumps(item)) // _CHARS_PER_TOKEN for item in messages[same:]]
    if not (reply.fault and reply.fault.instead):
        progress.messages, progress.tokens = messages, tokens
    written = len(reply.text) + sum(len(json.dumps(call.arguments)) + len(call.tool) for call in reply.all_calls)
    output = 1 + written // _CHARS_PER_TOKEN
    return {
        "prompt_tokens": sum(tokens),
        "completion_tokens": output,
        "total_tokens": sum(tokens) + output,
        "prompt_tokens_details": {"cached_tokens": sum(tokens[:same])},
    }


def _completion(
    progress: _Progress, reply: ScriptedReply, usage: Mapping[str, Any], request: Mapping[str, Any]
) -> dict[str, Any]:
    message: dict[str, Any] = {"role": "assistant", "content": reply.text or None}
    if reply.all_calls:
        message["tool_calls"] = [_tool_call(progress, call.tool, call.arguments) for call in reply.all_calls]
    finish = reply.finish_reason or ("tool_calls" if reply.all_calls else "stop")
    fault = reply.fault or ScriptedFault()
    body: dict[str, Any] = {
        "id": f"chatcmpl-{progress.key}-{progress.position}",
        "object": "chat.completion",
        "created": 0,
        "model": request.get("model") or "scripted",
        "choices": [] if fault.empty_choices else [{"index": 0, "finish_reason": finish, "message": message}],
    }
    return body if fault.no_usage else body | {"usage": usage}


def _tool_call(progress: _Progress, tool: str, arguments: Mapping[str, Any] | str) -> dict[str, Any]:
    """A call with an id that no other call of any conversation has; the same again when the whole run is repeated."""
    progress.calls += 1
    written = arguments if isinstance(arguments, str) else json.dumps(arguments)
    return {
        "id": f"call_{progress.key}_{progress.calls}",
        "type": "function",
        "function": {"name": tool, "arguments": written},
    }


def _refused(message: str, kind: str = "script_error", code: str = "script_error") -> ScriptedAnswer:
    return ScriptedAnswer(400, {"error": {"message": message, "type": kind, "code": code, "param": None}})
