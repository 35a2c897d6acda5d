"""Commands in the sandbox: what they find, and what hostile ones cannot do. Run for each level that is there."""

from __future__ import annotations

import os
import socket
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from orchestrator.config.settings import SandboxSettings, Settings, WorkspaceSettings
from orchestrator.domain.errors import SandboxError
from orchestrator.workspace import sandbox
from orchestrator.workspace.sandbox import launcher, probe_sandbox
from orchestrator.workspace.sandbox.spec import CommandLimits
from orchestrator.workspace.workspaces import open_workspaces
from orchestrator.workspace.worktree import Worktree
from tests.support.commands import alive, is_bubblewrap
from tests.support.repositories import discovered, environment

PYTHON = sys.executable


def test_surroundings_are_told_as_commands_find_them(confined: Worktree) -> None:
    """System, sandbox, missing network and the very Python that a command meets are told."""
    told = " ".join(confined.surroundings)
    said = confined.run("uname -r; (python --version && command -v python) 2>&1 || command -v python3")
    assert all(line in told for line in said.output.split("\n"))
    assert f"in a sandbox ({confined.sandbox.level})" in told
    assert "There is no network" in told


def test_command_sees_and_changes_the_workspace(confined: Worktree, repository: Path) -> None:
    """A command works at the top level, its changes are in the snapshot and not in the user's checkout."""
    result = confined.run("cat app/main.py && echo more >> app/main.py && echo error >&2")
    assert (result.ended, result.exit_code, result.output) == ("exited", 0, "print('hello')\nerror\n")
    assert confined.read("app/main.py") == b"print('hello')\nmore\n"
    assert (repository / "app/main.py").read_text() == "print('hello')\n"
    assert result.started_at.tzinfo is not None


def test_workspace_stands_at_the_repositorys_own_path(confined: Worktree, repository: Path) -> None:
    """Absolute paths are the ones that the user knows; Landlock alone cannot mount."""
    expected = repository if is_bubblewrap(confined) else confined.place.tree
    assert confined.run("pwd").output.strip() == str(expected)


def test_exit_codes_and_signals_are_told_apart(confined: Worktree) -> None:
    """A command's own exit code comes back; a death by signal has none."""
    assert confined.run("exit 7").exit_code == 7
    killed = confined.run("kill -SEGV $$")
    assert (killed.ended, killed.exit_code, killed.detail) == ("signal", None, "ended by SIGSEGV")
    missing = confined.run("no-such-program-at-all")
    assert (missing.ended, missing.exit_code) == ("exited", 127)


def test_output_need_not_be_text(confined: Worktree) -> None:
    """Bytes that are no UTF-8 are replaced, stdin is empty."""
    assert confined.run(r"printf 'a\377b'; cat").output == "a\ufffdb"


@pytest.mark.parametrize(
    "where", ["/etc/pwned", "/usr/pwned", "{checkout}/app/pwned", "{home}/pwned", "{outside}/pwned"]
)
def test_writing_outside_fails(confined: Worktree, repository: Path, tmp_path: Path, where: str) -> None:
    """Nothing outside the workspace can be written: system, checkout, ORCHESTRATE_HOME, other folders."""
    outside = tmp_path / "outside"
    outside.mkdir()
    target = where.format(checkout=repository, home=repository / ".git" / "orchestrate", outside=outside)
    confined.run(f"mkdir -p $(dirname {target}); echo x > {target}")
    confined.run(f"ln -sf {outside} door; echo x > door/pwned; ln -f /etc/passwd twin")
    assert not Path("/etc/pwned").exists()
    assert not Path("/usr/pwned").exists()
    assert not (repository / "app" / "pwned").exists()
    assert not (repository / ".git" / "orchestrate" / "pwned").exists()
    assert list(outside.iterdir()) == []


def test_checkout_and_real_home_cannot_be_read(confined: Worktree, repository: Path, tmp_path: Path) -> None:
    """What lies in the user's checkout, uncommitted, and in their home stays unseen; HOME is empty and private."""
    (repository / "uncommitted-secret").write_text("hunter2")
    (tmp_path / ".netrc").write_text("hunter2")
    box = replace(confined.box, real_home=tmp_path)
    said = confined.sandbox.run(
        box,
        f"cat {repository}/uncommitted-secret {tmp_path}/.netrc; ls -A $HOME; echo x > $HOME/x",
        CommandLimits.of(confined.settings),
    )
    assert "hunter2" not in said.output
    assert confined.run("ls -A $HOME $TMPDIR").output.count("x\n") == 0


