"""Path confinement of the file tools."""

from __future__ import annotations

import ctypes
import os
import socket
import sys
import threading
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from orchestrator.domain.errors import PathRefusedError, ToolError
from orchestrator.domain.git_names import is_git_name
from orchestrator.workspace.paths import parts_of
from orchestrator.workspace.worktree import Worktree

REFUSED = [
    "../secret",
    "app/../../secret",
    "app/../README.md",
    "/etc/passwd",
    "/",
    ".git/config",
    "app/.git/hooks/x",
    ".GIT/config",
    ".git /x",
    ".git./x",
    "GIT~1/x",
    ".git::$INDEX_ALLOCATION/x",
    ".g\u200cit/config",
    "\ufeff.git/config",
    "d/" * 100 + "x",
    "",
    "a\0b",
    "x" * 300,
    "a/" * 3_000,
    "lone\ud800surrogate",
]


@pytest.mark.parametrize("path", REFUSED)
def test_paths_that_lead_out_are_refused(workspace: Worktree, path: str) -> None:
    """`..`, absolute paths, .git in any spelling, NUL, empty and over-long paths are refused by every tool."""
    for use in (workspace.relative, workspace.read, workspace.delete, workspace.files):
        with pytest.raises(PathRefusedError):
            use(path)
    with pytest.raises(PathRefusedError):
        workspace.write(path, b"x")


def test_own_absolute_path_means_the_workspace(workspace: Worktree, repository: Path) -> None:
    """An absolute path at or under the repository's own maps into the worktree, not into the checkout."""
    assert workspace.relative(str(repository)) == "."
    assert workspace.relative(f"{repository}//app/./main.py") == "app/main.py"
    workspace.write(f"{repository}/app/main.py", b"changed\n")
    assert workspace.read("app/main.py") == b"changed\n"
    assert (repository / "app/main.py").read_bytes() == b"print('hello')\n"
    with pytest.raises(PathRefusedError, match="outside the workspace"):
        workspace.read(f"{repository}-other/x")


@pytest.mark.parametrize("spelling", ["./app/main.py", "app//main.py", "app/main.py/", "app/./main.py"])
def test_spellings_of_one_path_are_one(workspace: Worktree, spelling: str) -> None:
    """Different spellings of a path are the same path."""
    assert workspace.relative(spelling) == "app/main.py"


def test_no_symlink_is_followed(workspace: Worktree, tmp_path: Path) -> None:
    """A symlink in any component, the last one included, is refused and what it points to stays untouched."""
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "file").write_text("outside")
    (workspace.place.tree / "folder").symlink_to(outside)
    (workspace.place.tree / "file").symlink_to(outside / "file")
    for path in ("folder/file", "folder/new", "file"):
        with pytest.raises(PathRefusedError, match="symlink"):
            workspace.write(path, b"x")
        with pytest.raises(ToolError):
            workspace.read(path)
    with pytest.raises(PathRefusedError):
        workspace.delete("folder/file")
    assert [entry.name for entry in outside.iterdir()] == ["file"]
    assert (outside / "file").read_text() == "outside"


def test_delete_removes_the_link_not_its_target(workspace: Worktree, tmp_path: Path) -> None:
    """Deleting a symlink leaves what it points to."""
    (tmp_path / "target").write_text("kept")
    (workspace.place.tree / "link").symlink_to(tmp_path / "target")
    workspace.delete("link")
    assert (tmp_path / "target").read_text() == "kept"
    assert not (workspace.place.tree / "link").is_symlink()


@pytest.mark.skipif(sys.platform != "linux", reason="NOT TESTED HERE: needs renameat2")
def test_folder_swapped_for_a_symlink_meanwhile_leads_nowhere(workspace: Worktree, tmp_path: Path) -> None:
    """A command that keeps swapping a folder for a symlink never gets a write outside."""
    outside, root = tmp_path / "outside", workspace.place.tree
    outside.mkdir()
    (root / "d").mkdir()
    (root / "s").symlink_to(outside)
    stop = threading.Event()

    libc, exchange = ctypes.CDLL(None), 2

    def swap() -> None:
        while not stop.is_set():
            libc.renameat2(-100, os.fsencode(root / "d"), -100, os.fsencode(root / "s"), exchange)

    thread = threading.Thread(target=swap)
    thread.start()
    for _ in range(300):
        try:
            workspace.write("d/f", b"x")
        except ToolError:
            continue
    stop.set()
    thread.join()
    assert list(outside.iterdir()) == []


