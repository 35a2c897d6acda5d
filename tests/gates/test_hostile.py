"""Gates before hostile answers and trees: nothing raises what it must not, nothing slips through."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from orchestrator.domain.workspace import FileChange
from orchestrator.gates.review import ReviewInvalidError, judge_review
from orchestrator.gates.scope import judge_scope

PASSED = {"passed": True, "score": 95, "feedback": "", "criteria": [], "findings": []}
DEEP: Any = []
for _ in range(5_000):
    DEEP = [DEEP]

# Built in two steps and not st.recursive, whose retried draws are too slow for Hypothesis on a busy machine.
LEAF = st.sampled_from([None, True, False, 0, -1, 80, 2**70, 0.5, 80.0, float("nan"), float("inf"), "", "x", "true"])
LEAVES = LEAF | st.integers() | st.floats() | st.text(max_size=5)
NEST = st.lists(LEAVES, max_size=3) | st.dictionaries(st.sampled_from(["", "text", "é", "0"]), LEAVES, max_size=3)
JUNK = LEAVES | NEST | st.lists(NEST, max_size=2)
ENTRY_FIELDS = ("group", "text", "passed", "evidence", "code", "severity", "message", "locus", "required_fix")
ENTRIES = st.lists(JUNK | st.dictionaries(st.sampled_from(ENTRY_FIELDS), JUNK, max_size=5), max_size=3)
ANSWERS = st.fixed_dictionaries(
    {},
    optional={
        "passed": st.booleans() | JUNK,
        "score": st.integers(0, 100) | JUNK,
        "feedback": JUNK,
        "criteria": ENTRIES | JUNK,
        "findings": ENTRIES | JUNK,
    },
)


@given(ANSWERS, st.sampled_from(["strict", "normal", "lenient"]))
def test_any_answer_is_a_judgement_or_no_review(answer: dict[str, Any], strictness: Any) -> None:
    """Whatever JSON QC sends is judged or is a ReviewInvalidError, and a pass needs passed, score and its one
    criterion."""
    try:
        judged = judge_review(answer, strictness, 80, ("x",))
    except ReviewInvalidError:
        return
    assert 0 <= judged.score <= 100
    assert not judged.passed or (answer["passed"] is True and answer["score"] >= 80 and len(judged.criteria) == 1)
    json.dumps([judged.feedback, [c.text for c in judged.criteria], [f.message for f in judged.findings]])


@pytest.mark.parametrize(
    "changes",
    [
        {"score": float("nan")},
        {"score": float("inf")},
        {"score": 10**6_000},
        {"score": DEEP},
        {"passed": DEEP},
        {"passed": 10**6_000},
        {"criteria": ["a", 1]},
        {"criteria": {"text": "x"}},
        {"findings": "none"},
        {"findings": [None]},
        {"findings": 10**6_000},
    ],
    ids=lambda changes: str(next(iter(changes))),
)
def test_an_answer_of_the_wrong_shape_is_no_review(changes: dict[str, Any]) -> None:
    """NaN, huge numbers, deep nests and lists of anything but objects decide nothing."""
    with pytest.raises(ReviewInvalidError):
        judge_review({**PASSED, **changes}, "normal", 80, ())


@pytest.mark.parametrize("value", [DEEP, 10**6_000, {"a": [1]}, float("nan")], ids=["deep", "huge", "object", "nan"])
def test_a_field_of_the_wrong_kind_is_an_empty_text(value: Any) -> None:
    """A finding whose fields are junk still holds against a pass."""
    finding = {"severity": value, "message": value, "code": value, "locus": value, "required_fix": value}
    assert not judge_review({**PASSED, "findings": [finding], "feedback": value}, "normal", 80, ()).passed


def _link(path: str, target: str) -> FileChange:
    return FileChange(
        path=path, status="added", added=1, removed=0, blob="b", kind="symlink", substantive=True, link_target=target
    )


@pytest.mark.parametrize(
    ("path", "target", "codes"),
    [
        ("a/b/up", "../..", []),
        ("door", "a/b/up/../secret", ["symlink_escape"]),
        ("a/door", "../a/b/up/../../x", ["symlink_escape"]),
        ("door", "sub/.GIT/config", ["symlink_escape"]),
        ("door", "sub/.git", ["symlink_escape"]),
        ("a/near", "./../b/file", []),
        ("near", "file.gitx", []),
    ],
)
def test_a_symlink_cannot_climb_through_another(path: str, target: str, codes: list[str]) -> None:
    """`..` behind a name may start higher up than it reads, since that name may be a symlink itself."""
    assert [finding.code for finding in judge_scope([_link(path, target)], ("**",))] == codes


def test_git_settings_are_known_in_any_case() -> None:
    """On a file system that ignores case .GitAttributes is .gitattributes."""
    change = FileChange(
        path=".GitAttributes", status="added", added=1, removed=0, blob="b", kind="file", substantive=True
    )
    assert [finding.code for finding in judge_scope([change], ("**",))] == ["git_settings"]
