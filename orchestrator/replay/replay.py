"""Replay: past attempts and traces folded under other limits: what would have fired, when, and the calls saved."""

from __future__ import annotations

import tomllib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from pydantic import ValidationError

from orchestrator.domain.errors import UserError
from orchestrator.domain.events import Event, ReplyReceived, ToolFinished, ToolRequested
from orchestrator.domain.text import nearest
from orchestrator.domain.tools import executed, executes
from orchestrator.domain.verdict import Allow, Refuse, Stop, Warn
from orchestrator.guards.guard_set import GuardSet
from orchestrator.guards.limits import GuardLimits
from orchestrator.replay.traces import Trace, events_of_trace, unjudged

_UNBOUNDED = 10**9
# What a trace knows nothing of holds for it only where the limits set it.
_UNKNOWN_TO_TRACES: Mapping[str, int | None] = {
    "progress_every": _UNBOUNDED,
    "progress_warn": _UNBOUNDED,
    "progress_stop": _UNBOUNDED,
    "max_turns": None,
    "max_tokens": None,
    "max_cost_usd": None,
    "deadline_s": None,
    "working_time_s": None,
}


@dataclass(frozen=True, slots=True)
class Fired:
    """One verdict other than Allow. `at_tool_call` is the number of executed calls then (of a trace: of its calls)."""

    verdict: Warn | Refuse | Stop
    at_tool_call: int


@dataclass(frozen=True, slots=True)
class Replay:
    """What would have fired. `calls` were executed in truth; after `stop` the rest of them would have been saved.
    `inherited` calls of the attempts that it continues come before them. `unjudged` are the rules that the trace does
    not tell enough for, each with what is wanting."""

    fired: tuple[Fired, ...]
    calls: int
    inherited: int = 0
    unjudged: tuple[str, ...] = ()

    @property
    def stop(self) -> Fired | None:
        """The Stop, if there was one."""
        return next((fired for fired in self.fired if isinstance(fired.verdict, Stop)), None)


@dataclass(frozen=True, slots=True)
class ReplayLimits:
    """A limits file: the guards' numbers, the budget in tool calls where it sets one, and the keys that it sets."""

    limits: GuardLimits = field(default_factory=GuardLimits)
    budget: int | None = None
    keys: frozenset[str] = frozenset()

    def for_traces(self) -> GuardLimits:
        """The limits without those that a trace knows nothing of and the file does not set."""
        return self.limits.model_copy(update={k: v for k, v in _UNKNOWN_TO_TRACES.items() if k not in self.keys})


def parse_limits(toml_text: str) -> ReplayLimits:
    """A limits file: keys of `[guards]`, in that table or at the top, and `budget`. Raises UserError naming the key."""
    try:
        document = tomllib.loads(toml_text)
    except tomllib.TOMLDecodeError as error:
        raise UserError(f"The limits are no TOML: {error}.", next_step="Write one `key = number` a line.") from None
    table = document.pop("guards", {})
    if not isinstance(table, dict):
        raise UserError("`guards` in the limits must be a table.", next_step="Write [guards], then its keys.")
    values = {**document, **table}
    _check_keys(values)
    budget = _budget(values)
    try:
        return ReplayLimits(GuardLimits.model_validate(values), budget, frozenset(values))
    except ValidationError as error:
        first = error.errors()[0]
        key = ".".join(map(str, first["loc"]))
        message = f"The limit {key} = {first['input']!r} is not valid: {first['msg']}."
        raise UserError(message, next_step="See docs/settings.md, [guards].") from None


def _check_keys(values: Mapping[str, Any]) -> None:
    known = [*GuardLimits.model_fields, "budget", "guards"]
    for key in values:
        if key not in known:
            raise UserError(
                f"The limits hold the unknown key {key!r}{nearest(key, known) or '.'}",
                next_step=f"Known: {', '.join(known)}.",
            )


