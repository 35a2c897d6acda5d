"""The texts of preambles/: variables are checked both ways, and every text is used."""

from __future__ import annotations

import re
from importlib import resources
from pathlib import Path

import pytest

from agents.preambles import PreambleError, known_preambles, render_preamble
from agents.prompts import FIX_ADVICE


def test_variables_are_filled_in_once() -> None:
    """A value that looks like a variable stays as it is."""
    assert render_preamble("overlays/findings", findings="{{findings}}").endswith("{{findings}}")


@pytest.mark.parametrize("variables", [{}, {"findings": "x", "other": "y"}, {"finding": "x"}])
def test_unknown_and_missing_variables_are_errors(variables: dict[str, str]) -> None:
    """A template takes exactly its variables; the error names what is wrong."""
    with pytest.raises(PreambleError, match="overlays/findings: missing variables"):
        render_preamble("overlays/findings", **variables)


def test_a_missing_template_is_an_error() -> None:
    """An unknown name is our defect, named."""
    with pytest.raises(PreambleError, match=r"no preamble nothing\.md"):
        render_preamble("nothing")


def test_every_preamble_is_used() -> None:
    """No text in preambles/ is left over."""
    root = Path(str(resources.files("preambles")))
    names = {str(file.relative_to(root).with_suffix("")) for file in root.rglob("*.md")}
    code = "\n".join(file.read_text() for file in Path(str(resources.files("agents"))).rglob("*.py"))
    left = {name for name in names if not re.search(rf'"{name}"', code)}
    advised = {f"{FIX_ADVICE}/{code}" for code in known_preambles(FIX_ADVICE)}
    assert left == advised
    gates = "\n".join(file.read_text() for file in Path(str(resources.files("orchestrator.gates"))).rglob("*.py"))
    assert {name for name in advised if f'"{name.rpartition("/")[2]}"' not in gates} == set(), "no gate has this code"
