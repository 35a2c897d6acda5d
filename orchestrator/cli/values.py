"""Values of the command line that click has no type for."""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import click

from orchestrator.domain.errors import UserError
from orchestrator.domain.lifecycle import TransitionError
from orchestrator.domain.nesting import nests_deeper

_DURATION = re.compile(r"([0-9]+(?:\.[0-9]+)?)(s|m|h|d)")
_SECONDS = {"s": 1, "m": 60, "h": 3_600, "d": 86_400}

json_option = click.option("--json", "as_json", is_flag=True, help="Print one JSON document on stdout.")


MAX_NESTING = 50
"""Lists or objects within one another in a parameter's value; the driver reads them by recursion."""


class KeyValue(click.ParamType[tuple[str, Any]]):
    """`k=v`, where v is JSON, else a string."""

    name = "k=v"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> tuple[str, Any]:
        """The pair."""
        key, found, text = str(value).partition("=")
        if not found or not key:
            self.fail(f"{value!r} is not of the form name=value.", param, ctx)
        try:
            parsed = json.loads(text)
            too_deep = nests_deeper(parsed, MAX_NESTING)
        except ValueError:
            return key, text
        except RecursionError:
            too_deep = True
        if too_deep:
            self.fail(f"the value of {key!r} nests deeper than {MAX_NESTING} lists or objects.", param, ctx)
        return key, parsed


class Duration(click.ParamType[float]):
    """`90s`, `15m`, `2h`, `1d` or `1h30m`; as seconds."""

    name = "duration"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> float:
        """The seconds, more than none."""
        compact = str(value).strip().lower().replace(" ", "")
        parts = _DURATION.findall(compact)
        if not parts or "".join(amount + unit for amount, unit in parts) != compact:
            self.fail(f"{str(value)!r} is no duration. Write it as 90s, 15m, 2h or 1h30m.", param, ctx)
        seconds = sum(float(amount) * _SECONDS[unit] for amount, unit in parts)
        if not 0 < seconds <= 365 * _SECONDS["d"]:
            self.fail(f"{str(value)!r} must be more than nothing and at most 365d.", param, ctx)
        return seconds


@contextmanager
def changed_meanwhile() -> Iterator[None]:
    """What was looked at a moment ago is another one now, because others work on it: no defect, but to be repeated."""
    try:
        yield
    except TransitionError as error:
        raise UserError(
            f"It has changed meanwhile: {error}.", next_step="Look at `orchestrate status`, then repeat the command."
        ) from error


def read_bytes(path: Path) -> bytes:
    """A file's bytes; `-` is stdin. A file that cannot be read is wrong usage."""
    try:
        return sys.stdin.buffer.read() if str(path) == "-" else path.read_bytes()
    except OSError as error:
        raise click.UsageError(f"{path} cannot be read: {error.strerror}.") from None


def read_input_file(path: Path) -> str:
    """A file's text; `-` is stdin."""
    try:
        return read_bytes(path).decode("utf-8-sig")
    except UnicodeDecodeError:
        raise click.UsageError(f"{path} is not UTF-8 text.") from None
