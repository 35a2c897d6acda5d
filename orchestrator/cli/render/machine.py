"""Machine output: exactly one JSON document, or CSV, on stdout.

Piped it is exact. A terminal would obey control characters, so there JSON has them as escapes, and CSV without them.
"""

from __future__ import annotations

import csv
import json
import sys
from collections.abc import Mapping, Sequence
from dataclasses import fields, is_dataclass
from datetime import UTC, datetime
from math import isfinite
from typing import Any

from orchestrator.cli.render.text import clean, escaped
from orchestrator.domain.query import QueryResult
from orchestrator.domain.text import camel


def print_json(document: Any) -> None:
    """Print one JSON document and a newline."""
    text = json.dumps(json_ready(document), ensure_ascii=False, indent=2)
    sys.stdout.write((escaped(text) if sys.stdout.isatty() else text) + "\n")


def print_csv(table: QueryResult) -> None:
    """Print a header and the rows; structured values are JSON in their cell."""
    writer = csv.writer(sys.stdout, lineterminator="\n")
    shown = clean if sys.stdout.isatty() else str
    for row in (table.columns, *table.rows):
        cells = [_field(json_ready(value)) for value in row]
        writer.writerow([shown(value) if isinstance(value, str) else value for value in cells])


def table_objects(table: QueryResult) -> list[dict[str, Any]]:
    """A table as an array of objects by column."""
    return [dict(zip(table.columns, row, strict=True)) for row in table.rows]


def json_ready(value: Any) -> Any:
    """The value as JSON has it: our dataclasses as objects with camelCase names, instants ISO 8601 with Z."""
    if isinstance(value, datetime):
        return value.astimezone(UTC).isoformat().replace("+00:00", "Z")
    if is_dataclass(value) and not isinstance(value, type):
        return {camel(f.name): json_ready(getattr(value, f.name)) for f in fields(value)}
    if isinstance(value, Mapping):
        return {str(key): json_ready(item) for key, item in value.items()}
    if isinstance(value, Sequence) and not isinstance(value, str | bytes):
        return [json_ready(item) for item in value]
    return None if isinstance(value, float) and not isfinite(value) else value  # JSON has no NaN and no infinity


def _field(value: Any) -> Any:
    if isinstance(value, bool):
        return "true" if value else "false"
    return json.dumps(value, ensure_ascii=False) if isinstance(value, dict | list) else value