def _budget(values: dict[str, Any]) -> int | None:
    budget = values.pop("budget", None)
    if budget is None or (isinstance(budget, int) and not isinstance(budget, bool) and budget >= 1):
        return budget
    raise UserError(
        f"The limit budget = {budget!r} is not valid.", next_step="It is a whole number of tool calls, from 1."
    )


def replay_attempt(
    events: Sequence[Event],
    limits: GuardLimits,
    budget: int,
    allowed_paths: tuple[str, ...],
    inherited: Sequence[Event] = (),
) -> Replay:
    """A recorded attempt under these limits. GuardFired events among them are left out: they are the old verdicts.
    `inherited` are the events of the attempts that it continues: their calls count, what was said to them does not,
    unless it is the Stop."""
    guard_set = GuardSet.begin(limits, budget, allowed_paths)
    fired: list[Fired] = []
    for number, event in enumerate((*inherited, *events)):
        guard_set, verdicts = guard_set.judge(event)
        spoken = (verdict for verdict in verdicts if not isinstance(verdict, Allow))
        own = number >= len(inherited)
        fired.extend(Fired(v, guard_set.calls_executed) for v in spoken if own or isinstance(v, Stop))
        if guard_set.stopped is not None:
            break
    return Replay(tuple(fired), _calls(events), _calls(inherited))


def _calls(events: Sequence[Event]) -> int:
    """How many calls were executed, or may have been: of those that were cut off nobody knows."""
    last: dict[int, bool] = {}
    for event in events:
        if isinstance(event, ToolRequested):
            last[event.seq] = executes(event.call, event.duplicate_of)
        elif isinstance(event, ToolFinished):
            last[event.seq] = executed(event.call, event.status)
    return sum(last.values())


def replay_trace(trace: Trace, limits: ReplayLimits, *, repeat_last: int = 0) -> Replay:
    """A trace under these limits, with its last calls repeated for ever where `repeat_last` says so."""
    guard_set = GuardSet.begin(limits.for_traces(), limits.budget or _UNBOUNDED, ())
    fired: list[Fired] = []
    finished = 0
    for event in events_of_trace(trace, repeat_last):
        finished += isinstance(event, ToolFinished)
        at = finished + isinstance(event, ReplyReceived | ToolRequested)
        guard_set, verdicts = guard_set.judge(_served(guard_set, event))
        fired.extend(Fired(verdict, at) for verdict in verdicts if not isinstance(verdict, Allow))
        if guard_set.stopped is not None:
            break
    return Replay(tuple(fired), len(trace.calls), unjudged=unjudged(trace))


def _served(guard_set: GuardSet, event: Event) -> Event:
    """The event as the engine would have recorded it: a call that an identical one of its reply answers is served."""
    if not isinstance(event, ToolRequested | ToolFinished) or event.seq not in guard_set.repeats:
        return event
    earlier = guard_set.earlier(event.call)
    if isinstance(event, ToolRequested):
        return replace(event, duplicate_of=earlier)
    return event if earlier in (None, event.seq) else replace(event, status="duplicate", writes=(), tree_after=None)


def replay_traces(traces: Iterable[Trace], limits: ReplayLimits, *, repeat_last: int = 0) -> dict[str, Any]:
    """All of them, in the shape of `calibrate --replay --traces --json`."""
    return {"traces": [shape(trace.id, replay_trace(trace, limits, repeat_last=repeat_last)) for trace in traces]}


def shape(id_: str, replay: Replay) -> dict[str, Any]:
    """One replay as `calibrate --replay --json` prints it; `id_` is the trace's or the attempt's."""
    warnings = [_entry(fired, replay) for fired in replay.fired if isinstance(fired.verdict, Warn)]
    stop = _entry(replay.stop, replay) if replay.stop else None
    return {"id": id_, "calls": replay.calls, "stop": stop, "warnings": warnings, "unjudged": [*replay.unjudged]}


def _entry(fired: Fired, replay: Replay) -> dict[str, Any]:
    own = max(fired.at_tool_call - replay.inherited, 0)
    return {"guard": fired.verdict.guard, "reason": fired.verdict.code, "atToolCall": own}
