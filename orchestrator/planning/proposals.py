"""Which verification commands a repository seems to have, judged from the names of its files and what its build files
say. They are proposals: whether they work shows when they are run."""

from __future__ import annotations

import json
import posixpath
import re
import shlex
from collections.abc import Callable, Collection, Iterator

TextOf = Callable[[str], str]
"""The text of a file of the repository, empty for one that there is not."""

_PYTHON_FILES = ("pyproject.toml", "setup.cfg", "tox.ini", "requirements.txt", "requirements-dev.txt")
_TEST_MODULE = re.compile(r"(^|/)(test_[^/]*|[^/]*_test)\.py$")
_OF_PYTEST = re.compile(r"^(?:(?:async )?def test|import pytest\b|from pytest\b)", re.MULTILINE)
"""What stands in a test module that unittest would find nothing in, or cannot import."""
_MOST_READ = 20
"""Test modules that are looked into."""
_RUNNERS = {"pnpm-lock.yaml": "pnpm", "yarn.lock": "yarn", "bun.lock": "bun", "bun.lockb": "bun"}
_SCRIPTS = ("test", "lint", "typecheck")
_BY_FILE = {
    "Cargo.toml": ("cargo test --quiet",),
    "go.mod": ("go vet ./...", "go test ./..."),
    "pom.xml": ("mvn -q test",),
    "gradlew": ("./gradlew test",),
    "mix.exs": ("mix test",),
    "deno.json": ("deno test",),
}
"""What a file at the top level says of its language."""
_MAKE_TARGET = re.compile(r"^(test|check)\s*:(?!=)", re.MULTILINE)


def propose_checks(paths: Collection[str], text_of: TextOf) -> tuple[str, ...]:
    """Shell commands to prove a change by, tests first. `paths` are all files, from the top level. A make target is
    proposed where nothing else is."""
    known = frozenset(paths)
    found = [*_python(known, text_of), *_node(known, text_of)]
    for name, commands in _BY_FILE.items():
        found += commands if name in known else ()
    return tuple(dict.fromkeys(found or _make(text_of)))


def _python(paths: Collection[str], text_of: TextOf) -> Iterator[str]:
    said = "\n".join(text_of(name) for name in _PYTHON_FILES)
    tests = sorted(path for path in paths if _TEST_MODULE.search(path))
    named = "pytest" in said or "pytest.ini" in paths or any(path.endswith("conftest.py") for path in paths)
    if named or any(_OF_PYTEST.search(text_of(path)) for path in tests[:_MOST_READ]):
        yield "python3 -m pytest -q"
    elif tests:
        yield _unittest(min(map(posixpath.dirname, tests)), paths)
    if "[tool.ruff" in said or {"ruff.toml", ".ruff.toml"} & set(paths):
        yield "ruff check ."
    if "[tool.mypy" in said or "mypy.ini" in paths:
        yield "mypy ."


def _unittest(folder: str, paths: Collection[str]) -> str:
    """unittest looks for tests in packages only, unless it is told where to begin; finding none is no failure to it
    before Python 3.12."""
    found = not folder or f"{folder}/__init__.py" in paths
    return "python3 -m unittest -q" if found else f"python3 -m unittest discover -q -s {shlex.quote(folder)}"


def _node(paths: Collection[str], text_of: TextOf) -> Iterator[str]:
    try:
        package = json.loads(text_of("package.json") or "{}")
    except (ValueError, RecursionError):
        return
    scripts = package.get("scripts") if isinstance(package, dict) else None
    runner = next((runner for lock, runner in _RUNNERS.items() if lock in paths), "npm")
    for name in _SCRIPTS:
        command = scripts.get(name) if isinstance(scripts, dict) else None
        if isinstance(command, str) and "no test specified" not in command:  # what `npm init` writes
            yield f"{runner} run {name}"


def _make(text_of: TextOf) -> Iterator[str]:
    for target in dict.fromkeys(_MAKE_TARGET.findall(text_of("Makefile"))):
        yield f"make {target}"