def test_other_workspaces_cannot_be_seen(confined: Worktree) -> None:
    """ORCHESTRATE_HOME is masked but for the command's own workspace."""
    other = confined.place.home / "worktrees" / "other"
    other.mkdir()
    (other / "secret").write_text("hunter2")
    (confined.place.home / "password").write_text("hunter2")
    said = confined.run(f"cat {other}/secret {confined.place.home}/password").output
    assert "hunter2" not in said


def test_git_works_inside_and_commit_is_refused(confined: Worktree) -> None:
    """git status, diff and log work; commit, stash and branch are refused, since the Shadow is read-only."""
    confined.write("README.md", b"changed\n")
    said = confined.run("git status --short && git diff && git log --oneline")
    assert said.exit_code == 0, said.output
    assert " M README.md" in said.output
    assert "+changed" in said.output
    assert "first" in said.output
    for command in ("git commit -qam x", "git stash", "git branch other", "git checkout -q -b other"):
        assert confined.run(f"git -c user.name=x -c user.email=x@x {command.removeprefix('git ')}").exit_code != 0


def test_recreated_git_folder_runs_nothing_outside(confined: Worktree, tmp_path: Path) -> None:
    """A command that re-creates .git with core.fsmonitor set gets no program executed by the engine."""
    marker = tmp_path / "pwned"
    confined.run(
        "rm -rf .git; git init -q . ; mv .git old 2>/dev/null; git init -q .;"
        f"git config core.fsmonitor 'touch {marker}; false'; git config core.pager 'touch {marker}'"
    )
    confined.write("README.md", b"changed\n")
    confined.snapshot()
    confined.files()
    confined.search("changed")
    assert not marker.exists()


def test_environment_has_no_secrets(repository: Path, monkeypatch: pytest.MonkeyPatch, confined: Worktree) -> None:
    """Keys, tokens and passwords of the caller are neither in the environment nor in /proc; the settings' own are."""
    secrets = dict.fromkeys(("OPENAI_API_KEY", "GITHUB_TOKEN", "NEO4J_PASSWORD", "LC_API_KEY", "ANY"), "hunter2")
    for name, value in secrets.items():
        monkeypatch.setenv(name, value)
    found = discovered(repository)
    level = confined.sandbox.level
    settings = Settings(sandbox=SandboxSettings(level=level), workspace=WorkspaceSettings(env={"APP_MODE": "test"}))
    workspaces = open_workspaces(found, found.home, settings, os.environ | environment(repository))
    workspace = workspaces.open("env", found.head, head=workspaces.resolve("HEAD"))
    said = workspace.run("env; cat /proc/*/environ 2>/dev/null | tr '\\0' '\\n'").output
    assert "hunter2" not in said
    assert "APP_MODE=test" in said
    assert f"PATH={os.environ['PATH']}" in said


@pytest.fixture
def listener() -> Iterator[int]:
    """A server on the machine's own loopback."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        yield server.getsockname()[1]


def test_network_is_unreachable(confined: Worktree, listener: int) -> None:
    """Neither another host nor the machine's own loopback can be reached, by TCP or UDP."""
    code = (
        "import socket,sys\n"
        "own = ('127.0.0.1', int(sys.argv[1]))\n"
        "for kind, there in ((1, own), (2, own), (1, ('192.0.2.1', 80)), (2, ('192.0.2.1', 53))):\n"
        "    try:\n"
        "        s = socket.socket(socket.AF_INET, kind); s.settimeout(2); s.connect(there)\n"
        "        s.send(b'x'); s.recv(1); print('REACHED', there)\n"
        "    except OSError as error: print('refused', there, error)\n"
    )
    said = confined.run(f'{PYTHON} -c "{code}" {listener}').output
    assert [line.split()[0] for line in said.splitlines()] == ["refused"] * 4, said


def test_own_loopback_works_in_a_namespace(confined: Worktree) -> None:
    """Tests that start a server on loopback work, in bubblewrap."""
    if not is_bubblewrap(confined):
        pytest.skip("Landlock alone has no loopback of its own")
    code = (
        "import socket as s; there = s.create_server(('127.0.0.1', 8080))\n"
        "s.create_connection(there.getsockname()); print('up')"
    )
    assert confined.run(f'{PYTHON} -c "{code}"').output == "up\n"


