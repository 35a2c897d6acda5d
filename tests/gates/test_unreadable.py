"""Work that nobody could look at."""

from __future__ import annotations

from dataclasses import replace

import pytest

from orchestrator.domain.workspace import FileChange
from orchestrator.gates.delivered import runs_later
from orchestrator.gates.finding import MOST_OF_A_CODE, make_finding, summed_up
from orchestrator.gates.unreadable import judge_git_directories, judge_readable, judge_secrets

NEW = FileChange(path="app.js", status="added", added=0, removed=0, blob="b", kind="file", binary=True, size=10)
LIMIT = 1_000


@pytest.mark.parametrize(
    ("change", "found"),
    [
        (NEW, ["hidden_change"]),
        (replace(NEW, path="sub/Makefile"), ["hidden_change"]),
        (replace(NEW, path="out.db.js"), ["hidden_change"]),
        (replace(NEW, path="logo.PNG"), []),
        (replace(NEW, path="named.raw"), []),
        (replace(NEW, binary=False), []),
        (replace(NEW, status="modified"), ["hidden_change"]),
        (replace(NEW, status="modified", path="logo.png"), ["hidden_change"]),
        (replace(NEW, status="modified", was_binary=True), []),
        (replace(NEW, status="deleted", size=0), []),
        (replace(NEW, path="logo.png", size=LIMIT + 1), ["file_size"]),
        (replace(NEW, binary=False, size=LIMIT), []),
    ],
)
def test_text_is_not_made_binary_and_files_are_not_too_large(change: FileChange, found: list[str]) -> None:
    """A NUL byte makes git show no line of a file, which an interpreter runs all the same: only kinds of files that
    are binary as such, and what the task names, may be new and binary."""
    assert [finding.code for finding in judge_readable([change], ["named.raw"], LIMIT)] == found


@pytest.mark.parametrize(
    ("paths", "found"),
    [
        (["gd/HEAD", "gd/config", "gd/objects/x", "gd/refs/y"], ["gd/HEAD"]),
        (["a/b/head", "a/b/REFS/heads/main"], ["a/b/head"]),
        (["gd/HEAD", "gd/commondir"], ["gd/HEAD"]),
        (["HEAD", "objects/x"], ["HEAD"]),
        (["docs/HEAD", "objects/x.py"], []),
        (["objects/x.py", "refs/y.md"], []),
    ],
)
def test_what_git_would_take_for_a_repository_is_found(paths: list[str], found: list[str]) -> None:
    """`git status` in such a folder runs the programs that its configuration names."""
    changes = [replace(NEW, path=path) for path in paths]
    assert [finding.locus for finding in judge_git_directories(changes)] == found


def test_a_written_secret_blocks() -> None:
    """The value itself is in no finding."""
    (finding,) = judge_secrets(["config.py"])
    assert (finding.code, finding.locus, finding.blocking) == ("secret_written", "config.py", True)


def test_thousands_of_findings_of_one_kind_are_a_hundred_and_one_for_the_rest() -> None:
    """What the rest are still makes another set of failures; other kinds stay whole and in their order."""
    many = [make_finding("scope", "out_of_scope", f"f{number:05}", "Out.", "Back.") for number in range(20_000)]
    one = make_finding("diff_budget", "diff_budget", "files", "Too many.", "Fewer.")
    kept = list(summed_up([*many, one]))
    assert [finding.code for finding in kept] == ["out_of_scope"] * (MOST_OF_A_CODE + 1) + ["diff_budget"]
    rest = kept[MOST_OF_A_CODE]
    assert (rest.count, rest.locus, rest.message) == (19_900, "", "Out. And 19,899 more of the same kind.")
    assert list(summed_up([*many[:-1], one]))[MOST_OF_A_CODE].fingerprint != rest.fingerprint
    assert list(summed_up(many[:3])) == many[:3]


def test_files_that_execute_by_themselves_are_told_apart() -> None:
    """Wherever they stand; ordinary code, tests and texts are not among them."""
    quiet = ("app/main.py", "tests/test_main.py", "README.md", "docs/hooks.md", "data.json")
    loud = (
        *("Dockerfile", "Makefile", "orchestrate.toml", "package.json", "pyproject.toml", "setup.py", ".envrc"),
        *(".github/workflows/ci.yml", ".husky/pre-commit", ".vscode/tasks.json", "conftest.py", "sub/.npmrc"),
        *("sitecustomize.py", ".pre-commit-config.yaml", ".gitlab-ci.yml", "justfile", "tox.ini", "build.rs"),
    )
    assert set(runs_later((*quiet, *loud))) == set(loud)
