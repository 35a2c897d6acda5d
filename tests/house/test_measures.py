"""The arithmetic behind the table of `python -m benchmarks.walk` and the rules of this folder."""

from __future__ import annotations

from pathlib import Path

from benchmarks.walk import switches
from tests.house.measures import (
    Module,
    format_skips,
    function_lengths,
    long_constructions,
    long_files,
    long_functions,
    modules,
    shared_names,
    spread,
)


def code(folder: Path, **texts: str) -> list[Module]:
    """Modules of one package, by name."""
    (folder / "house").mkdir()
    for name, text in texts.items():
        (folder / "house" / f"{name}.py").write_text(text)
    return modules(folder, ["house"])


def test_a_class_alias_or_function_that_two_files_define_has_two_homes(tmp_path: Path) -> None:
    """A class and an alias of one name count as one name with two meanings; private names are a file's own."""
    one = "class Row: ...\ndef ask(): ...\ndef _part(): ...\nKind = int | str\n"
    two = "Row = dict[str, int]\nasync def ask(): ...\ndef _part(): ...\nclass Kind: ...\n"
    found = shared_names(code(tmp_path, one=one, two=two))
    assert found == {name: ["house/one.py", "house/two.py"] for name in ("Kind", "Row", "ask")}


def test_what_is_imported_called_from_outside_or_a_constant_has_no_second_home(tmp_path: Path) -> None:
    """Re-exports, entry points, methods, constants and local functions are no homes of a name."""
    one = (
        "class Row:\n    def ask(self): ...\nNAME = 'a' + 'b'\nlog = logs[0]\n@click.command('x')\ndef command(): ...\n"
    )
    two = (
        "from house.one import Row\ndef ask():\n    def inner(): ...\nNAME = 'c' + 'd'\nlog = logs[1]\n"
        "@group.command()\ndef command(): ...\ndef main(): ...\n"
    )
    assert shared_names(code(tmp_path, one=one, two=two, three="def inner(): ...\ndef main(): ...\n")) == {}


def test_constructions_with_more_than_five_positional_arguments_are_found(tmp_path: Path) -> None:
    """Only classes of the packages count, under whatever name of a module; keywords may be many."""
    six = "(1, 2, 3, 4, 5, 6)"
    text = f"class Row: ...\nRow{six}\nrows.Row{six}\nRow(1, 2, 3, 4, 5, a=6)\nint{six}\n"
    assert long_constructions(code(tmp_path, one=text)) == ["house/one.py:2 Row", "house/one.py:3 rows.Row"]


def test_lengths_are_told_with_where_they_are(tmp_path: Path) -> None:
    """A function ends with its last line and begins with its name, not with its decorators."""
    lines = [f"def f{n}():\n" + "    pass\n" * n for n in range(1, 4)]
    found = code(tmp_path, one="@cache\n" + "".join(lines) + "x = [  # fmt: skip\n]\n")
    assert function_lengths(found) == {"house/one.py:2 f1": 2, "house/one.py:4 f2": 3, "house/one.py:7 f3": 4}
    assert spread(function_lengths(found)) == (3, 4, 4)
    assert long_functions(found, most=3) == ["house/one.py:7 f3: 4"]
    assert (long_files(found, most=11), long_files(found, most=12)) == (["house/one.py: 12"], [])
    assert format_skips(found) == ["house/one.py:11"]


def test_a_reader_switches_where_the_next_call_is_in_another_file() -> None:
    """Calls that stay in a file cost no switch; coming back to one does."""
    assert switches([]) == 0
    assert switches(["a", "a", "b", "b", "a"]) == 2
