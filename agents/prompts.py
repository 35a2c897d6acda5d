"""Assignments as text: lists, fenced data and bounded excerpts, whose whole read_output gives under a name."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from agents.preambles import known_preambles, render_preamble
from agents.transcript import cut
from orchestrator.domain.assignment import DependencyResult, RepeatedCall
from orchestrator.domain.attempt import Check
from orchestrator.domain.finding import Finding
from orchestrator.domain.lives import FindingLife

_MOST_FINDINGS = 20
_SENTENCE = 1_000
_CHECK_CHARS = 4_000
_DEPENDENCY_CHARS = 24_000  # of all dependencies' diffs together
FIX_ADVICE = "overlays/fix"
"""Where what is to be said of findings of one code stands, by the code."""
_FENCE = re.compile(r"`{3,}")


@dataclass(slots=True)
class PromptText:
    """Collects what an assignment shows cut; `kept` holds the whole texts by the name that read_output takes."""

    most_chars: int
    kept: dict[str, str] = field(default_factory=dict)

    def excerpt(self, name: str, text: str, most: int | None = None) -> str:
        """The text as fenced data, cut where it is longer than `most` characters and then kept under `name`."""
        most = min(most or self.most_chars, self.most_chars)
        if len(text) > most:
            self.kept[name] = text
        return fenced(cut(text, most, name))

    def dependencies(self, results: Sequence[DependencyResult]) -> str:
        """What the dependencies left, or nothing."""
        if not results:
            return ""
        each = _DEPENDENCY_CHARS // len(results)
        told = [
            render_preamble(
                "overlays/dependency",
                key=result.key,
                title=result.title,
                files=", ".join(result.files) or "none",
                summary=fenced(cut(result.summary, _SENTENCE * 2)),
                diff=self.excerpt(f"diff-{result.key}", result.diff, each),
            )
            for result in results
        ]
        return render_preamble("overlays/dependencies", results="\n\n".join(told))

    def checks(self, checks: Sequence[Check]) -> str:
        """Commands with their outcome and output."""
        return "\n\n".join(self._check(check, number) for number, check in enumerate(checks, 1)) or "none"

    def _check(self, check: Check, number: int) -> str:
        ended = check.outcome if check.exit_code is None else f"{check.outcome}, exit code {check.exit_code}"
        flaky = " or is flaky" if any(shown.flaky for shown in check.failures) else ""
        why = f", only in what failed before this work{flaky}, so nothing is held against it"
        ended += why if check.as_before else ""
        output = self.excerpt(f"check-{number}", check.output, _CHECK_CHARS)
        return f"{inline(check.command)}: {ended}\n{output}"


def bullets(items: Iterable[str]) -> str:
    """A list, or the word none."""
    return "\n".join(f"- {item}" for item in items) or "none"


def listed(items: Sequence[str]) -> str:
    """Words in one line, or the word none."""
    return ", ".join(items) or "none"


def inline(text: str) -> str:
    """A command in back quotes, which it may hold itself."""
    fence = "``" if "`" in text else "`"
    return f"{fence}{text}{fence}"


def fenced(text: str) -> str:
    """Data in a fence that it cannot close."""
    longest = max((len(match) for match in _FENCE.findall(text)), default=2)
    fence = "`" * (longest + 1)
    return f"{fence}\n{text.rstrip()}\n{fence}" if text.strip() else "(nothing)"


def findings(found: Sequence[Finding]) -> str:
    """The blocking findings first, at most 20, each with what must be done."""
    ordered = sorted(found, key=lambda finding: not finding.blocking)
    more = [f"and {len(ordered) - _MOST_FINDINGS} more"] if len(ordered) > _MOST_FINDINGS else []
    return bullets([*(_finding(finding) for finding in ordered[:_MOST_FINDINGS]), *more])


def _finding(finding: Finding) -> str:
    where = f" at {cut(finding.locus, 200)}" if finding.locus else ""
    told = [f"[{finding.severity}] {finding.code}{where}: {cut(finding.message, _SENTENCE)}"]
    if finding.required_fix and finding.required_fix != finding.message:
        told.append(f"Required: {cut(finding.required_fix, _SENTENCE)}")
    if finding.evidence:
        told.append(f"Evidence: {cut(finding.evidence, _SENTENCE)}")
    return "\n  ".join(told)


def life_lines(found: Sequence[FindingLife]) -> list[str]:
    """One line for each of the findings that are newest, at most 20: what, where, and what became of it."""
    ordered = sorted(found, key=lambda life: -life.marks[-1][0] if life.marks else 0)
    more = [f"and {len(ordered) - _MOST_FINDINGS} more"] if len(ordered) > _MOST_FINDINGS else []
    return [*(f"{each.code} at {cut(each.locus, 200)}: {each.told}" for each in ordered[:_MOST_FINDINGS]), *more]


def fix_advice(found: Iterable[Finding]) -> str:
    """What is known of how to mend findings of these codes; nothing of most. A code may be a model's word, so it is
    looked up among the names that there are."""
    codes = dict.fromkeys(finding.code for finding in found if finding.blocking)
    known = known_preambles(FIX_ADVICE)
    return "\n\n".join(render_preamble(f"{FIX_ADVICE}/{code}") for code in codes if code in known)


def repeated(calls: Sequence[RepeatedCall]) -> str:
    """One line a call: how often, with what, and what came of it. A model wrote the calls, so they stand as data."""
    return fenced("\n".join(f"{call.times} times: {call.tool} {call.arguments} -> {call.result}" for call in calls))


def criteria(groups: Mapping[str, Sequence[str]]) -> str:
    """Verification criteria with their group."""
    return bullets(f"{group}: {text}" for group, texts in groups.items() for text in texts)
