"""One firing of each guard, folded for real over scripted calls and told as a timeline.

The guards are folds, so a picture is a replay: the events that the scripted worker left are folded once more, and what
is said to each stands below it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import groupby

from orchestrator.domain.events import Compacted, Event, FileWrite, ReplyReceived, ToolFinished, TurnRequested
from orchestrator.domain.model_io import ModelRequest, ToolCall
from orchestrator.domain.verdict import Refuse, Stop, Verdict, Warn
from orchestrator.guards.guard_set import GuardSet
from tests.support.guard_scripts import LIMITS, START, Answer, Choke, Result, call

_SHOWN = 2  # calls at either end of a long row of them
Line = tuple[bool, str]
"""Whether a verdict, and the text."""


@dataclass
class Metered(Choke):
    """A choke point whose turns reserve 400 tokens and use 250."""

    def judge(self, event: Event) -> tuple[Verdict, ...]:
        """Feed one event, with its tokens."""
        if isinstance(event, TurnRequested):
            event = replace(event, request=replace(event.request, reserved_tokens=400))
        if isinstance(event, ReplyReceived):
            event = replace(event, reply=replace(event.reply, prompt_tokens=250))
        return super().judge(event)


@dataclass
class Declining(Choke):
    """A choke point whose replies decline."""

    def judge(self, event: Event) -> tuple[Verdict, ...]:
        """Feed one event; a reply is a refusal."""
        if isinstance(event, ReplyReceived):
            event = replace(event, reply=replace(event.reply, finish_reason="refusal", text="I cannot help with that."))
        return super().judge(event)


def _choke(budget: int = 1000, answer: Answer = lambda _call: Result(), **limits: object) -> Choke:
    guard_set = GuardSet.begin(LIMITS.model_copy(update=limits), budget, ("calc.py", "+tests/*"))
    return Choke(guard_set, answer)


def _budget() -> Choke:
    run = _choke(5).run([call("read_file", f"part{n}.py")] for n in range(1, 6))
    return run.run([[call("read_file", "part6.py")]] * 2)


def _turns() -> Choke:
    circle = [call("read_file", f"part{n}.py") for n in (1, 2, 1, 1, 2, 2)]
    return _choke(max_turns=6).run([each] for each in circle)


def _usage() -> Choke:
    guard_set = GuardSet.begin(LIMITS.model_copy(update={"max_tokens": 1500}), 1000, ("**",))
    return Metered(guard_set).run([call("read_file", f"part{n}.py")] for n in range(1, 8))


def _deadline() -> Choke:
    return _choke(deadline_s=20.0).run([call("read_file", f"part{n}.py")] for n in range(1, 20))


def _repetition() -> Choke:
    circle = [[call("read_file", "calc.py")], [call("read_file", "test_calc.py")], [call("run_command", "ls")]]
    return _choke(answer=lambda _call: Result(tree="unchanged")).run(circle * 3)


def _same_error() -> Choke:
    failing = _choke(answer=lambda _call: Result(error="No module named nope", tree="unchanged"))
    return failing.run([call("run_command", f"python3 -m nope  # try {n}")] for n in range(1, 5))


def _same_failure() -> Choke:
    trees = iter(range(100))

    def answer(each: ToolCall) -> Result:
        edited = each.tool == "edit_file"
        return Result(tree=f"t{next(trees)}") if edited else Result(error="AssertionError: 2 != 3")

    test = call("run_command", "python3 -m unittest")
    return _choke(answer=answer).run(
        [each] for n in range(1, 9) for each in (call("edit_file", f"calc.py=try {n}"), test)
    )


def _figures() -> Choke:
    return _choke(answer=lambda _call: Result(shape="up since #")).run([[call("run_command", "uptime")]] * 12)


def _no_news() -> Choke:
    def answer(_call: ToolCall) -> Result:
        return Result("FAILED test_median", tree="unchanged")

    return _choke(answer=answer).run([call("run_command", f"python3 -m unittest  # try {n}")] for n in range(1, 15))


def _duplicates() -> Choke:
    def answer(each: ToolCall) -> Result:
        return Result(error="exit code 1" if each.tool == "run_command" else "", tree="unchanged")

    test, limits = [call("run_command", "python3 -m unittest")], {"same_error_warn": 9, "same_error_stop": 9}
    turns = (batch for n in range(1, 5) for batch in (test, [call("read_file", f"part{n}.py")]))
    return _choke(answer=answer, **limits).run(turns)


def _stall() -> Choke:
    return _choke(answer=lambda _call: Result("same", tree="unchanged")).run([[call("run_command", "cat calc.py")]] * 5)


def _no_action() -> Choke:
    return _choke().run([[]] * 3)


def _declined() -> Choke:
    return Declining(GuardSet.begin(LIMITS, 1000, ("**",))).run([[]])


def _thrash() -> Choke:
    contents = iter(range(100))

    def answer(_call: ToolCall) -> Result:
        blob = f"v{next(contents)}"
        write = FileWrite(path="calc.py", added=9, removed=9, blob=blob, rewritten=9)
        return Result(text=f"wrote {blob}", tree=blob, writes=(write,))

    return _choke(answer=answer).run([call("edit_file", f"calc.py=edit {n}")] for n in range(1, 17))


def _checkpoint() -> Choke:
    return _choke(progress_every=2, progress_warn=5, progress_stop=10).run(
        [call("read_file", f"part{n}.py")] for n in range(1, 12)
    )


def _scope() -> Choke:
    return _choke().run([[call("write_file", "README.md")], [call("write_file", "calc.py")]])


def _malformed() -> Choke:
    return _choke().run([[call("read_file", "{broken", defect="arguments are no JSON object")]] * 3)


def _window() -> Choke:
    run, request = _choke(), _request()
    for _ in range(3):
        run.judge(Compacted(at=START, request=request))
    return run


def _request() -> ModelRequest:
    return ModelRequest(
        model="m",
        window_messages=40,
        window_tokens=31_000,
        uncompacted_tokens=31_400,
        token_cap=32_000,
        reserved_tokens=32_000,
        reserved_usd=0.0,
    )


FIRINGS: Mapping[str, Callable[[], Choke]] = {
    "budget": _budget,
    "turns": _turns,
    "usage": _usage,
    "deadline": _deadline,
    "repetition": _repetition,
    "same_error": _same_error,
    "same_failure": _same_failure,
    "figures": _figures,
    "no_news": _no_news,
    "duplicates": _duplicates,
    "stall": _stall,
    "no_action": _no_action,
    "declined": _declined,
    "thrash": _thrash,
    "checkpoint": _checkpoint,
    "scope": _scope,
    "malformed": _malformed,
    "window": _window,
}


def timeline(name: str) -> str:
    """The firing of a guard, a line a call and a line a verdict."""
    run = FIRINGS[name]()
    first = GuardSet.begin(run.guard_set.limits, 5 if name == "budget" else 1000, ("calc.py", "+tests/*"))
    return "\n".join(_shortened(list(_lines(first, run.events))))


def _lines(guard_set: GuardSet, events: Sequence[Event]) -> Iterator[Line]:
    statuses = {event.seq: event.status for event in events if isinstance(event, ToolFinished)}
    turn = 0
    for event in events:
        turn += isinstance(event, TurnRequested)
        yield from ((False, text) for text in _happened(event, turn, statuses))
        guard_set, verdicts = guard_set.judge(event)
        yield from ((True, _said(verdict)) for verdict in verdicts)
        if guard_set.stopped is not None:
            return


def _happened(event: Event, turn: int, statuses: Mapping[int, str]) -> Iterator[str]:
    if isinstance(event, TurnRequested) and event.request.tools_withheld:
        yield f"turn {turn:<3} (tools withheld)"
    if isinstance(event, ReplyReceived):
        yield from (f"turn {turn:<3} {_call(c):<40} {statuses.get(c.seq, 'stopped')}" for c in event.reply.calls)
        if not event.reply.calls:
            yield f"turn {turn:<3} a text, no call"
    if isinstance(event, Compacted):
        of = event.request
        yield f"compacted from {of.uncompacted_tokens:,} to {of.window_tokens:,} of {of.token_cap:,} tokens"


def _call(asked: ToolCall) -> str:
    return asked.signature.replace("=", ", ")


def _said(verdict: Verdict) -> str:
    if isinstance(verdict, Stop):
        return f"         {verdict.guard} stops at {verdict.observed:g}, limit {verdict.limit:g}: {verdict.code}"
    assert isinstance(verdict, Warn | Refuse)
    kind = "warns" if isinstance(verdict, Warn) else "refuses"
    return f"         {verdict.guard} {kind} at {verdict.observed:g}, limit {verdict.limit:g}"


def _shortened(lines: Sequence[Line]) -> Iterator[str]:
    """Long rows of calls without a verdict keep their ends."""
    for verdicts, group in groupby(lines, key=lambda line: line[0]):
        row = [text for _, text in group]
        if verdicts or len(row) <= 2 * _SHOWN + 1:
            yield from row
        else:
            yield from (*row[:_SHOWN], f"         ... {len(row) - 2 * _SHOWN} more ...", *row[-_SHOWN:])
