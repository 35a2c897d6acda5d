"""Scripts of the stories, as values: what each role says in each conversation."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

Conversation = dict[str, Any]
SUB = 'def add(a, b):\n    """The sum of a and b."""\n    return a + b\n\n\ndef subtract(a, b):\n    return a - b\n'


def call(tool: str, **arguments: Any) -> dict[str, Any]:
    """A reply with one tool call."""
    return {"call": [tool, arguments]}


def finish(summary: str = "Done as asked.") -> dict[str, Any]:
    """The reply that ends a worker's attempt."""
    return call("finish_task", summary=summary)


def slowly(reply: dict[str, Any], latency_ms: int = 1500) -> dict[str, Any]:
    """The same reply, after a while."""
    return {**reply, "latency_ms": latency_ms}


def worker(task: str, *replies: dict[str, Any], attempt: int | None = None, then: str = "repeat") -> Conversation:
    """What the worker does in a task (in each attempt, or in one)."""
    when: dict[str, Any] = {"role": "worker", "task": task}
    if attempt is not None:
        when["attempt"] = attempt
    return {"when": when, "replies": list(replies), "then": then}


def review(
    passed: bool = True, score: int = 95, task: str | None = None, attempt: int | None = None, **more: Any
) -> Conversation:
    """What QC answers (to every task, or to one, or to one attempt)."""
    answer = {"passed": passed, "score": score, "feedback": "Looks right.", "criteria": [], "findings": [], **more}
    when: dict[str, Any] = {"role": "verifier"}
    if task is not None:
        when["task"] = task
    if attempt is not None:
        when["attempt"] = attempt
    return {"when": when, "replies": [call("submit_review", **answer)]}


def met(text: str, /, **evidence: Any) -> dict[str, Any]:
    """A criterion that QC judges as met, by default because the plan's tests pass."""
    shown = evidence or {"kind": "command", "command": "python3 -m unittest -q", "exit_code": 0}
    return {"group": "functionality", "text": text, "passed": True, "evidence": shown}


def script(*conversations: Conversation) -> Mapping[str, Any]:
    """A whole script."""
    return {"model": "scripted", "conversations": list(conversations)}


def plan_of(*tasks: str, verification: str = "python3 -m unittest -q") -> str:
    """A plan file of tasks that are given as YAML list entries."""
    return f"goal: Make the calculator better\nverification: [{verification!r}]\ntasks:\n" + "".join(tasks)


def task(key: str, *, writes: Sequence[str] = ("calc.py",), after: Sequence[str] = (), more: str = "") -> str:
    """One task of a plan file."""
    return (
        f"  - key: {key}\n    prompt: Do {key}.\n    files_written: {list(writes)!r}\n"
        f"    depends_on: {list(after)!r}\n{more}"
    )


def calls(*asked: dict[str, Any]) -> dict[str, Any]:
    """One reply with several calls."""
    return {"calls": [reply["call"] for reply in asked]}


def shell(command: str) -> dict[str, Any]:
    """A run_command."""
    return call("run_command", command=command)
