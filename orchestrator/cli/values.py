"""Values of the command line that click has no type for."""

from __future__ import annotations

import json
from typing import Any

import click

json_option = click.option("--json", "as_json", is_flag=True, help="Print one JSON document on stdout.")


class KeyValue(click.ParamType[tuple[str, Any]]):
    """`k=v`, where v is JSON, else a string."""

    name = "k=v"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> tuple[str, Any]:
        """The pair."""
        key, found, text = str(value).partition("=")
        if not found or not key:
            self.fail(f"{value!r} is not of the form name=value.", param, ctx)
        try:
            return key, json.loads(text)
        except ValueError:
            return key, text


class Duration(click.ParamType[float]):
    """`90s`, `15m`, `2h` or `1h30m`; as seconds."""

    name = "duration"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> float:
        """The seconds, more than none."""
        from orchestrator.domain.errors import UserError
        from orchestrator.settings_loader import parse_duration

        try:
            return parse_duration(str(value))
        except UserError as error:
            self.fail(str(error), param, ctx)
