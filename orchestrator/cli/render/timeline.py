"""An attempt's story, and what a failed run ends with."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from itertools import zip_longest

from rich.console import Group, RenderableType
from rich.text import Text

from orchestrator.cli.render.plans import loosened_view
from orchestrator.cli.render.screen import status_text
from orchestrator.cli.render.text import clean, duration, ended_by, error_lines, one_line, spent, token_kinds, tokens
from orchestrator.domain.attempt import Check
from orchestrator.domain.stop_reasons import ATTEMPT_STOPS
from orchestrator.domain.text import counted
from orchestrator.reports.timeline import HeldFinding, Timeline, TimelineCall, TimelineNote, TimelineTurn

TAIL_LINES = 12
MOST_FINDINGS = 20
_ORDINARY = ("stop", "tool_calls", "")
_MARK = {"unique": "", "control": "", "duplicate": "duplicate", "refused": "refused"}


def timeline_view(story: Timeline, *, codes: bool = False) -> RenderableType:
    """The attempt in full: head, steps in order, what was held against it, why it ended (`codes`: with its stop code),
    what next."""
    parts: list[RenderableType] = [_head(story), *loosened_view([(story.task_key, story.assessment)])]
    parts += [turn_view(step) if isinstance(step, TimelineTurn) else note_view(step) for step in story.steps]
    parts += _findings(story.findings)
    parts += [_check(check) for check in story.checks]
    if story.attempt.merge_decision is not None:
        parts.append(Text(f"merge {story.attempt.merge_decision.decision}", "dim"))
    if story.review is not None:
        parts.append(_review(story))
    parts.append(_ending(story, codes=codes))
    return Group(*parts)


def _head(story: Timeline) -> Text:
    attempt = story.attempt
    text = Text.assemble(
        (f"{clean(story.task_key)} #{attempt.number}", "bold"),
        "  ",
        status_text(attempt.status),
        f"  {one_line(story.title, 70)}\n",
    )
    turns = [step for step in story.steps if isinstance(step, TimelineTurn)]
    figures, limit = story.figures, turns[-1].calls_limit if turns else attempt.tool_call_budget
    tokens_, reserved = figures.get("tokens", 0), figures.get("reservedTokens", 0)
    cost, held = figures.get("costUsd", 0.0), figures.get("reservedUsd", 0.0)
    kinds = {kind: figures.get(f"{kind}Tokens", 0) for kind in ("cached", "reasoning")}
    used = spent(tokens_ + reserved, None if cost is None else cost + held, reserved, held, **kinds)
    facts = f"{attempt.id}  {attempt.model}  stage {attempt.stage}  {_turns(turns)}"
    return text.append(f"{facts}  {figures.get('toolCalls', 0)}/{limit} calls  {used}\n", "dim")


def _turns(turns: Sequence[TimelineTurn]) -> str:
    """How many there were, and may be where that is known; those of attempts that it continues are counted there."""
    last = turns[-1] if turns else None
    if last is None or not last.turns_limit:
        return counted(len(turns), "turn")
    return f"{last.turns_used + (last.status == 'replied')}/{last.turns_limit} turns"


def turn_view(turn: TimelineTurn, most_text: int = 160) -> Text:
    """One reply of a model with its calls, of each failed one the first error lines; `most_text` characters of what it
    said."""
    counted_as = f"{turn.turns_used + 1} of {turn.turns_limit}" if turn.turns_limit else f"{turn.number}"
    text = Text.assemble((f"turn {counted_as}", "bold"))
    stall = f"  identical batches {turn.stall_count}" if turn.stall_count > 1 else ""
    compacted = " compacted" if turn.compacted else ""
    spent = f"{tokens(turn.prompt_tokens)}+{tokens(turn.completion_tokens)} tokens"
    spent += token_kinds(reasoning=turn.reasoning_tokens)
    window = f"window {turn.window_messages} messages, {tokens(turn.window_tokens)} tokens{compacted}"
    text.append(f"  {turn.calls_used}/{turn.calls_limit} calls  {window}  {spent}{stall}", "dim")
    text.append("" if turn.finish_reason in _ORDINARY else f"  ended: {clean(turn.finish_reason)}", "yellow")
    text.append("\n")
    if turn.text:
        text.append(f"  {one_line(turn.text, most_text)}\n", "italic" if turn.status == "replied" else "red")
    for call in turn.calls:
        text.append_text(_call(call))
    text.rstrip()
    return text


def _call(call: TimelineCall) -> Text:
    text = Text(f"  {call.seq:>4} {clean(call.tool)} {arguments_line(call.arguments)}  ")
    text.append(f"{call.signature[:8]} ", "dim")
    mark = _MARK[call.uniqueness] or (call.status if call.status != "ok" else "")
    text.append(mark, "red" if mark in ("refused", "error") else "yellow")
    failed = call.status == "error"
    if call.why and not failed:
        text.append(f" {one_line(call.why, 400)}", "dim")
    lines = error_lines(call.result) if failed else []
    return text.append("".join(f"\n       | {line}" for line in lines), "red").append("\n")


def arguments_line(arguments: str) -> str:
    """A call's arguments in one line: its values where they are few, else the JSON."""
    try:
        values = json.loads(arguments)
    except (ValueError, RecursionError):
        return one_line(arguments, 80)
    if not isinstance(values, dict):
        return one_line(arguments, 80)
    return one_line(" ".join(f"{value}" for value in values.values()), 80)


