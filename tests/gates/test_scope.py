"""The scope gate over what changed between two trees."""

from __future__ import annotations

from dataclasses import replace

import pytest

from orchestrator.domain.workspace import FileChange
from orchestrator.gates.scope import judge_effect, judge_outputs, judge_scope, judge_size

CHANGE = FileChange(path="app/a.py", status="modified", added=1, removed=1, blob="b", kind="file", substantive=True)


def codes(*changes: FileChange, allowed: tuple[str, ...] = ("app/**",)) -> list[str]:
    """The codes of the findings."""
    return [finding.code for finding in judge_scope(changes, allowed)]


def test_a_change_inside_the_allowed_paths_is_no_finding() -> None:
    """app/** covers app/a.py."""
    assert codes(CHANGE) == []


def test_both_sides_of_a_rename_are_judged() -> None:
    """A rename is a deletion and an addition; the side outside is a violation."""
    moved = (replace(CHANGE, status="deleted"), replace(CHANGE, path="lib/a.py", status="added"))
    assert codes(*moved) == ["out_of_scope"]


@pytest.mark.parametrize("path", ["app/é file.py", "app/new\nline.py", "app/a b.py"])
def test_unusual_names_are_matched_exactly(path: str) -> None:
    """Spaces, accents and newlines are part of the name."""
    assert codes(replace(CHANGE, path=path)) == []
    assert codes(replace(CHANGE, path=path), allowed=("lib/**",)) == ["out_of_scope"]


@pytest.mark.parametrize(("allowed", "found"), [(("**",), ["settings_file"]), (("**", "orchestrate.toml"), [])])
def test_the_settings_of_later_runs_change_only_where_the_task_names_them(
    allowed: tuple[str, ...], found: list[str]
) -> None:
    """A worker that may write beside its files does not loosen the bounds under which the next one works."""
    assert codes(replace(CHANGE, path="orchestrate.toml", status="added"), allowed=allowed) == found


def test_new_file_patterns_do_not_cover_what_existed() -> None:
    """`+app/*` allows new files beside the written ones, and no change to old ones."""
    assert codes(replace(CHANGE, status="added"), allowed=("+app/*",)) == []
    assert codes(CHANGE, allowed=("+app/*",)) == ["out_of_scope"]


@pytest.mark.parametrize("name", [".gitignore", ".gitattributes", ".gitmodules", "app/.gitignore"])
def test_what_git_sees_is_changed_only_when_named(name: str) -> None:
    """A task must name .gitignore and the like to change them; a glob does not."""
    change = replace(CHANGE, path=name)
    assert codes(change, allowed=("**",)) == ["git_settings"]
    assert codes(change, allowed=("**", name)) == []


@pytest.mark.parametrize(
    ("target", "escapes"),
    [("b.py", False), ("../lib/b.py", False), ("../../x", True), ("/etc/passwd", True), ("../.git/config", True)],
)
def test_a_symlink_may_not_lead_outside(target: str, escapes: bool) -> None:
    """In scope or not, a link out of the repository or into .git is a violation."""
    found = codes(replace(CHANGE, kind="symlink", link_target=target))
    assert found == (["symlink_escape"] if escapes else [])


def test_a_nested_repository_is_a_violation() -> None:
    """A gitlink hides what changes inside it."""
    assert codes(replace(CHANGE, kind="gitlink")) == ["nested_repository"]


@pytest.mark.parametrize(("files", "lines", "expected"), [(3, 10, []), (2, 10, ["files"]), (3, 5, ["lines"])])
def test_the_diff_budget_allows_its_limit_and_no_more(files: int, lines: int, expected: list[str]) -> None:
    """Three changed files are fine under a limit of three; four, or too many lines, are not."""
    changes = [replace(CHANGE, path=f"app/{n}.py") for n in range(3)]
    assert [finding.locus for finding in judge_size(changes, files, lines)] == expected


def test_a_declared_output_must_exist() -> None:
    """A missing output file keeps the task open without a QC call."""
    assert [f.locus for f in judge_outputs(("a.py", "b.py"), {"a.py"})] == ["b.py"]


def test_fingerprints_do_not_depend_on_the_message() -> None:
    """The same path out of scope is the same finding, however many lines changed."""
    one = judge_scope([replace(CHANGE, path="x")], ())[0]
    other = judge_scope([replace(CHANGE, path="x", status="added", added=9)], ())[0]
    assert one.fingerprint == other.fingerprint


def test_a_task_that_declares_what_it_writes_and_changes_nothing_is_no_work() -> None:
    """No artefacts fail without a QC call; a task that declares none may leave all as it was."""
    assert [finding.code for finding in judge_effect((), ("a.py",))] == ["no_change"]
    assert judge_effect((), ()) == ()
    assert judge_effect((CHANGE,), ("app/a.py",)) == ()
