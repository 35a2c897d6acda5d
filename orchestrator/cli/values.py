"""Values of the command line that click has no type for."""

from __future__ import annotations

import json
import re
from typing import Any

import click

_DURATION = re.compile(r"(?:(?P<h>\d+(?:\.\d+)?)h)?(?:(?P<m>\d+(?:\.\d+)?)m)?(?:(?P<s>\d+(?:\.\d+)?)s?)?")
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
    """`90s`, `15m`, `1h30m`, or seconds; as seconds."""

    name = "duration"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> float:
        """The seconds, more than none."""
        found = _DURATION.fullmatch(str(value).strip())
        parts = {unit: float(text or 0) for unit, text in found.groupdict().items()} if found else {}
        seconds = parts.get("h", 0.0) * 3600 + parts.get("m", 0.0) * 60 + parts.get("s", 0.0)
        if seconds <= 0:
            self.fail(f"{value!r} is no duration such as 90s, 15m or 1h30m.", param, ctx)
        return seconds
