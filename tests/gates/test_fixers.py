"""Fixers and fix memory: which commands are due, what of them may stay, and what must not be taken back."""

from __future__ import annotations

import ast
from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import Any

import pytest

from orchestrator.domain.attempt import Check
from orchestrator.domain.finding import Finding
from orchestrator.domain.fix import Fix
from orchestrator.domain.workspace import FileChange
from orchestrator.gates.fixers import due_fixers, judge_fix, unmended
from orchestrator.gates.fixes import judge_undone, proven_fixes
from orchestrator.gates.progress import CheckPass

NOW = datetime(2026, 1, 1, tzinfo=UTC)
LINT = Check("c", "ruff check .", 1, "failed", 1.0, "", NOW, "verification", "p")
HELD = Finding(code="check_failed", severity="error", message="F401", source="check", locus="a.py", fingerprint="f")
SAID = Finding(code="naming", severity="error", message="x", source="review", locus="a.py", fingerprint="q")


@dataclass(frozen=True)
class Rule:
    """A fixer as the settings have it."""

    command: str
    code: str = ""
    check: str = ""


def change(path: str = "a.py", before: str = "b1", after: str = "b2", **more: Any) -> FileChange:
    """One changed file."""
    fields: dict[str, Any] = {"added": 1, "removed": 1, "substantive": True, "status": "modified", "kind": "file"}
    return FileChange(**fields | {"path": path, "blob": after, "before": before} | more)


def test_a_fixer_is_due_by_a_findings_code_or_by_a_check_that_failed() -> None:
    """Never by a message; once however many findings it is for, and not for what only warns."""
    rules = [Rule("format", code="naming"), Rule("lint", check=LINT.command), Rule("other", code="check")]
    assert [rule.command for rule in due_fixers(rules, [HELD, SAID, SAID], [LINT])] == ["format", "lint"]
    assert due_fixers(rules, [replace(SAID, severity="warning")], []) == ()


def test_what_no_fixer_was_for_is_left_to_a_model() -> None:
    """What a check tells is told anew by the check; QC's finding is settled only by a fixer for its code, of which one
    command may have several."""
    assert unmended([HELD, SAID], [Rule("lint", check=LINT.command)], ["lint"]) == (SAID,)
    both = [Rule("format", code="naming"), Rule("format", code="layout")]
    assert unmended([HELD, SAID, replace(SAID, code="layout")], both, ["format"]) == ()
    assert unmended([HELD, SAID], both, []) == (SAID,)


@pytest.mark.parametrize(
    ("path", "before", "after", "told"),
    [
        ("a.py", b"x = 1\n", b"x = 2\n", ""),
        ("a.py", b"x = 1\n", b"x = (\n", "a.py does not parse any more."),
        ("a.py", b"x = (\n", b"y = (\n", ""),
        ("a.json", b"{}", b"{,}", "a.json does not parse any more."),
        ("a.toml", b"a = 1", b"a =", "a.toml does not parse any more."),
        ("a.txt", b"text", b"te\0xt", "a.txt is no text any more."),
        ("a.txt", b"text", b"\xff\xfe", "a.txt is no text any more."),
        ("a.txt", b"text", b" \n", "a.txt is empty now."),
        ("a.bin", b"\0", b"\1\0", ""),
        ("a.py", b"x = 1\n", b"(" * 150_000, "a.py does not parse any more."),
        ("a.json", b"[]", b"[" * 150_000, "a.json does not parse any more."),
    ],
)
def test_a_file_that_a_fixer_breaks_is_not_kept(path: str, before: bytes, after: bytes, told: str) -> None:
    """What parsed must parse, text stays text; what was broken before says nothing."""
    blobs: Mapping[str, bytes] = {"b1": before, "b2": after}
    assert judge_fix([], [change(path)], blobs.get) == told


def test_what_a_gate_holds_against_a_fixer_is_the_reason() -> None:
    """A finding that blocks comes first; one that warns does not count."""
    scope = replace(HELD, code="out_of_scope", message="b.py was modified.")
    assert judge_fix([scope], [change()], lambda _blob: b"x") == "b.py was modified."
    assert judge_fix([replace(scope, severity="warning")], [], lambda _blob: None) == ""


