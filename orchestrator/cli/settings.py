"""`orchestrate settings`: every setting with its value, and where that comes from."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

import click

from orchestrator.cli import execute
from orchestrator.cli.invocation import Invocation, pass_invocation, say
from orchestrator.cli.render.text import clean
from orchestrator.cli.values import json_option

if TYPE_CHECKING:
    from orchestrator.config.load import Configuration


@click.command("settings", params=[option for option in execute.command.params if option.name in execute.SETTING_OF])
@json_option
@pass_invocation
def command(invocation: Invocation, /, as_json: bool, **flags: Any) -> None:
    """Show each setting's value and origin: default, user file, repository file, environment or flag.

    The flags are those of `orchestrate execute`, to see what they would change.
    """
    from orchestrator.cli.render.machine import print_json

    with invocation.app(execute.settings_of(flags), logged=False) as app:
        loaded, redact = app.configuration, app.redact_shown
    rows = [json.loads(redact(json.dumps(row))) for row in _rows(loaded)]
    waiting = list(_waiting(loaded))
    if as_json:
        return print_json({"settings": rows, "untrusted": waiting})
    width = max(len(row["setting"]) for row in rows)
    for row in rows:
        click.echo(clean(f"{row['setting']:<{width}} = {json.dumps(row['value'])}  # {row['place'] or row['origin']}"))
    if waiting:
        say("This of this repository does not count before `orchestrate trust`:")
    for row in waiting:
        say(f"  {row['setting']} = {json.dumps(row['value'])}  # {row['place']}")
    return None


def _rows(loaded: Configuration) -> Iterator[Mapping[str, Any]]:
    from orchestrator.config.layers import DEFAULT
    from orchestrator.config.load import settings_tree

    values = loaded.settings.model_dump(mode="json")
    for setting in settings_tree():
        value: Any = values
        for key in setting.keys:
            value = value[key]
        # what [models] sets is the default of every role
        shared = setting.keys[:1] + setting.keys[2:] if setting.keys[0] == "models" else setting.keys
        origin = loaded.origins.get(setting.keys) or loaded.origins.get(shared, DEFAULT)
        yield {"setting": setting.name, "value": value, "origin": origin.kind, "place": origin.place}


def _waiting(loaded: Configuration) -> Iterator[Mapping[str, Any]]:
    for demand in loaded.untrusted.demands if loaded.untrusted else ():
        yield {"setting": ".".join(demand.keys), "value": demand.value, "place": demand.place}
