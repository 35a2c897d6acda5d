"""Which verification commands a repository seems to have."""

from __future__ import annotations

import pytest

from orchestrator.planning.proposals import propose_checks

PACKAGE = '{"scripts": {"test": "jest", "lint": "eslint .", "start": "node ."}}'


@pytest.mark.parametrize(
    ("files", "proposed"),
    [
        ({"pyproject.toml": "[project]\ndependencies = ['pytest']\n"}, ["python3 -m pytest -q"]),
        ({"tests/conftest.py": "", "tests/test_a.py": ""}, ["python3 -m pytest -q"]),
        ({"test_a.py": ""}, ["python3 -m unittest -q"]),
        ({"test_a.py": "import unittest\n", "test_b.py": "def test_b():\n    pass\n"}, ["python3 -m pytest -q"]),
        ({"test_a.py": "class A(TestCase):\n    def test_b(self):\n        pass\n"}, ["python3 -m unittest -q"]),
        ({"tests/__init__.py": "", "tests/test_a.py": ""}, ["python3 -m unittest -q"]),
        ({"my tests/a_test.py": ""}, ["python3 -m unittest discover -q -s 'my tests'"]),
        ({"a.py": "", "pyproject.toml": "[tool.ruff]\n[tool.mypy]\n"}, ["ruff check .", "mypy ."]),
        ({"package.json": PACKAGE}, ["npm run test", "npm run lint"]),
        ({"package.json": PACKAGE, "pnpm-lock.yaml": ""}, ["pnpm run test", "pnpm run lint"]),
        ({"package.json": '{"scripts": {"test": "echo \\"Error: no test specified\\" && exit 1"}}'}, []),
        ({"Cargo.toml": "", "Makefile": "test:\n"}, ["cargo test --quiet"]),
        ({"go.mod": ""}, ["go vet ./...", "go test ./..."]),
        ({"Makefile": "all: test\ntest: build\ncheck := 1\n"}, ["make test"]),
        ({"README.md": "pytest"}, []),
    ],
)
def test_build_files_say_how_a_repository_is_tested(files: dict[str, str], proposed: list[str]) -> None:
    """By language, tests before linters; a make target only where nothing else is known."""
    assert list(propose_checks(files, lambda path: files.get(path, ""))) == proposed


@pytest.mark.parametrize("package", ["[", "[]", '{"scripts": []}', '{"scripts": {"test": 3}}', "[" * 100_000])
def test_a_broken_package_file_proposes_nothing(package: str) -> None:
    """What a build file holds is not ours to complain about."""
    assert propose_checks(["package.json"], lambda path: package if path == "package.json" else "") == ()
