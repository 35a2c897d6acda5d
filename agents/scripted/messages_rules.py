"""What the Messages API refuses, in its own words as far as they are known: the shape of a request, calls and results
that do not pair, and thinking that does not come back as it was given."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

from agents.scripted.form import SIGNED, BadRequestError, Json, listed_objects
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


def joined_turns(messages: Sequence[Json]) -> Sequence[Json]:
    """The messages as the API takes them: blocks alone, and what follows each other in one role as one turn."""
    turns: list[dict[str, Any]] = []
    for number, message in enumerate(messages):
        role, content = message.get("role"), message.get("content")
        if role not in ("user", "assistant"):
            raise BadRequestError(f'messages: Unexpected role "{role}".')
        text = [{"type": "text", "text": content}] if isinstance(content, str) else content
        blocks = [*listed_objects(text, f"messages.{number}.content: Input should be a valid list")]
        if not blocks:
            raise BadRequestError(f"messages.{number}: all messages must have non-empty content")
        if turns and turns[-1]["role"] == role:
            turns[-1]["content"] += blocks
        else:
            turns.append({"role": role, "content": [*blocks]})
    if not turns or turns[0]["role"] != "user":
        raise BadRequestError('messages: first message must use the "user" role')
    return turns


def check_turns(turns: Sequence[Json]) -> None:
    """Texts that say something, and results of all calls at the head of the turn that follows them. Raises
    BadRequestError."""
    pending: list[str] = []
    for number, turn in enumerate(turns):
        blocks = turn["content"]
        if any(block.get("type") == "text" and not str(block.get("text")).strip() for block in blocks):
            raise BadRequestError("messages: text content blocks must contain non-whitespace text")
        if any(block.get("type") in _THOUGHT and block.get("cache_control") for block in blocks):
            raise BadRequestError(f"messages.{number}: cache_control cannot be set on thinking blocks")
        _check_answered(number, pending, blocks)
        pending = [_call_id(number, block) for block in blocks if block.get("type") == "tool_use"]
        if len(set(pending)) < len(pending):
            raise BadRequestError("messages: `tool_use` ids must be unique")
    if pending:
        raise _unanswered(len(turns) - 1, pending)


def _check_answered(number: int, pending: Sequence[str], blocks: Sequence[Json]) -> None:
    kinds = [block.get("type") for block in blocks]
    first_other = next((at for at, kind in enumerate(kinds) if kind != "tool_result"), len(kinds))
    answered = [str(block.get("tool_use_id")) for block in blocks[:first_other]]
    missing = [call_id for call_id in pending if call_id not in answered]
    if missing:
        raise _unanswered(number - 1, missing)
    results = [str(block.get("tool_use_id")) for block in blocks if block.get("type") == "tool_result"]
    for call_id in results:
        if call_id not in pending:
            raise BadRequestError(
                f"messages.{number}: unexpected `tool_use_id` found in `tool_result` blocks: {call_id}. Each "
                "`tool_result` block must have a corresponding `tool_use` block in the previous message."
            )


def _unanswered(number: int, missing: Sequence[str]) -> BadRequestError:
    return BadRequestError(
        f"messages.{number}: `tool_use` ids were found without `tool_result` blocks immediately after: "
        f"{', '.join(missing)}. Each `tool_use` block must have a corresponding `tool_result` block in the next "
        "message."
    )


def _call_id(number: int, block: Json) -> str:
    given = block.get("id")
    if not isinstance(given, str) or not _ID.fullmatch(given):
        raise BadRequestError(f"messages.{number}: tool_use.id: String should match pattern '^{_ID.pattern}$'")
    if not isinstance(block.get("input"), dict):
        raise BadRequestError(f"messages.{number}: tool_use.input: Input should be a valid dictionary")
    return given


def check_thinking(body: Json, turns: Sequence[Json]) -> None:
    """What was thought comes back as it was given, before its calls: the provider looks at the newest reply alone, we
    look at all. With a budget of thinking the newest reply's calls have thinking before them, whoever made them. Raises
    BadRequestError."""
    for number, turn in enumerate(turns):
        _check_thoughts(number, turn["content"])
    said = [number for number, turn in enumerate(turns) if turn["role"] == "assistant"]
    newest: Sequence[Json] = turns[said[-1]]["content"] if said else ()
    calls = any(block.get("type") == "tool_use" for block in newest)
    if (body.get("thinking") or {}).get("type") == "enabled" and calls and newest[0].get("type") not in _THOUGHT:
        raise BadRequestError(
            f"messages.{said[-1]}.content.0.type: Expected `thinking` or `redacted_thinking`, but found "
            f"`{newest[0].get('type')}`. When `thinking` is enabled, a final `assistant` message must start with a "
            "thinking block (preceeding the lastmost set of `tool_use` and `tool_result` blocks)."
        )


def _check_thoughts(number: int, blocks: Sequence[Json]) -> None:
    thought = False
    for at, block in enumerate(blocks):
        kind = block.get("type")
        if kind == "thinking" and unsealed(block.get("signature")) != block.get("thinking"):
            raise BadRequestError(f"messages.{number}.content.{at}: Invalid `signature` in `thinking` block")
        if kind == "tool_use" and str(block.get("id")).endswith(SIGNED) and not thought:
            raise BadRequestError(
                f"messages.{number}.content.{at}: `thinking` or `redacted_thinking` blocks in the latest assistant "
                "message cannot be modified. These blocks must remain as they were in the original response."
            )
        thought = thought or kind in _THOUGHT
