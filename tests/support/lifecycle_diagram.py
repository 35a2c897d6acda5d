"""The state diagrams in orchestrator/README.md, drawn from the tables of domain/lifecycle.py.

`python -m tests.support.lifecycle_diagram` writes them anew; tests/test_readme.py fails while they are not current.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path

from orchestrator.domain.lifecycle import TABLES

GUIDE = Path(__file__).resolve().parents[2] / "orchestrator" / "README.md"
_REGION = re.compile(r"(<!-- states: (\w+) -->\n).*?(<!-- end -->)", re.DOTALL)


def diagram(table: Mapping[str, frozenset[str]]) -> str:
    """A Mermaid state diagram: the table's first status is where it begins, those without a next one are its ends."""
    lines = ["stateDiagram-v2", f"    [*] --> {next(iter(table))}"]
    for status, nexts in table.items():
        lines += [f"    {status} --> {after}" for after in sorted(nexts) or ["[*]"]]
    return "\n".join(lines)


def with_diagrams(text: str) -> str:
    """The text with every marked region drawn anew."""
    return _REGION.sub(lambda found: f"{found[1]}```mermaid\n{diagram(TABLES[found[2]])}\n```\n{found[3]}", text)


if __name__ == "__main__":
    GUIDE.write_text(with_diagrams(GUIDE.read_text(encoding="utf-8")), encoding="utf-8")
