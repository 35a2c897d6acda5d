"""What requests and events must have in common, whatever was said."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from orchestrator.domain.events import Event, GuardFired, ReplyReceived, ToolFinished, ToolRequested, TurnRequested


def unpaired(messages: Sequence[Mapping[str, Any]]) -> list[str]:
    """What is wrong with a request's pairs: a call without its result right behind it, or a result without call."""
    wrong: list[str] = []
    waiting: list[str] = []
    for message in messages:
        if message["role"] == "tool":
            if message["tool_call_id"] not in waiting:
                wrong.append(f"result of {message['tool_call_id']} without its call")
            waiting = [each for each in waiting if each != message["tool_call_id"]]
            continue
        wrong += [f"call {each} without a result" for each in waiting]
        waiting = [each["id"] for each in message.get("tool_calls") or ()]
    return wrong + [f"call {each} without a result" for each in waiting]


def seqs(events: Sequence[Event]) -> dict[str, list[int]]:
    """The sequence numbers of what becomes a node, by kind, in the order recorded."""
    found: dict[str, list[int]] = {"turn": [], "call": [], "guard": [], "other": []}
    for event in events:
        if isinstance(event, TurnRequested):
            found["turn"].append(event.seq)
        elif isinstance(event, ReplyReceived):
            found["call"] += [each.seq for each in event.reply.calls]
        elif isinstance(event, GuardFired):
            found["guard"].append(event.seq)
        elif not isinstance(event, ToolRequested | ToolFinished) and hasattr(event, "seq"):
            found["other"].append(event.seq)
    return found
