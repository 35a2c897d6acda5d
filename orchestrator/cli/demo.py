"""`orchestrate demo`: the whole pipeline on a sample repository, with the scripted model that is shipped."""

from __future__ import annotations

import os
import shlex
import shutil
import sys
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import click

from orchestrator.cli.invocation import Invocation, pass_invocation, require_own_agents, say
from orchestrator.cli.progress import line, shown_progress
from orchestrator.cli.query import show
from orchestrator.cli.render.brief import Brief, farewell, introduction, look_further
from orchestrator.cli.signals import signals_of
from orchestrator.domain.progress import Progress
from orchestrator.domain.text import counted
from orchestrator.engine.runs import ExecuteOptions
from orchestrator.reports.saved_queries import saved_query
from orchestrator.reports.status import plan_status

if TYPE_CHECKING:
    from orchestrator.app import App
    from orchestrator.domain.task import TaskState
    from orchestrator.engine.scheduler import RunResult

NOT_AS_TOLD = 1
FOLDER = "orchestrate-demo"
PRICE = '{"input": 0.25, "cached_input": 0.025, "output": 2.0}'  # invented, so that the demo has costs to show
QUESTIONS = ("why-failed", "kpis")


@click.command("demo")
@click.option(
    "--into", type=click.Path(path_type=Path), help=f"A new folder for the sample (default: {FOLDER} in DIR)."
)
@pass_invocation
def command(invocation: Invocation, into: Path | None) -> int:
    """Plan and execute on a sample repository: real tools, real checks, real graph, a scripted model, no key.

    One task passes at once, one after a failed review, one spirals and is stopped, and one waits for that in vain.
    That is told in short; `orchestrate -v demo` tells every call, check and verdict, and asks the graph.
    """
    from agents.scripted.server import serve
    from orchestrator.demo import make_sample, script

    require_own_agents()
    folder = _new_folder(invocation.folder, into)
    make_sample(folder)
    click.echo(introduction(_shown(folder)))
    with serve(script()) as model:
        return _tell(replace(invocation, folder=folder), _environment(model.base_url))


def _new_folder(parent: Path, into: Path | None) -> Path:
    if into is not None:
        return into.resolve()
    names = [FOLDER, *(f"{FOLDER}-{number}" for number in range(2, 1000))]
    return next(parent / name for name in names if not (parent / name).exists())


def _environment(base_url: str) -> dict[str, str]:
    """The user's environment without their models and settings: the demo is the same everywhere. Their graph stays."""
    kept = {
        name: value for name, value in os.environ.items() if not name.startswith(("ORCHESTRATE_", "OPENAI_", "GIT_"))
    }
    prices = {f"ORCHESTRATE_MODELS_{role}_PRICE": PRICE for role in ("PLANNER", "WORKER", "VERIFIER")}
    model = {"OPENAI_BASE_URL": base_url, "ORCHESTRATE_MODEL": "scripted"}
    return {**kept, **prices, **model, "XDG_CONFIG_HOME": os.devnull}  # without the user's settings file


def _shown(folder: Path) -> str:
    """The folder as it is typed from here."""
    return shlex.quote(str(folder.relative_to(Path.cwd()) if folder.is_relative_to(Path.cwd()) else folder))


def _tell(invocation: Invocation, environ: Mapping[str, str]) -> int:
    """Execute, and say in short what came of it; with -v everything that was told, and what the graph answers."""
    from orchestrator.cli.render.screen import console

    brief = Brief()
    with invocation.app(_sandbox(invocation, environ), environ) as app:
        outcome = _walk_in_full(app, brief) if invocation.verbose else _walk(app, brief)
        console().print("", brief.ending(), sep="\n")
        click.echo(look_further(_shown(invocation.folder), _program()) + "\n")
        if invocation.verbose:
            _ask(app)
        return _as_told(outcome.tasks) if outcome else NOT_AS_TOLD


def _sandbox(invocation: Invocation, environ: Mapping[str, str]) -> dict[str, str]:
    """The flags under which commands run: without a sandbox only because the script is ours."""
    with invocation.app(environ=environ) as app:
        refusal = app.workspaces.sandbox.refusal
    if not refusal:
        return {}
    say(f"Warning: {refusal} The demo's model is scripted, so it runs its commands without one.")
    return {"sandbox.level": "none"}


def _walk(app: App, brief: Brief) -> RunResult | None:
    from orchestrator.demo import plan

    with shown_progress(app, brief, brief=True):
        planned = app.make_plan(plan()["goal"])
        return app.execute_plan(planned.plan, ExecuteOptions(), signals_of(app))


def _walk_in_full(app: App, brief: Brief) -> RunResult | None:
    from orchestrator.cli.render.overview import run_view
    from orchestrator.cli.render.plans import plan_view
    from orchestrator.cli.render.screen import console
    from orchestrator.demo import plan

    def tell(event: Progress) -> str | None:
        brief(event)
        return line(event, codes=True)

    with shown_progress(app, tell):
        planned = app.make_plan(plan()["goal"])
    console().print(plan_view(planned.plan))
    with shown_progress(app, tell):
        outcome = app.execute_plan(planned.plan, ExecuteOptions(), signals_of(app))
    console().print(run_view(plan_status(app.graph, planned.plan.id), codes=True))
    return outcome


def _ask(app: App) -> None:
    for name in QUESTIONS:
        saved = saved_query(name)
        click.echo(f"{saved.title} (orchestrate query --name {name})")
        show(app.graph.query(saved.cypher, saved.bind({"repository": app.repository.record.id})), "table")
        click.echo()


def _program() -> str:
    """How the user can call us: by name, or as `make demo` did, from a virtual environment that is not on PATH."""
    called = sys.argv[0]
    if shutil.which("orchestrate") or Path(called).name != "orchestrate":
        return "orchestrate"
    return shlex.quote(str(Path(called).resolve()))


def _as_told(tasks: tuple[TaskState, ...]) -> int:
    from orchestrator.demo import EXPECTED

    for state in tasks:
        came_to = (state.status, state.attempt_number)
        if came_to != EXPECTED[state.task.key]:
            status, attempts = EXPECTED[state.task.key]
            found = f"{state.task.key} is {state.status} after {counted(state.attempt_number, 'attempt')}"
            say(f"Not as told: {found}, not {status} after {attempts}.")
            return NOT_AS_TOLD
    click.echo(farewell(_program()))
    return 0
