"""Every command that is printed as advice can be pasted: it parses, with its values filled in."""

from __future__ import annotations

import ast
import re
import shlex
from collections.abc import Iterator
from pathlib import Path
from typing import Any, get_args

import click
import pytest

from orchestrator.cli import cli
from orchestrator.domain.lifecycle import RETRIED, TaskStatus
from orchestrator.domain.next_commands import next_commands
from orchestrator.domain.stop_reasons import ATTEMPT_STOPS

ROOT = Path(__file__).resolve().parents[2]
PLACEHOLDER = re.compile(r"<.*>|\[.*\]|[A-Z]{2,}|…|\.\.\.")
NAMED = re.compile(r"`(orchestrate(?: [^`]+)?)`|: +(orchestrate [^`\n]+[^`\n.])$", re.MULTILINE)


def parsed(line: str) -> None:
    """Parse a command line as the program does, and run nothing. Raises click.UsageError."""
    program, *words = shlex.split(line)
    assert program == "orchestrate"
    assert [word for word in words if PLACEHOLDER.fullmatch(word)] == []
    command: click.Command = cli
    context: click.Context | None = None
    while True:
        context = command.make_context(command.name or program, words, parent=context)
        if not isinstance(command, click.Group):
            return
        _, found, words = command.resolve_command(context, [*context._protected_args, *context.args])
        assert found is not None
        command = found


def advice() -> Iterator[tuple[str, str]]:
    """(where, command line) of all that stands between backticks, or at a line's end behind a colon, in a text of ours;
    what is filled in reads 1."""
    for package in ("orchestrator", "agents"):
        for path in sorted((ROOT / package).rglob("*.py")):
            tree = ast.parse(path.read_text(encoding="utf-8"))
            docs = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr)}
            for node in ast.walk(tree):
                text = "" if id(node) in docs else _text(node)
                for line in map("".join, NAMED.findall(text)):
                    yield f"{path.name}: {line}", line


def _text(node: ast.AST) -> str:
    if isinstance(node, ast.JoinedStr):
        return "".join(str(part.value) if isinstance(part, ast.Constant) else "1" for part in node.values)
    return node.value if isinstance(node, ast.Constant) and isinstance(node.value, str) else ""


def test_every_command_in_a_message_parses() -> None:
    """No placeholder, no option that is not there, no argument too few."""
    found = dict(advice())
    assert len(found) > 15
    wrong: dict[str, Any] = {}
    for where, line in found.items():
        try:
            parsed(line)
        except (click.UsageError, AssertionError, ValueError) as error:
            wrong[where] = error
    assert wrong == {}


@pytest.mark.parametrize("status", get_args(TaskStatus))
def test_what_is_next_after_every_end_parses(status: TaskStatus) -> None:
    """There is something to paste for every stop code, as long as the task can be tried again."""
    for code in ATTEMPT_STOPS:
        commands = next_commands(code, status, plan="p1", task="tally", budget=20)
        assert bool(commands) == (status in RETRIED)
        for line in commands:
            parsed(line)


def test_what_must_change_is_filled_in() -> None:
    """More calls where they were too few, another way where the way was wrong, and a look at a model that fails."""
    ended = {code: next_commands(code, "failed", plan="p1", task="tally", budget=20) for code in ATTEMPT_STOPS}
    assert ended["budget_exhausted"] == ("orchestrate retry tally --budget 30",)
    assert ended["stalled"] == (
        "orchestrate retry tally --note 'Take another way than the one that ended as: got no new result.'",
    )
    assert ended["malformed_calls"] == ("orchestrate doctor --model", "orchestrate retry tally")
    [again] = next_commands("gate_failed", "failed", plan="p1", task="t", budget=20, task_code="not_converging")
    assert (
        again
        == "orchestrate retry t --note 'Take another way than the one that ended as: its attempts came no nearer.'"
    )
    assert next_commands("gate_failed", "pending", plan="p1", task="tally", budget=20) == ("orchestrate execute p1",)


@pytest.mark.parametrize("line", ["orchestrate show TASK", "orchestrate retry", "orchestrate retry t --budgte 3"])
def test_what_cannot_be_pasted_is_found(line: str) -> None:
    """The rule has teeth."""
    with pytest.raises((click.UsageError, AssertionError)):
        parsed(line)
