"""The state diagrams of tasks, attempts and runs, drawn from the tables of domain/lifecycle.py."""

from __future__ import annotations

from collections.abc import Mapping

from orchestrator.domain.lifecycle import TABLES
from tests.support.drawn.markdown import fenced


def diagram(table: Mapping[str, frozenset[str]]) -> str:
    """A Mermaid state diagram: the table's first status is where it begins, those without a next one are its ends."""
    lines = ["stateDiagram-v2", f"    [*] --> {next(iter(table))}"]
    for status, nexts in table.items():
        lines += [f"    {status} --> {after}" for after in sorted(nexts) or ["[*]"]]
    return "\n".join(lines)


def states(label: str) -> str:
    """The fenced diagram of `Task`, `Attempt` or `Run`."""
    return fenced("mermaid", diagram(TABLES[label]))
