"""A command's environment, and what stays readable of the user's home."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from orchestrator.workspace.sandbox.cache_layer import cache_variables
from orchestrator.workspace.sandbox.environment import readable_paths, scrubbed

SET = {"GIT_OPTIONAL_LOCKS": "0", "PYTHONDONTWRITEBYTECODE": "1"}


def test_only_listed_names_are_inherited(tmp_path: Path) -> None:
    """What is not on the list does not reach a command, whatever it is called."""
    environ = {
        "PATH": "/bin",
        "LC_ALL": "C",
        "AWS_PROFILE": "x",
        "X_TOKEN": "x",
        "LC_PASSWORD": "x",
        "SSH_AUTH_SOCK": "x",
    }
    found = scrubbed(environ, tmp_path, {"MODE": "test"})
    assert found == {"PATH": "/bin", "LC_ALL": "C", "LANG": "C.UTF-8", "MODE": "test"} | SET


def test_tools_are_named_by_their_real_folders(tmp_path: Path) -> None:
    """HOME is another one inside, so rustup, cargo and Go are told where they really are."""
    for folder in (".rustup", ".cargo/registry", "go/pkg/mod"):
        (tmp_path / folder).mkdir(parents=True)
    found = scrubbed({}, tmp_path, {})
    assert found["RUSTUP_HOME"] == str(tmp_path / ".rustup")
    assert found["CARGO_HOME"] == str(tmp_path / ".cargo")
    assert found["GOMODCACHE"] == str(tmp_path / "go/pkg/mod")
    assert "PYENV_ROOT" not in found


def test_with_the_network_downloads_go_where_they_can_be_kept(tmp_path: Path) -> None:
    """The user's own module cache and registry cannot be written, so with the network the plan's are named instead; a
    cargo that is configured in the home keeps that."""
    for folder in (".cargo/registry", "go/pkg/mod"):
        (tmp_path / folder).mkdir(parents=True)
    assert {"CARGO_HOME", "GOMODCACHE"} & set(scrubbed({}, tmp_path, {}, network=True)) == set()
    (tmp_path / ".cargo" / "config.toml").touch()
    assert "CARGO_HOME" in scrubbed({}, tmp_path, {}, network=True)


def test_every_toolchain_is_led_to_the_caches(tmp_path: Path) -> None:
    """Each tool's variable names a folder of its own below the caches; a home with a blank in its name is no second
    word of Maven's; cargo's results have a place where the workspace cannot be written."""
    caches = tmp_path / "caches"
    found = cache_variables(caches, tmp_path)
    for name in ("GOCACHE", "GOMODCACHE", "CARGO_HOME", "CARGO_BUILD_BUILD_DIR", "npm_config_cache", "PIP_CACHE_DIR"):
        assert Path(found[name]).parent == caches
    for name in ("UV_CACHE_DIR", "GRADLE_USER_HOME", "CCACHE_DIR", "RUFF_CACHE_DIR", "MYPY_CACHE_DIR"):
        assert Path(found[name]).parent == caches
    assert found["MAVEN_ARGS"].startswith(f"-Dmaven.repo.local={caches}/maven ")
    assert "MAVEN_ARGS" not in cache_variables(caches, tmp_path / "a home")
    assert "CARGO_TARGET_DIR" not in found
    assert "CARGO_TARGET_DIR" in cache_variables(caches, tmp_path, read_only=True)


def test_credentials_beside_tools_stay_masked(tmp_path: Path) -> None:
    """~/.cargo comes back without its credentials, the rest of the home not at all."""
    (tmp_path / ".cargo" / "bin").mkdir(parents=True)
    (tmp_path / ".cargo" / "credentials.toml").write_text("token")
    (tmp_path / ".ssh").mkdir()
    found = readable_paths({"PATH": f"{tmp_path}/.cargo/bin:{tmp_path}/missing:relative"}, tmp_path, ())
    assert tmp_path / ".cargo" / "bin" in found
    assert tmp_path / ".cargo" not in found
    assert not any("credentials" in path.name or path.name == ".ssh" for path in found)


def test_home_itself_is_never_unmasked(tmp_path: Path) -> None:
    """A PATH entry or setting that is the home or above it does not bring all of it back."""
    found = readable_paths({"PATH": f"{tmp_path}:/:{tmp_path.parent}"}, tmp_path, (str(tmp_path), "/"))
    assert found == ()


def test_interpreter_of_a_virtual_environment_can_be_read(tmp_path: Path) -> None:
    """The installation that a virtual environment's python resolves into comes back."""
    (tmp_path / "pythons" / "3.12" / "bin").mkdir(parents=True)
    (tmp_path / "pythons" / "3.12" / "bin" / "python").touch()
    (tmp_path / "python").symlink_to(tmp_path / "pythons" / "3.12" / "bin" / "python")
    assert tmp_path / "pythons" / "3.12" in readable_paths({"PATH": ""}, tmp_path, (), [tmp_path / "python"])


@pytest.mark.skipif(os.geteuid() == 0, reason="NOT TESTED HERE: root can look everywhere")
def test_folder_of_somebody_else_is_left_out(tmp_path: Path) -> None:
    """A tool's folder that the user may not enter is no error (a variable kept across su)."""
    (tmp_path / "closed" / ".pyenv").mkdir(parents=True)
    (tmp_path / "closed").chmod(0)
    assert "PYENV_ROOT" not in scrubbed({"PYENV_ROOT": str(tmp_path / "closed" / ".pyenv")}, tmp_path, {})
    assert readable_paths({"PATH": str(tmp_path / "closed" / "bin")}, tmp_path, ()) == ()
    (tmp_path / "closed").chmod(0o700)
