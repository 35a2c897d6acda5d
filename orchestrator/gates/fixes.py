"""Fix memory: what mended which finding, and whether a change takes that back where nobody would see it.

A finding is mended when the pass after it has looked for it and not found it. A later change that makes a file again
what it was before is refused only where who had found the defect has not looked yet: a check that runs anyway knows
better than a memory, and a file that is mended in another way, or deleted, is nobody's fault.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence

from orchestrator.domain.finding import Finding
from orchestrator.domain.fix import Fix
from orchestrator.domain.workspace import FileChange
from orchestrator.gates.finding import make_finding
from orchestrator.gates.progress import CheckPass

MOST_FIXES = 20
"""Findings of one attempt that are remembered."""
FIX_UNDONE = "fix_undone"
_MOST_FILES = 5
_UNSEEN_BY_CHECKS = frozenset({"review", "merge"})


def proven_fixes(
    before: CheckPass, now: CheckPass, findings: Iterable[Finding], changes: Sequence[FileChange]
) -> tuple[Fix, ...]:
    """What of the pass `before` is gone in the pass `now`, each with the files that the attempt between them changed:
    the one that the finding names, else the first few."""
    known = {finding.fingerprint: finding for finding in findings}
    there, by = dict(now.failures), dict(before.found_by)
    gone = [name for name, _ in before.failures if name not in there and name not in now.milder and name in known]
    return tuple(
        Fix(
            code=known[name].code,
            locus=known[name].locus,
            fingerprint=name,
            path=change.path,
            blob_before=change.before,
            blob_after=change.blob,
            verified_by=now.id,
            tree=now.tree,
            found_by=by.get(name, ""),
            attempt=now.attempt,
        )
        for name in gone[:MOST_FIXES]
        for change in _mending(known[name], changes)
    )


def judge_undone(
    fixes: Iterable[Fix], changes: Iterable[FileChange], asked_for: Iterable[Finding], commands: Collection[str]
) -> tuple[Finding, ...]:
    """One finding for each file that is again what it was before a fix, by the `changes` since that was proven, where
    neither the `commands` that run now nor the gates would find the defect, and none of the findings that the attempt
    was to mend (`asked_for`) names that file."""
    asked = [finding for finding in asked_for if finding.blocking and finding.code != FIX_UNDONE]
    named = "\n".join(f"{finding.locus}\n{finding.message}\n{finding.required_fix}" for finding in asked)
    return tuple(_undone(tuple(fixes), changes, named, commands))


def _undone(
    fixes: Sequence[Fix], changes: Iterable[FileChange], named: str, commands: Collection[str]
) -> Iterator[Finding]:
    for change in changes:
        for fix in fixes:
            back = fix.path == change.path and change.blob and change.blob == fix.blob_before != fix.blob_after
            seen = fix.found_by not in _UNSEEN_BY_CHECKS and (fix.found_by == "" or fix.found_by in commands)
            if back and not seen and change.path not in named:
                yield make_finding(
                    "oscillation",
                    FIX_UNDONE,
                    change.path,
                    f"{change.path} is again what it was before attempt {fix.attempt} mended {fix.code}"
                    f"{f' at {fix.locus}' if fix.locus else ''}.",
                    "Keep what that attempt changed there, and mend the rest beside it.",
                    symptom=fix.fingerprint,
                )


def _mending(finding: Finding, changes: Sequence[FileChange]) -> Sequence[FileChange]:
    named = [change for change in changes if change.path == finding.locus]
    return named or changes[:_MOST_FILES]
