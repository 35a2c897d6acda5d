"""The documents name only what is there, and draw what the code says."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path
from typing import get_args

import pytest
import yaml

from orchestrator.cli import BROKEN_PIPE, COMMANDS
from orchestrator.cli.invocation import INTERRUPTED
from orchestrator.config.load import settings_tree
from orchestrator.config.settings import Settings
from orchestrator.domain import errors
from orchestrator.domain.model_io import FinishReason
from orchestrator.domain.stop_reasons import ATTEMPT_STOPS
from orchestrator.guards.limits import GuardLimits
from tests.support.draw_docs import DRAWINGS, PICTURES, documents, names, redrawn
from tests.support.drawn.guards import SHEETS
from tests.support.readme_blocks import ROOT

ROOMS = ("orchestrator", "agents", "preambles", "tests", "docs", "benchmarks")
ALL = [pytest.param(path, id=str(path.relative_to(ROOT))) for path in documents()]
DOCS = ROOT / "docs"
LONGEST_README = 10_000


@pytest.mark.parametrize("document", ALL)
def test_what_is_drawn_is_current(document: Path) -> None:
    """Each drawing is what the code says now; `python -m tests.support.draw_docs` writes it anew."""
    text = document.read_text(encoding="utf-8")
    assert redrawn(document) == text, "run `python -m tests.support.draw_docs`"
    assert len(names(document)) == text.count("<!-- drawn: ")


@pytest.mark.parametrize("picture", [pytest.param(path, id=path.name) for path in PICTURES])
def test_pictures_are_current(picture: Path) -> None:
    """So is each picture, and the README shows it."""
    assert picture.read_text(encoding="utf-8") == PICTURES[picture](), "run `python -m tests.support.draw_docs`"
    assert f"({picture.relative_to(ROOT)})" in (ROOT / "README.md").read_text(encoding="utf-8")


def test_every_drawing_stands_in_a_document() -> None:
    """Nothing is drawn for nobody."""
    assert sorted(name for document in documents() for name in names(document)) == sorted(DRAWINGS)


@pytest.mark.parametrize("document", ALL)
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


@pytest.mark.parametrize("document", ALL)
def test_settings_that_are_named_exist(document: Path) -> None:
    """`section.key` in a document is a setting."""
    if document.name in ("settings.md", "CHANGELOG.md"):
        return  # the one is drawn, the other tells former names too
    known = {setting.name for setting in settings_tree()}
    sections = "|".join(Settings.model_fields)
    named = re.findall(rf"`((?:{sections})\.[a-z_.]+)`", document.read_text(encoding="utf-8"))
    assert [name for name in named if name not in known and not name.endswith(".py")] == []


@pytest.mark.parametrize("document", ALL)
def test_no_reason_stands_elsewhere(document: Path) -> None:
    """No document cites one that a reader of the repository does not have."""
    text = document.read_text(encoding="utf-8")
    assert re.findall(r"\bR\d+\.\d+\w*|\.\./shared|\bhouse\.md|\bbehaviours\.md", text) == []


def test_readme_can_be_read_at_once() -> None:
    """What is more than an introduction stands in docs/, and the README leads to every page of it."""
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    assert len(text.encode()) <= LONGEST_README
    assert [page.name for page in DOCS.glob("*.md") if f"docs/{page.name}" not in text] == []


def test_every_number_and_code_of_the_guards_is_on_their_page() -> None:
    """docs/guards.md has each limit of [guards] and each stop code that a guard gives."""
    listed = {limit for sheet in SHEETS.values() for limit in sheet.limits}
    never_stop = {name for name in GuardLimits.model_fields if name.startswith("name_")}
    assert listed | never_stop == set(GuardLimits.model_fields)
    rooms = (ROOT / "orchestrator" / room for room in ("guards", "domain"))
    said = (each for room in rooms for each in _strings(room))
    given = {text for path, text in said if path.parent.name == "guards" or path.name == "usage_limits.py"}
    given &= set(ATTEMPT_STOPS)
    codes = {code for sheet in SHEETS.values() for code in sheet.codes}
    no_stops = {"guard_failed", "interrupted"}  # the set's own, and how a call may end
    assert given - no_stops == codes | {"out_of_scope"}


def test_every_way_in_which_a_reply_ends_is_told() -> None:
    """docs/graph-model.md has each finish reason."""
    told = (DOCS / "graph-model.md").read_text(encoding="utf-8").partition("| `finishReason` |")[2].partition("\n\n")[0]
    assert set(re.findall(r"`(\w+)`", told)) == set(get_args(FinishReason))


def test_words_of_the_code_are_in_the_code() -> None:
    """A CamelCase word of docs/glossary.md is a name of the code, or a label of the graph."""
    rows = re.findall(r"^\| ([^|]+) \|", (DOCS / "glossary.md").read_text(encoding="utf-8"), re.MULTILINE)
    words = {word for row in rows for word in re.findall(r"[A-Z][a-z]+(?:[A-Z][a-z]+)+", row)}
    code = "\n".join(path.read_text() for room in ("orchestrator", "agents") for path in (ROOT / room).rglob("*.py"))
    assert words
    assert [word for word in words if not re.search(rf"^(class {word}\b|{word} =)", code, re.MULTILINE)] == []


def test_troubleshooting_quotes_the_messages_of_the_code() -> None:
    """A symptom in backticks is a message that the code has, `…` standing for what differs."""
    said = "\n".join(text for room in ("orchestrator", "agents") for _, text in _strings(ROOT / room))
    rows = re.findall(r"^\| `([^|]+)` \|", (DOCS / "troubleshooting.md").read_text(encoding="utf-8"), re.MULTILINE)
    assert rows
    fragments = [part.strip() for row in rows for part in row.split("…")]
    assert [fragment for fragment in fragments if len(fragment) > 3 and fragment not in said] == []


def _strings(folder: Path) -> Iterator[tuple[Path, str]]:
    """Every text of the code, adjacent ones joined, without backticks and what is filled in."""
    for path in folder.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Constant) and isinstance(node.value, str):
                yield path, node.value.replace("`", "")


def test_commands_have_an_overview_and_a_section() -> None:
    """docs/cli.md has every command of `orchestrate --help`."""
    text = (DOCS / "cli.md").read_text(encoding="utf-8")
    assert re.findall(r"^\| \[`orchestrate (\w+)`\]", text, re.MULTILINE) == list(COMMANDS)
    assert set(COMMANDS) <= set(re.findall(r"^#+ orchestrate (\w+)$", text, re.MULTILINE))


def test_exit_codes_are_those_of_the_errors() -> None:
    """The table has success, failure, interruption, a reader that left, and the code of every kind of error."""
    section = (DOCS / "cli.md").read_text(encoding="utf-8").split("## Exit codes")[1].split("Every error")[0]
    listed = {int(code) for code in re.findall(r"^\| (\d+) \|", section, re.MULTILINE)}
    kinds = [kind for kind in vars(errors).values() if isinstance(kind, type) and hasattr(kind, "exit_code")]
    assert listed == {0, 1, INTERRUPTED, BROKEN_PIPE} | {kind.exit_code for kind in kinds}


def test_the_forge_runs_what_we_run() -> None:
    """The workflow for a forge ends in `make test`, as .ci/run does, on the oldest and newest Python, with a Neo4j."""
    job = yaml.safe_load((ROOT / ".github" / "workflows" / "ci.yml").read_text())["jobs"]["test"]
    assert job["strategy"]["matrix"]["python"] == ["3.11", "3.13"]
    assert (job["env"]["REQUIRE_NEO4J"], job["steps"][-1]["run"]) == ("1", "make test")
    assert (ROOT / ".ci" / "run").read_text().splitlines()[-1] == "exec make test"
