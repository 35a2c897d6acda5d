"""Progress told from motion: what becomes of findings over the passes, and what an attempt came to."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from orchestrator.domain.attempt import AttemptSummary, Check, Decision
from orchestrator.domain.failure import Failure, ShownFailure
from orchestrator.domain.finding import Finding
from orchestrator.gates.convergence import convergence, courses
from orchestrator.gates.convergence_limits import ConvergenceLimits
from orchestrator.gates.failure_report import failure_report
from orchestrator.gates.lives import course, finding_lives, judge_returned, lives
from orchestrator.gates.progress import (
    CheckPass,
    Effort,
    chained,
    check_pass,
    outcome_of,
    reappeared,
    refuses_change,
    trend_of,
)
from orchestrator.gates.retry import Exhausted
from tests.support.samples import attempt_summary

NOW = datetime(2026, 1, 1, tzinfo=UTC)
LIMITS = ConvergenceLimits()
BY = {"q": "review", "m": "command"}
"""Who finds what: q is QC's, m a command's, all else the gates'."""


def found(number: int, letters: str, ran: frozenset[str] | None = None, **changes: Any) -> CheckPass:
    """A pass that found these, each as often as it stands there."""
    counts = tuple((letter, letters.count(letter)) for letter in sorted(set(letters)))
    by = tuple((letter, BY.get(letter, "")) for letter, _ in counts)
    known = CheckPass(failures=counts, tree=f"t{number}", id=f"p{number}", attempt=number, found_by=by, ran=ran)
    return replace(known, **changes)


def told(*words: str) -> list[CheckPass]:
    """One pass a word."""
    return [found(number, word) for number, word in enumerate(words, start=1)]


@pytest.mark.parametrize(
    ("words", "trends"),
    [
        (("abcd", "a"), ("first", "progress")),
        (("abcd", "abc", "ab", "a"), ("first", *["progress"] * 3)),
        (("a", "b", "c"), ("first", "peeling", "peeling")),
        (("a", "b", "a"), ("first", "peeling", "oscillating")),
        (("ab", "bc", "ac"), ("first", "changed", "oscillating")),
        (("ab", "ac", "ad"), ("first", "changed", "persistent")),
        (("a", "ab", "abc"), ("first", "regressed", "regressed")),
        (("ab", "a", "ab"), ("first", "progress", "oscillating")),
        (("ab", "b", "b"), ("first", "progress", "stalled")),
        (("aaaaa", "aa", "aaa"), ("first", "progress", "regressed")),
        (("aaaaa", "aa", "aaaaa"), ("first", "progress", "oscillating")),
        (("abcd", "bcd", "a"), ("first", "progress", "peeling")),
    ],
)
def test_each_motion_has_its_name(words: tuple[str, ...], trends: tuple[str, ...]) -> None:
    """Fewer is progress, one after the other is peeling, what had gone and is back oscillates, what stays without
    anything becoming better persists, more is a regression; what is better than ever is none of the bad ones."""
    assert tuple(state.trend for state in courses(told(*words), LIMITS)[1:]) == trends


def test_what_stays_while_nothing_becomes_better_raises_the_stage() -> None:
    """At the third pass; peeling never does, and a better pass begins the count anew."""
    assert [state.stage for state in courses(told("ab", "ac", "ad"), LIMITS)[1:]] == [1, 1, 2]
    assert convergence(told("a", "ab", "abc"), LIMITS).stage == 2
    assert convergence(told(*"abcdef"), LIMITS).stage == 1
    assert convergence(told("abc", "abd", "ae"), LIMITS).stage == 1
    assert convergence(told("ab", "ac"), ConvergenceLimits(no_net_progress_after=2)).trend == "persistent"


def test_what_nobody_looked_for_does_not_count_as_staying() -> None:
    """QC's finding is not persistent only because two attempts failed their checks since."""
    gates = frozenset({"", "command"})
    passes = [found(1, "q"), found(2, "m", gates), found(3, "a", gates)]
    assert [state.trend for state in courses(passes, LIMITS)[1:]] == ["first", "regressed", "changed"]


def test_what_nobody_looked_for_is_carried_and_neither_gone_nor_back() -> None:
    """QC is not asked where a check fails: its finding stays, and is no oscillation when QC repeats it."""
    gates = frozenset({"", "command"})
    passes = [found(1, "q"), found(2, "m", gates), found(3, "q", gates | {"review"})]
    assert [state.trend for state in courses(passes, LIMITS)[1:]] == ["first", "regressed", "progress"]
    (q, m) = lives(chained(passes), ())
    assert q.marks == ((1, "new"), (2, "unobserved"), (3, "still"))
    assert m.marks == ((2, "new"), (3, "gone"))
    assert q.told == "new in attempt 1, not looked for in 2, still there in 3"
    answered = [found(1, "m"), found(2, "a", frozenset({""})), found(3, "am", gates)]
    assert lives(chained(answered), ())[0].marks[1] == (2, "unobserved"), "its check gave no answer"


