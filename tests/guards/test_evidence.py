"""What a Stop holds of the loop: the call itself, in a line."""

from __future__ import annotations

from dataclasses import replace

import pytest

from orchestrator.domain.events import FileWrite
from orchestrator.domain.model_io import ToolCall
from orchestrator.guards.guard import told_call
from tests.support.guard_scripts import Answer, Result, call, choke

LONG = '{"command": "make\\n' + "x" * 100_000 + '"}'


def asked(argument: object, tool: str = "run_command") -> ToolCall:
    """A command whose arguments are longer than a line."""
    return replace(call(tool, argument), arguments_json=LONG)


def wrote(each: ToolCall) -> Result:
    """A write over its own lines."""
    write = FileWrite(path="a.py", added=1, removed=1, rewritten=1, blob=each.signature)
    return Result(each.signature, tree=each.signature, writes=(write,))


def turns(each: ToolCall) -> Result:
    """Other work and a call that fails alike whatever was written."""
    return wrote(each) if each.tool == "edit_file" else Result(error="boom")


EDITS_AND_TESTS = [[asked(f"{n % 7}.py={n}", "edit_file") if n % 2 else asked("make")] for n in range(40)]

LOOPS: dict[str, tuple[Answer, list[list[ToolCall]]]] = {
    "stall": (lambda each: Result("same"), [[asked(1)]] * 9),
    "repetition": (lambda each: Result("same"), [[asked(n % 3)] for n in range(20)]),
    "figures": (lambda each: Result(f"{each.seq} s", shape="s"), [[asked(1)]] * 20),
    "no_news": (lambda each: Result("same"), [[asked(n)] for n in range(20)]),
    "same_error": (lambda each: Result(error="boom"), [[asked(n)] for n in range(20)]),
    "same_failure": (turns, EDITS_AND_TESTS),
    "thrash": (wrote, [[asked(f"a.py={n}", "edit_file")] for n in range(20)]),
}


@pytest.mark.parametrize("guard", LOOPS)
def test_a_stop_holds_the_call_in_a_line(guard: str) -> None:
    """Tool and arguments of the call that it stopped at, cut, whatever the arguments' length."""
    answer, batches = LOOPS[guard]
    stop = choke(answer=answer).run(batches).guard_set.stopped
    assert stop is not None and stop.guard == guard
    calls = stop.evidence.get("calls")
    told = calls[0] if isinstance(calls, list) else stop.evidence["call"]
    tool = "edit_file" if guard == "thrash" else "run_command"
    assert told == told_call(asked(0, tool))
    assert str(told).startswith(f'{tool} {{"command": "make') and len(str(told)) <= 160 and "\n" not in str(told)
