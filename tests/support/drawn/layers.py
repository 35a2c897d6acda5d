"""Which room may import which, from the contracts that import-linter checks."""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import Any

from tests.support.drawn.markdown import fenced, table

PROJECT = Path(__file__).resolve().parents[3] / "pyproject.toml"


def _contracts() -> list[dict[str, Any]]:
    contracts: list[dict[str, Any]] = tomllib.loads(PROJECT.read_text())["tool"]["importlinter"]["contracts"]
    return contracts


def rooms() -> str:
    """The layers, the upper ones importing the lower ones."""
    layers = next(contract["layers"] for contract in _contracts() if contract["type"] == "layers")
    shown = [layer.replace("orchestrator.", "").replace(" | ", "   ") for layer in layers]
    return fenced("text", "\n   |\n".join(shown))


def bans() -> str:
    """What rooms may not import, one row a contract."""
    rows = [
        (contract["name"], ", ".join(f"`{name}`" for name in contract["forbidden_modules"]))
        for contract in _contracts()
        if contract["type"] == "forbidden"
    ]
    return table(("rule", "forbidden"), rows)
