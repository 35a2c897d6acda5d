"""What a worktree gets beside the tracked files: shared folders of the checkout, and what prepare commands make."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from orchestrator.config.settings import Settings
from orchestrator.domain.errors import UserError, WorkspaceError
from orchestrator.workspace.repository import discover
from orchestrator.workspace.sandbox import SandboxLevel, probe_sandbox
from orchestrator.workspace.workspaces import ShadowWorkspaces, open_workspaces
from orchestrator.workspace.worktree import Worktree
from tests.support.repositories import commit, discovered, environment, fingerprint, git

needs_bubblewrap = pytest.mark.skipif(
    not probe_sandbox("bubblewrap").works, reason=f"NOT TESTED HERE: {probe_sandbox('bubblewrap').reason}"
)
PACKAGE = {
    "pyproject.toml": "[project]\nname = 'tiny'\nversion = '1'\n"
    "[build-system]\nrequires = ['setuptools']\nbuild-backend = 'setuptools.build_meta'\n",
    "src/tiny/__init__.py": "def answer() -> int:\n    return 41\n",
    "check.py": "import tiny\nprint(tiny.__file__)\nassert tiny.answer() == 42\n",
    ".gitignore": ".venv/\n*.egg-info/\n__pycache__/\nnode_modules/\nprepared/\n",
}


def opened(repository: Path, name: str = "a", **settings: object) -> tuple[ShadowWorkspaces, Worktree]:
    """Workspaces and one worktree of the repository's HEAD under some settings."""
    found = discovered(repository)
    read_paths = (sys.prefix, sys.base_prefix)
    level = str(settings.pop("level", "auto"))
    chosen = Settings.model_validate({"sandbox": {"level": level, "read_paths": read_paths}, "workspace": settings})
    workspaces = open_workspaces(found, found.home, chosen)
    return workspaces, workspaces.open(name, found.head, head=workspaces.resolve("HEAD"))


def test_preparing_is_shown_while_it_lasts(repository: Path) -> None:
    """Whoever waits is told which command prepares the workspace, and when it is over; once, as it runs once."""
    told: list[str] = []

    @contextmanager
    def phase(words: str) -> Iterator[None]:
        told.append(words)
        yield
        told.append("over")

    found = discovered(repository)
    chosen = Settings.model_validate({"sandbox": {"level": "none"}, "workspace": {"prepare": ("echo made",)}})
    workspaces = open_workspaces(found, found.home, chosen, phases=phase)
    for name in ("one", "two"):
        workspaces.open(name, found.head, head=workspaces.resolve("HEAD")).close()
    assert told == ["preparing the workspace: echo made", "over"]


def install_editable(repository: Path) -> Path:
    """A real virtual environment in the checkout with the package installed as `pip install -e` leaves it: a .pth file
    with the checkout's absolute path."""
    venv = repository / ".venv"
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", str(venv)], check=True)
    [packages] = (venv / "lib").glob("python*/site-packages")
    (packages / "__editable__.tiny.pth").write_text(f"{repository / 'src'}\n")
    return venv / "bin" / "python"


@needs_bubblewrap
def test_editable_install_tests_the_workspace(repository: Path) -> None:
    """Decision 9: a virtual environment of the checkout with an editable install runs the workspace's code, although it
    names the checkout's path; the checkout stays as it is."""
    commit(repository, PACKAGE)
    python = install_editable(repository)
    assert subprocess.run([python, "check.py"], cwd=repository, capture_output=True, check=False).returncode == 1
    before = fingerprint(repository)
    _, workspace = opened(repository)
    start = workspace.snapshot()
    assert workspace.run("python check.py").exit_code == 1
    workspace.write("src/tiny/__init__.py", b"def answer() -> int:\n    return 42\n")
    result = workspace.run("python check.py && which python && echo $VIRTUAL_ENV")
    assert result.output.splitlines() == [
        f"{repository}/src/tiny/__init__.py",
        f"{repository}/.venv/bin/python",
        f"{repository}/.venv",
    ]
    assert [change.path for change in workspace.changes(start, workspace.snapshot())] == ["src/tiny/__init__.py"]
    assert fingerprint(repository) == before


