"""Flaky tests: what would be a new failure is looked at again, by running its tests alone where their tool can do that.

Only a plain command is narrowed, of a tool whose options are known: what a shell makes of pipes and variables, and what
`make test` runs, nobody can tell. Which tests ran and which failed is read as ever, so an option that is understood
differently confirms a failure and excuses none.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import replace

from orchestrator.domain.attempt import Check
from orchestrator.domain.failure import ShownFailure
from orchestrator.domain.finding import Finding
from orchestrator.gates.answer import Answer
from orchestrator.gates.baseline import compare
from orchestrator.gates.checks import failure_line
from orchestrator.gates.finding import make_finding

MOST_CONFIRMED = 20
"""New failures of one check: more of them at once are no accident."""

Words = Sequence[str]
_QUOTED = re.compile(r"""'[^']*'|"[^"$`\\]*\"""")
_SHELLS = frozenset("|&;<>()$`\\\"'*?[]{}~#!\n\r")
_ASSIGNMENT = re.compile(r"[A-Za-z_]\w*=")
_PYTHON = re.compile(r"(?:\S*/)?python[\d.]*$")
_RUNNERS = (("uv", "run"), ("poetry", "run"), ("pipenv", "run"), ("pdm", "run"), ("rye", "run"))
_PYTEST = ("pytest", "py.test")
_PYTEST_FLAG = re.compile(r"-[qvxslra]+|-r[A-Za-z]+|--[\w-]+=\S+")
_PYTEST_FLAGS = frozenset({"--exitfirst", "--quiet", "--verbose", "--strict-markers", "--strict-config", "--no-header"})
_PYTEST_WITH_VALUE = frozenset(
    {"-p", "-k", "-m", "-n", "-c", "-o", "-W", "--tb", "--rootdir", "--maxfail", "--timeout"}
)
_GO_OTHERWISE = frozenset({"-run", "-skip", "-json", "-args", "-c", "-list"})
_NODE_SPECIAL = re.compile(r"[\^$\\.*+?()\[\]{}|/]")


def suspects(check: Check, base: Check | None) -> tuple[ShownFailure, ...]:
    """The new failures of a check that are worth another look."""
    new = compare(check, base).new if check.outcome == "failed" else ()
    return new if len(new) <= MOST_CONFIRMED else ()


def alone(command: str, shown: Iterable[ShownFailure]) -> str | None:
    """The command that runs the tests of these failures and, as far as the tool can, no others; None where that is not
    certain."""
    plain = _SHELLS.isdisjoint(_QUOTED.sub("", command))
    words = shlex.split(command) if plain else []
    at = next((number for number, word in enumerate(words) if not _ASSIGNMENT.match(word)), 0)
    before = [f"{name}={shlex.quote(value)}" for name, _, value in (word.partition("=") for word in words[:at])]
    if tuple(words[at : at + 2]) in _RUNNERS:
        before, at = [*before, *words[at : at + 2]], at + 2
    names = sorted({each.failure.test_name for each in shown if _is_name(each.failure.test_name)})
    narrowed = (narrow(words[at:], names) for narrow in _TOOLS) if names else ()
    return next((" ".join((*before, found)) for found in narrowed if found), None)


def passed_alone(answer: Answer) -> frozenset[str]:
    """The tests that ran and did not fail, as far as the tool names them."""
    failed = {each.failure.test for each in answer.failures}
    return frozenset(answer.tests.ran if answer.tests else ()) - failed


def with_flaky(check: Check, passed: Collection[str]) -> Check:
    """The check, where failures of these tests are flaky."""
    return replace(
        check,
        failures=tuple(replace(each, flaky=each.flaky or each.failure.test in passed) for each in check.failures),
    )


def judge_flaky(checks: Iterable[Check]) -> Iterator[Finding]:
    """One finding for each flaky failure, which blocks nothing."""
    for check in checks:
        for each in check.failures:
            if each.flaky:
                test = each.failure.test
                message = f"{failure_line(each.failure)} (flaky: it passed when it was run again over the same files)"
                fix = f"Make {test} pass each time that it runs, if that is this task's to do."
                found = make_finding("check", "flaky", test, message, fix, severity="warning")
                yield replace(found, evidence=each.excerpt, count=each.count)


def _pytest(words: Words, names: Words) -> str | None:
    """The tests' ids in place of what else would be collected."""
    at = 1 if words and words[0].rpartition("/")[2] in _PYTEST else _module(words, *_PYTEST)
    tests = [name for name in names if "::" in name]
    if not at or not tests:
        return None
    program, given, kept = words[:at], words[at:], list[str]()
    rest = list(given)
    while rest:
        word = rest.pop(0)
        if word in _PYTEST_WITH_VALUE and rest:
            kept += (word, rest.pop(0))
        elif word in _PYTEST_FLAGS or _PYTEST_FLAG.fullmatch(word):
            kept.append(word)
        elif word.startswith("-"):
            return None  # whether the next word is its value, nobody knows
    return shlex.join((*program, *kept, *tests))


def _unittest(words: Words, names: Words) -> str | None:
    """The same call with a pattern for each test, and with names told."""
    at = _module(words, "unittest")
    tests = [name.partition(" ")[0] for name in names]  # without the parameters of a subtest
    patterns = [word for test in dict.fromkeys(tests) for word in ("-k", test)]
    return shlex.join((*_not_quiet(words), "-v", *patterns)) if at else None


def _go(words: Words, names: Words) -> str | None:
    """The tests by their names, with all their subtests."""
    given = words[2:]
    if tuple(words[:2]) != ("go", "test") or any(_flag(word) in _GO_OTHERWISE for word in given):
        return None
    tests = sorted({name.partition("/")[0] for name in names})
    return shlex.join(("go", "test", "-count=1", "-v", "-run", f"^({'|'.join(map(re.escape, tests))})$", *given))


def _node(words: Words, names: Words) -> str | None:
    """A pattern for each test and each that it is a part of."""
    if list(words[:2]) != ["node", "--test"]:
        return None
    titles = sorted({title for name in names for title in name.split(" > ")})
    patterns = (f"--test-name-pattern={_NODE_SPECIAL.sub(_escaped, title)}$" for title in titles)
    return shlex.join(("node", "--test", *patterns, *words[2:]))


def _cargo(words: Words, names: Words) -> str | None:
    """The tests by their names, whatever binary has them."""
    if list(words[:2]) != ["cargo", "test"]:
        return None
    at = words.index("--") if "--" in words else len(words)
    return shlex.join((*_not_quiet(words[:at]), "--", *words[at + 1 :], "--exact", *names))


_TOOLS: tuple[Callable[[Words, Words], str | None], ...] = (_pytest, _unittest, _go, _node, _cargo)


def _module(words: Words, *names: str) -> int:
    """Where the arguments of a module of Python's begin; 0 where another one is called."""
    called = len(words) > 2 and _PYTHON.match(words[0]) and words[1] == "-m" and words[2] in names
    return 3 if called else 0


def _is_name(name: str) -> bool:
    """Whether it can be given as an argument that is no option."""
    return bool(name) and name.isprintable() and not name.startswith("-")


def _not_quiet(words: Words) -> list[str]:
    """The words without what keeps a tool from naming tests that pass."""
    return [word for word in words if word not in ("-q", "--quiet")]


def _flag(word: str) -> str:
    return re.sub(r"^--?(?:test\.)?", "-", word).partition("=")[0]


def _escaped(found: re.Match[str]) -> str:
    return f"\\{found[0]}"
