"""Old failures and new ones: a check over the work, compared with the same command over the commit under it.

A failure that was there before is nobody's fault here, one that was not is the work's, and a test that ran and does not
run any more has no answer at all. Only failures that a tool tells apart are compared: a command that fails without a
word of what, must pass.
"""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from orchestrator.domain.attempt import Check
from orchestrator.domain.baseline import Baseline
from orchestrator.domain.failure import Failure, ShownFailure
from orchestrator.domain.finding import Finding
from orchestrator.domain.text import counted
from orchestrator.gates.checks import failure_line
from orchestrator.gates.decision_file import is_decision_command
from orchestrator.gates.finding import make_finding
from orchestrator.gates.tally import REST

_MOST_NAMED = 20
"""Tests that have a finding each; the rest is one more."""


@dataclass(frozen=True, slots=True)
class Comparison:
    """One check against its baseline. `vanished` are tests that ran and do not run any more."""

    new: tuple[ShownFailure, ...]
    pre_existing: tuple[ShownFailure, ...]
    fixed: tuple[ShownFailure, ...]
    vanished: tuple[str, ...]


def measured_commands(commands: Iterable[str], written: Collection[str], files: Collection[str]) -> tuple[str, ...]:
    """The commands that can be measured before the work; not one that names a file which the plan is only to write, nor
    one that judges whether the work is done: what it holds against no work at all excuses nothing."""
    missing = set(written) - set(files)
    asked = (command for command in dict.fromkeys(commands) if not is_decision_command(command))
    return tuple(c for c in asked if missing.isdisjoint(word.removeprefix("./") for word in c.split()))


def compare(check: Check, base: Check | None) -> Comparison:
    """What is new in a check, what was there before (both as often as they are shown), what is gone, and which tests
    are. Without a baseline all is new. A flaky failure is none of these, and excuses none: the test may be broken now.
    """
    shown, shown_before = _steady(check.failures), _steady(base.failures if base else ())
    before = {each.failure: each.count for each in shown_before if told_apart(each.failure)}
    return Comparison(
        new=_more(shown, before),
        pre_existing=tuple(
            replace(each, count=min(each.count, before[each.failure])) for each in shown if each.failure in before
        ),
        fixed=_more(shown_before, {each.failure: each.count for each in check.failures}),
        vanished=_vanished(check, base),
    )


def told_apart(failure: Failure) -> bool:
    """Whether a tool said which of its tests, rules or files failed; the digest of very many stands for all of them."""
    return bool(failure.test_name or failure.locus or failure.package) or failure.signature.startswith(REST)


def fails_as_before(check: Check, base: Check | None) -> bool:
    """Whether it failed in no way in which it did not fail before, but for tests that are flaky."""
    return check.outcome == "failed" and bool(check.failures) and not compare(check, base).new


def blamed(checks: Iterable[Check], baseline: Baseline) -> Iterator[Check]:
    """The checks as they are held against the work: with new failures alone, and not at all where there are none."""
    for check in checks:
        if not fails_as_before(check, base := baseline.check_of(check.command)):
            yield replace(check, failures=compare(check, base).new)


def judge_baseline(checks: Iterable[Check], baseline: Baseline, named: Collection[str]) -> Iterator[Finding]:
    """What stands against the work beside new failures, which is tests that are gone, and what only is to be known:
    failures that were there before, and those that are there no more. `named` are the files that the task may change;
    tests that passed there may be renamed, as long as no fewer run."""
    for check in checks:
        base = baseline.check_of(check.command)
        if base is None or check.outcome == "infrastructure":
            continue
        found = compare(check, base)
        yield from _told(check, "pre_existing", found.pre_existing, "that were there before the work")
        yield from _told(check, "fixed", found.fixed, "that are gone with the work")
        yield from _judge_vanished(check, base, found.vanished, named)
        if not found.new:
            yield from _judge_fewer(check, base)


