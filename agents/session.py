"""One role's conversation with one model: transcript, window, tools and chat behind the port Session."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from agents.chat.json_tools import asked_call, json_values, tool_calls_in_text
from agents.chat.port import Chat, ChatRequest, Message, to_nobody
from agents.preambles import render_preamble
from agents.tools.port import Tool, ToolEnv
from agents.tools.toolbox import Toolbox, wire_arguments, wire_name
from agents.transcript import RESULT_CHARS, Transcript, assistant_message
from agents.window import Composed, Window, WindowLimits, compose
from orchestrator.domain.model_io import (
    DECLINED,
    FinishReason,
    ModelReply,
    ModelRequest,
    ToolCall,
    ToolResult,
    TurnNotice,
)
from orchestrator.domain.ports import Workspace

_MARGIN = 0.05  # of the prompt's room is left free: the estimate is high, but no promise
_PAGE_MARGIN = 200  # what read_output's heading takes of a result


@dataclass(frozen=True, slots=True)
class Opening:
    """How a conversation begins: the role's standing instructions, its assignment, and texts that the assignment shows
    cut and that read_output gives whole, by name."""

    system: str
    task: str
    kept: Mapping[str, str]


class ChatSession:
    """The one implementation of the port Session. `redact` takes the secrets out of whatever the model is shown. Not
    thread-safe, but for execute()."""

    def __init__(
        self,
        chat: Chat,
        tools: Sequence[Tool],
        opening: Opening,
        workspace: Workspace | None,
        *,
        read_only: bool = False,
        redact: Callable[[str], str] = str,
        monotonic: Callable[[], float] = time.monotonic,
    ) -> None:
        self._chat = chat
        self.model = chat.model
        self._redact = redact
        self._limits = WindowLimits(token_cap=int(_prompt_tokens(chat) * (1 - _MARGIN)))
        chars = result_chars(chat)
        head: tuple[Message, ...] = (
            {"role": "system", "content": redact(opening.system)},
            {"role": "user", "content": redact(opening.task)},
        )
        self._transcript = Transcript(head, result_chars=chars)
        for name, text in opening.kept.items():
            self._transcript.keep(name, redact(text))
        self._window = Window(prefix=head)
        page = chars - _PAGE_MARGIN
        env = ToolEnv(workspace, self._transcript, page_chars=page, read_only=read_only) if workspace else None
        self._tools = Toolbox(tools, env, monotonic)
        self.control_tools = self._tools.control_tools
        self._ended: FinishReason = "stop"  # the newest reply
        self._ids: set[str] = set()
        self._ok: dict[str, bool] = {}

    def compose(self, notice: TurnNotice, *, shrink: int = 0) -> ModelRequest:
        """The next request (port Session). Raises ValueError while a call waits for its result."""
        if self._transcript.unanswered:
            raise ValueError(f"These calls have no result yet: {', '.join(self._transcript.unanswered)}.")
        tools = self._tools.finishing_schemas if notice.tools_withheld else self._tools.schemas
        told = [] if self._goes_on(notice) else [*self._told(notice)]
        composed = compose(
            self._transcript.head,
            self._transcript.entries,
            self._window,
            self._limits,
            lambda messages: self._chat.estimate(messages, tools),
            notices=told,
            shrink=shrink,
        )
        # free until only ending is left; then a call is asked for, by name where there is but one
        choice = self._tools.finishing_tools[0] if len(tools) == 1 else "required" if notice.tools_withheld else "auto"
        chat_request = ChatRequest(composed.messages, tools, choice, passing=1 if told else 0)
        return self._request(composed, chat_request, notice.tools_withheld)

    def _goes_on(self, notice: TurnNotice) -> bool:
        """Whether the model has paused and is only to go on: an endpoint takes nothing behind what it has begun. Tools
        that are withheld must be told all the same."""
        return self._transcript.paused and not notice.tools_withheld

    def _told(self, notice: TurnNotice) -> Iterator[str]:
        left = max(notice.budget - notice.calls_used, 0)
        yield render_preamble("overlays/budget", used=notice.calls_used, budget=notice.budget, left=left)
        if notice.tools_withheld:
            yield render_preamble("overlays/finish_now", tools=" or ".join(self._tools.finishing_tools))
        elif notice.progress_due:
            yield render_preamble("overlays/progress_due")

    def _request(self, composed: Composed, chat_request: ChatRequest, tools_withheld: bool) -> ModelRequest:
        most_output = self._chat.max_output_tokens
        return ModelRequest(
            model=self._chat.model,
            window_messages=len(composed.messages),
            window_tokens=composed.tokens,
            reserved_tokens=composed.tokens + most_output,
            reserved_usd=self._chat.price(composed.tokens, most_output),
            compacted=composed.compacted,
            tools_withheld=tools_withheld,
            body={"request": chat_request, "window": composed.window},
            history_messages=self._transcript.messages,
            uncompacted_tokens=composed.uncompacted,
            token_cap=composed.token_cap,
        )

    def send(
        self,
        request: ModelRequest,
        on_lost: Callable[[str], None] = to_nobody,
        on_text: Callable[[str], None] = to_nobody,
    ) -> ModelReply:
        """Send it and read the reply (port Session). The window it was composed with holds from then on."""
        answer = self._chat.complete(request.body["request"], on_lost, on_text)
        self._window, self._ended = request.body["window"], answer.finish_reason
        asked = () if answer.finish_reason in DECLINED else answer.calls or self._written_calls(answer.text)
        named = (replace(call, call_id=self._fresh_id(call.call_id)) for call in asked)
        calls = tuple(self._tools.parse(call, cut_off=answer.finish_reason == "length") for call in named)
        safe = tuple(replace(call, arguments_json=wire_arguments(call)) for call in calls)
        self._transcript.say(self._said(answer, safe), safe)
        return replace(answer, calls=calls)

    def _said(self, answer: ModelReply, calls: tuple[ToolCall, ...]) -> Message:
        """The reply as the model is shown it from now on: as it came, where it has calls or text that can go back."""
        if calls and not answer.calls:  # they were written into the text, which they replace
            return assistant_message("", calls)
        if answer.finish_reason in DECLINED:  # nothing answers the calls that it may hold
            return assistant_message(answer.text, ())
        if answer.message and (calls or answer.text or answer.finish_reason == "pause"):
            return self._chat.said(replace(answer, calls=calls))
        return assistant_message(answer.text, calls)

    def _written_calls(self, text: str) -> tuple[ToolCall, ...]:
        """Calls that a weak model wrote into its text, or the bare arguments of the one tool that ends the work."""
        found = [call for call in tool_calls_in_text(text) if self._tools.knows(call.tool)]
        if not found and len(self._tools.finishing_tools) == 1:
            submit = self._tools.finishing_tools[0]
            values = [value for value in json_values(text) if self._tools.fits(submit, value)]
            found = [asked_call("", submit, value) for value in values[-1:]]
        return tuple(replace(call, call_id="") for call in found)

    def _fresh_id(self, wanted: str) -> str:
        """An id that no other call of this conversation has, since read_output finds results by it."""
        base = wire_name(wanted) if wanted else "call"
        fresh, number = base if wanted else f"{base}_{len(self._ids) + 1}", len(self._ids)
        while fresh in self._ids:
            number += 1
            fresh = f"{base[:50]}_{number}"
        self._ids.add(fresh)
        return fresh

    def execute(self, call: ToolCall, *, within_s: float | None = None) -> ToolResult:
        """Run a valid call's tool (port Session)."""
        outcome = self._tools.execute(call, within_s)
        self._ok[call.call_id] = outcome.ok
        return outcome

    def answer(self, call: ToolCall, text: str) -> None:
        """Give the call its result (port Session)."""
        self._transcript.answer(call.call_id, self._redact(text), self._status(call))

    def _status(self, call: ToolCall) -> str:
        if call.call_id in self._ok:
            return "ok" if self._ok[call.call_id] else "failed"
        return "invalid" if call.defect else "answered"

    def remind(self, warnings: str = "") -> None:
        """Say that text alone changes nothing, or that the reply was cut (port Session)."""
        finish = " or ".join(self._tools.finishing_tools)
        if self._ended == "length":
            told = render_preamble("overlays/cut_off", tokens=f"{self._chat.max_output_tokens:,}", finish=finish)
        else:
            told = render_preamble("overlays/no_action", finish=finish)
        self._transcript.remind(told + self._redact(warnings))


def result_chars(chat: Chat) -> int:
    """Characters of one result that the model is shown at once: 16 KiB, or a quarter of what a small model can read
    (about four characters a token)."""
    return max(min(RESULT_CHARS, _prompt_tokens(chat)), 1_000)


def _prompt_tokens(chat: Chat) -> int:
    """What a reply of full length leaves for the prompt; a quarter of the window where the settings leave less."""
    return max(chat.context_window - chat.max_output_tokens, chat.context_window // 4)
