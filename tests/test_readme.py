"""Nothing in the README and the documents is untested: every fenced block is run, loaded or looked up."""

from __future__ import annotations

import os
import re
import shlex
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from agents.scripted.server import serve
from orchestrator.config.load import load_settings
from orchestrator.config.settings import Settings
from orchestrator.planning.formats import read_plan
from orchestrator.replay.replay import parse_limits
from tests.support.draw_docs import documents
from tests.support.readme_blocks import ROOT, Block, blocks, missing_line, steps
from tests.support.shell_lines import can_be_typed, lines_of
from tests.support.story import CLI, Story, make_repository

README = ROOT / "README.md"
MODEL = ROOT / "docs" / "graph-model.md"
BLOCKS = tuple(block for page in documents() for block in blocks(page))
LANGUAGES = {"sh", "console", "cypher", "text", "toml", "yaml", "mermaid"}
OWN_PLAN = "A plan of your own"  # its blocks are run in a fresh repository, all others in the demo's


def _of(language: str) -> list[Any]:
    return [pytest.param(block, id=block.place) for block in BLOCKS if block.language == language]


@pytest.fixture(scope="module")
def demo(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Story]:
    """A user in the repository that one `orchestrate demo` has left, with the README's files beside them."""
    folder = tmp_path_factory.mktemp("readme")
    with Story(folder / "orchestrate-demo").closing() as story:
        Story(folder).ok("demo", "--into", "orchestrate-demo")
        _equip(story, folder)
        _ignore(story.repository, "limits.toml")
        (story.repository / "limits.toml").write_text(_file("limits.toml"))
        yield story


@pytest.fixture(scope="module")
def own(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Story]:
    """A user in a repository of their own, with the README's plan file and a model."""
    folder = tmp_path_factory.mktemp("own")
    with Story(make_repository(folder / "repository")).closing() as story, serve(_script()) as model:
        story.use_model(model.base_url)
        _equip(story, folder)
        (story.repository / "plan.yaml").write_text(_file("plan.yaml"))
        yield story


def _equip(story: Story, folder: Path) -> None:
    """Put `orchestrate` on the user's PATH, as an installation would."""
    program = folder / "bin" / "orchestrate"
    program.parent.mkdir()
    program.write_text(f'#!/bin/sh\nexport PYTHONPATH={shlex.quote(str(ROOT))}\nexec {shlex.join(CLI)} "$@"\n')
    program.chmod(0o755)
    story.environ.update(PATH=f"{program.parent}:{os.environ['PATH']}", PYTHONDONTWRITEBYTECODE="1")


def _ignore(repository: Path, name: str) -> None:
    with (repository / ".git" / "info" / "exclude").open("a") as exclude:
        exclude.write(f"{name}\n")


def _file(name: str) -> str:
    return next(block.text for block in BLOCKS if block.name == name)


def _script() -> dict[str, Any]:
    """Workers that write what the README's plan asks for, and a QC that finds nothing."""
    plan = yaml.safe_load(_file("plan.yaml"))
    reviews = [_reviewing(task) for task in plan["tasks"]]
    return {"conversations": [*(_working(task) for task in plan["tasks"]), *reviews]}


def _working(task: dict[str, Any]) -> dict[str, Any]:
    name, sign = {"subtract": ("subtract", "-"), "multiply": ("multiply", "*")}[task["key"]]
    code = f"def {name}(a, b):\n    return a {sign} b\n"
    test = (
        f"import unittest\n\nfrom {name} import {name}\n\n\nclass Case(unittest.TestCase):\n"
        f"    def test_it(self):\n        self.assertEqual({name}(5, 3), {5 - 3 if sign == '-' else 5 * 3})\n"
    )
    writes = [
        {"tool": "write_file", "arguments": {"path": path, "file_text": text}}
        for path, text in zip(task["files_written"], (code, test), strict=True)
    ]
    finish = {"tool": "finish_task", "arguments": {"summary": "Done and tested."}}
    return {"when": {"role": "worker", "task": task["key"]}, "replies": [{"calls": writes}, {"call": finish}]}


def _reviewing(task: dict[str, Any]) -> dict[str, Any]:
    shown = {"kind": "command", "command": yaml.safe_load(_file("plan.yaml"))["verification"][0], "exit_code": 0}
    criteria = [
        {"group": "functionality", "text": text, "passed": True, "evidence": shown}
        for text in task["acceptance_criteria"]
    ]
    review = {"passed": True, "score": 95, "feedback": "Fine.", "criteria": criteria, "findings": []}
    call = {"tool": "submit_review", "arguments": review}
    return {"when": {"role": "verifier", "task": task["key"]}, "replies": [{"call": call}]}


# -- blocks that are run ------------------------------------------------------------------------------------------


def _run(story: Story, command: str) -> str:
    """Run a command line as typed; `<run>` stands for the newest run."""
    if "<run>" in command:
        status = yaml.safe_load(story.ok("status", "--json"))
        command = command.replace("<run>", status["run"]["runId"])
    done = subprocess.run(
        ["sh", "-c", command],
        cwd=story.repository,
        env=story.environ,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=120,
    )
    assert done.returncode == 0, f"`{command}` left with {done.returncode}\n{done.stdout}"
    return done.stdout