def test_read_only_workspace(confined: Worktree) -> None:
    """QC's commands can read everything and write nothing in the workspace, but have a /tmp of their own."""
    result = confined.run(
        "cat README.md; echo x > README.md; touch new; mktemp > /dev/null && echo temp", read_only=True
    )
    assert "# Sample" in result.output
    assert result.output.endswith("temp\n")
    assert confined.read("README.md") == b"# Sample\n"
    assert "new" not in confined.files()


def test_read_only_workspace_lets_pytest_keep_its_cache_elsewhere(confined: Worktree) -> None:
    """pytest's cache is no write into the workspace: with warnings as errors it would fail QC's own test run."""
    result = confined.run('echo "$PYTEST_ADDOPTS" "$TMPDIR"; touch "$TMPDIR"/pytest-cache', read_only=True)
    assert result.exit_code == 0
    assert "-o cache_dir=$TMPDIR/pytest-cache" in result.output


def test_commands_of_the_host_cannot_be_signalled(confined: Worktree) -> None:
    """A command can neither see nor end the engine."""
    assert confined.run(f"kill -0 {os.getpid()}").exit_code != 0


def test_no_capability_and_no_privilege(confined: Worktree) -> None:
    """Inside, nothing can be remounted: no capabilities, not even as root."""
    said = confined.run("grep -E 'CapEff|NoNewPrivs' /proc/self/status; mount -o remount,rw / ; unshare -r true").output
    assert "NoNewPrivs:\t1" in said
    if is_bubblewrap(confined):
        assert "CapEff:\t0000000000000000" in said


def test_unconfined_commands_run_only_when_asked(repository: Path) -> None:
    """Level none runs with the user's own rights, and still leaves nothing behind."""
    found = discovered(repository)
    workspaces = open_workspaces(found, found.home, Settings(sandbox=SandboxSettings(level="none")))
    workspace = workspaces.open("none", found.head, head=workspaces.resolve("HEAD"))
    marker = f"35{os.getpid()}"
    result = workspace.run(f"setsid sleep {marker} & cat README.md; pwd")
    assert workspaces.sandbox_level == "none"
    assert result.output == f"# Sample\n{workspace.place.tree}\n"
    assert alive(marker) == []


def test_missing_sandbox_is_refused_with_the_way_out(monkeypatch: pytest.MonkeyPatch) -> None:
    """A named level that cannot be had is refused at the start; under auto, commands are, unless none is asked for."""
    monkeypatch.setenv("PATH", "/nowhere")
    monkeypatch.setattr(sandbox.landlock, "reason_against", lambda: "no Landlock here")
    with pytest.raises(SandboxError, match=r"'bubblewrap' cannot be had here: .*not installed.*--sandbox none"):
        sandbox.detect(Settings(sandbox=SandboxSettings(level="bubblewrap")))
    refused = sandbox.detect(Settings())
    assert refused.level == "none"
    assert "no Landlock here" in refused.refusal
    assert sandbox.detect(Settings(sandbox=SandboxSettings(level="none"))).refusal == ""


def test_where_a_sandbox_holds_less_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where auto finds Landlock alone, that and the reason are said, with what this kernel's does not hold, and that
    commands run as root; of bubblewrap for an ordinary user there is nothing to say."""
    monkeypatch.setenv("PATH", "/nowhere")
    monkeypatch.setattr(launcher, "abi", lambda: 5)
    monkeypatch.setattr(os, "geteuid", lambda: 0)
    if probe_sandbox("landlock").works:
        said = " ".join(sandbox.detect(Settings()).remarks)
        assert "Only Landlock confines commands (bubblewrap (bwrap) is not installed)" in said
        assert "send signals to your other processes" in said and "as root" in said
    monkeypatch.undo()
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    assert sandbox.detect(Settings(sandbox=SandboxSettings(level="none"))).remarks == ()
    if probe_sandbox("bubblewrap").works:
        assert sandbox.detect(Settings()).remarks == ()


def test_refused_commands_say_why(workspace: Worktree) -> None:
    """Where no sandbox can be had, a command is an error that names both ways out."""
    refusing = replace(workspace, sandbox=sandbox.Sandbox("none", "No sandbox can be had here."))
    with pytest.raises(SandboxError, match=r"No sandbox.*bubblewrap.*--sandbox none"):
        refusing.run("true")