def known_failures(baseline: Baseline) -> tuple[str, ...]:
    """The baseline's first failures in words, each with its command, and how many more there are: for who works."""
    told = [
        f"{failure_line(each.failure)} (`{check.command}`{', flaky' if each.flaky else ''})"
        for check in baseline.checks
        for each in check.failures
    ]
    more = len(told) - _MOST_NAMED
    return (*told[:_MOST_NAMED], f"and {more} more") if more > 0 else tuple(told)


def _steady(shown: Iterable[ShownFailure]) -> tuple[ShownFailure, ...]:
    return tuple(each for each in shown if not each.flaky)


def _more(shown: Sequence[ShownFailure], than: Mapping[Failure, int]) -> tuple[ShownFailure, ...]:
    left = (replace(each, count=each.count - than.get(each.failure, 0)) for each in shown)
    return tuple(each for each in left if each.count > 0)


def _vanished(check: Check, base: Check | None) -> tuple[str, ...]:
    if base is None or base.tests is None or check.outcome == "infrastructure":
        return ()
    ran = check.tests.ran if check.tests else ()
    before, now = (Counter(map(_stem, tests)) for tests in (base.tests.ran, ran))
    gone = sorted(set(base.tests.ran).difference(ran))
    return tuple(test for test in gone if "[" not in test or now[_stem(test)] < before[_stem(test)])


def _stem(test: str) -> str:
    """A test without its parameters, which may be another text in each run."""
    return test.partition("[")[0]


def _judge_vanished(check: Check, base: Check, vanished: Sequence[str], named: Collection[str]) -> Iterator[Finding]:
    failed = {shown.failure.test for shown in base.failures}
    ran, before = (seen.tests.number if seen.tests else 0 for seen in (check, base))
    gone = [test for test in vanished if ran < before or test in failed or not _is_in(test, named)]
    for test in gone[:_MOST_NAMED]:
        skipped = check.tests is not None and test in check.tests.skipped
        how = "is skipped now" if skipped else "is not run any more"
        yield _vanished_finding(check, test, f"{test} ran before the work and {how}.")
    if rest := gone[_MOST_NAMED:]:
        digest = hashlib.sha256("\n".join(rest).encode("utf-8", "surrogatepass")).hexdigest()[:16]
        message = f"{len(rest)} more tests ran before the work and do not now, of {before} in all."
        yield _vanished_finding(check, f"{check.command} {digest}", message)


def _judge_fewer(check: Check, base: Check) -> Iterator[Finding]:
    """Where tests are only counted, as many must run."""
    before, now = (seen.tests.number if seen.tests else 0 for seen in (base, check))
    if base.tests and base.tests.unnamed and now < before:
        message = f"`{check.command}` ran {counted(before, 'test')} before the work, and {now or 'none'} now."
        yield _vanished_finding(check, check.command, message)


def _vanished_finding(check: Check, locus: str, message: str) -> Finding:
    fix = f"Have `{check.command}` run every test that it ran before; a test may only be renamed where the task names "
    return make_finding("baseline", "vanished", locus, message, f"{fix}its file.")


def _is_in(test: str, named: Collection[str]) -> bool:
    """Whether a test's id is of one of these files: by its path, or by the module that the file is."""
    path = test.partition("::")[0]
    modules = (name.removesuffix(".py").replace("/", ".") for name in named if name.endswith(".py"))
    return path in named or any(test.startswith(f"{module}.") for module in modules)


def _told(check: Check, code: str, shown: Sequence[ShownFailure], what: str) -> Iterator[Finding]:
    if shown:
        names = [failure_line(each.failure) for each in shown]
        told = "; ".join(names[:3]) + (f"; and {len(names) - 3} more" if len(names) > 3 else "")
        message = f"`{check.command}`: {counted(len(names), 'failure')} {what}: {told}."
        found = make_finding("baseline", code, check.command, message, "", severity="info")
        yield replace(found, evidence="\n".join(names[:_MOST_NAMED]), count=len(names))