def test_a_finding_that_only_warns_for_a_while_has_not_been_away() -> None:
    """From error to warning and back is no reappearance."""
    passes = told("ab", "b", "ab")
    assert reappeared(passes[:2], passes[2]) == {"a"}
    milder = [passes[0], replace(passes[1], milder=frozenset("a")), passes[2]]
    assert reappeared(milder[:2], milder[2]) == frozenset()
    assert lives(milder, ())[0].marks[1] == (2, "milder")


def test_a_pass_counts_once_however_often_it_is_recorded() -> None:
    """The same id is the same snapshot, for the fold and for the lives."""
    once, twice = told("a", "a"), [each for each in told("a", "a") for _ in range(3)]
    assert convergence(twice, LIMITS) == convergence(once, LIMITS)
    assert chained(twice) == chained(once)


@pytest.mark.parametrize(
    ("status", "before", "after", "refused", "expected"),
    [
        ("accepted", "a", "", False, "resolved"),
        ("stopped", "a", None, False, "error"),
        ("rejected", None, "a", False, "rejected"),
        ("rejected", "ab", "a", False, "progress"),
        ("rejected", "ab", "abs", True, "rejected"),
        ("rejected", "a", "a", True, "no_change"),
        ("rejected", "a", "b", False, "progress"),
        ("rejected", "ab", "ac", False, "no_change"),
        ("rejected", "a", "bc", False, "regressed"),
    ],
)
def test_an_attempt_came_to_what_the_passes_say(
    status: Any, before: str | None, after: str | None, refused: bool, expected: str
) -> None:
    """From the pass before and the one behind it, never from what was written."""
    seen = [] if before is None else [found(1, before)]
    assert outcome_of(status, seen, None if after is None else found(2, after), refused) == expected


def test_bringing_back_what_was_mended_is_a_regression() -> None:
    """As many findings as before, but one of them had gone."""
    assert outcome_of("rejected", told("a", "b"), found(3, "a"), refused=False) == "regressed"
    scope = Finding(code="out_of_scope", severity="error", message="", source="scope")
    assert refuses_change([scope]) and not refuses_change([replace(scope, severity="warning")])


def rejected(number: int, *names: str, **changes: Any) -> AttemptSummary:
    """An attempt that these findings kept from being accepted."""
    findings = tuple(
        Finding(code="check_failed", severity="error", message="", source="check", locus=f"{n}.py", fingerprint=n)
        for n in names
    )
    decision = Decision("incomplete", "c", (), names, 1, f"p{number}", NOW, diff_hash=f"t{number}")
    return replace(attempt_summary(number=number, decision=decision, findings=findings), **changes)


def test_a_finding_that_is_back_is_named_with_its_attempts() -> None:
    """A, B, A: the finding says when it was there, and does not reject by itself."""
    known = finding_lives([rejected(1, "a"), rejected(2, "b"), rejected(3, "a")])
    (finding,) = judge_returned({"a"}, known)
    assert finding.message == "check_failed was mended and is back: new in attempt 1, gone in 2, back in 3."
    assert (finding.code, finding.source, finding.locus, finding.blocking) == (
        "reappeared",
        "oscillation",
        "a.py",
        False,
    )


def test_a_task_that_ran_out_tells_when_what_failed_had_gone() -> None:
    """What came and went is told with its attempts; what was only there so long, by their number."""
    history, held = [rejected(1, "a"), rejected(2, "b"), rejected(3, "b")], rejected(4, "a", "b").findings
    why = Exhausted("attempts_exhausted", 4, 4)
    report = failure_report(why, history, attempt_summary(number=4, status="rejected"), held, NOW)
    assert report.open_findings == (
        "check_failed:  (in 2 attempts: new in attempt 1, gone in 2, there in 4)",
        "check_failed:  (in 3 attempts)",
    )


def test_the_last_five_attempts_are_told() -> None:
    """With what each came to and the lives of their findings; one alone is told as the attempt before."""
    assert course([rejected(1, "a")]) is None
    stopped = attempt_summary(number=4, status="stopped", stop_reason="stalled", outcome="error")
    history = [*(rejected(number, "a", outcome="no_change") for number in (1, 2, 3)), stopped, rejected(5, "b")]
    last = course([*history, rejected(6, "b")])
    assert last is not None
    assert [each.number for each in last.attempts] == [2, 3, 4, 5, 6]
    assert [each.outcome for each in last.attempts][:3] == ["no_change", "no_change", "error"]
    assert [life.told for life in last.lives] == [
        "new in attempt 2, still there in 3, gone in 5",
        "new in attempt 5, still there in 6",
    ]


