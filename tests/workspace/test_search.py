"""Listing and searching a worktree."""

from __future__ import annotations

import pytest

from orchestrator.domain.errors import ToolError
from orchestrator.workspace import search
from orchestrator.workspace.worktree import Worktree


def test_files_are_tracked_and_untracked_but_not_ignored(workspace: Worktree) -> None:
    """Ignored and deleted files are not listed, an untracked folder counts with its files."""
    workspace.write("fresh/new.py", b"")
    (workspace.place.tree / "x.log").write_text("ignored")
    workspace.delete("README.md")
    assert workspace.files() == (".gitignore", "app/deep/er/leaf.txt", "app/main.py", "fresh/new.py")
    assert workspace.files("app/deep") == ("app/deep/er/leaf.txt",)
    assert workspace.files("nowhere") == ()


@pytest.mark.parametrize(
    ("path", "glob", "found"),
    [
        (".", "*.py", ("app/main.py",)),
        (".", "**/*.txt", ("app/deep/er/leaf.txt",)),
        (".", "app/*.py", ("app/main.py",)),
        (".", "app/*.txt", ()),
        ("app", "**/leaf.*", ("app/deep/er/leaf.txt",)),
        ("app", "main.py", ("app/main.py",)),
        ("[a]pp", "*.py", ()),
    ],
)
def test_globs(workspace: Worktree, path: str, glob: str, found: tuple[str, ...]) -> None:
    """`**` crosses folders, `*` does not; a glob without a slash matches at any depth."""
    assert workspace.files(path, glob) == found


def test_search_finds_lines_with_their_numbers(workspace: Worktree) -> None:
    """`path:line:text` of matching lines, untracked files included, binary ones not."""
    workspace.write("b.txt", b"one\nt\xc3\xa9wo 22\n")
    workspace.write("bin", b"\0two 22")
    assert workspace.search(r"\w+o \d+$") == ("b.txt:2:téwo 22",)
    assert workspace.search("leaf", "app") == ("app/deep/er/leaf.txt:1:leaf",)
    assert workspace.search("leaf", ".", "*.py") == ()


def test_search_refuses_what_is_no_pattern(workspace: Worktree) -> None:
    """A pattern that does not compile is an error with git's reason."""
    with pytest.raises(ToolError, match=r"'\(' cannot be searched for: .*parenthes"):
        workspace.search("(")
    with pytest.raises(ToolError, match="empty"):
        workspace.search("")


def test_option_is_a_pattern(workspace: Worktree) -> None:
    """A pattern that looks like an option is searched for."""
    workspace.write("o", b"use --open-files-in-pager=x now\n")
    assert workspace.search("--open-files-in-pager=x") == ("o:1:use --open-files-in-pager=x now",)


def test_results_are_bounded_and_say_so(workspace: Worktree) -> None:
    """At most 500 lines, each cut; the last line says that there is more."""
    workspace.write("many", b"needle " + b"x" * 1_000 + b"\n" + b"needle\n" * 600)
    found = workspace.search("needle")
    assert len(found) == search.MOST_LINES + 1
    assert found[0].endswith("…")
    assert "first 500" in found[-1]


def test_search_ends_when_its_time_is_up(workspace: Worktree, monkeypatch: pytest.MonkeyPatch) -> None:
    """A search over endless matches is ended, and its last line says so."""
    monkeypatch.setattr(search, "SEARCH_TIMEOUT_S", 0.0)
    workspace.write("many", b"aaaa\n" * 400_000)
    assert "stopped after 0 seconds" in workspace.search("(a*)*b")[-1]
