"""The file tools over a real worktree."""

from __future__ import annotations

from pathlib import Path

import pytest

from orchestrator.domain.ports import Workspace
from tests.agents.tools.conftest import Do, Parse


def test_read_file_numbers_its_lines_and_says_how_many(do: Do) -> None:
    """A text file is shown with line numbers under a heading that says how many lines there are."""
    told = do("read_file", path="README.md")
    assert told.ok
    assert told.text == "README.md, 3 lines:\n     1\t# Sample\n     2\t\n     3\tAdds numbers."


def test_read_file_shows_the_range_asked_for(do: Do) -> None:
    """view_range is inclusive and -1 means the end."""
    told = do("read_file", path="app/main.py", view_range=[5, -1]).text
    assert told == "app/main.py, lines 5 to 6 of 6:\n     5\tdef twice(a):\n     6\t    return a * 2"
    assert do("read_file", path="app/main.py", view_range=[2, 900]).text.startswith("app/main.py, lines 2 to 6 of 6")


@pytest.mark.parametrize(
    ("view_range", "says"), [([0, 3], "first line is 1"), ([4, 2], "no range"), ([9, 12], "6 lines")]
)
def test_read_file_refuses_what_is_no_range(do: Do, view_range: list[int], says: str) -> None:
    """A range outside the file is an error that names the limit."""
    told = do("read_file", path="app/main.py", view_range=view_range)
    assert not told.ok
    assert told.error_kind == "tool"
    assert says in told.text


def test_read_file_lists_a_folder(do: Do) -> None:
    """A folder is answered with its files, as a success."""
    told = do("read_file", path="app")
    assert told.ok
    assert told.text == "app is a folder:\napp/empty.py\napp/main.py"


def test_read_file_tells_binary_and_empty_files_apart(do: Do) -> None:
    """A binary file is named with its size, an empty one as empty."""
    assert do("read_file", path="logo.png").text == "logo.png is a binary file of 16 bytes; it cannot be shown."
    assert do("read_file", path="app/empty.py").text == "app/empty.py is empty (0 bytes)."


def test_read_file_of_a_missing_path_names_similar_ones(do: Do) -> None:
    """A wrong path is an error with the names that come nearest."""
    told = do("read_file", path="src/mian.py")
    assert not told.ok
    assert "app/main.py" in told.text


def test_read_file_takes_the_repositorys_own_absolute_path(do: Do, workspace: Workspace) -> None:
    """An absolute path under the repository's own path means the workspace."""
    assert do("read_file", path=f"{workspace.shown_root}/README.md").ok


@pytest.mark.parametrize("path", ["../outside", "/etc/passwd", ".git/config", "a/../../x", "link/secret", "nul\0"])
def test_no_path_leads_out_of_the_workspace(do: Do, workspace: Workspace, tmp_path: Path, path: str) -> None:
    """Paths outside, through a symlink or into .git are refused for reading, writing, editing and deleting."""
    workspace.run(f"ln -s {tmp_path} link")
    for tool, more in (
        ("read_file", {}),
        ("write_file", {"file_text": "x"}),
        ("edit_file", {"old_str": "a", "new_str": "b"}),
        ("delete_file", {}),
    ):
        told = do(tool, path=path, **more)
        assert not told.ok
        assert told.touched == ()


def test_list_files_takes_a_glob(do: Do) -> None:
    """list_files gives tracked and new files, narrowed by folder and glob; nothing found is said."""
    do("write_file", path="app/new.py", file_text="x = 1\n")
    assert do("list_files", glob="**/*.py").text.split("\n") == ["app/empty.py", "app/main.py", "app/new.py"]
    assert "no files" in do("list_files", path="nowhere").text


def test_search_shows_path_line_and_text(do: Do) -> None:
    """search gives path:line:text; no match is an answer, a broken pattern an error."""
    assert do("search", pattern=r"def \w+").text.split("\n") == [
        "app/main.py:1:def add(a, b):",
        "app/main.py:5:def twice(a):",
    ]
    assert do("search", pattern="nothing like this").ok
    assert not do("search", pattern="(").ok


def test_write_file_creates_and_replaces(do: Do, workspace: Workspace) -> None:
    """write_file makes missing folders, says what it did, and names what it touched."""
    told = do("write_file", path="./docs//a.md", file_text="one\ntwo\n")
    assert (told.text, told.touched) == ("Created ./docs//a.md: 2 lines, 8 bytes.", ("docs/a.md",))
    assert do("write_file", path="docs/a.md", file_text="").text == "Replaced docs/a.md: 0 lines, 0 bytes."
    assert workspace.read("docs/a.md") == b""


