"""JSON nested to the edge of what can be read."""

from __future__ import annotations

from typing import Any

import pytest

from agents.chat.completions import Completions
from agents.chat.json_tools import tool_calls_in_text
from agents.chat.messages import Messages
from agents.chat.responses import Responses
from agents.chat.wire import Json, Wire


def test_no_depth_of_nesting_breaks_the_reading() -> None:
    """What can be parsed but not be written out again is no call, whatever its depth."""
    for depth in range(900, 1_000):
        text = '{"tool": "x", "arguments": ' + '{"a":' * depth + "{}" + "}" * depth + "}"
        assert len(tool_calls_in_text(text)) <= 1


def _deep() -> Any:
    value: Any = {}
    for _ in range(5_000):
        value = {"a": value}
    return value


@pytest.mark.parametrize(
    ("wire", "answer"),
    [
        (
            Completions(),
            {"choices": [{"message": {"tool_calls": [{"id": "c", "function": {"name": "f", "arguments": _deep()}}]}}]},
        ),
        (Responses(), {"output": [{"type": "function_call", "call_id": "c", "name": "f", "arguments": _deep()}]}),
        (Messages(), {"content": [{"type": "tool_use", "id": "c", "name": "f", "input": _deep()}]}),
    ],
    ids=lambda value: value.name if hasattr(value, "name") else "",
)
def test_arguments_nested_too_deep_are_unreadable(wire: Wire, answer: Json) -> None:
    """What was read on a shallower stack may be too deep to be written on this one; the call is one all the same."""
    (call,) = wire.reply(answer).calls
    assert (call.tool, "nested too deep" in call.arguments_json) == ("f", True)
