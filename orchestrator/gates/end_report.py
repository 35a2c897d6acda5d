"""Why an attempt was not accepted, as its node tells it: for who opens the graph, and for who tries the task next."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from orchestrator.domain.attempt import Check
from orchestrator.domain.finding import Finding
from orchestrator.domain.stop_reasons import next_step
from orchestrator.domain.verdict import Stop

TAIL_CHARS = 2_000
"""Of a failed check's output; the whole is on its Check."""
_TOLD_BY_FINDINGS = frozenset({"accepted", "gate_failed", "review_failed"})


def open_issues(
    reason: str, detail: str, findings: Sequence[Finding], way_out: str = ""
) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """What stands against the work, and what must be done about it: of every finding, and of the end itself where it is
    more than these, with `way_out` or else the taxonomy's next step as its fix. Raises KeyError for an unknown code."""
    found = [(finding.message, finding.required_fix) for finding in findings]
    if reason not in _TOLD_BY_FINDINGS or not (found or reason == "accepted"):
        found.insert(0, (_seen(reason, detail), way_out or next_step(reason)))
    return _once(issue for issue, _ in found), _once(fix for _, fix in found)


def error_report(
    *,
    reason: str,
    detail: str,
    issues: Sequence[str],
    required_fixes: Sequence[str],
    advice: Sequence[str],
    commands: Sequence[str],
    feedback: str | None = None,
    checks: Iterable[Check] = (),
    stop: Stop | None = None,
    first_seq: int | None = None,
    trace: str = "",
    completion: Mapping[str, Any] | None = None,
) -> dict[str, Any]:
    """The `errorContextJson` of an attempt that was not accepted, by the names that docs/graph-model.md lists. `advice`
    says what can be done, the `commands` do it. `feedback` is None where QC said nothing, `stop` where no guard ended
    it; `first_seq` is where what it saw began, None where that is not in the attempt. A `trace` is there only for a
    defect of ours, and `completion` where a check pass came to a decision."""
    report: dict[str, Any] = {
        "stopReason": reason,
        "stopDetail": detail,
        "qcFeedback": feedback,
        "issues": list(issues),
        "requiredFixes": list(required_fixes),
        "failedChecks": [_failed(check) for check in checks if check.outcome != "passed"],
        "guard": _guard(stop, first_seq) if stop else None,
        "completion": completion,
        "advice": list(advice),
        "next": list(commands),
    }
    return report | ({"traceback": trace} if trace else {})


def end_without_work(reason: str, detail: str, commands: Sequence[str], checks: Iterable[Check] = ()) -> dict[str, Any]:
    """The same where nobody was there to say more: the process is gone, or a newer run has the task."""
    issues, fixes = open_issues(reason, detail, ())
    return error_report(
        reason=reason,
        detail=detail,
        issues=issues,
        required_fixes=fixes,
        advice=fixes,
        commands=commands,
        checks=checks,
    )


def _seen(reason: str, detail: str) -> str:
    """What happened, without the advice that a guard's message ends with."""
    return detail.removesuffix(next_step(reason)).strip() or reason


def _once(texts: Iterable[str]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(text for text in texts if text))


def _failed(check: Check) -> dict[str, Any]:
    return {"command": check.command, "exitCode": check.exit_code, "tail": _tail(check.output)}


def _tail(output: str) -> str:
    """The end of an output, whole lines where they are not longer than that: half a word might be half a secret, which
    nobody would know for one."""
    if len(output) <= TAIL_CHARS:
        return output
    tail = output[-TAIL_CHARS:]
    for space in ("\n", " "):
        if space in tail.rstrip():
            return tail.partition(space)[2]
    return ""


def _guard(stop: Stop, first_seq: int | None) -> dict[str, Any]:
    return {
        "name": stop.guard,
        "code": stop.code,
        "observed": stop.observed,
        "limit": stop.limit,
        "firstSeq": first_seq,
        "evidence": dict(stop.evidence),
    }
