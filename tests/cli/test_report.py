"""The report of a run, line by line beside the graph that it is read from; QC's and the PM's conversations."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from pathlib import Path
from typing import Any

from orchestrator.cli.render.run_report import run_report_markdown
from orchestrator.cli.render.text import came_to
from orchestrator.domain.run import Run
from orchestrator.domain.task import TaskState
from orchestrator.domain.usage import Usage
from orchestrator.reports.run_report import RunReport, SuccessFigures, TaskReport
from tests.cli.conftest import Demo
from tests.support.samples import new_plan, new_run

TASKS = """
MATCH (r:Run)-[:EXECUTES]->(:Plan)-[:HAS_TASK]->(t:Task)
OPTIONAL MATCH (r)-[:MADE]->(a:Attempt)<-[:HAS_ATTEMPT]-(t)
WITH t, count(a) AS attempts, coalesce(sum(a.toolCallCount), 0) AS calls
RETURN t.key AS key, t.status AS status, attempts, calls, t.qcScore AS score ORDER BY t.orderKey
"""
ATTEMPTS = "MATCH (t)-[:HAS_ATTEMPT]->(a:Attempt) RETURN t.key AS key, a AS a ORDER BY t.key, a.number"


def cells(line: str) -> list[str]:
    """The cells of a table's row."""
    return [cell.strip() for cell in line.strip("|").split("|")]


def under(report: str, heading: str) -> list[str]:
    """The lines from a heading to the next one."""
    return report.partition(f"\n## {heading}")[2].partition("\n## ")[0].splitlines()


def test_the_report_says_what_the_graph_says(demo: Demo, tmp_path: Path) -> None:
    """Goal, tasks, attempts, stops and figures are those of the graph, in a file or on stdout, and onset is known."""
    said = demo.story.run("report", "--out", str(tmp_path / "report.md"))
    report = (tmp_path / "report.md").read_text("utf-8")
    assert said.stdout == "" and "is in" in said.stderr
    (run,) = demo.story.ask("MATCH (r:Run)-[:EXECUTES]->(p) RETURN r.id AS id, r.status AS status, p.goal AS goal")
    assert report.startswith(f"# Run {run['id']}: {run['status']}\n\n{run['goal']}\n")
    assert demo.story.ok("report", run["id"]) == report
    told = [cells(line) for line in under(report, "Tasks") if line.startswith("| ")][2:]
    rows = demo.story.ask(TASKS)
    known = [[r["key"], r["status"], str(r["attempts"]), str(r["calls"])] for r in rows]
    assert [row[:4] for row in told] == known
    assert [row[6] for row in told] == ["" if r["score"] is None else str(r["score"]) for r in rows]
    for row in demo.story.ask(ATTEMPTS):
        attempt = row["a"]["properties"]
        lines = [cells(line) for line in under(report, f"{row['key']}:") if line.startswith(f"| {attempt['number']} |")]
        assert [[line[1], line[3], line[4]] for line in lines] == [
            [attempt["status"], came_to(attempt["outcome"]), str(attempt["toolCallCount"])]
        ]
    figures = dict(cells(line) for line in under(report, "Figures") if line.startswith("| "))
    assert figures["success rate"] == "67%"
    assert figures["tasks tried, completed, failed"] == "3, 2, 1"
    assert figures["spirals per 100 tasks (attempts that a guard stopped)"] == "67"
    assert re.search(r"\d", figures["median time from onset to stop"])


def test_every_stop_in_the_report_has_where_it_began(demo: Demo) -> None:
    """The guard's event names the first step of the loop, as the attempt's own report does."""
    rows = demo.story.ask(
        "MATCH (a:Attempt {status: 'stopped'})-[:TRIGGERED]->(g {verdict: 'stop'}) "
        "RETURN g.firstSeq AS first, g.seq AS seq, a.errorContextJson AS told"
    )
    assert rows
    for row in rows:
        assert 0 < row["first"] < row["seq"]
        assert json.loads(row["told"])["guard"]["firstSeq"] == row["first"]


def test_what_became_of_a_finding_and_what_mended_it_is_in_the_report(demo: Demo) -> None:
    """The demo's second task was rejected by QC, mended, and passed."""
    lines = under(demo.story.ok("report"), "report:")
    assert any("new in attempt 1, gone in 2; attempt 2 mended it" in line for line in lines)
    assert "mended missing_edge_case at tally/report.py in tally/report.py" in demo.story.ok("show", "report")
    assert any("used 2 of" in line and "2 check passes, 1 fix, 2 reviews" in line for line in lines)


def test_a_review_and_a_planning_round_are_told_as_an_attempt_is(demo: Demo) -> None:
    """Each turn with its calls, then the verdict; the attempt names its review, and the beginning of an id will do."""
    (row,) = demo.story.ask("MATCH (a {taskKey: 'report', number: 1})-[:REVIEWED_BY]->(v) RETURN a.id AS a, v.id AS v")
    assert f"orchestrate show {row['v']}" in demo.story.ok("show", row["a"])
    shown = demo.story.ok("show", row["v"])
    assert "turn 1" in shown and "submit_review" in shown and "QC failed" in shown
    assert f"belongs to: orchestrate show {row['a']}" in shown
    document: dict[str, Any] = json.loads(demo.story.ok("show", row["v"], "--json"))
    assert (document["kind"], document["belongsTo"]) == ("Review", row["a"])
    assert document["criteria"] and document["findings"] and document["steps"]
    (made,) = demo.story.ask("MATCH (:Plan)-[:PLANNED_IN]->(r) RETURN r.id AS id ORDER BY r.number LIMIT 1")
    assert f"the PM's round {made['id']}" in demo.story.ok("show", made["id"][:-1])


def test_what_a_model_wrote_is_no_markup() -> None:
    """A title or goal with a table's bar, a link or a tag stands there as text, in its line."""
    plan = new_plan(1)
    state = TaskState(task=plan.tasks[0].task, status="pending", attempt_number=0, stop_reason=None, assessment=None)
    hostile = "a|b <script> [x](http://evil) `c`\n# head\x1b[2J"
    task = TaskReport(state=state, attempts=(), used=None, stops=(), lives=(), fixes=(), warnings=(), diagnosis={})
    run: Run = new_run(plan)
    figures = SuccessFigures.of([task])
    plan = replace(plan, goal=hostile)
    text = run_report_markdown(RunReport(plan=plan, run=run, spend=Usage(), tasks=(task,), figures=figures))
    assert "a\\|b \\<script\\> \\[x\\](http://evil) \\`c\\` # head" in text
    assert "\x1b" not in text and "\n# head" not in text
    assert figures.success_rate is None and "| success rate | none |" in text