def found(number: int, *names: str, **more: Any) -> CheckPass:
    """A pass that found these; q is QC's."""
    by = tuple((name, "review" if name == "q" else "ruff check .") for name in names)
    counts = tuple((name, 1) for name in names)
    return CheckPass(failures=counts, tree=f"t{number}", id=f"p{number}", attempt=number, found_by=by, **more)


def test_a_fix_is_what_the_next_pass_no_longer_finds() -> None:
    """With the file that the finding names, else those that were changed; what is still there, what nobody looked for
    and what only became a warning is none."""
    other = change("b.py", "c1", "c2")
    (fix,) = proven_fixes(found(1, "f", "q"), found(2, "q"), [HELD, SAID], [other, change()])
    assert (fix.path, fix.blob_before, fix.blob_after, fix.verified_by) == ("a.py", "b1", "b2", "p2")
    assert (fix.code, fix.found_by, fix.attempt) == ("check_failed", "ruff check .", 2)
    elsewhere = proven_fixes(found(1, "f"), found(2), [replace(HELD, locus="test_x")], [other, change()])
    assert [fix.path for fix in elsewhere] == ["b.py", "a.py"]
    unseen = found(2, ran=frozenset({""})).behind(found(1, "q"))
    assert proven_fixes(found(1, "q"), unseen, [SAID], [change()]) == ()
    assert proven_fixes(found(1, "f"), found(2, milder=frozenset("f")), [HELD], [change()]) == ()


FIX = Fix(
    code="naming",
    locus="a.py",
    fingerprint="q",
    path="a.py",
    blob_before="b1",
    blob_after="b2",
    verified_by="p2",
    tree="t2",
    found_by="review",
    attempt=2,
)
BACK = change(before="b2", after="b1")


def test_a_change_that_takes_a_fix_back_where_nobody_looks_is_a_finding() -> None:
    """QC is asked only when all else is clean, and what it had found must not come back before it."""
    (finding,) = judge_undone([FIX], [BACK], [], ["ruff check ."])
    assert (finding.code, finding.source, finding.blocking, finding.locus) == (
        "fix_undone",
        "oscillation",
        True,
        "a.py",
    )
    assert finding.message == "a.py is again what it was before attempt 2 mended naming at a.py."
    assert judge_undone([replace(FIX, found_by="make slow")], [BACK], [], ["ruff check ."])
    assert judge_undone([FIX], [BACK], [finding], ["ruff check ."]), "having been told so is no leave to do it"


@pytest.mark.parametrize(
    ("fix", "own", "asked_for"),
    [
        (replace(FIX, found_by="ruff check ."), BACK, []),
        (replace(FIX, found_by=""), BACK, []),
        (FIX, change(before="b2", after="b3"), []),
        (FIX, replace(BACK, status="deleted", blob=""), []),
        (replace(FIX, blob_before=""), replace(BACK, status="deleted", blob=""), []),
        (FIX, change("b.py", "b2", "b1"), []),
        (FIX, BACK, [HELD]),
        (FIX, BACK, [replace(SAID, locus="the greeting", required_fix="Take back what was changed in a.py.")]),
    ],
    ids=[
        "its check runs",
        "a gate looks",
        "mended otherwise",
        "deleted",
        "was new",
        "another file",
        "asked for",
        "named",
    ],
)
def test_no_fix_is_a_lock(fix: Fix, own: FileChange, asked_for: list[Finding]) -> None:
    """Whoever looks anyway decides; other content, a deletion, and a file that was to be changed are no regression."""
    assert judge_undone([fix], [own], asked_for, ["ruff check ."]) == ()


def test_the_parser_of_the_standard_library_survives_what_a_fixer_leaves() -> None:
    """Nested as deep as a file may be, it is refused and nothing falls."""
    for text in ("(" * 150_000, "-" * 150_000 + "1", "[" * 90_000 + "]" * 90_000, "f(" * 60_000, "a." * 99_000 + "a"):
        blobs = {"b1": b"x = 1", "b2": text.encode()}
        judge_fix([], [change()], blobs.get)
    assert ast.parse("x = 1")
