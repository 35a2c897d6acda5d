"""Attacks on the machine, run for real in each sandbox: what got through once, and what is of the same kind."""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.security.attacks import ATTACKS, ON_THE_HOST
from tests.security.conftest import Opened
from tests.support.repositories import commit, make_repository

_LIBRARY = '#include <fcntl.h>\n__attribute__((constructor)) static void run(void) {{ creat("{marker}", 0600); }}\n'


def test_attacks_on_the_machine_get_nothing(opened: Opened, level: str) -> None:
    """Kernel settings, keys, other address families, namespaces, capabilities, devices and other people's folders: no
    command gets any of them, as whoever this test runs."""
    _, workspace = opened()
    tried = ATTACKS | (ON_THE_HOST if level == "landlock" else {})
    said = workspace.run("\n".join(f'echo "# {name}"\n{command}' for name, command in tried.items())).output
    parts = {part.partition("\n")[0]: part for part in said.split("# ")[1:]}
    assert parts.keys() == tried.keys()
    assert {name: part for name, part in parts.items() if "GOT" in part} == {}


@pytest.fixture(params=["/opt", "/srv", "/usr/src", "/usr/local", "/var/lib"])
def beside(request: pytest.FixtureRequest) -> Iterator[Path]:
    """A folder of the machine outside the home, in which people keep repositories."""
    try:
        folder = Path(tempfile.mkdtemp(dir=request.param, prefix="orchestrate-test-"))
    except OSError:
        pytest.skip(f"NOT TESTED HERE: only root may write {request.param}")
    yield folder
    shutil.rmtree(folder)


def test_what_stands_beside_the_repository_is_not_there(opened: Opened, beside: Path) -> None:
    """Of a repository outside the home its own untracked files, its .git with the graph's password, other repositories
    and the sockets of services are neither read nor reached; its tracked files are."""
    mine, other = make_repository(beside / "mine"), make_repository(beside / "other")
    for secret in (mine / ".env", other / ".env", other / ".git" / "token", mine / ".git" / "token"):
        secret.write_text("hunter2")
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(str(beside / "daemon.sock"))
        server.listen()
        _, workspace = opened(mine, environ={"HOME": "/nonexistent"})
        (mine / ".git" / "orchestrate" / "password").write_text("hunter2")
        said = workspace.run(
            f"cat README.md; cat {mine}/.env {mine}/.git/token {mine}/.git/orchestrate/password {other}/.env"
            f" {other}/.git/token; grep -rs hunter2 {beside}; python3 -c 'import socket;"
            f' s = socket.socket(socket.AF_UNIX); s.connect("{beside}/daemon.sock"); print("hunter2")\''
        )
    assert "# Sample" in said.output
    assert "hunter2" not in said.output


def test_another_repository_in_a_system_folder_is_not_there(opened: Opened, beside: Path) -> None:
    """Whoever keeps repositories in /opt or /usr/src does not show them to the commands of one in the home."""
    (beside / ".git").mkdir()
    (beside / ".env").write_text("hunter2")
    said = opened()[1].run(f"cat {beside}/.env; ls -A {beside}")
    assert "hunter2" not in said.output
    assert ".git" not in said.output


@pytest.fixture
def library(tmp_path: Path) -> bytes:
    """A shared library that runs a program as soon as it is loaded, and leaves a marker outside of every workspace."""
    compiler = shutil.which("cc")
    if compiler is None:
        pytest.skip("NOT TESTED HERE: no C compiler")
    (tmp_path / "evil.c").write_text(_LIBRARY.format(marker=tmp_path / "pwned"))
    build = [compiler, "-shared", "-fPIC", "-o", str(tmp_path / "evil.so"), str(tmp_path / "evil.c")]
    subprocess.run(build, check=True)
    return (tmp_path / "evil.so").read_bytes()


def test_no_library_of_a_worker_is_loaded_before_the_confinement(
    opened: Opened, repository: Path, tmp_path: Path, library: bytes, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Neither LD_PRELOAD of the settings nor an LD_LIBRARY_PATH of the user that ends in a colon reaches what sets the
    sandbox up: a library that the repository has, or a worker makes, runs in the sandbox or not at all."""
    monkeypatch.setenv("LD_LIBRARY_PATH", "/usr/local/lib:")
    (repository / "evil.so").write_bytes(library)
    commit(repository, {})
    environ = {"LD_LIBRARY_PATH": "/usr/local/lib:"}
    named = f"./evil.so {repository}/evil.so"
    _, workspace = opened(environ=environ, env={"LD_PRELOAD": named})
    for name in ("libm.so.6", "libexpat.so.1", "libcap.so.2"):
        workspace.write(name, library)
    assert workspace.run("echo it runs").output.endswith("it runs\n")
    assert not (tmp_path / "pwned").exists()


def test_no_program_of_a_worker_sets_the_sandbox_up(
    opened: Opened, repository: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A `bwrap` or `git` in a shared virtual environment, or in a folder that PATH names relatively, is not taken for
    the machine's."""
    for name in (".venv/bin/bwrap", "bwrap", "git", "cp", "rm", "chmod"):
        (repository / name).parent.mkdir(parents=True, exist_ok=True)
        (repository / name).write_text(f"#!/bin/sh\nid > {tmp_path}/pwned\n")
        (repository / name).chmod(0o755)
    (repository / ".gitignore").write_text(".venv/\n*\n")
    monkeypatch.chdir(repository)
    monkeypatch.setenv("PATH", f".::{os.environ['PATH']}")
    workspaces, workspace = opened(environ={"PATH": os.environ["PATH"]})
    assert workspace.run("echo it runs; mkdir -m 000 locked").output == "it runs\n"
    workspaces.sweep()
    workspace.close()
    assert not (tmp_path / "pwned").exists()


def test_a_command_line_tells_nobody_the_settings(opened: Opened) -> None:
    """Every user of the machine can read command lines: what workspace.env sets is not among their words."""
    _, workspace = opened(env={"APP_PASS": "hunter2"})
    assert workspace.run("echo $APP_PASS").output == "hunter2\n"
    told = "for line in /proc/[0-9]*/cmdline; do tr '\\0' ' ' < $line; done 2>/dev/null | grep -c hunter[2]"
    assert workspace.run(told).output == "0\n"