@needs_bubblewrap
def test_shared_folders_are_read_only(repository: Path) -> None:
    """A shared folder is the checkout's own, and nothing can be written through it; a workspace can still be closed."""
    (repository / "node_modules").mkdir()
    (repository / "node_modules" / "library.js").write_text("shared")
    commit(repository, {".gitignore": "node_modules/\n"})
    _, workspace = opened(repository)
    result = workspace.run("cat node_modules/library.js; echo x > node_modules/x; rm -rf node_modules")
    assert result.output.startswith("shared")
    workspace.close()
    assert [entry.name for entry in (repository / "node_modules").iterdir()] == ["library.js"]


@needs_bubblewrap
def test_shared_folders_work_read_only_too(repository: Path) -> None:
    """QC's read-only workspace has the shared folders as well; one that git does not ignore is not shown, and said."""
    commit(repository, {".gitignore": "node_modules/\n"})
    (repository / "venv").mkdir()
    (repository / "venv" / "seen").touch()
    (repository / "node_modules").mkdir()
    (repository / "node_modules" / "library.js").write_text("shared")
    workspaces, workspace = opened(repository)
    assert workspace.run("cat node_modules/library.js; ls venv/seen", read_only=True).output.startswith("sharedls: ")
    assert "venv is not shared with commands: git does not ignore it. Add it to .gitignore." in workspaces.remarks


def test_tracked_folder_is_never_shadowed(repository: Path) -> None:
    """A folder of a shared name that is tracked is the workspace's own content."""
    commit(repository, {"node_modules/own.js": "tracked"})
    (repository / "node_modules" / "own.js").write_text("changed in the checkout")
    _, workspace = opened(repository)
    assert workspace.read("node_modules/own.js") == b"tracked"
    assert workspace.run("cat node_modules/own.js").output == "tracked"


@pytest.mark.parametrize("share", ["../outside", "/etc", ".git"])
def test_share_cannot_lead_out(repository: Path, share: str) -> None:
    """A share outside the checkout, or its git directory, is refused by name."""
    with pytest.raises(UserError, match=r"workspace\.share cannot hold"):
        opened(repository, share=(share,))


@pytest.mark.parametrize("level", ["bubblewrap", "landlock"])
def test_a_shared_file_is_copied(repository: Path, level: SandboxLevel) -> None:
    """A file among what is shared is found by commands and file tools alike, is no change, and the checkout's own stays
    as it is whatever is done to the copy."""
    if not probe_sandbox(level).works:
        pytest.skip(f"NOT TESTED HERE: {level}")
    (repository / "cache").mkdir()
    (repository / "cache" / "_version.py").write_text("version = 1\n")
    workspaces, workspace = opened(repository, share=("cache/_version.py",), level=level)
    assert workspace.run("cat cache/_version.py").output == "version = 1\n"
    assert workspace.read("cache/_version.py") == b"version = 1\n"
    workspace.run("echo changed > cache/_version.py")
    assert workspace.snapshot() == workspaces.tree_of(discovered(repository).head)
    assert (repository / "cache" / "_version.py").read_text() == "version = 1\n"


def test_a_file_that_cannot_be_shared_is_refused(repository: Path, tmp_path: Path) -> None:
    """A link, and a file that git does not ignore, are refused with the reason and the way out; a tracked one is there
    anyway."""
    (tmp_path / "secret").write_text("hunter2")
    (repository / "a.log").symlink_to(tmp_path / "secret")
    (repository / "notes.txt").write_text("mine")
    with pytest.raises(UserError, match=r"cannot hold 'a\.log': .*link.*regular file"):
        opened(repository, share=("a.log",))
    with pytest.raises(UserError, match=r"'notes\.txt': git does not ignore that file.*Add it to \.gitignore"):
        opened(repository, share=("notes.txt",))
    (repository / "README.md").write_text("changed in the checkout")
    assert opened(repository, share=("README.md",))[1].read("README.md") == b"# Sample\n"


