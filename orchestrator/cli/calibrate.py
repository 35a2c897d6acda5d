"""`orchestrate calibrate`: what other limits would have done to past attempts."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from orchestrator.cli.invocation import Invocation, pass_invocation
from orchestrator.cli.values import json_option, read_input_file
from orchestrator.replay.history import replay_graph
from orchestrator.replay.replay import parse_limits, replay_traces
from orchestrator.replay.traces import read_traces


@click.command("calibrate")
@click.option(
    "--replay",
    "limits",
    required=True,
    metavar="LIMITS.TOML",
    type=click.Path(dir_okay=False, path_type=Path),
    help="The limits: keys of [guards], and budget.",
)
@click.option(
    "--traces", type=click.Path(dir_okay=False, path_type=Path), help="Replay the traces of this file instead."
)
@click.option("--repeat-last", type=click.IntRange(1), metavar="K", help="Go on with the last K calls for ever.")
@json_option
@pass_invocation
def command(invocation: Invocation, limits: Path, traces: Path | None, repeat_last: int | None, as_json: bool) -> None:
    """Replay past attempts of this repository under other limits: what would have fired, when, and the calls saved.

    It costs no token: the guards are folded over what is in the graph, or over a file of traces.
    """
    from orchestrator.cli.render.screen import present
    from orchestrator.cli.render.tables import replays_view

    answer = _replayed(invocation, read_input_file(limits), traces, repeat_last or 0)
    present(answer, replays_view(answer["traces"]), as_json=as_json)


def _replayed(invocation: Invocation, limits: str, traces: Path | None, repeat_last: int) -> dict[str, Any]:
    parsed = parse_limits(limits)
    if traces is not None:
        return replay_traces(read_traces(read_input_file(traces)), parsed, repeat_last=repeat_last)
    with invocation.app() as app:
        return replay_graph(app.graph, app.repository.record.id, parsed, repeat_last=repeat_last)
