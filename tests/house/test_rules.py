"""Rules about the code itself: names, sizes, tests and queries."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

from orchestrator.cli import COMMANDS

ROOT = Path(__file__).parents[2]
PACKAGES = ("orchestrator", "agents")
LEFT_OUT = ROOT / "orchestrator" / "demo" / "sample"
BANNED = {"manager", "handler", "helper", "context", "data", "info", "process", "utils"}
FIELD_TERM = re.compile(r"context_?(length|window)|process_tree", re.IGNORECASE)  # the field's own words
CONTRACTS = {"ports.py"}  # a list to look things up in, not to read
LONGEST_FUNCTION = 50
LONGEST_FILE = 400

Definition = ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef


def sources(*folders: str) -> Iterator[tuple[Path, ast.Module]]:
    """Every Python file below the folders, parsed."""
    for folder in folders:
        for path in sorted((ROOT / folder).rglob("*.py")):
            if LEFT_OUT not in path.parents:
                yield path, ast.parse(path.read_text(encoding="utf-8"))


def definitions(tree: ast.Module) -> Iterator[Definition]:
    """Every function and class of a file."""
    return (node for node in ast.walk(tree) if isinstance(node, Definition))


def place(path: Path, node: Definition) -> str:
    """Where a definition stands."""
    return f"{path.relative_to(ROOT)}:{node.lineno} {node.name}"


def words(name: str) -> set[str]:
    """`ToolContext` and `tool_context` as {tool, context}."""
    return {word.lower() for part in name.split("_") for word in re.findall(r"[A-Z]?[a-z0-9]+|[A-Z]+(?![a-z])", part)}


def test_every_test_says_in_a_sentence_what_it_shows() -> None:
    """A test without a docstring is no statement about behaviour."""
    silent = [
        place(path, node)
        for path, tree in sources("tests")
        for node in definitions(tree)
        if node.name.startswith("test_") and not ast.get_docstring(node)
    ]
    assert silent == []


def test_no_name_uses_a_word_that_means_nothing() -> None:
    """Manager, Handler, Helper, Context, Data, Info, process and utils are no names."""
    found = [
        place(path, node)
        for path, tree in sources(*PACKAGES)
        for node in definitions(tree)
        if words(FIELD_TERM.sub("", node.name)) & BANNED
    ]
    assert found == []
    assert [path for path, _ in sources(*PACKAGES) if words(FIELD_TERM.sub("", path.stem)) & BANNED] == []


def test_functions_and_files_can_be_read_in_one_sitting() -> None:
    """No function is longer than 50 lines and no file than 400."""
    long = [
        place(path, node)
        for path, tree in sources(*PACKAGES)
        for node in definitions(tree)
        if not isinstance(node, ast.ClassDef) and (node.end_lineno or 0) - node.lineno + 1 > LONGEST_FUNCTION
    ]
    files = [str(path) for path, _ in sources(*PACKAGES) if _too_long(path)]
    assert long == []
    assert files == []


def _too_long(path: Path) -> bool:
    return path.name not in CONTRACTS and path.read_text(encoding="utf-8").count("\n") > LONGEST_FILE


def test_our_own_code_is_not_mocked() -> None:
    """No test imports unittest.mock, and none patches attributes of ours into something else."""
    mocking = [
        str(path)
        for path, tree in sources("tests")
        for node in ast.walk(tree)
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
        f"{path.relative_to(ROOT)}:{node.lineno}"
        for path, tree in sources(*PACKAGES)
        for node in ast.walk(tree)
        if isinstance(node, ast.JoinedStr)
        and any(isinstance(part, ast.Constant) and clause.search(str(part.value)) for part in node.values)
    ]
    assert glued == []


def test_messages_name_commands_that_exist() -> None:
    """`orchestrate WORD` in a string or a preamble is advice that can be followed."""
    named = re.compile(r"`orchestrate ([a-z]+)")
    texts = [(path, text) for path, tree in sources(*PACKAGES) for text in _strings(tree)]
    texts += [(path, path.read_text(encoding="utf-8")) for path in (ROOT / "preambles").rglob("*.md")]
    found = [(path.name, word) for path, text in texts for word in named.findall(text)]
    assert found
    assert [(name, word) for name, word in found if word not in COMMANDS] == []


def _strings(tree: ast.Module) -> Iterator[str]:
    return (node.value for node in ast.walk(tree) if isinstance(node, ast.Constant) and isinstance(node.value, str))


def test_every_public_definition_has_a_docstring() -> None:
    """Public functions and classes of both packages say what they take, give and raise."""
    silent = [
        place(path, node)
        for path, tree in sources(*PACKAGES)
        for node in tree.body
        if isinstance(node, Definition) and not node.name.startswith("_") and not ast.get_docstring(node)
    ]
    assert silent == []