def note_view(note: TimelineNote) -> Text:
    """What happened beside the turns, in one line."""
    style = {"stop": "red", "refuse": "red", "warn": "yellow"}.get(note.verdict, "cyan")
    seen = "" if note.observed is None else f" ({note.observed:g} seen, limit {note.limit:g})"
    verdict = f" {note.verdict}" if note.verdict else ""
    return Text.assemble(
        (f"  {note.seq:>4} {note.kind} {clean(note.what)}{verdict}", style), f": {clean(note.text)}{seen}"
    )


def _findings(found: Sequence[HeldFinding]) -> Iterator[Text]:
    """The first of them, and how many more there are. What several in a row have to be mended by is said once."""
    shown = found[:MOST_FINDINGS]
    for finding, after in zip_longest(shown, shown[1:]):
        yield _finding(finding, fix=after is None or after.required_fix != finding.required_fix)
    if len(found) > len(shown):
        yield Text(f"and {counted(len(found) - len(shown), 'more finding')}: --json has all")


def _finding(finding: HeldFinding, *, fix: bool) -> Text:
    where = f" at {clean(finding.locus)}" if finding.locus else ""
    text = Text.assemble((f"{finding.severity} {clean(finding.code)}", "red"), f"{where}: {clean(finding.message)}")
    return text.append(f"\n  fix: {clean(finding.required_fix)}") if fix and finding.required_fix else text


def _check(check: Check) -> Text:
    code = "" if check.exit_code is None else f" (exit {check.exit_code})"
    what = {"review": "QC's evidence ", "merge": "check of the merge ", "fixer": "fixer "}.get(check.phase, "check ")
    text = Text.assemble(
        what, status_text(check.outcome), f" {clean(check.command)}{code} {duration(check.duration_ms)}"
    )
    return text if check.outcome == "passed" else text.append(f"\n{tail(check.output)}", "dim")


def tail(output: str) -> str:
    """The last lines of an output, indented."""
    lines = clean(output).rstrip().splitlines()[-TAIL_LINES:]
    return "\n".join(f"  | {line}" for line in lines)


def _review(story: Timeline) -> Text:
    review = story.review
    assert review is not None  # noqa: S101 - the caller looked
    verdict = {True: "passed", False: "failed", None: "gave no verdict"}[review.passed]
    text = Text.assemble(
        "QC ", status_text(verdict), f" {'' if review.score is None else review.score} ({clean(review.model)})"
    )
    for criterion in review.criteria:
        judged = {True: "yes", False: "no", None: "could not be judged"}[criterion.passed]
        text.append(f"\n  {judged}: {one_line(criterion.text, 100)} [{one_line(criterion.evidence, 100)}]")
    text.append(f"\n  {clean(review.feedback)}" if review.feedback else "")
    return text.append(f"\n  its conversation: orchestrate show {review.id}")


def _ending(story: Timeline, *, codes: bool) -> Text:
    attempt = story.attempt
    text = Text.assemble("\n", ("ended: ", "bold"), ended_by(attempt.stop_reason, codes=codes) or "not yet")
    if attempt.stop_detail:
        text.append(f". {clean(attempt.stop_detail)}")
    for action in _actions(story):
        text.append(f"\nadvice: {clean(action)}")
    for command in story.next:
        text.append(f"\nnext: {clean(command)}")
    text.append(f"\ndiff: orchestrate show {attempt.id} --diff")
    calls = [call for step in story.steps if isinstance(step, TimelineTurn) for call in step.calls]
    if calls:
        text.append(f"\na call in full: orchestrate show {attempt.id} --call {calls[-1].seq}")
    return text


def _actions(story: Timeline) -> list[str]:
    """What can be done next: as diagnosed, else as the taxonomy of ends has it, unless the detail says so already."""
    diagnosed = list(story.diagnosis.get("actions") or [])
    known = [reason.next_step for code, reason in ATTEMPT_STOPS.items() if code == story.attempt.stop_reason]
    said = story.attempt.stop_detail or ""
    return [action for action in diagnosed or known if action not in said]


def failure_text(story: Timeline, *, codes: bool = False) -> str:
    """What a failed execute ends with: the task, its cause, the last failing output, the diff, the next command."""
    attempt = story.attempt
    cause = one_line(attempt.stop_detail or story.diagnosis.get("summary") or "", 400)
    lines = [f"Task {clean(story.task_key)} failed: {ended_by(attempt.stop_reason, codes=codes)}. {cause}".rstrip()]
    lines += _last_output(story)
    lines.append(f"Its story:  orchestrate show {attempt.id}")
    lines.append(f"Its diff:   orchestrate show {attempt.id} --diff")
    lines += [f"Next:       {clean(command)}" for command in story.next]
    return "\n".join(lines)


def _last_output(story: Timeline) -> list[str]:
    failed = [check for check in story.checks if check.outcome != "passed" and check.phase not in ("review", "fixer")]
    if failed:
        return [f"{clean(failed[-1].command)} said:", tail(failed[-1].output)]
    if story.findings:
        worst = story.findings[-1]
        return [f"{worst.source} found {clean(worst.code)}: {one_line(worst.message, 300)}"]
    calls = [call for step in story.steps if isinstance(step, TimelineTurn) for call in step.calls]
    wrong = [call for call in calls if call.status == "error"]
    if not calls:
        return []
    last, which = (wrong[-1], "failed call") if wrong else (calls[-1], "call")
    return [f"The last {which} was {clean(last.tool)} {arguments_line(last.arguments)}:", tail(last.result)]