def test_check_passes_fixes_and_reviews_are_counted_apart() -> None:
    """What came to no verdict ran checks and mended nothing; more passes than fixes is said."""
    cut, stopped = rejected(2, status="interrupted", reviews=1), attempt_summary(status="stopped")
    used = Effort.of([rejected(1, "a"), cut, stopped, rejected(3, "a", reviews=2)])
    assert used == Effort(check_passes=3, fixes=1, reviews=3)
    assert used.told == "3 check passes, 1 fix, 3 reviews"
    assert used.warning
    assert not Effort(check_passes=2, fixes=1).warning
    assert Effort(check_passes=2).told == "2 check passes, 0 fixes, 0 reviews"


def test_who_looked_is_read_from_checks_and_review() -> None:
    """A check without an answer has not looked, QC only where it gave a verdict, a merge only behind a pass."""
    failure = Failure.of("make", test_name="t")
    held = Finding(code="check_failed", severity="error", message="", source="check", fingerprint=failure.fingerprint)
    check = Check("c", "make", 1, "failed", 1.0, "", NOW, "verification", "p", failures=(ShownFailure(failure),))
    known = check_pass(((failure.fingerprint, 1),), "t", [held], [check], None)
    assert known.found_by == ((failure.fingerprint, "make"),)
    assert sorted(known.ran or ()) == ["", "make"]
    unanswered = replace(check, outcome="infrastructure", failures=())
    assert sorted(check_pass((), "t", [], [unanswered], False).ran or ()) == ["", "review"]
    assert sorted(check_pass((), "t", [], [check], True).ran or ()) == ["", "make", "merge", "review"]


HISTORIES = st.lists(
    st.tuples(st.text("abqm", max_size=4), st.sets(st.sampled_from(["review", "command"])), st.integers(1, 3)),
    max_size=10,
)


@given(HISTORIES)
def test_random_histories_are_classified_as_the_plain_model_does(history: list[tuple[str, set[str], int]]) -> None:
    """One line a finding, read off pass by pass, whatever is recorded or asked how often."""
    passes = []
    for number, (letters, ran, times) in enumerate(history, start=1):
        seen = "".join(letter for letter in letters if BY.get(letter, "") in {"", *ran})
        passes += [found(number, seen, frozenset({"", *ran}))] * times
    chain = chained(passes)
    assert {life.fingerprint: list(life.marks) for life in lives(chain, ())} == reference_marks(chain, history)
    for at in range(len(chain)):
        before, now = chain[:at], chain[at]
        assert trend_of(before, now, 3) == trend_of(before, now, 3) == reference_trend(before, now)
        assert reappeared(before, now) or trend_of(before, now, 3) != "oscillating", "only what was away is back"
    single = {each.id: each for each in passes}
    assert convergence(passes, LIMITS) == convergence(single.values(), LIMITS)


def reference_marks(chain: Sequence[CheckPass], history: Sequence[tuple[str, set[str], int]]) -> dict[str, list[Any]]:
    """What a person would write beside each finding."""
    lines: dict[str, list[Any]] = {}
    for letter in "abqm":
        there, ever, line = False, False, []
        for number, (letters, ran, _) in enumerate(history, start=1):
            if BY.get(letter, "") not in {"", *ran}:
                line += [(number, "unobserved")] if there else []
                continue
            now = letter in letters
            line += [(number, "still" if there else "back" if ever else "new")] if now else []
            line += [(number, "gone")] if there and not now else []
            there, ever = now, ever or now
        if ever:
            lines[letter] = line
    assert len(chain) == len(history)
    return lines


def reference_trend(before: Sequence[CheckPass], now: CheckPass) -> str:
    """The table of docs/convergence.md, line by line."""
    if not before:
        return "first"
    mine, last = dict(now.failures), dict(before[-1].failures)
    if mine == last:
        return "stalled"
    away = {n for n in mine if last.get(n, 0) < mine[n] and _had_more(n, mine[n], last.get(n, 0), before[:-1])}
    if away and sum(mine.values()) >= min(each.total for each in before):
        return "oscillating"
    if all(mine.get(n, 0) <= last[n] for n in last) and not mine.keys() - last.keys():
        return "progress"
    if sum(mine.values()) > sum(last.values()):
        return "regressed"
    if not mine.keys() & last.keys():
        return "peeling"
    if len(before) < 2:
        return "changed"
    best = min(each.total for each in before[:-1])
    first, second, third = (dict(each.failures).keys() - each.carried for each in (*before[-2:], now))
    stays = first & second & third
    return "persistent" if stays and min(before[-1].total, now.total) >= best else "changed"


def _had_more(name: str, now: int, last: int, earlier: Sequence[CheckPass]) -> bool:
    counts = [dict(each.failures).get(name, 0) for each in earlier]
    return any(count > last and (last == 0 or now >= count) for count in counts)