def test_write_file_keeps_crlf_and_bom(do: Do, workspace: Workspace) -> None:
    """A file that had CRLF line ends or a BOM has them after it was replaced."""
    do("write_file", path="win.txt", file_text="uno\ndos\n")
    assert workspace.read("win.txt") == b"uno\r\ndos\r\n"
    workspace.write("bom.txt", b"\xef\xbb\xbfone\n")
    do("write_file", path="bom.txt", file_text="two\n")
    assert workspace.read("bom.txt") == b"\xef\xbb\xbftwo\n"


def test_edit_file_replaces_the_one_match(do: Do, workspace: Workspace) -> None:
    """edit_file replaces a passage that occurs once and says where."""
    told = do("edit_file", path="app/main.py", old_str="return a - b", new_str="return a + b")
    assert told.text == "Edited app/main.py at line 2: 1 line replaced by 1 line; the file has 6 lines now."
    assert b"return a + b\n" in workspace.read("app/main.py")


def test_edit_file_keeps_line_ends_bom_and_encoding(do: Do, workspace: Workspace) -> None:
    """CRLF, mixed ends, a BOM and Latin-1 bytes survive an edit elsewhere, and new lines follow the passage."""
    do("edit_file", path="win.txt", old_str="one\ntwo", new_str="one\nand a half\ntwo")
    assert workspace.read("win.txt") == b"one\r\nand a half\r\ntwo\r\nthree\r\n"
    workspace.write("mixed.txt", b"a\r\nb\nc\nd\ne\n")
    do("edit_file", path="mixed.txt", old_str="b\nc", new_str="b\nx\nc")
    assert workspace.read("mixed.txt") == b"a\r\nb\nx\nc\nd\ne\n"
    workspace.write("latin.txt", b"\xe9t\xe9\nfin")
    do("edit_file", path="latin.txt", old_str="fin", new_str="f\u00eate")
    assert workspace.read("latin.txt") == b"\xe9t\xe9\nf\xeate"
    assert "cannot hold" in do("edit_file", path="latin.txt", old_str="\u00e9t\u00e9", new_str="\u2713").text


@pytest.mark.parametrize(
    ("old", "says"),
    [
        ("return a", "occurs 2 times in app/main.py (lines 2, 6)"),
        ("    return a - c", 'Nearest is line 2: "return a - b"'),
        ("  def add(a, b):\n  return", "stands in line 1"),
        ("     1\tdef add(a, b):\n     2\t    return a - b", "Leave out the line numbers"),
        ("zzz qqq", "Read the file again"),
    ],
)
def test_edit_file_that_misses_says_where_to_look(do: Do, workspace: Workspace, old: str, says: str) -> None:
    """Anything but one match changes nothing and gives a hint."""
    before = workspace.read("app/main.py")
    told = do("edit_file", path="app/main.py", old_str=old, new_str="x")
    assert not told.ok
    assert says in told.text
    assert workspace.read("app/main.py") == before


def test_edit_file_refuses_binary_files_and_edits_that_change_nothing(do: Do) -> None:
    """A binary file cannot be edited, and equal strings are an error."""
    assert "binary" in do("edit_file", path="logo.png", old_str="a", new_str="b").text
    assert "nothing would change" in do("edit_file", path="README.md", old_str="Adds", new_str="Adds").text


def test_delete_file_removes_it(do: Do, workspace: Workspace) -> None:
    """delete_file removes a file; a missing one is an error."""
    assert do("delete_file", path="README.md").touched == ("README.md",)
    assert "README.md" not in workspace.files()
    assert not do("delete_file", path="README.md").ok


def test_an_executable_stays_executable(do: Do, workspace: Workspace) -> None:
    """Editing a script keeps its mode."""
    do("write_file", path="run.sh", file_text="#!/bin/sh\nexit 0\n")
    workspace.run("chmod +x run.sh")
    do("edit_file", path="run.sh", old_str="exit 0", new_str="echo run")
    assert do("run_command", command="./run.sh").text == "run\n[exit code 0]"


def test_a_file_tool_says_which_path_it_writes(parse: Parse) -> None:
    """writes_to holds the canonical path; a path that is refused stays as it was named, for the scope guard."""
    assert parse("write_file", path="./app/../app/x", file_text="").writes_to == ("./app/../app/x",)
    assert parse("write_file", path="./app//x", file_text="").writes_to == ("app/x",)
    assert parse("read_file", path="app/x").writes_to == ()
