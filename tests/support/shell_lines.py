"""The lines that documents have users type into a shell, looked up instead of run."""

from __future__ import annotations

import re
import shlex
import tomllib
from collections.abc import Callable, Iterator
from importlib.util import find_spec

import click
import yaml

from orchestrator.cli import cli
from orchestrator.config.load import settings_tree
from tests.support.readme_blocks import ROOT, Block


def lines_of(block: Block) -> Iterator[str]:
    """Each line; what follows `  #` is a remark."""
    return (line.split("  #")[0].strip() for line in block.text.splitlines())


def can_be_typed(line: str) -> bool:
    """Whether everything that the line names is there."""
    program, *arguments = shlex.split(line)
    checks: dict[str, Callable[[list[str]], bool]] = {
        "make": _is_target,
        "export": _are_variables,
        "docker": _is_compose,
        "uv": _is_installable,
        "pipx": _is_installable,
        "orchestrate": _is_command,
        "python": _is_module,
        ".venv/bin/pytest": lambda given: (ROOT / given[0]).is_file(),
        ".": lambda given: given == [".venv/bin/activate"],
        "cd": lambda given: given == ["orchestrate-demo"],
    }
    return checks[program](arguments)


def _is_target(arguments: list[str]) -> bool:
    makefile = (ROOT / "Makefile").read_text()
    named = [argument.split("=")[0] for argument in arguments]
    return all(re.search(rf"^{name}(:| \?=)", makefile, re.MULTILINE) for name in named)


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
    group = cli.make_context("orchestrate", [*arguments])
    command = cli.get_command(group, arguments[0])
    assert isinstance(command, click.Command)
    return bool(command.make_context(arguments[0], arguments[1:], parent=group))


def _is_module(arguments: list[str]) -> bool:
    return arguments[0] == "-m" and find_spec(arguments[1]) is not None