def test_hard_link_elsewhere_keeps_its_content(workspace: Worktree, tmp_path: Path) -> None:
    """Writing replaces the file, so another hard link to the old one does not change."""
    (tmp_path / "twin").write_text("old")
    os.link(tmp_path / "twin", workspace.place.tree / "twin")
    workspace.write("twin", b"new")
    assert (tmp_path / "twin").read_text() == "old"
    assert workspace.read("twin") == b"new"


def test_executable_bit_survives_a_write(workspace: Worktree) -> None:
    """Editing a script keeps it executable; a new file is not."""
    script = workspace.place.tree / "run.sh"
    script.write_text("#!/bin/sh\n")
    script.chmod(0o755)
    workspace.write("run.sh", b"#!/bin/sh\nexit 0\n")
    workspace.write("plain", b"")
    assert script.stat().st_mode & 0o111 == 0o111
    assert (workspace.place.tree / "plain").stat().st_mode & 0o111 == 0


def test_special_files_are_refused_without_blocking(workspace: Worktree) -> None:
    """A FIFO or socket is neither read nor overwritten, and nobody waits for it."""
    os.mkfifo(workspace.place.tree / "fifo")
    listener = socket.socket(socket.AF_UNIX)
    here = Path.cwd()
    os.chdir(workspace.place.tree)  # a socket's path has 108 bytes at most
    listener.bind("socket")
    os.chdir(here)
    for name in ("fifo", "socket"):
        with pytest.raises(ToolError):
            workspace.read(name)
        with pytest.raises(ToolError, match="no regular file"):
            workspace.write(name, b"x")
    listener.close()


def test_missing_files_and_folders_are_told_apart(workspace: Worktree) -> None:
    """Each refusal says what is there instead."""
    with pytest.raises(ToolError, match=r"nope\.txt does not exist"):
        workspace.read("nope.txt")
    with pytest.raises(ToolError, match="does not exist"):
        workspace.delete("no/pe")
    with pytest.raises(ToolError, match="is a folder"):
        workspace.read("app")
    with pytest.raises(ToolError, match="is a folder"):
        workspace.write("app", b"")
    with pytest.raises(ToolError, match="is a folder"):
        workspace.delete("app")
    with pytest.raises(ToolError, match="not a folder"):
        workspace.write("README.md/x", b"")
    with pytest.raises(ToolError, match="top level is a folder"):
        workspace.read(".")


def test_large_file_is_not_read_whole(workspace: Worktree) -> None:
    """A file above the limit is refused with its size, the limit and the way out, however sparse it is."""
    with (workspace.place.tree / "big").open("wb") as file:
        file.truncate(10**12)
    with pytest.raises(ToolError, match=r"1000000000000 bytes, limit 32000000.*command"):
        workspace.read("big")


def test_deleting_the_last_file_removes_its_folder(workspace: Worktree) -> None:
    """As in git, a folder without files is none, so its name is free for a file."""
    workspace.delete("app/deep/er/leaf.txt")
    workspace.write("app/deep", b"now a file")
    assert workspace.read("app/deep") == b"now a file"


@given(st.text(alphabet=st.sampled_from("ab.~1/ gitGIT\\:\u0130é"), max_size=12))
def test_accepted_paths_never_leave_the_top(path: str) -> None:
    """Whatever the spelling, an accepted path has no `..` and no component that could be .git."""
    try:
        parts = parts_of(path, "/shown/root")
    except PathRefusedError:
        return
    assert ".." not in parts
    assert not any(is_git_name(part) or "/" in part or part in ("", ".") for part in parts)


def test_existence_is_of_the_path_itself(workspace: Worktree, tmp_path: Path) -> None:
    """Nothing is read and no symlink followed; outside, behind a symlink and under an impossible name there is none."""
    tree = workspace.place.tree
    (tmp_path / "outside").mkdir()
    (tmp_path / "outside/file").write_text("x")
    (tree / "out").symlink_to(tmp_path / "outside")
    (tree / "dangling").symlink_to("nowhere")
    (tree / "unreadable").write_bytes(b"\xff\x00")
    (tree / "unreadable").chmod(0)
    assert all(map(workspace.exists, ("out", "dangling", "unreadable", "./unreadable")))
    nowhere = ("missing", "missing/file", "unreadable/file", "out/file", "../outside/file", "n" * 300, ".git/HEAD")
    assert not any(map(workspace.exists, nowhere))
