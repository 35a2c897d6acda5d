"""What an attempt did over and over, for the worker of the next one."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Hashable, Sequence

from orchestrator.domain.assignment import RepeatedCall
from orchestrator.domain.events import Event, ToolFinished

_MOST = 5
_CHARS = 300


def repeated_calls(events: Sequence[Event]) -> tuple[RepeatedCall, ...]:
    """The calls that were made at least twice, the most frequent first: by what they wrote, else by the error that they
    failed with, else by tool and arguments. So rewriting a file, failing alike in other words, and asking again are all
    repetitions, as the guards have it."""
    groups: defaultdict[Hashable, list[ToolFinished]] = defaultdict(list)
    for event in events:
        if isinstance(event, ToolFinished) and not event.call.control:
            groups[_alike(event)].append(event)
    repeated = [group for group in groups.values() if len(group) > 1]
    return tuple(_told(group) for group in sorted(repeated, key=len, reverse=True)[:_MOST])


def _alike(event: ToolFinished) -> Hashable:
    if event.writes:
        return tuple(sorted(write.path for write in event.writes))
    return (event.call.tool, event.result.error_hash) if event.result.error_hash else event.call.signature


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
