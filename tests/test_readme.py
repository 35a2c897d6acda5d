"""Nothing in the README is untested: every fenced block is run, loaded or looked up."""

from __future__ import annotations

import os
import re
import shlex
import subprocess
import tomllib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import click
import pytest
import yaml

from agents.scripted.server import serve
from orchestrator.cli import INTERRUPTED, cli
from orchestrator.config.load import load_settings, settings_tree
from orchestrator.domain import errors
from orchestrator.planning.formats import read_plan
from orchestrator.replay.replay import parse_limits
from tests.support.readme_blocks import ROOT, Block, blocks, missing_line, steps
from tests.support.story import CLI, Story, make_repository

README = ROOT / "README.md"
BLOCKS = blocks(README)
OWN_PLAN = "Your first plan"  # its blocks are run in a fresh repository, all others in the demo's


def _of(language: str) -> list[Any]:
    return [pytest.param(block, id=f"line-{block.line}") for block in BLOCKS if block.language == language]


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
        story.ok("graph", "up")  # a start on a busy machine is told, which is no line of the README
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
    criteria = [
        {"group": "functionality", "text": text, "passed": True, "evidence": "test_it passes"}
        for text in task["acceptance_criteria"]
    ]
    review = {"passed": True, "score": 95, "feedback": "Fine.", "criteria": criteria, "findings": []}
    call = {"tool": "submit_review", "arguments": review}
    return {"when": {"role": "verifier", "task": task["key"]}, "replies": [{"call": call}]}


# -- blocks that are run ------------------------------------------------------------------------------------------


def _run(story: Story, command: str) -> str:
    """Run a command line as typed; `<run>` stands for the newest run. What a shell adds nothing to is called in this
    process."""
    if "<run>" in command:
        status = yaml.safe_load(story.ok("status", "--json"))
        command = command.replace("<run>", status["run"]["runId"])
    program, *arguments = shlex.split(command)
    if program == "orchestrate" and not set(command) & set("|<>;&$*"):
        return story.screen(*arguments)
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
    return [pytest.param(question, answer, id=f"line-{question.line}") for question, answer in pairs]


@pytest.mark.parametrize(("question", "answer"), _answers())
def test_cypher_block_answers_as_the_block_after_it(question: Block, answer: Block, demo: Story) -> None:
    """Each question, put to the demo's graph, has the answer that the README prints."""
    assert answer.language == "text"
    printed = demo.ok("query", "-", stdin=question.text)
    assert [line.rstrip() for line in printed.splitlines()] == answer.text.splitlines()


# -- blocks that are loaded or looked up --------------------------------------------------------------------------


def test_every_block_has_a_language_that_is_tested() -> None:
    """A block in another language would be untested; a text block is an answer and follows a question."""
    assert {block.language for block in BLOCKS} == {"sh", "console", "cypher", "text", "toml", "yaml", "mermaid"}
    for at, block in enumerate(BLOCKS):
        assert block.language != "text" or BLOCKS[at - 1].language == "cypher", f"line {block.line}"


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
    (tmp_path / block.name).write_text(block.text)
    assert load_settings(tmp_path, {}, {}).models.worker.base_url


def _lines() -> list[Any]:
    """Each line of the shell blocks; what follows `  #` is a remark."""
    return [
        pytest.param(line.split("  #")[0].strip(), id=line.split("  #")[0].strip())
        for block in BLOCKS
        if block.language == "sh"
        for line in block.text.splitlines()
    ]


@pytest.mark.parametrize("line", _lines())
def test_shell_line_can_be_typed(line: str) -> None:
    """What the README has users type outside a repository names targets, variables, commands and extras that exist."""
    program, *arguments = shlex.split(line)
    checks: dict[str, Callable[[list[str]], bool]] = {
        "make": _is_target,
        "export": _are_variables,
        "docker": _is_compose,
        "uv": _is_installable,
        "pipx": _is_installable,
        "orchestrate": _is_command,
        ".": lambda given: given == [".venv/bin/activate"],
        "cd": lambda given: given == ["orchestrate-demo"],
    }
    assert checks[program](arguments)


def _is_target(arguments: list[str]) -> bool:
    makefile = (ROOT / "Makefile").read_text()
    return all(re.search(rf"^{target}:", makefile, re.MULTILINE) for target in arguments)


def _are_variables(arguments: list[str]) -> bool:
    known = {setting.variable for setting in settings_tree()}
    known |= set(re.findall(r"`([A-Z][A-Z0-9_]+)`", (ROOT / "docs" / "settings.md").read_text()))
    return {argument.split("=")[0] for argument in arguments} <= known


def _is_compose(arguments: list[str]) -> bool:
    """tests/store/test_compose.py brings the service up; here only that there is one file, which needs the password."""
    compose = yaml.safe_load((ROOT / "docker-compose.yml").read_text())
    return arguments[0] == "compose" and "NEO4J_PASSWORD" in compose["services"]["neo4j"]["environment"]["NEO4J_AUTH"]


def _is_installable(arguments: list[str]) -> bool:
    extra = re.fullmatch(r"\.\[(\w+)\]", arguments[-1])
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    return extra is not None and extra[1] in project["optional-dependencies"]


def _is_command(arguments: list[str]) -> bool:
    """Whether click takes the command line; nothing is executed."""
    return bool(_parsed(arguments))


def _parsed(arguments: list[str]) -> click.Context:
    group = cli.make_context("orchestrate", [*arguments])
    command = cli.get_command(group, arguments[0])
    assert command is not None
    return command.make_context(arguments[0], arguments[1:], parent=group)


def test_commands_table_names_every_command() -> None:
    """The table has each command of `orchestrate --help`, with options that it takes."""
    rows = dict(re.findall(r"^\| `orchestrate (\w+)[^`]*` \| (.*) \|$", README.read_text(), re.MULTILINE))
    group = cli.make_context("orchestrate", ["doctor"])
    assert list(rows) == cli.list_commands(group)
    for name, meaning in rows.items():
        command = cli.get_command(group, name)
        assert command is not None
        options = {opt for parameter in command.params for opt in parameter.opts}
        assert set(re.findall(r"--[a-z-]+", meaning)) <= options


def test_exit_codes_are_those_of_the_errors() -> None:
    """The table has success, failure, interruption, and the code of every kind of error."""
    listed = {int(code) for code in re.findall(r"^\| (\d+) \|", README.read_text(), re.MULTILINE)}
    kinds = [kind for kind in vars(errors).values() if isinstance(kind, type) and hasattr(kind, "exit_code")]
    assert listed == {0, 1, INTERRUPTED} | {kind.exit_code for kind in kinds}


# -- pictures -----------------------------------------------------------------------------------------------------


def test_picture_of_the_graph_is_the_graph(demo: Story) -> None:
    """Every arrow of the README's schema is in the demo's graph."""
    drawn = next(block for block in BLOCKS if block.language == "mermaid").text
    arrows = re.findall(r"(\w+) -->\|(\w+)\| (\w+)", drawn)
    rows = demo.ask("MATCH (a)-[r]->(b) RETURN DISTINCT labels(a)[0] AS a, type(r) AS r, labels(b)[0] AS b")
    assert set(arrows) <= {(row["a"], row["r"], row["b"]) for row in rows}
    assert len(arrows) == len(drawn.splitlines()) - 1


# -- the graph model ----------------------------------------------------------------------------------------------

MODEL = ROOT / "docs" / "graph-model.md"


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
