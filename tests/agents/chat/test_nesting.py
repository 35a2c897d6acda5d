"""JSON nested to the edge of what can be read."""

from __future__ import annotations

from agents.chat.json_tools import tool_calls_in_text


def test_no_depth_of_nesting_breaks_the_reading() -> None:
    """What can be parsed but not be written out again is no call, whatever its depth."""
    for depth in range(900, 1_000):
        text = '{"tool": "x", "arguments": ' + '{"a":' * depth + "{}" + "}" * depth + "}"
        assert len(tool_calls_in_text(text)) <= 1
