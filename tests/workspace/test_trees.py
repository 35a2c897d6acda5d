"""What gates ask of trees without a checkout, over real git."""

from __future__ import annotations

from pathlib import Path

import pytest

from orchestrator.config.settings import Settings
from orchestrator.workspace.workspaces import ShadowWorkspaces, open_workspaces
from tests.support.repositories import commit, discovered, environment, git, make_repository

START = {"tests/test_a.py": "import requests\nfrom calc import add\n", "calc.py": "import os, yaml.nodes as y\n"}


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    """A repository with a test and a module."""
    folder = make_repository(tmp_path / "repository")
    commit(folder, START)
    return folder


@pytest.fixture
def workspaces(checkout: Path) -> ShadowWorkspaces:
    """Its Shadow."""
    repository = discovered(checkout)
    settings = Settings.model_validate({"sandbox": {"level": "none"}})
    return open_workspaces(repository, repository.home, settings, environment(checkout))


def test_a_tree_is_restored_in_part(checkout: Path, workspaces: ShadowWorkspaces) -> None:
    """What was changed or deleted is as it was, what was added is gone, the rest stays as it is; a link in a folder's
    place gives way to the folder, and an odd name is found by what it is shown as."""
    start = workspaces.resolve("HEAD")
    (checkout / "tests" / "test_a.py").unlink()
    (checkout / "tests").rmdir()
    (checkout / "tests").symlink_to("app")
    odd = b"conf\xff\ntest.py"
    Path(bytes(checkout).decode(), odd.decode("utf-8", "surrogateescape")).write_text("")
    work = workspaces.resolve(commit(checkout, {"calc.py": "new\n", "conftest.py": "x\n", "README.md": "new\n"}))
    changes = {change.path: change for change in workspaces.changes(start, work)}
    paths = [path for path in changes if path not in ("calc.py", "tests")]
    assert "conf\\xff\ntest.py" in paths

    restored = workspaces.restored(workspaces.tree_of(work), workspaces.tree_of(start), paths)

    assert [change.path for change in workspaces.changes(start, restored)] == ["calc.py"]
    assert workspaces.content(changes["calc.py"].blob) == b"new\n"
    assert workspaces.restored(restored, start, ()) == restored
    assert list((workspaces.home).glob("restoring-*")) == []


def test_who_imports_a_module_is_told_of_the_tree(workspaces: ShadowWorkspaces) -> None:
    """By its bare name, at the beginning of an import; a member of another module is none."""
    tree = workspaces.resolve("HEAD")
    asked = ("requests", "calc", "os", "yaml", "nodes", "add", "y", "numpy")
    assert workspaces.imported(tree, asked) == {"requests", "calc", "os", "yaml"}
    assert workspaces.imported(tree, ()) == frozenset()


def test_a_file_above_a_megabyte_is_not_read(checkout: Path, workspaces: ShadowWorkspaces) -> None:
    """A worker's file may be any size."""
    workspaces.resolve(commit(checkout, {"package.json": " " * 1_000_001}))
    assert workspaces.content(git(checkout, "rev-parse", "HEAD:package.json")) is None
