"""The guides name only what is there, and draw what the code says."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.support.lifecycle_diagram import GUIDE, with_diagrams
from tests.support.readme_blocks import ROOT

GUIDES = (ROOT / "README.md", GUIDE, ROOT / "agents" / "README.md", ROOT / "docs" / "graph-model.md")
ROOMS = ("orchestrator", "agents", "preambles", "tests", "docs", "benchmarks")


def test_state_diagrams_are_current() -> None:
    """orchestrator/README.md draws the tables of domain/lifecycle.py (python -m tests.support.lifecycle_diagram)."""
    text = GUIDE.read_text(encoding="utf-8")
    assert text.count("stateDiagram-v2") == 3
    assert with_diagrams(text) == text


@pytest.mark.parametrize("document", GUIDES, ids=lambda path: str(path.relative_to(ROOT)))
def test_links_and_paths_exist(document: Path) -> None:
    """Every link of a document leads to a file or heading, every path that it names is there."""
    text = document.read_text(encoding="utf-8")
    for target in re.findall(r"\]\(([^)]+)\)", text):
        path, _, anchor = target.partition("#")
        linked = document.parent / path if path else document
        assert linked.exists(), target
        assert not anchor or anchor in _anchors(linked), target
    for named in re.findall(r"`([\w.-]+(?:/[\w.-]+)+/?)`", text):
        if named.split("/")[0] in ROOMS:
            assert (ROOT / named).exists(), named


def _anchors(document: Path) -> set[str]:
    """The anchors of a document's headings, as GitHub makes them."""
    headings = re.findall(r"^#+ (.+)$", document.read_text(encoding="utf-8"), re.MULTILINE)
    return {re.sub(r"[^\w -]", "", heading.lower()).replace(" ", "-") for heading in headings}
