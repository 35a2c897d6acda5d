"""What an attempt did over and over, for the worker of the next one."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Hashable, Sequence

from orchestrator.domain.assignment import RepeatedCall
from orchestrator.domain.events import Event, ToolFinished

_MOST = 5
_CHARS = 300


def repeated_calls(events: Sequence[Event]) -> tuple[RepeatedCall, ...]:
    """The calls that were made at least twice, the most frequent first: by what they wrote, else by the error that they
    failed with, else by tool and arguments, and where these differ each time by what the tool answered. So rewriting a
    file, failing alike in other words, asking again, and asking the same in other words are all repetitions, as the
    guards have it."""
    calls = [event for event in events if isinstance(event, ToolFinished) and not event.call.control]
    asked = Counter(event.call.signature for event in calls)
    groups: defaultdict[Hashable, list[ToolFinished]] = defaultdict(list)
    for event in calls:
        groups[_alike(event, once=asked[event.call.signature] == 1)].append(event)
    repeated = [group for group in groups.values() if len(group) > 1]
    return tuple(_told(group) for group in sorted(repeated, key=len, reverse=True)[:_MOST])


def _alike(event: ToolFinished, *, once: bool) -> Hashable:
    if event.writes:
        return tuple(sorted(write.path for write in event.writes))
    if event.result.error_hash:
        return (event.call.tool, event.result.error_hash)
    said = once and event.result.says
    return (event.call.tool, event.result.outcome_hash, "said") if said else event.call.signature


def _told(group: Sequence[ToolFinished]) -> RepeatedCall:
    """The newest of them that had a result of its own speaks for all."""
    answered = [event for event in group if event.status in ("ok", "error")]
    newest = (answered or group)[-1]
    lines = newest.result.text.strip().splitlines()
    return RepeatedCall(
        tool=newest.call.tool,
        arguments=_short(newest.call.arguments_json),
        result=_short(lines[0]) if lines else "",
        times=len(group),
    )


def _short(text: str) -> str:
    line = " ".join(text.split())
    return line if len(line) <= _CHARS else line[: _CHARS - 1] + "…"
