"""A run's report in Markdown. What models and repositories wrote stands in it as text: nothing of it is markup."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from orchestrator.cli.render.text import came_to, count, duration, ended_by, money, one_line, spent_in_all, tokens
from orchestrator.domain.lives import FindingLife
from orchestrator.domain.query import ResultRow
from orchestrator.reports.run_report import RunReport, SuccessFigures, TaskReport

_MARKUP = re.compile(r"([\\`*\[\]<>|~$&])")
_LONGEST = 2_000
_MOST_LIVES = 50


def run_report_markdown(report: RunReport) -> str:
    """The whole report, with a newline at its end."""
    lines = [*_head(report), *_figures(report.figures), *_overview(report.tasks)]
    for task in report.tasks:
        lines += _task(task) if task.attempts else []
    return "\n".join(lines) + "\n"


def _plain(text: object, width: int = _LONGEST) -> str:
    """A text as one line that is no markup."""
    return _MARKUP.sub(r"\\\1", one_line(text, width))


def _row(*cells: object) -> str:
    return f"| {' | '.join(str(cell) for cell in cells)} |"


def _head(report: RunReport) -> Iterator[str]:
    run = report.run
    yield f"# Run {run.id}: {run.status}"
    yield ""
    yield _plain(report.plan.goal)
    yield ""
    yield f"- plan: {run.plan_id}"
    yield f"- branch: {_plain(run.branch)}, from {run.base_commit} to {run.head_commit}"
    yield f"- began: {run.started_at.isoformat()}"
    yield f"- ended: {run.finished_at.isoformat() if run.finished_at else 'not yet'}"
    yield f"- spent: {spent_in_all(report.spend)}"


def _figures(found: SuccessFigures) -> Iterator[str]:
    known = {
        "success rate": None if found.success_rate is None else f"{found.success_rate:.0%}",
        "spirals per 100 tasks (attempts that a guard stopped)": count(found.spirals_per_100),
        "median calls of a task": None if found.median_calls is None else f"{found.median_calls:g}",
        "tasks over 100 calls": str(found.over_100_calls),
        "median time from onset to stop": duration(found.onset_ms),
    }
    yield from ("", "## Figures", "", _row("figure", "value"), _row("---", "---"))
    yield _row("tasks tried, completed, failed", f"{found.tried}, {found.completed}, {found.failed}")
    yield from (_row(name, value or "none") for name, value in known.items())


def _overview(tasks: Sequence[TaskReport]) -> Iterator[str]:
    yield from ("", "## Tasks", "")
    yield _row("task", "status", "attempts", "calls", "tokens", "cost", "QC", "why")
    yield _row(*["---"] * 8)
    for task in tasks:
        state, rows = task.state, task.attempts
        costs = [row["costUsd"] for row in rows]
        yield _row(
            state.task.key,
            state.status,
            len(rows),
            task.calls,
            tokens(sum(row["tokens"] for row in rows)),
            money(None if None in costs else sum(costs)),
            "" if state.qc_score is None else state.qc_score,
            _plain(f"waits for {state.blocked_by}" if state.blocked_by else ended_by(state.stop_reason)),
        )


def _task(task: TaskReport) -> Iterator[str]:
    yield from ("", f"## {task.state.task.key}: {_plain(task.state.task.title, 200)}", "")
    if task.used is not None:
        yield f"It {task.used.told}."
        yield ""
    yield _row("attempt", "status", "ended by", "came to", "calls", "tokens", "cost", "QC", "time")
    yield _row(*["---"] * 9)
    for row in task.attempts:
        yield _attempt(row)
    yield from _stops(task)
    yield from _findings(task)
    yield from _warnings(task)
    if task.diagnosis:
        yield from ("", _plain(task.diagnosis["summary"]))
        yield from (f"- {_plain(action)}" for action in task.diagnosis.get("actions") or ())


def _attempt(row: ResultRow) -> str:
    return _row(
        row["number"],
        row["status"],
        ended_by(row["stopReason"]),
        came_to(row["outcome"]),
        row["toolCalls"],
        tokens(row["tokens"]),
        money(row["costUsd"]),
        "" if row["qcScore"] is None else row["qcScore"],
        duration(row["durationMs"]),
    )


def _stops(task: TaskReport) -> Iterator[str]:
    numbers = {row["attempt"]: row["number"] for row in task.attempts}
    for stop in task.stops:
        seen = f"{stop['observed']:g} seen, limit {stop['limit']:g}"
        known = stop["onsetMs"] is not None
        onset = f", {duration(stop['onsetMs'])} after that had begun, at step {stop['firstSeq']}" if known else ""
        yield from ("", f"Attempt {numbers[stop['attempt']]} was stopped: {ended_by(stop['code'])} ({seen}){onset}.")
    said = [row for row in task.attempts if row["stopDetail"] and row["status"] != "accepted"]
    yield from ("",) if said else ()
    yield from (f"- attempt {row['number']}: {_plain(row['stopDetail'])}" for row in said)


def _mended(task: TaskReport, life: FindingLife) -> str:
    """Which attempt has mended it, and in which files; nothing of what is still there."""
    number, mark = life.marks[-1]
    if mark != "gone":
        return ""
    files = {fix.path: None for fix in task.fixes if (fix.fingerprint, fix.attempt) == (life.fingerprint, number)}
    return f"; attempt {number} mended it" + (f" in {_plain(', '.join(files), 300)}" if files else "")


def _warnings(task: TaskReport) -> Iterator[str]:
    yield from ("", "Accepted all the same:", "") if task.warnings else ()
    yield from (f"- {_plain(message)}" for message in task.warnings[:_MOST_LIVES])
    if len(task.warnings) > _MOST_LIVES:
        yield f"- and {len(task.warnings) - _MOST_LIVES} more"


def _findings(task: TaskReport) -> Iterator[str]:
    if not task.lives:
        return
    yield from ("", "Findings, and what became of them:", "")
    for life in task.lives[:_MOST_LIVES]:
        yield f"- {_plain(life.code)} at {_plain(life.locus, 200)}: {life.told}{_mended(task, life)}"
    if len(task.lives) > _MOST_LIVES:
        yield f"- and {len(task.lives) - _MOST_LIVES} more"
