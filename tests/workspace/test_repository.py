"""Discovering the user's repository."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from orchestrator.config.settings import Settings
from orchestrator.domain.errors import UserError
from orchestrator.workspace.repository import discover, without_credentials
from orchestrator.workspace.workspaces import open_workspaces
from tests.support.repositories import commit, discovered, environment, fingerprint, git, make_repository, write


def test_subfolder_finds_the_top_level(repository: Path) -> None:
    """Whatever folder -C names, the repository is its git top level."""
    found = discovered(repository / "app" / "deep")
    assert found.root == repository
    assert found.home == repository / ".git" / "orchestrate"
    assert (found.branch, found.default_branch, found.identity.name) == ("main", "main", "Ada")


def test_home_is_the_environments_where_set(repository: Path, tmp_path: Path) -> None:
    """ORCHESTRATE_HOME overrides the folder inside the git directory."""
    chosen = environment(repository) | {"ORCHESTRATE_HOME": str(tmp_path / "elsewhere")}
    assert discover(repository, chosen).home == tmp_path / "elsewhere"


def test_git_variables_of_a_surrounding_hook_are_not_followed(repository: Path, tmp_path: Path) -> None:
    """GIT_DIR in the environment does not lead to another repository."""
    other = make_repository(tmp_path / "other")
    assert discover(repository, environment(repository) | {"GIT_DIR": str(other / ".git")}).root == repository


def test_linked_worktree_shares_the_home(repository: Path, tmp_path: Path) -> None:
    """A linked worktree is its own root, with ORCHESTRATE_HOME in the common git directory."""
    git(repository, "worktree", "add", "-q", "-b", "side", str(tmp_path / "side"))
    found = discovered(tmp_path / "side")
    assert (found.root, found.common_dir) == ((tmp_path / "side").resolve(), repository / ".git")
    assert found.home == repository / ".git" / "orchestrate"
    assert found.branch == "side"


def test_dirty_and_detached_checkouts_are_warned_about(repository: Path) -> None:
    """A dirty or detached checkout is usable, each named in a warning."""
    git(repository, "checkout", "-q", "--detach")
    (repository / "README.md").write_text("changed")
    (repository / "é new.txt").write_text("new")
    dirty, detached = discovered(repository).warnings
    assert "2 uncommitted" in dirty
    assert "é new.txt" in dirty
    assert "detached" in detached


def test_plan_files_and_environments_are_no_work_of_the_user(repository: Path) -> None:
    """A plan file, alone or in a folder of such, is no dirt; an environment that git does not ignore is to be ignored,
    never to be committed."""
    plan = "goal: Better\nverification: [pytest]\ntasks:\n  - {key: a, prompt: Do it., files_written: [a.py]}\n"
    write(repository, {"plan.yaml": plan, "plans/b.yml": plan})
    assert discovered(repository).warnings == ()
    write(repository, {".venv/bin/python": "", "notes/todo.yaml": "- one\n"})
    dirt, unignored = discovered(repository).warnings
    assert "1 uncommitted path (notes/)" in dirt
    assert ".venv/" in unignored
    assert discovered(repository).advice == (
        "Commit what should be part of it. Add to .gitignore, and do not commit: .venv/"
    )


def test_discovery_leaves_the_checkout_alone(repository: Path) -> None:
    """Looking at the repository writes nothing, the index included."""
    (repository / "README.md").write_text("changed")
    before = fingerprint(repository)
    discovered(repository)
    assert fingerprint(repository) == before


def test_discovery_runs_no_program_of_the_repository(repository: Path, tmp_path: Path) -> None:
    """A core.fsmonitor in the repository's configuration is not executed."""
    git(repository, "config", "core.fsmonitor", f"touch {tmp_path / 'pwned'}; false")
    discovered(repository)
    assert not (tmp_path / "pwned").exists()


