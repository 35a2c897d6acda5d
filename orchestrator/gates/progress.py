"""Progress told from motion: what one check pass found stands beside what those before it found.

A pass is one snapshot, known by its id. Only what blocks counts. A finding is gone when whoever finds it has looked
again and did not see it: what was not looked for this time is carried along.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import accumulate
from typing import Protocol

from orchestrator.domain.attempt import AttemptOutcome, AttemptSummary, Check, Trend
from orchestrator.domain.finding import Finding
from orchestrator.domain.lifecycle import AttemptStatus
from orchestrator.domain.text import counted

_JUDGED: frozenset[AttemptStatus] = frozenset({"rejected", "accepted"})
_GATES, _REVIEW, _MERGE = "", "review", "merge"
_REFUSED = frozenset({"out_of_scope", "git_settings", "settings_file", "nested_repository", "symlink_escape"})
_REFUSED |= {"protected_file", "shadowing_module", "diff_budget"}
"""Codes of findings that refuse the change as such, whatever it mends."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CheckPass:
    """What one check pass found: what blocks with how often it was there, and the tree that was judged. `anew` says
    that a person changed what the task is tried on since the pass before it. `found_by` says by whom each failure is
    found and `ran` who has looked (None: everybody); `carried` are failures of an earlier pass that nobody has looked
    for, and `milder` findings that do not block."""

    failures: tuple[tuple[str, int], ...]
    tree: str
    anew: bool = False
    id: str = ""
    attempt: int = 0
    found_by: tuple[tuple[str, str], ...] = ()
    ran: frozenset[str] | None = None
    carried: frozenset[str] = frozenset()
    milder: frozenset[str] = frozenset()

    @property
    def total(self) -> int:
        """How much blocks."""
        return sum(count for _, count in self.failures)

    def part_of(self, other: CheckPass) -> bool:
        """Whether something of the other's failures is gone and nothing has come."""
        return Counter(dict(self.failures)) < Counter(dict(other.failures))

    def behind(self, last: CheckPass | None) -> CheckPass:
        """With what the last one found and nobody has looked for in this one."""
        if last is None or self.ran is None:
            return self
        own, by = dict(self.failures), dict(last.found_by)
        kept = {name: n for name, n in last.failures if name not in own and by.get(name, _GATES) not in self.ran}
        if not kept:
            return self
        return replace(
            self,
            failures=tuple(sorted((own | kept).items())),
            found_by=(*self.found_by, *((name, by[name]) for name in kept)),
            carried=frozenset(kept),
        )


def failure_counts(findings: Iterable[Finding]) -> tuple[tuple[str, int], ...]:
    """The fingerprints of what blocks, sorted, each with how often it was seen."""
    found: Counter[str] = Counter()
    for finding in findings:
        if finding.blocking:
            found[finding.fingerprint] += finding.count
    return tuple(sorted(found.items()))


def check_pass(
    failures: tuple[tuple[str, int], ...],
    tree: str,
    findings: Iterable[Finding],
    checks: Iterable[Check],
    reviewed: bool | None,
    *,
    id_: str = "",
    attempt: int = 0,
    anew: bool = False,
) -> CheckPass:
    """The snapshot of a pass: what it found, and by its checks and QC's verdict (None: there was none) who looked."""
    told, ended = tuple(findings), tuple(checks)
    ran = {_GATES} | {check.command for check in ended if check.outcome != "infrastructure"}
    ran |= {_REVIEW} if reviewed is not None else set()
    blocking = {finding.fingerprint for finding in told if finding.blocking}
    return CheckPass(
        failures=failures,
        tree=tree,
        anew=anew,
        id=id_,
        attempt=attempt,
        found_by=tuple(sorted(_found_by(told, ended).items())),
        ran=frozenset(ran | ({_MERGE} if reviewed else set())),
        milder=frozenset(finding.fingerprint for finding in told) - blocking,
    )


def recorded_pass(attempt: AttemptSummary, *, anew: bool = False) -> CheckPass | None:
    """The pass behind an attempt's recorded decision; None where it came to no verdict over the work. A decision
    without `counts` is of an older release: each fingerprint counts once."""
    decision = attempt.decision
    if decision is None or attempt.status not in _JUDGED:
        return None
    found: Counter[str] = Counter()
    counts = decision.counts or (1,) * len(decision.fingerprints)
    for fingerprint, count in zip(decision.fingerprints, counts, strict=False):
        found[fingerprint] += max(count, 1)
    return check_pass(
        tuple(sorted(found.items())),
        decision.diff_hash,
        attempt.findings,
        (check for check in attempt.checks if check.phase in ("verification", "merge")),
        attempt.qc_passed,
        id_=decision.pass_id,
        attempt=attempt.number,
        anew=anew,
    )


def chained(passes: Iterable[CheckPass]) -> tuple[CheckPass, ...]:
    """The passes, each once, with what was carried along from one to the next."""
    single = tuple({(found.id or number): found for number, found in enumerate(passes)}.values())
    if not single:
        return ()
    return tuple(accumulate(single, lambda last, found: found.behind(None if found.anew else last)))


