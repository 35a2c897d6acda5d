"""Fixers: commands of the user's that mend findings before a model is asked. Which of them are due, and whether what
one of them changed may stay."""

from __future__ import annotations

import ast
import json
import tomllib
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from typing import Protocol, TypeVar

from orchestrator.domain.attempt import Check
from orchestrator.domain.finding import Finding
from orchestrator.domain.workspace import FileChange

_LARGEST_PARSED = 200_000  # bytes of a file
_PARSERS: Mapping[str, Callable[[str], object]] = {"py": ast.parse, "json": json.loads, "toml": tomllib.loads}


class FixerRule(Protocol):
    """A finding's code or a verification command, and the command that mends it."""

    @property
    def code(self) -> str: ...
    @property
    def check(self) -> str: ...
    @property
    def command(self) -> str: ...


_Rule = TypeVar("_Rule", bound=FixerRule)


def due_fixers(rules: Iterable[_Rule], findings: Iterable[Finding], checks: Iterable[Check]) -> tuple[_Rule, ...]:
    """The rules for what blocks, by a finding's code or by one of the checks that failed; each command once, in their
    order."""
    codes = {finding.code for finding in findings if finding.blocking}
    failed = {check.command for check in checks}
    due = {rule.command: rule for rule in rules if rule.code in codes or rule.check in failed}
    return tuple(due.values())


def unmended(findings: Iterable[Finding], rules: Iterable[FixerRule], used: Collection[str]) -> tuple[Finding, ...]:
    """What blocks and neither a check would tell anew nor one of the `used` commands was for, by any rule: a model has
    to be asked."""
    codes = {rule.code for rule in rules if rule.code and rule.command in used}
    return tuple(found for found in findings if found.blocking and found.source != "check" and found.code not in codes)


def judge_fix(
    findings: Iterable[Finding], changes: Collection[FileChange], content: Callable[[str], bytes | None]
) -> str:
    """Why what a fixer changed may not stay: what the gates hold against it, or a file that it broke; empty where it
    may. `content` gives a file's bytes by its blob."""
    held = next((finding.message for finding in findings if finding.blocking), "")
    return held or next(_broken(changes, content), "")


def _broken(changes: Iterable[FileChange], content: Callable[[str], bytes | None]) -> Iterator[str]:
    for change in changes:
        if change.status != "modified" or change.kind == "symlink":
            continue
        before, after = _text(content(change.before)), _text(content(change.blob))
        if before is not None and after is None:
            yield f"{change.path} is no text any more."
        elif before and not (after or "").strip():
            yield f"{change.path} is empty now."
        elif _parses(change.path, before) and not _parses(change.path, after):
            yield f"{change.path} does not parse any more."


def _text(content: bytes | None) -> str | None:
    try:
        return None if content is None or b"\0" in content else content.decode("utf-8")
    except UnicodeDecodeError:
        return None


def _parses(path: str, text: str | None) -> bool:
    parse = _PARSERS.get(path.rpartition(".")[2])
    if parse is None or text is None or len(text) > _LARGEST_PARSED:
        return False
    try:
        parse(text)
    except (ValueError, SyntaxError, RecursionError, MemoryError):
        return False
    return True
