"""What the Messages API refuses, in its own words as far as they are known: the shape of a request, calls and results
that do not pair, and thinking that does not come back as it was given."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any, ClassVar

from agents.chat.wire import Json
from agents.scripted.form import SIGNED, BadRequestError
from agents.scripted.signatures import unsealed

_ID = re.compile(r"[a-zA-Z0-9_-]+")
_THOUGHT = ("thinking", "redacted_thinking")
_LEAST_BUDGET = 1_024
_EFFORTS = ("low", "medium", "high", "xhigh", "max")


def check_request(body: Json) -> None:
    """What is required, and what excludes each other. Raises BadRequestError."""
    for name in ("model", "max_tokens", "messages"):
        if name not in body:
            raise BadRequestError(f"{name}: Field required")
    most = body["max_tokens"]
    if not isinstance(most, int) or most < 1:
        raise BadRequestError("max_tokens: Input should be greater than or equal to 1")
    effort = (body.get("output_config") or {}).get("effort")
    if effort not in (None, *_EFFORTS):
        raise BadRequestError(f"output_config.effort: Input should be one of {', '.join(_EFFORTS)}")
    if body.get("tool_choice") and not body.get("tools"):
        raise BadRequestError("tool_choice: tool_choice may only be specified while providing tools")
    thinking = body.get("thinking") or {}
    budget = thinking.get("budget_tokens", 0)
    if thinking.get("type") == "enabled" and budget < _LEAST_BUDGET:
        raise BadRequestError(f"thinking.enabled.budget_tokens: Input should be at least {_LEAST_BUDGET}")
    if budget >= most:
        raise BadRequestError("`max_tokens` must be greater than `thinking.budget_tokens`.")
    if thinking.get("type") in ("enabled", "adaptive"):
        _check_beside_thinking(body)


def _check_beside_thinking(body: Json) -> None:
    if (body.get("tool_choice") or {}).get("type") in ("any", "tool"):
        raise BadRequestError("Thinking may not be enabled when tool_choice forces tool use.")
    if body.get("temperature") not in (None, 1, 1.0):
        raise BadRequestError("`temperature` may only be set to 1 when thinking is enabled.")


class CheckedTurns:
    """The messages of a request as the API takes them, block after block: what follows each other in one role is one
    turn, whose results come first and are those of the calls before it. Raises BadRequestError."""

    def __init__(self, messages: Sequence[Json]) -> None:
        self.blocks: list[tuple[str, Json]] = []
        """All of them, each with its role."""
        self._role, self._thought, self._results_end = "", False, False
        self._calls: list[str] = []  # of the turn that is read
        self._pending: set[str] = set()  # of the turn before, without results so far
        self._answered: set[str] = set()
        self._newest: list[Json] = []  # the newest reply's blocks
        for number, message in enumerate(messages):
            self._read(number, message)
        if self._role != "user":
            self._begin_turn("user")
        self._end_results()
        if not self.blocks:
            raise BadRequestError("messages: at least one message is required")

    def check_budgeted(self) -> None:
        """With a budget of thinking the newest reply's calls have thinking before them, whoever made them."""
        kinds = [block.get("type") for block in self._newest]
        if "tool_use" in kinds and kinds[0] not in _THOUGHT:
            raise BadRequestError(
                f"messages: Expected `thinking` or `redacted_thinking`, but found `{kinds[0]}`. When `thinking` is "
                "enabled, a final `assistant` message must start with a thinking block (preceeding the lastmost set of "
                "`tool_use` and `tool_result` blocks)."
            )

    def _read(self, number: int, message: Json) -> None:
        role, content = message.get("role"), message.get("content")
        if role not in ("user", "assistant"):
            raise BadRequestError(f'messages: Unexpected role "{role}".')
        if isinstance(content, str):
            content = [{"type": "text", "text": content}]
        if not isinstance(content, list) or not content:
            raise BadRequestError(f"messages.{number}: all messages must have non-empty content")
        if role != self._role:
            self._begin_turn(role)
        for at, block in enumerate(content):
            check = self._CHECKS.get(block.get("type")) if isinstance(block, dict) else CheckedTurns._no_block
            if check is not None:
                check(self, f"messages.{number}.content.{at}", block)
            if role == "assistant":
                self._newest.append(block)
            self.blocks.append((role, block))

    def _begin_turn(self, role: str) -> None:
        if role == "assistant" and not self._role:
            raise BadRequestError('messages: first message must use the "user" role')
        if role == "assistant":
            self._end_results()
            self._calls, self._newest, self._thought = [], [], False
        else:
            self._pending, self._answered, self._results_end = set(self._calls), set(), False
            self._calls = []
        self._role = role

    def _end_results(self) -> None:
        """Nothing but results may stand before all calls have theirs."""
        self._results_end = True
        if self._pending:
            raise BadRequestError(
                f"messages: `tool_use` ids were found without `tool_result` blocks immediately after: "
                f"{', '.join(sorted(self._pending))}. Each `tool_use` block must have a corresponding `tool_result` "
                "block in the next message."
            )

    def _no_block(self, place: str, _block: Json) -> None:
        raise BadRequestError(f"{place}: Input should be a valid dictionary")

    def _check_text(self, place: str, block: Json) -> None:
        if not str(block.get("text")).strip():
            raise BadRequestError(f"{place}: text content blocks must contain non-whitespace text")
        if self._role == "user" and not self._results_end:
            self._end_results()

    def _check_thought(self, place: str, block: Json) -> None:
        if "cache_control" in block:
            raise BadRequestError(f"{place}: cache_control cannot be set on thinking blocks")
        if block["type"] == "thinking" and unsealed(block.get("signature")) != block.get("thinking"):
            raise BadRequestError(f"{place}: Invalid `signature` in `thinking` block")
        self._thought = True

    def _check_call(self, place: str, block: Json) -> None:
        given = block.get("id")
        if not isinstance(given, str) or not _ID.fullmatch(given):
            raise BadRequestError(f"{place}.tool_use.id: String should match pattern '^{_ID.pattern}$'")
        if not isinstance(block.get("input"), dict):
            raise BadRequestError(f"{place}.tool_use.input: Input should be a valid dictionary")
        if given in self._calls:
            raise BadRequestError("messages: `tool_use` ids must be unique")
        if given.endswith(SIGNED) and not self._thought:  # of the newest reply alone, says the provider; we look at all
            raise BadRequestError(
                f"{place}: `thinking` or `redacted_thinking` blocks in the latest assistant message cannot be "
                "modified. These blocks must remain as they were in the original response."
            )
        self._calls.append(given)

    def _check_result(self, place: str, block: Json) -> None:
        given = str(block.get("tool_use_id"))
        if given not in self._pending and given not in self._answered:
            raise BadRequestError(
                f"{place}: unexpected `tool_use_id` found in `tool_result` blocks: {given}. Each `tool_result` block "
                "must have a corresponding `tool_use` block in the previous message."
            )
        self._pending.discard(given)
        self._answered.add(given)

    _CHECKS: ClassVar[Mapping[Any, Callable[[CheckedTurns, str, Json], None]]] = {
        "text": _check_text,
        "thinking": _check_thought,
        "redacted_thinking": _check_thought,
        "tool_use": _check_call,
        "tool_result": _check_result,
    }