@pytest.mark.parametrize("driver", ["evil", "e=v.il"])
def test_a_filter_of_the_repositorys_configuration_is_not_run(repository: Path, tmp_path: Path, driver: str) -> None:
    """An unpacked archive brings a .git/config: a filter that it names is not run over what has changed, whatever it is
    called; a filter of the user's own configuration is."""
    commit(
        repository, {".gitattributes": f"*.txt filter={driver}\n*.lfs filter=mine\n", "a.txt": "1", "a.lfs": "1"}, "x"
    )
    git(repository, "config", f"filter.{driver}.clean", f"touch {tmp_path / 'pwned'}; cat")
    (tmp_path / ".gitconfig").write_text(f'[filter "mine"]\n\tclean = touch {tmp_path / "mine"}; cat\n')
    (repository / "a.txt").write_text("2")
    (repository / "a.lfs").write_text("2")
    found = discover(repository, environment(repository) | {"HOME": str(tmp_path)})
    assert found.dirty == ("a.lfs", "a.txt")
    assert [(tmp_path / name).exists() for name in ("pwned", "mine")] == [False, True]


def test_a_folder_that_looks_like_a_git_directory_is_not_taken_for_one(repository: Path, tmp_path: Path) -> None:
    """A clone may hold a whole git directory as tracked files, with a configuration that runs programs."""
    vendor = repository / "vendor"
    git(tmp_path, "init", "-q", "--bare", str(vendor))
    git(repository, f"--git-dir={vendor}", "config", "core.bare", "false")
    git(repository, f"--git-dir={vendor}", "config", "core.worktree", "..")
    with pytest.raises(UserError, match="bare repository"):
        discovered(vendor)


def test_the_default_branch_is_the_remotes_else_a_usual_name(repository: Path, tmp_path: Path) -> None:
    """What origin says counts, then main or master, then the branch that is checked out."""
    git(repository, "checkout", "-qb", "topic")
    assert discovered(repository).default_branch == "main"
    git(repository, "branch", "-m", "main", "trunk")
    assert discovered(repository).default_branch == "topic"
    git(repository, "checkout", "-q", "trunk")
    git(tmp_path, "clone", "-q", str(repository), "clone")
    git(tmp_path / "clone", "checkout", "-qb", "main")
    assert discovered(tmp_path / "clone").default_branch == "trunk"


def test_odd_names_of_changed_files_are_told_whole(repository: Path) -> None:
    """Spaces, quotes and line breaks, of changed, new and conflicting files."""
    names = ('a "b" c.txt', "new\nline.txt", "-x y")
    commit(repository, dict.fromkeys(names[:2], "one\n"))
    git(repository, "checkout", "-qb", "other")
    commit(repository, {names[0]: "two\n"})
    git(repository, "checkout", "-q", "main")
    commit(repository, {names[0]: "three\n"})
    with pytest.raises(AssertionError):  # it conflicts
        git(repository, "merge", "-q", "other")
    write(repository, {names[1]: "changed\n", names[2]: "new\n"})
    assert set(discovered(repository).dirty) == set(names)


def test_a_checkout_whose_path_has_a_line_break_is_refused(tmp_path: Path) -> None:
    """Tools that print paths in lines, git among them, cannot tell it apart from two."""
    with pytest.raises(UserError, match="line break"):
        discovered(make_repository(tmp_path / "two\nlines"))


def test_folder_that_is_no_repository_is_refused(tmp_path: Path) -> None:
    """Outside a repository: one message with the way out."""
    with pytest.raises(UserError, match=r"not in a git repository.*git init"):
        discovered(tmp_path)
    with pytest.raises(UserError, match="is not a folder"):
        discovered(tmp_path / "missing")


def test_repository_without_commits_is_refused(tmp_path: Path) -> None:
    """There is nothing to start from without a commit."""
    git(tmp_path, "init", "-q")
    with pytest.raises(UserError, match="has no commits"):
        discovered(tmp_path)


def test_bare_repository_and_git_directory_are_refused(repository: Path, tmp_path: Path) -> None:
    """A bare repository has no checkout; a .git folder is none either."""
    git(tmp_path, "clone", "-q", "--bare", str(repository), str(tmp_path / "bare.git"))
    with pytest.raises(UserError, match="bare repository"):
        discovered(tmp_path / "bare.git")
    with pytest.raises(UserError, match="inside a git directory"):
        discovered(repository / ".git")


def test_sha256_repository_is_refused(tmp_path: Path) -> None:
    """Only sha1 objects can be read by libgit2."""
    git(tmp_path, "init", "-q", "--object-format=sha256")
    git(tmp_path, "commit", "-q", "--allow-empty", "-m", "x")
    with pytest.raises(UserError, match="sha256"):
        discovered(tmp_path)


