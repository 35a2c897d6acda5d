"""What of the machine commands see: where tools are, and what of the system's folders is kept back."""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path

import pytest

from orchestrator.workspace.sandbox.sight import SYSTEM, hidden_places, installations, without
from orchestrator.workspace.sandbox.unseen import with_unseen
from orchestrator.workspace.worktree import Worktree


def test_tools_on_path_come_back_with_what_they_belong_to(tmp_path: Path) -> None:
    """A folder of programs brings its installation, a link the one that it leads to, a variable what it names; a
    repository brings its programs alone, and the home nothing but an environment that is in use."""
    home, opt = tmp_path / "home", tmp_path / "opt"
    for folder in ("venv/bin", "python/3.12/bin", "browser", "repository/bin", "repository/.git", "plain", "jdk/lib"):
        (opt / folder).mkdir(parents=True)
    for folder in ("bin", ".venvs/x/bin", "secret"):
        (home / folder).mkdir(parents=True)
    (home / ".venvs" / "x" / "pyvenv.cfg").touch()
    for program in ("python/3.12/bin/python3", "browser/browser"):
        (opt / program).touch()
    (home / "secret" / "key").touch()
    (opt / "venv" / "bin" / "python").symlink_to(opt / "python" / "3.12" / "bin" / "python3")
    (opt / "plain" / "browser").symlink_to(opt / "browser" / "browser")
    (opt / "plain" / "key").symlink_to(home / "secret" / "key")
    folders = [opt / "venv/bin", opt / "repository/bin", opt / "plain", home / "bin", home / ".venvs/x/bin"]
    environ = {"PATH": os.pathsep.join(map(str, folders)), "JAVA_HOME": str(opt / "jdk")}
    found = installations(environ, home, tmp_path / "project")
    assert {place.relative_to(tmp_path).as_posix() for place in found} == {
        "opt/jdk",
        "opt/venv",
        "opt/python/3.12",
        "opt/repository/bin",
        "opt/plain",
        "opt/browser",
        "home/.venvs/x",
    }


def test_links_of_the_repository_lead_nowhere(tmp_path: Path) -> None:
    """An activated environment of the checkout is on PATH: whoever wrote it does not choose what commands read."""
    secret = tmp_path / "secret" / "bin" / "tool"
    secret.parent.mkdir(parents=True)
    secret.touch()
    programs = tmp_path / "project" / ".venv" / "bin"
    programs.mkdir(parents=True)
    (programs / "python").symlink_to(secret)
    assert installations({"PATH": str(programs)}, tmp_path / "home", tmp_path / "project") == ()


@pytest.mark.parametrize("path", ["/", "/opt", "/srv/bin", "relative", ""])
def test_what_may_hold_everything_is_not_brought_back(tmp_path: Path, path: str) -> None:
    """A folder right below the top, or one that holds the home, is no installation."""
    found = installations({"PATH": path, "JAVA_HOME": str(tmp_path.parent)}, tmp_path, tmp_path / "project")
    assert not {Path("/"), Path("/opt"), Path("/srv"), tmp_path.parent} & set(found)


def test_a_folder_is_given_by_what_else_is_in_it(tmp_path: Path) -> None:
    """Rules that only allow leave out what is hidden, whatever holds it, and follow no link."""
    for folder in ("a/b/hidden", "a/b/shown", "c"):
        (tmp_path / folder).mkdir(parents=True)
    (tmp_path / "a" / "link").symlink_to(tmp_path / "a" / "b" / "hidden")
    assert without(tmp_path, (tmp_path / "a" / "b" / "hidden",)) == (tmp_path / "a" / "b" / "shown", tmp_path / "c")
    assert without(tmp_path, (tmp_path.parent,)) == ()
    assert without(tmp_path, (tmp_path / "c" / "elsewhere",))[0] == tmp_path / "a"
    assert hidden_places(Path("/usr/src/mine"))[0] == Path("/usr/src")
    assert SYSTEM[0] not in hidden_places(Path("/usr/mine"))


def test_a_tool_that_is_not_shown_is_named_with_the_way_out(confined: Worktree, tmp_path: Path) -> None:
    """A program, and one behind a link of PATH, that lie outside of what commands see are named, with the setting; what
    is merely missing, or in the workspace, is not."""
    for command in ("/srv/tools/tool", "sh -c /srv/tools/tool"):
        said = confined.run(command)
        assert said.exit_code in (126, 127)
        assert "[/srv/tools/tool is not shown to commands here" in said.output and "sandbox.read_paths" in said.output
    for command in ("no-such-program", "./missing", "/usr/bin/missing", "echo '/srv/tools/tool: not found'"):
        assert "is not shown" not in confined.run(command).output
    (tmp_path / "tool").write_text("#!/bin/sh\n")
    (tmp_path / "tool").chmod(0o755)
    box = replace(confined.box, environment={"PATH": f"/usr/bin:{tmp_path}"})
    missing = replace(confined.run("true"), exit_code=127, output="bash: line 1: tool: command not found\n")
    assert f"[{tmp_path}/tool is not shown" in with_unseen(missing, box).output
