"""`orchestrate plan`: a goal, or a file written by hand, becomes a plan."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import click

from orchestrator.cli.invocation import Invocation, pass_invocation, say
from orchestrator.cli.progress import Teller, line_teller, shown_progress
from orchestrator.cli.values import json_option, read_bytes, read_input_file
from orchestrator.domain.errors import PlanError
from orchestrator.domain.text import counted
from orchestrator.planning.formats import dump_plan, read_plan

if TYPE_CHECKING:
    from orchestrator.app import App
    from orchestrator.engine.planning import PlanningResult

PLAN_REFUSED = 3


@click.command("plan")
@click.argument("goal", required=False)
@click.option("--file", "file", type=click.Path(dir_okay=False, path_type=Path), help="Load a plan file instead.")
@click.option("--out", type=click.Path(dir_okay=False, path_type=Path), help="Write the plan as a plan file.")
@click.option("--dry-run", is_flag=True, help="Store nothing.")
@json_option
@pass_invocation
def command(
    invocation: Invocation, goal: str | None, file: Path | None, out: Path | None, dry_run: bool, as_json: bool
) -> int:
    """Have the PM turn GOAL into a plan of tasks (`-` reads it from stdin, `@spec.md` from a file).

    With --file a plan written by hand is loaded, as YAML, JSON or a Markdown chain-output; that needs no model. `-` is
    stdin here too.
    """
    if (goal is None) == (file is None):
        raise click.UsageError("Give a GOAL, or --file PLAN.")
    text = _goal(goal) if goal is not None else None
    content = read_bytes(file) if file is not None else b""
    with invocation.app() as app, _unread(as_json=as_json):
        tell = line_teller(codes=invocation.verbose)
        outcome = _planned(app, text, content, file, tell, store=not dry_run, words=not as_json)
        for warning in outcome.warnings:
            say(f"Warning: {warning}")
        if out is not None:
            _write(out, outcome)
        _show(outcome, as_json=as_json)
    return PLAN_REFUSED if outcome.defects else 0


def _planned(
    app: App, text: str | None, content: bytes, file: Path | None, tell: Teller, *, store: bool, words: bool
) -> PlanningResult:
    for warning in app.warnings:
        say(f"Warning: {warning}")
    if file is not None:
        return app.load_plan(read_plan(content, file.suffix), store=store)
    with shown_progress(app, tell, words=words):
        return app.make_plan(text or "", store=store)


@contextmanager
def _unread(*, as_json: bool) -> Iterator[None]:
    """With --json a plan that cannot be read is one document on stdout too."""
    try:
        yield
    except PlanError as error:
        if as_json:
            from orchestrator.cli.render.machine import print_json
            from orchestrator.cli.render.plans import unread_document

            print_json(unread_document(error))
        raise


def _goal(goal: str) -> str:
    if goal == "-":
        goal = read_input_file(Path("-"))
    elif goal.startswith("@"):
        goal = read_input_file(Path(goal[1:]))
    if not goal.strip():
        raise click.UsageError("The goal is empty. Say what is to be done.")
    return goal.strip()


def _write(out: Path, outcome: PlanningResult) -> None:
    try:
        out.write_text(dump_plan(outcome.file), encoding="utf-8")
    except OSError as error:
        raise click.UsageError(f"{out} cannot be written: {error.strerror}.") from None
    say(f"The plan is in {out}.")


def _show(outcome: PlanningResult, *, as_json: bool) -> None:
    from orchestrator.cli.render.plans import plan_document, plan_view
    from orchestrator.cli.render.screen import present

    present(plan_document(outcome.plan, outcome.defects), plan_view(outcome.plan), as_json=as_json)
    for defect in outcome.defects:
        say(f"Refused: {defect}")
    if outcome.defects:
        say(f"Plan {outcome.plan.id} is refused: {counted(len(outcome.defects), 'defect')}. Mend and plan again.")
    elif outcome.stored:
        say(f"Plan {outcome.plan.id} is ready: orchestrate execute")
    else:
        say("Nothing was stored (--dry-run).")