@pytest.mark.parametrize("block", _of("console"))
def test_console_block_runs_and_shows_what_it_says(block: Block, request: pytest.FixtureRequest) -> None:
    """Each command succeeds and prints the lines below it."""
    story: Story = request.getfixturevalue("own" if block.section == OWN_PLAN else "demo")
    for step in steps(block):
        output = _run(story, step.command)
        assert missing_line(step, output) is None, f"`{step.command}` printed\n{output}"


def _answers() -> list[Any]:
    pairs = [(block, BLOCKS[at + 1]) for at, block in enumerate(BLOCKS[:-1]) if block.language == "cypher"]
    return [pytest.param(question, answer, id=question.place) for question, answer in pairs]


@pytest.mark.parametrize(("question", "answer"), _answers())
def test_cypher_block_answers_as_the_block_after_it(question: Block, answer: Block, demo: Story) -> None:
    """Each question, put to the demo's graph, has the answer that stands below it."""
    assert answer.language == "text"
    printed = demo.ok("query", "-", stdin=question.text)
    assert [line.rstrip() for line in printed.splitlines()] == answer.text.splitlines()


# -- blocks that are loaded or looked up --------------------------------------------------------------------------


def test_every_block_has_a_language_that_is_tested() -> None:
    """A block in another language would be untested; a text block is an answer and follows a question."""
    assert {block.language for block in BLOCKS} == LANGUAGES
    for at, block in enumerate(BLOCKS):
        assert block.language != "text" or BLOCKS[at - 1].language == "cypher", block.place


@pytest.mark.parametrize("block", _of("yaml"))
def test_plan_file_has_no_defect(block: Block) -> None:
    """The plan file is one that `orchestrate plan --file` takes."""
    assert read_plan(block.text.encode(), ".yaml").ready().tasks


@pytest.mark.parametrize("block", _of("toml"))
def test_settings_file_loads(block: Block, tmp_path: Path) -> None:
    """A settings file is valid as the settings loader sees it, a limits file as calibrate sees it."""
    if block.name == "limits.toml":
        assert parse_limits(block.text)
        return
    assert block.name == "~/.config/orchestrate/config.toml"
    own = tmp_path / "orchestrate" / "config.toml"
    own.parent.mkdir()
    own.write_text(block.text)
    assert load_settings(tmp_path, {"XDG_CONFIG_HOME": str(tmp_path)}) != Settings()


@pytest.mark.parametrize("line", [line for block in BLOCKS if block.language == "sh" for line in lines_of(block)])
def test_shell_line_can_be_typed(line: str) -> None:
    """What users type outside a repository names targets, files, variables, commands and extras that exist."""
    assert can_be_typed(line)


# -- pictures -----------------------------------------------------------------------------------------------------


def test_picture_of_the_graph_is_the_graph(demo: Story) -> None:
    """Every arrow of the schema in docs/graph-model.md is in the demo's graph."""
    drawn = next(block for block in BLOCKS if block.language == "mermaid" and block.page == MODEL).text
    arrows = re.findall(r"(\w+) -->\|(\w+)\| (\w+)", drawn)
    rows = demo.ask("MATCH (a)-[r]->(b) RETURN DISTINCT labels(a)[0] AS a, type(r) AS r, labels(b)[0] AS b")
    assert set(arrows) <= {(row["a"], row["r"], row["b"]) for row in rows}
    assert len(arrows) == len(drawn.splitlines()) - 1


# -- the graph model ----------------------------------------------------------------------------------------------


def _named(heading: str) -> list[list[str]]:
    section = MODEL.read_text(encoding="utf-8").split(f"## {heading}\n")[1].split("\n## ")[0]
    return [line.strip("| ").split(" | ") for line in section.splitlines() if line.startswith("| ")][2:]


def test_graph_model_documents_every_property(demo: Story) -> None:
    """Every label and property of the demo's graph is in docs/graph-model.md."""
    documented = {label: {"id", "name", "lock", *properties.split(", ")} for label, _, properties in _named("Nodes")}
    found = demo.ask("MATCH (n) UNWIND keys(n) AS k RETURN labels(n)[0] AS label, collect(DISTINCT k) AS properties")
    for row in found:
        assert set(row["properties"]) <= documented[row["label"]], row["label"]


def test_graph_model_documents_every_relationship(demo: Story) -> None:
    """Every relationship of the demo's graph is in docs/graph-model.md."""
    documented = {
        (source, kind, target)
        for sources, kinds, target in _named("Relationships")
        for source in sources.split(", ")
        for kind in kinds.split(", ")
    }
    found = demo.ask("MATCH (a)-[r]->(b) RETURN DISTINCT labels(a)[0] AS a, type(r) AS r, labels(b)[0] AS b")
    assert {(row["a"], row["r"], row["b"]) for row in found} <= documented
