"""Every statement is a file under cypher/; this loads them once. Only `$parameters`, never string formatting."""

from __future__ import annotations

from functools import cache
from importlib.resources import files
from typing import LiteralString


@cache
def statement(name: str) -> LiteralString:
    """The Cypher of `cypher/<name>.cypher`, without its header comment (each server caches plans by text)."""
    text = files("orchestrator.store").joinpath("cypher", f"{name}.cypher").read_text(encoding="utf-8")
    lines = [line for line in text.splitlines() if not line.startswith("//")]
    return "\n".join(lines).strip()


@cache
def schema_statements() -> tuple[LiteralString, ...]:
    """The statements of schema/*.cypher in file order, each ended by a semicolon."""
    folder = files("orchestrator.store").joinpath("schema")
    texts = [file.read_text(encoding="utf-8") for file in sorted(folder.iterdir(), key=lambda file: file.name)]
    lines = [line for text in texts for line in text.splitlines() if not line.startswith("//")]
    return tuple(part.strip() for part in "\n".join(lines).split(";") if part.strip())
