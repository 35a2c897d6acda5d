"""Two detectors that other agents are shipped with, by their documentation and in words of ours, to compare with.

OpenHands (docs.openhands.dev/sdk/guides/agent-stuck-detector): the same action with the same observation four times,
the same action with an error three times, two pairs that alternate over six steps; a monologue and errors of the
context window do not occur in traces. gemini-cli (packages/core/src/services/loopDetectionService.ts): the same tool
with the same arguments five times in a row; its repeated pieces of text do not occur in traces, and its question to a
model is no rule.
"""

from __future__ import annotations

import json
from collections.abc import Sequence

from orchestrator.replay.traces import TraceCall

SAME, ERRORS, ALTERNATING = 4, 3, 6
IN_A_ROW = 5


def openhands_fires_at(calls: Sequence[TraceCall]) -> int | None:
    """The number of the call, from 1, at which the stuck detector fires; None when it never does."""
    pairs = [(asked(call), call.result_sha) for call in calls]
    for end in range(1, len(calls) + 1):
        if _same(pairs[:end], SAME) or _errors(calls[:end]) or _alternates(pairs[max(end - ALTERNATING, 0) : end]):
            return end
    return None


def gemini_fires_at(calls: Sequence[TraceCall]) -> int | None:
    """The same of the loop detection."""
    actions = [asked(call) for call in calls]
    return next((end for end in range(1, len(calls) + 1) if _same(actions[:end], IN_A_ROW)), None)


def asked(call: TraceCall) -> str:
    """Tool and arguments."""
    return json.dumps([call.name, call.arguments], sort_keys=True)


def _same(items: Sequence[object], times: int) -> bool:
    return len(items) >= times and all(item == items[-1] for item in items[-times:])


def _errors(calls: Sequence[TraceCall]) -> bool:
    last = calls[-ERRORS:]
    return not any(call.ok for call in last) and _same([asked(call) for call in last], ERRORS)


def _alternates(pairs: Sequence[object]) -> bool:
    if len(pairs) < ALTERNATING:
        return False
    return pairs[0] != pairs[1] and all(pair == pairs[number % 2] for number, pair in enumerate(pairs))
