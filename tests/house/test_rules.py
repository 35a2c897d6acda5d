"""Rules about the code itself: names, sizes, constructions, tests and queries."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path

from orchestrator.cli import COMMANDS
from tests.house import measures
from tests.house.measures import PACKAGES, ROOT, Module, modules

BANNED = {"manager", "handler", "helper", "context", "data", "info", "process", "utils"}
FIELD_TERM = re.compile(r"context_?(length|window)|process_tree", re.IGNORECASE)  # the field's own words
CITATION = re.compile(
    r"\bR\d+\.\d+\b|\.\./shared|\b(house|behaviours|security-audit)\.md\b|\.md,? (rule|item|section) "
    r"|\b(issue|property|rule|item) \d+\b|design card",
    re.IGNORECASE,
)
"""Ids and documents that a reader of the repository does not have."""
WRITTEN = ("*.py", "*.md", "*.cypher", "*.toml", "*.yaml", "Makefile")
FOREIGN = ("tests/plans", "tests/data", "tests/house", ".venv", "node_modules")

Definition = ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef


@cache
def code() -> list[Module]:
    """The packages, parsed when a test asks first: every process of a run imports this file."""
    return modules()


@cache
def suite() -> list[Module]:
    """The tests, likewise."""
    return modules(packages=("tests",))


def definitions(tree: ast.Module) -> Iterator[Definition]:
    """Every function and class of a file."""
    return (node for node in ast.walk(tree) if isinstance(node, Definition))


def place(module: Module, node: Definition) -> str:
    """Where a definition stands."""
    return f"{module.path}:{node.lineno} {node.name}"


def texts(*folders: str) -> Iterator[tuple[Path, str]]:
    """Every text of the repository that we wrote, below the folders or at the top, with its path from the root."""
    for folder in folders:
        for pattern in WRITTEN:
            for path in sorted((ROOT / folder).rglob(pattern) if folder else ROOT.glob(pattern)):
                name = path.relative_to(ROOT)
                if not str(name).startswith(FOREIGN):
                    yield name, path.read_text(encoding="utf-8")


def words(name: str) -> set[str]:
    """`ToolContext` and `tool_context` as {tool, context}."""
    return {word.lower() for part in name.split("_") for word in re.findall(r"[A-Z]?[a-z0-9]+|[A-Z]+(?![a-z])", part)}


def test_every_test_says_in_a_sentence_what_it_shows() -> None:
    """A test without a docstring is no statement about behaviour."""
    silent = [
        place(module, node)
        for module in suite()
        for node in definitions(module.tree)
        if node.name.startswith("test_") and not ast.get_docstring(node)
    ]
    assert silent == []


def test_no_name_uses_a_word_that_means_nothing() -> None:
    """Manager, Handler, Helper, Context, Data, Info, process and utils are no names."""
    found = [
        place(module, node)
        for module in code()
        for node in definitions(module.tree)
        if words(FIELD_TERM.sub("", node.name)) & BANNED
    ]
    assert found == []
    assert [module.path for module in code() if words(FIELD_TERM.sub("", module.path.stem)) & BANNED] == []


def test_functions_and_files_can_be_read_in_one_sitting() -> None:
    """No function is longer than 40 lines and no file than 300, whichever they are, a test's file too."""
    assert measures.long_functions(code()) == []
    assert measures.long_files([*code(), *suite()]) == []


def test_a_name_has_one_home() -> None:
    """No two files define a class, an alias or a public function of one name: who reads it need not ask which."""
    assert measures.shared_names(code()) == {}


def test_values_of_many_fields_are_constructed_by_keyword() -> None:
    """More than five positional arguments cannot be told apart."""
    assert measures.long_constructions(code()) == []


def test_the_formatter_looks_at_every_line() -> None:
    """What it makes unreadable is written in another way."""
    assert measures.format_skips(code()) == []


def test_no_text_cites_what_its_reader_does_not_have() -> None:
    """A reason stands where the reader is, or in docs/: no ids of requirements, issues or documents of elsewhere."""
    found = [
        f"{name}:{number} {line.strip()}"
        for name, text in texts("", *PACKAGES, "preambles", "tests", "benchmarks", "docs")
        for number, line in enumerate(text.splitlines(), start=1)
        if CITATION.search(line)
    ]
    assert found == []


def test_our_own_code_is_not_mocked() -> None:
    """No test imports unittest.mock, and none patches attributes of ours into something else."""
    mocking = [
        str(module.path)
        for module in suite()
        for node in ast.walk(module.tree)
        if isinstance(node, ast.Import | ast.ImportFrom)
        and any("mock" in alias.name for alias in node.names) | ("mock" in (getattr(node, "module", "") or ""))
    ]
    assert mocking == []


def test_every_query_says_what_it_is_for() -> None:
    """A .cypher file begins with a comment that tells its purpose."""
    queries = [path for package in PACKAGES for path in (ROOT / package).rglob("*.cypher")]
    assert queries
    assert [str(path) for path in queries if not path.read_text().startswith("// ")] == []


def test_no_cypher_is_glued_from_strings() -> None:
    """Cypher takes parameters only: no f-string or %-format holds a Cypher clause."""
    clause = re.compile(r"\b(MATCH|MERGE|CREATE|UNWIND|DETACH DELETE)\b.*[({]")
    glued = [
        f"{module.path}:{node.lineno}"
        for module in code()
        for node in ast.walk(module.tree)
        if isinstance(node, ast.JoinedStr)
        and any(isinstance(part, ast.Constant) and clause.search(str(part.value)) for part in node.values)
    ]
    assert glued == []


def test_messages_name_commands_that_exist() -> None:
    """`orchestrate WORD` in a string or a preamble is advice that can be followed."""
    named = re.compile(r"`orchestrate ([a-z]+)")
    said = [(module.path, text) for module in code() for text in _strings(module.tree)]
    found = [(path.name, word) for path, text in [*said, *texts("preambles")] for word in named.findall(text)]
    assert found
    assert [(name, word) for name, word in found if word not in COMMANDS] == []


def _strings(tree: ast.Module) -> Iterator[str]:
    return (node.value for node in ast.walk(tree) if isinstance(node, ast.Constant) and isinstance(node.value, str))


def test_every_public_definition_has_a_docstring() -> None:
    """Public functions and classes of both packages say what they take, give and raise."""
    silent = [
        place(module, node)
        for module in code()
        for node in module.tree.body
        if isinstance(node, Definition) and not node.name.startswith("_") and not ast.get_docstring(node)
    ]
    assert silent == []