def reappeared(seen: Sequence[CheckPass], found: CheckPass) -> frozenset[str]:
    """What is there (as often) again, after the last pass has looked for it and not seen it (so often)."""
    if len(seen) < 2:
        return frozenset()
    last, earlier = dict(seen[-1].failures), [dict(each.failures) for each in seen[:-1]]
    return frozenset(
        name
        for name, now in found.failures
        if name not in seen[-1].milder
        and now > (before := last.get(name, 0))
        and any(each.get(name, 0) > before and (before == 0 or now >= each[name]) for each in earlier)
    )


def no_net_progress(seen: Sequence[CheckPass], found: CheckPass, passes: int) -> bool:
    """Whether something was seen in so many passes, and none of them but the first was better than all before."""
    window = (*seen, found)[-passes:]
    if len(window) < passes:
        return False
    stayed = set.intersection(*(set(dict(each.failures)) - each.carried for each in window))
    best = min(each.total for each in (*seen, found)[: -(passes - 1)])
    return bool(stayed) and min(each.total for each in window[1:]) >= best


def trend_of(seen: Sequence[CheckPass], found: CheckPass, passes: int) -> Trend:
    """How a pass stands to those before it; after so many `passes` without net progress what stays is persistent."""
    if not seen:
        return "first"
    last = seen[-1]
    if found.tree == last.tree:
        return "no_change"
    if found.failures == last.failures:
        return "stalled"
    back = reappeared(seen, found) and found.total >= min(each.total for each in seen)
    if back or any(found.tree == each.tree for each in seen[:-1]):
        return "oscillating"
    if found.part_of(last):
        return "progress"
    if found.total > last.total:
        return "regressed"
    if not dict(found.failures).keys() & dict(last.failures).keys():
        return "peeling"
    return "persistent" if no_net_progress(seen, found, passes) else "changed"


def outcome_of(
    status: AttemptStatus, seen: Sequence[CheckPass], found: CheckPass | None, refused: bool
) -> AttemptOutcome:
    """What an attempt came to, by the passes before it and the one behind it (None: it came to none); `refused` says
    that the change itself may not be made."""
    if status == "accepted":
        return "resolved"
    if found is None:
        return "error"
    if not seen:
        return "rejected"
    last = seen[-1]
    if found.tree == last.tree or found.failures == last.failures:
        return "no_change"
    if refused:
        return "rejected"
    if found.total != last.total:
        return "progress" if found.total < last.total else "regressed"
    if reappeared(seen, found):
        return "regressed"
    return "no_change" if dict(found.failures).keys() & dict(last.failures).keys() else "progress"


def refuses_change(findings: Iterable[Finding]) -> bool:
    """Whether one of them refuses the change as such."""
    return any(finding.blocking and finding.code in _REFUSED for finding in findings)


class TriedAttempt(Protocol):
    """What must be known of an attempt to count what it used."""

    @property
    def status(self) -> AttemptStatus: ...
    @property
    def passes(self) -> frozenset[str]: ...
    @property
    def reviews(self) -> int: ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Effort:
    """What a task has used: check passes, attempts to mend what an earlier verdict held against the work, and reviews,
    each on its own."""

    check_passes: int = 0
    fixes: int = 0
    reviews: int = 0

    @classmethod
    def of(cls, attempts: Iterable[TriedAttempt]) -> Effort:
        """The sum over these attempts. One without a verdict over its work is no fix: its successor goes on with it."""
        tried = tuple(attempts)
        judged = sum(each.status in _JUDGED for each in tried)
        return cls(
            check_passes=sum(len(each.passes) for each in tried),
            fixes=max(judged - 1, 0),
            reviews=sum(each.reviews for each in tried),
        )

    @property
    def told(self) -> str:
        """`2 check passes, 0 fixes, 1 review`."""
        passes = f"{self.check_passes} check pass{'' if self.check_passes == 1 else 'es'}"
        fixes = f"{self.fixes} fix{'' if self.fixes == 1 else 'es'}"
        return f"{passes}, {fixes}, {counted(self.reviews, 'review')}"

    @property
    def warning(self) -> str:
        """That passes were spent without a fix in between; empty where each had one."""
        if self.check_passes <= self.fixes + 1:
            return ""
        return "more check passes than fixes account for: the same work was judged again"


def _found_by(findings: Iterable[Finding], checks: Iterable[Check]) -> Mapping[str, str]:
    commands = {check.command for check in checks}
    shown = {one.failure.fingerprint: check.command for check in checks for one in check.failures}
    return {each.fingerprint: _finder(each, shown, commands) for each in findings if each.blocking}


def _finder(finding: Finding, shown: Mapping[str, str], commands: set[str]) -> str:
    if finding.source == "review":
        return _REVIEW
    if finding.code == "merge_conflict":
        return _MERGE
    if finding.source != "check":
        return _GATES
    return shown.get(finding.fingerprint) or (finding.locus if finding.locus in commands else _GATES)