@pytest.mark.parametrize("level", ["bubblewrap", "landlock", "none"])
def test_prepare_runs_once_per_hash_of_manifests(repository: Path, level: SandboxLevel) -> None:
    """workspace.prepare runs once while manifests stay the same, again after one changed; every workspace has its
    result, whether mounted or copied."""
    if not probe_sandbox(level).works:
        pytest.skip(f"NOT TESTED HERE: {level}")
    commit(repository, PACKAGE | {"app/package.json": "{}"})
    command = "mkdir -p prepared && date +%s%N > prepared/stamp && echo file > app/made.egg-info"
    prepare: dict[str, object] = {"prepare": (command,), "level": level}
    stamps = []
    for name in ("a", "b"):
        _, workspace = opened(repository, name, **prepare)
        result = workspace.run("cat prepared/stamp")
        assert result.exit_code == 0, result.output
        stamps.append(result.output)
        commit(repository, {"app/main.py": f"print('{name}')\n"})
    assert stamps[0] == stamps[1] != ""
    commit(repository, {"app/package.json": '{"changed": true}'})
    workspaces, workspace = opened(repository, "c", **prepare)
    assert workspace.run("cat prepared/stamp").output not in ("", *stamps)
    assert workspace.snapshot() == workspaces.tree_of(discovered(repository).head)
    workspaces.sweep()
    again = opened(repository, "d", **prepare)[1].run("cat prepared/stamp")
    assert again.exit_code == 0, again.output


@needs_bubblewrap
def test_prepared_folders_are_read_only_and_in_no_snapshot(repository: Path) -> None:
    """What prepare made cannot be changed by a worker and is no change of theirs."""
    commit(repository, PACKAGE)
    workspaces, workspace = opened(repository, prepare=("mkdir prepared && echo 1 > prepared/x",))
    assert workspace.run("echo 2 > prepared/x").exit_code != 0
    assert workspace.snapshot() == workspaces.tree_of(discovered(repository).head)


def test_failed_prepare_shows_its_output(repository: Path) -> None:
    """A prepare command that fails ends the opening with its exit code, its last output and the way out; next time it
    runs again."""
    for _ in range(2):
        with pytest.raises(WorkspaceError, match=r"(?s)'echo why; exit 3' failed: exit code 3.*why.*Correct it"):
            opened(repository, prepare=("echo why; exit 3",))


def test_prepare_makes_a_virtual_environment(repository: Path) -> None:
    """A virtual environment made by prepare is first on PATH."""
    if not probe_sandbox("bubblewrap").works:
        pytest.skip("NOT TESTED HERE: needs bubblewrap")
    commit(repository, PACKAGE)
    command = f"{os.path.realpath(sys.executable)} -m venv --without-pip .venv"
    _, workspace = opened(repository, prepare=(command,))
    assert workspace.run("python -c 'import sys; print(sys.prefix)'").output == f"{repository}/.venv\n"


@needs_bubblewrap
def test_linked_worktree_hides_the_common_git_directory(repository: Path, tmp_path: Path) -> None:
    """Of a linked worktree the main checkout's .git, with its configuration and ORCHESTRATE_HOME, cannot be read."""
    git(repository, "worktree", "add", "-q", "-b", "side", str(tmp_path / "side"))
    _, workspace = opened(tmp_path / "side")
    said = workspace.run(f"pwd; git log --oneline; ls -A {repository}/.git; cat {repository}/.git/config")
    assert said.output.startswith(f"{tmp_path}/side\n")
    assert "first" in said.output
    assert "ada@example.org" not in said.output


@needs_bubblewrap
def test_repository_below_the_home_and_orchestrate_home_elsewhere(repository: Path, tmp_path: Path) -> None:
    """A repository inside the masked home is there all the same, and a home outside the repository is masked."""
    found = discover(repository, environment(repository) | {"ORCHESTRATE_HOME": str(tmp_path / "elsewhere")})
    workspaces = open_workspaces(found, found.home, Settings(), environment(repository))
    workspace = workspaces.open("a", found.head, head=workspaces.resolve("HEAD"))
    (tmp_path / "private").write_text("hunter2")
    (found.home / "password").write_text("hunter2")
    said = workspace.run(
        f"cat README.md; git log --oneline; ls {tmp_path}; cat {found.home}/password {tmp_path}/private"
    )
    assert "# Sample" in said.output
    assert "first" in said.output
    assert "hunter2" not in said.output
    assert "private" not in said.output.split("cat:")[0]