@pytest.mark.parametrize("said", ["git version 2.37.1", "git version 1.9", "nonsense"])
def test_old_git_is_refused(repository: Path, tmp_path: Path, said: str) -> None:
    """git before 2.38 cannot merge without a worktree."""
    fake = tmp_path / "bin" / "git"
    fake.parent.mkdir()
    fake.write_text(f"#!/bin/sh\necho {said}\n")
    fake.chmod(0o755)
    with pytest.raises(UserError, match=r"too old.*2\.38"):
        discover(repository, {"PATH": str(fake.parent)})


def test_missing_git_is_refused(repository: Path, tmp_path: Path) -> None:
    """Without git on PATH the message says what to install."""
    with pytest.raises(UserError, match=r"git was not found.*2\.38"):
        discover(repository, {"PATH": str(tmp_path)})


@pytest.mark.parametrize(
    ("url", "clean"),
    [
        ("https://user:secret@example.org/a/b.git?x=1", "https://example.org/a/b.git"),
        ("https://token@example.org:8443/a.git", "https://example.org:8443/a.git"),
        ("ssh://git@example.org/a.git", "ssh://example.org/a.git"),
        ("git@example.org:a/b.git", "git@example.org:a/b.git"),
        ("/srv/git/a.git", "/srv/git/a.git"),
        ("", ""),
    ],
)
def test_credentials_never_stay_in_a_remote(url: str, clean: str) -> None:
    """A remote's URL is stored without user name and password."""
    assert without_credentials(url) == clean


def test_record_is_stable_and_has_no_secret(repository: Path) -> None:
    """The graph's Repository: an id from the root path, the remote without credentials."""
    git(repository, "remote", "add", "origin", "https://me:hunter2@example.org/x.git")
    record = discovered(repository).record
    assert record == discovered(repository / "app").record
    assert record.remote == "https://example.org/x.git"
    assert record.id.isalnum()


def test_shallow_clone_and_submodule_can_be_worked_in(repository: Path, tmp_path: Path) -> None:
    """A shallow clone with a submodule opens, the submodule staying an untouched gitlink."""
    library = make_repository(tmp_path / "library")
    git(repository, "submodule", "add", "-q", str(library), "vendor/library")
    commit(repository, {}, "with a submodule")
    git(tmp_path, "clone", "-q", "--depth=1", f"file://{repository}", str(tmp_path / "shallow"))
    found = discovered(tmp_path / "shallow")
    assert (found.common_dir / "shallow").exists()
    assert "submodules" in " ".join(found.warnings)
    workspaces = open_workspaces(found, found.home, Settings())
    workspace = workspaces.open("a", found.head, head=workspaces.resolve("HEAD"))
    workspace.write("new.txt", b"new")
    tree = workspace.snapshot()
    assert [change.path for change in workspace.changes(workspaces.tree_of(found.head), tree)] == ["new.txt"]
    merged = workspaces.merge(head=found.head, base=found.head, tree=tree, message="m", trailers={})
    assert merged.commit
    workspaces.deliver("orchestrate/r", merged.commit)
    assert git(found.root, "show", "orchestrate/r:new.txt") == "new"
    assert git(found.root, "ls-tree", "orchestrate/r", "vendor/library").startswith("160000 commit")


@pytest.mark.skipif(os.geteuid() == 0, reason="NOT TESTED HERE: root can write everywhere")
def test_home_that_cannot_be_written_is_refused(repository: Path, tmp_path: Path) -> None:
    """A read-only home: one message with the way out."""
    tmp_path.joinpath("ro").mkdir(mode=0o500)
    found = discovered(repository)
    with pytest.raises(UserError, match=r"cannot be written.*ORCHESTRATE_HOME"):
        open_workspaces(found, tmp_path / "ro" / "home", Settings())


def test_home_below_a_file_is_refused(repository: Path) -> None:
    """A home that cannot be a folder: one message with the way out."""
    found = discovered(repository)
    with pytest.raises(UserError, match=r"cannot be written.*ORCHESTRATE_HOME"):
        open_workspaces(found, repository / "README.md" / "home", Settings())
