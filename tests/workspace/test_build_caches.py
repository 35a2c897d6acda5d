"""Build caches: what a workspace's commands find again, what others see of it, and what can harm them."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Literal

import pytest

from orchestrator.config.settings import Settings
from orchestrator.workspace.build_caches import MOST_PLANS, BuildCaches, sweep_caches
from orchestrator.workspace.sandbox import SandboxLevel, bubblewrap, probe_sandbox
from orchestrator.workspace.sandbox.cache_layer import CacheLayer
from orchestrator.workspace.workspaces import ShadowWorkspaces, open_workspaces
from orchestrator.workspace.worktree import Worktree
from tests.support.repositories import discovered

Opened = Callable[..., Worktree]
WRITE = "mkdir -p $GOCACHE/ab && echo {} > $GOCACHE/ab/entry"
READ = "cat $GOCACHE/ab/entry 2>/dev/null || echo nothing"


def workspaces_of(
    repository: Path, level: SandboxLevel | Literal["overlaid", "copied"], **workspace: object
) -> ShadowWorkspaces:
    """The Shadow of a repository at a sandbox level; of bubblewrap's, `copied` is the one without an overlay."""
    name: SandboxLevel = "bubblewrap" if level == "overlaid" or level == "copied" else level
    if not (tried := probe_sandbox(name)).works:
        pytest.skip(f"NOT TESTED HERE: {tried.reason}")
    found = discovered(repository)
    settings = Settings.model_validate({"sandbox": {"level": name}, "workspace": workspace})
    opened = open_workspaces(found, found.home, settings, {"PATH": os.environ["PATH"], "HOME": str(repository.parent)})
    if level == "overlaid" and not bubblewrap.overlays(opened.home):
        pytest.skip("NOT TESTED HERE: bubblewrap 0.11 or later, which can lay overlays")
    return opened


@pytest.fixture(params=["overlaid", "copied", "landlock"])
def opened(request: pytest.FixtureRequest, repository: Path, monkeypatch: pytest.MonkeyPatch) -> Opened:
    """Opens worktrees by name, in each way in which caches can be layered on this machine."""
    workspaces = workspaces_of(repository, request.param)
    if request.param == "copied":
        monkeypatch.setattr("orchestrator.workspace.workspaces.overlays", lambda _home: False)

    def open_one(name: str, plan_id: str = "p1") -> Worktree:
        head = workspaces.resolve("HEAD")
        return workspaces.open(name, head, head=head, plan_id=plan_id)

    return open_one


def said(workspace: Worktree, command: str, *, read_only: bool = False) -> str:
    """What a command says, which must end well."""
    result = workspace.run(command, read_only=read_only)
    assert result.exit_code == 0, result
    return result.output.strip()


def test_caches_stay_within_an_attempt_and_reach_others_with_acceptance(opened: Opened) -> None:
    """A second command finds what the first one cached; another attempt does not, until checks of an accepted tree
    have left it; another plan never does; and what was opened before keeps what it began with."""
    attempt, before = opened("a1"), opened("b1")
    said(attempt, WRITE.format("first"))
    assert said(attempt, READ) == "first"
    assert said(before, READ) == "nothing"
    checks = opened("a1-pass1")
    assert said(checks, READ) == "nothing"
    said(checks, WRITE.format("checked"))
    checks.keep_caches()
    assert said(opened("b2"), READ) == "checked"
    assert said(before, READ) == "nothing"
    assert said(opened("d1", "p2"), READ) == "nothing"
    for workspace in (attempt, before, checks):
        workspace.close()
    assert said(opened("c1"), READ) == "checked"


def test_an_attempt_cannot_change_what_others_begin_with(opened: Opened) -> None:
    """Whatever an attempt does to its caches, in place, through new names or by removing them, the next one begins with
    what acceptance left."""
    checks = opened("a1-pass1")
    said(checks, WRITE.format("good"))
    checks.keep_caches()
    hostile = opened("b1")
    said(
        hostile, "cd $GOCACHE; ln ab/entry other; echo bad >> ab/entry; chmod 777 ab; echo bad > other; rm -r ab/entry"
    )
    assert said(hostile, READ) == "nothing"
    hostile.close()
    assert said(opened("c1"), f"{READ}; ls $GOCACHE") == "good\nab"


def test_a_reviewers_commands_read_the_checks_caches_and_leave_nothing_there(opened: Opened) -> None:
    """Commands over the read-only workspace find the caches of its checks, and keep theirs, but acceptance keeps only
    what the checks left."""
    checks = opened("a1-pass1")
    said(checks, WRITE.format("checked"))
    assert said(checks, f"{READ}; {WRITE.format('reviewed')}", read_only=True) == "checked"
    assert said(checks, READ, read_only=True) == "reviewed"
    checks.keep_caches()
    assert said(opened("b1"), READ) == "checked"


