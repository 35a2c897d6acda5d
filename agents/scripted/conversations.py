"""Where the scripted model's conversations stand, and what comes next in each."""

from __future__ import annotations

import hashlib
import json
import re
import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from agents.chat.wire import Json
from agents.scripted.form import (
    SIGNED,
    AskedReply,
    BadRequestError,
    NumberedCall,
    ScriptedForm,
    ScriptedTokens,
    ScriptedTurn,
    StreamEvent,
)
from agents.scripted.prompt_cache import MarkedPrefixes, SeenPrompt
from agents.scripted.script import Script, ScriptedConversation, ScriptedFault, ScriptedReply
from orchestrator.domain.tools import CONTROL_TOOLS

_ROLE_BY_TOOL = {tool.name: tool.role for tool in CONTROL_TOOLS if tool.ends}
_CHARS_PER_TOKEN = 4


@dataclass(frozen=True, slots=True)
class ScriptedAnswer:
    """What to send: a status and a JSON body, or the `events` of a stream in its place, spoilt by `fault`. `take_back`
    gives the reply back to the script when the client is gone before it was sent, so that its successor gets it."""

    status: int
    body: Json
    events: Sequence[StreamEvent] = ()
    fault: ScriptedFault | None = None
    latency_s: float = 0.0
    take_back: Callable[[], None] = lambda: None


@dataclass(slots=True)
class _Progress:
    """One conversation: how many replies were consumed, and what the last request asked."""

    key: str
    conversation: ScriptedConversation
    position: int = 0
    calls: int = 0
    prompt: SeenPrompt = field(default_factory=SeenPrompt)


class Conversations:
    """Every conversation with the scripted model, told apart by system text and first user message: the two stay the
    same while windows are compacted and tools withheld. Thread-safe."""

    def __init__(self, script: Script) -> None:
        self._script = script
        self._lock = threading.Lock()
        self._progress: dict[str, _Progress] = {}
        self._prefixes = MarkedPrefixes()

    def answer(self, form: ScriptedForm, body: Json) -> ScriptedAnswer:
        """The answer to a request in this form, and one step on in its conversation."""
        try:
            asked = form.asked(body)
            key = hashlib.sha256(f"{asked.system}\0{asked.assignment}".encode("utf-8", "replace")).hexdigest()[:12]
            with self._lock:
                return self._next(self._progress.get(key) or self._begin(key, asked), form, asked)
        except BadRequestError as error:
            kind = "script_error" if error.code == "script_error" else "invalid_request_error"
            return ScriptedAnswer(400, form.error(error.message, kind=kind, code=error.code, param=error.param))

    def _begin(self, key: str, asked: AskedReply) -> _Progress:
        role = _role(asked)
        for conversation in self._script.conversations:
            if conversation.when.matches(role, asked.assignment):
                return self._progress.setdefault(key, _Progress(key, conversation))
        raise _not_scripted(self._no_match(role, asked.assignment))

    def _next(self, progress: _Progress, form: ScriptedForm, asked: AskedReply) -> ScriptedAnswer:
        limit = progress.conversation.context_chars
        if limit is not None and (size := len(json.dumps(asked.items))) > limit:
            message = f"This model's maximum context length is {limit} characters. However, your messages have {size}."
            raise BadRequestError(message, "context_length_exceeded")
        reply = progress.conversation.reply_at(progress.position)
        if reply is None:
            raise _not_scripted(f"The script has no reply number {progress.position + 1} for this conversation.")
        tokens = self._tokens(progress, asked, reply)
        taken = progress.position
        progress.position += 1
        whole = form.whole(_turn(progress, reply, tokens, asked.model))
        return ScriptedAnswer(
            status=200,
            body=whole,
            events=tuple(form.events(whole, asked)) if asked.streamed and self._script.streams else (),
            fault=reply.fault,
            latency_s=reply.latency_ms / 1000,
            take_back=lambda: self._take_back(progress, taken),
        )

    def _tokens(self, progress: _Progress, asked: AskedReply, reply: ScriptedReply) -> ScriptedTokens:
        """Deterministic counts; cached are the tokens of the items that the conversation's last request began with too,
        or of a prefix that some request marked."""
        prompt, same = progress.prompt.followed_by(asked.items)
        marks = asked.marks or ()
        read = same if asked.marks is None else self._prefixes.held(prompt, marks)
        if not (reply.fault and reply.fault.instead):
            progress.prompt = prompt
            self._prefixes.keep(prompt, marks)
        written = len(reply.text) + sum(len(json.dumps(call.arguments)) + len(call.tool) for call in reply.all_calls)
        reasoning = len(reply.reasoning) // _CHARS_PER_TOKEN
        told = reply.fault.usage if reply.fault else None
        return ScriptedTokens(
            prompt=told[0] if told else sum(prompt.tokens),
            output=told[1] if told else 1 + written // _CHARS_PER_TOKEN + reasoning,
            cached=sum(prompt.tokens[:read]),
            written=sum(prompt.tokens[read : max(marks, default=0)]),
            reasoning=reasoning,
        )

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


def _role(asked: AskedReply) -> str | None:
    """The role by its submit tool; in JSON tool mode the tools stand in the system text."""
    offered = asked.tools or set(re.findall(r"^- (\w+):", asked.system, re.MULTILINE))
    return next((role for tool, role in _ROLE_BY_TOOL.items() if tool in offered), None)


def _turn(progress: _Progress, reply: ScriptedReply, tokens: ScriptedTokens, model: str) -> ScriptedTurn:
    """The reply with ids that no other of any conversation has; the same again when the whole run is repeated."""
    first, fault = progress.calls + 1, reply.fault or ScriptedFault()
    progress.calls += len(reply.all_calls)
    end = SIGNED if reply.reasoning else ""
    return ScriptedTurn(
        number=f"{progress.key}-{progress.position}",
        model=model,
        reply=reply,
        calls=tuple(
            NumberedCall(call.id or f"call_{progress.key}_{number}{end}", call)
            for number, call in enumerate(reply.all_calls, first)
        ),
        tokens=None if fault.no_usage else tokens,
        empty=fault.empty_choices,
    )


def _not_scripted(message: str) -> BadRequestError:
    return BadRequestError(message, "script_error")
