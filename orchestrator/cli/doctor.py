"""`orchestrate doctor`: what works here, found out by use, and what to do about what does not."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

import click

from orchestrator.cli.invocation import Invocation, pass_invocation
from orchestrator.cli.values import json_option

if TYPE_CHECKING:
    from orchestrator.cli.checkup import CheckResult


@click.command("doctor")
@click.option(
    "--model", is_flag=True, help="Ask the model endpoint too: tools, structured output, usage, context length."
)
@json_option
@pass_invocation
def command(invocation: Invocation, model: bool, as_json: bool) -> int:
    """Check package, git, repository, disk, sandbox, graph and model; say ok, warn or fail, and what to do."""
    from orchestrator.cli.checkup import checkup

    results = checkup(invocation, model=model)
    if as_json:
        from orchestrator.cli.render.machine import print_json

        found = list(results)
        print_json([{"check": f.check, "verdict": f.status, "seen": f.seen, "do": f.do} for f in found])
    else:
        found = _printed(results)
    return max((result.code for result in found if result.status == "fail"), default=0)


def _printed(results: Iterable[CheckResult]) -> list[CheckResult]:
    """Print each result as it is made: some take a while."""
    from rich.text import Text

    from orchestrator.cli.render.screen import console, status_text
    from orchestrator.cli.render.text import clean

    screen, found = console(), []
    for result in results:
        line = Text.assemble(status_text(result.status), " " * (6 - len(result.status)), f"{result.check}: ")
        line.append(clean(result.seen))
        if result.do:
            line.append(f"\n      {clean(result.do)}", "dim")
        screen.print(line)
        found.append(result)
    return found