def test_links_in_a_cache_lead_nowhere(opened: Opened, tmp_path: Path) -> None:
    """A link that a check leaves where a cache should be, or in one, makes us neither read nor write what it names."""
    (tmp_path / "secret").mkdir()
    (tmp_path / "secret" / "key").write_text("hunter2")
    checks = opened("a1-pass1")
    said(checks, f"mkdir -p $GOCACHE; ln -s {tmp_path}/secret $GOCACHE/in; ln -s {tmp_path}/secret $PIP_CACHE_DIR")
    checks.keep_caches()
    after = opened("b1")
    assert said(after, "readlink $GOCACHE/in; readlink $PIP_CACHE_DIR || echo none") == f"{tmp_path}/secret\nnone"
    after.keep_caches()
    assert (tmp_path / "secret" / "key").read_text() == "hunter2"


def test_each_cache_is_the_newest_state_that_was_accepted(opened: Opened) -> None:
    """Of two accepted pieces of work that were checked side by side each leaves the caches that it wrote to, and one
    that both wrote to is the later one's alone: states are not mixed."""
    first, second = opened("a1-pass1"), opened("b1-pass1")
    said(first, f"{WRITE.format('first')}; touch $GOCACHE/of-first; mkdir -p $UV_CACHE_DIR/x")
    said(second, f"{WRITE.format('second')}; mkdir -p $MYPY_CACHE_DIR/x")
    first.keep_caches()
    second.keep_caches()
    third = opened("c1")
    assert said(third, f"{READ}; ls $GOCACHE $UV_CACHE_DIR $MYPY_CACHE_DIR | grep -v :").split() == [
        *("second", "ab", "x", "x"),
    ]


def test_caches_that_a_check_made_unreadable_are_kept(opened: Opened) -> None:
    """Read-only folders, as Go's module cache has, and files without any right are moved, copied and removed."""
    checks = opened("a1-pass1")
    said(checks, f"{WRITE.format('good')}; chmod 0 $GOCACHE/ab/entry; chmod 555 $GOCACHE/ab $GOCACHE")
    checks.keep_caches()
    checks.close()
    assert said(opened("b1"), READ) == "good"


def test_too_large_caches_begin_anew(repository: Path) -> None:
    """Beyond workspace.cache_mb nothing is kept, so a plan's caches cannot fill the disk."""
    workspaces = workspaces_of(repository, "none", cache_mb=1)
    head = workspaces.resolve("HEAD")
    checks = workspaces.open("a1-pass1", head, head=head, plan_id="p1")
    said(checks, f"{WRITE.format('good')}; head -c 2000000 /dev/zero > $GOCACHE/large")
    checks.keep_caches()
    assert said(workspaces.open("b1", head, head=head, plan_id="p1"), READ) == "nothing"


def test_without_caches_every_command_begins_with_none(repository: Path) -> None:
    """workspace.cache_mb = 0 names no cache at all."""
    workspaces = workspaces_of(repository, "none", cache_mb=0)
    head = workspaces.resolve("HEAD")
    assert said(workspaces.open("a1", head, head=head, plan_id="p1"), "echo $GOCACHE$XDG_CACHE_HOME") == ""
    assert not (workspaces.home / "caches").exists()


def test_settings_have_precedence_over_the_caches_variables(repository: Path) -> None:
    """workspace.env sends a tool elsewhere."""
    workspaces = workspaces_of(repository, "none", env={"GOCACHE": "/elsewhere"})
    head = workspaces.resolve("HEAD")
    assert said(workspaces.open("a1", head, head=head, plan_id="p1"), "echo $GOCACHE") == "/elsewhere"


def test_old_generations_and_plans_go_when_nobody_uses_them(tmp_path: Path) -> None:
    """What is in use stays; of generations only the newest is kept, of plans those that were filled last."""
    caches = BuildCaches(tmp_path / "p0", 10)
    newest, held = caches.newest()
    for number in (1, 2):
        layer = CacheLayer(folder=tmp_path / f"layer{number}", below=(newest,), overlaid=False)
        layer.stand()
        (layer.own / "go-build").mkdir()
        caches.fill(layer)
    assert sorted(path.name for path in caches.folder.iterdir() if path.is_dir()) == ["0", "2"]
    for number in range(MOST_PLANS):
        BuildCaches(tmp_path / "plans" / f"p{number}", 10).newest()[1].close()
        os.utime(tmp_path / "plans" / f"p{number}", (number + 1, number + 1))
    caches.folder.rename(tmp_path / "plans" / "used")
    os.utime(tmp_path / "plans" / "used", (0, 0))
    (tmp_path / "plans" / "old").mkdir()
    os.utime(tmp_path / "plans" / "old", (0, 0))
    sweep_caches(tmp_path / "plans")
    assert sorted(path.name for path in (tmp_path / "plans").iterdir()) == ["p0", "p1", "p2", "used"]
    held.close()
    sweep_caches(tmp_path / "plans")
    assert sorted(path.name for path in (tmp_path / "plans").iterdir()) == ["p0", "p1", "p2"]
