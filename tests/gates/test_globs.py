"""Path globs of the scope gate."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from orchestrator.domain.globs import allows, literal, matches, matches_any, paths_in_words

MATCHING = [
    ("x", "**/x"),
    ("a/x", "**/x"),
    ("a/b/x", "**/x"),
    ("a/b", "a/**/b"),
    ("a/c/d/b", "a/**/b"),
    ("src/f", "src"),
    ("src/f", "src/"),
    ("src/a/b/f", "src"),
    ("src", "src"),
    ("app/x", "app/**"),
    ("app/x/y", "app/**"),
    ("app/x.py", "app/*.py"),
    ("app/x.py", "./app//*.py"),
    ("./app/x.py", "app/*.py"),
    ("a1.py", "a[0-9].py"),
    ("ab.py", "a[!0-9].py"),
    ("ab.py", "a[^0-9].py"),
    ("a].py", "a[]].py"),
    ("a-.py", "a[x-].py"),
    ("a[.py", "a[.py"),
    ("a*.py", "a\\*.py"),
    ("packages/one/src/f", "packages/*/"),
    ("é file\n", "é file\n"),
    ("anything/at/all", "**"),
    ("a/b/a/b/c", "**/a/b/c"),
    ("a/x/b/y/c", "a/**/b/**/c"),
    ("tests/deep/test_x.py", "tests/**/test_*.py"),
]
REFUSED = [
    ("srcx/f", "src"),
    ("srcx/f", "src/"),
    ("a/src/f", "src"),
    ("app", "app/**"),
    ("app/sub/x.py", "app/*.py"),
    ("sub/x.py", "*.py"),
    ("app/sub/x", "app/*"),
    ("ab.py", "a[0-9].py"),
    ("ab.py", "a\\*.py"),
    ("SRC/f", "src"),
    ("a/c", "a/**/b"),
    ("x", ""),
    ("x", " "),
    ("", "**"),
    ("a/b/c", "**/b"),
]


@pytest.mark.parametrize(("path", "pattern"), MATCHING)
def test_pattern_matches(path: str, pattern: str) -> None:
    """A glob reaches the paths that it names."""
    assert matches(path, pattern)


@pytest.mark.parametrize(("path", "pattern"), REFUSED)
def test_pattern_refuses(path: str, pattern: str) -> None:
    """A glob reaches no more than it names."""
    assert not matches(path, pattern)


def test_plus_pattern_allows_only_new_files() -> None:
    """`+dir/*` lets a task add files beside its own, and change none that was there."""
    allowed = ("app/health.py", "+app/*")
    assert allows("app/health.py", allowed, existed=True)
    assert allows("app/new.py", allowed, existed=False)
    assert not allows("app/main.py", allowed, existed=True)
    assert not allows("app/sub/new.py", allowed, existed=False)


def test_name_with_leading_plus_is_reached_by_its_literal() -> None:
    """A file whose name starts with a plus is not mistaken for a new-files pattern."""
    assert allows("+page.svelte", (literal("+page.svelte"),), existed=True)


def test_ignored_paths_win() -> None:
    """What is ignored is no violation, whatever the allowed paths say."""
    assert allows("build/x", ("src",), existed=False, ignored_paths=("build/",))
    assert not allows("build/x", ("src",), existed=False)
    assert matches_any("build/x", ("src", "build"))


names = st.text(alphabet="ab[]*?\\+.é -", min_size=1, max_size=6).filter(lambda n: n not in (".", "..") and n.strip())
paths = st.lists(names, min_size=1, max_size=4).map("/".join)
patterns = st.lists(st.one_of(st.just("**"), st.text(alphabet="ab*?", min_size=1, max_size=5)), min_size=1, max_size=4)


@given(paths)
def test_literal_matches_its_own_path(path: str) -> None:
    """The literal of any path matches that path."""
    assert allows(path, (literal(path),), existed=True)


@given(paths, paths)
def test_literal_matches_no_other_path(path: str, other: str) -> None:
    """The literal of a path matches only it and what is below."""
    assert matches(other, literal(path)) == (other == path or other.startswith(path + "/"))


@given(paths)
def test_folder_pattern_is_a_prefix_by_parts(path: str) -> None:
    """A folder's pattern takes everything below, and no sibling whose name only starts alike."""
    assert matches(f"{path}/f", literal(path) + "/")
    assert not matches(f"{path}x/f", literal(path) + "/")


def _as_regex(parts: list[str]) -> str:
    """The same rule as a backtracking regular expression: what the matcher is compared with, on short input."""
    out = ""
    for index, part in enumerate(parts):
        last = index == len(parts) - 1
        if set(part) == {"*"} and len(part) == 2:
            out += ".+" if last else "(?:[^/]+/)*"
        else:
            out += re.escape(part).replace(r"\*", "[^/]*").replace(r"\?", "[^/]") + ("" if last else "/")
    return out + ("" if any(c in "*?" for p in parts for c in p) else "(?:/.*)?")


@given(st.lists(st.text(alphabet="ab", min_size=1, max_size=4), min_size=1, max_size=5), patterns)
def test_matcher_agrees_with_the_rule_as_a_regular_expression(parts: list[str], pattern: list[str]) -> None:
    """Any pattern means what its plain translation means."""
    path = "/".join(parts)
    assert matches(path, "/".join(pattern)) == bool(re.fullmatch(_as_regex(pattern), path))


def test_hostile_pattern_ends_soon() -> None:
    """A pattern that would blow up a regular expression takes steps of path times pattern only."""
    assert not matches("a" * 2_000, "*a" * 200 + "b")
    assert not matches("/".join("a" * 300), "/".join(["**", "a"] * 100) + "/b")


def test_allowed_paths_are_told_in_words() -> None:
    """What a plus means is said to workers, QC and users, who did not write the plan."""
    assert paths_in_words(["calc.py", "+*", "+docs/*"]) == "calc.py, * (new files only), docs/* (new files only)"
    assert paths_in_words([]) == ""
