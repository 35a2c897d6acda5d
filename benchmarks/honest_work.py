"""Made-up honest work that looks repetitive, each kind as the calls of its rounds."""

from __future__ import annotations

from benchmarks.calls import Round, edit, fails, made, read, run, search, word, write
from orchestrator.replay.traces import TraceCall

TESTS = "python3 -m pytest -q"


def hunk(path: str, n: int) -> TraceCall:
    """Another place of a file, of lines that stood there."""
    return edit(path, f"old {word(n)}", f"new {word(n)}")


def failing(n: int) -> TraceCall:
    """The tests, with another one that fails."""
    return fails(TESTS, f"FAILED tests/test_{word(n)}.py - {word(n)} is missing")


def debug_prints(n: int) -> list[TraceCall]:
    """In, run, out: each time at another place."""
    before, with_print = f"line {word(n)}", f"line {word(n)}\nprint({word(n)})"
    return [edit("a.py", before, with_print), run(TESTS, f"saw {word(n)}"), edit("a.py", with_print, before)]


def scratch(n: int) -> list[TraceCall]:
    """Written, run and deleted."""
    path = "scratch.py"
    return [
        write(path, f"print({word(n)})"),
        run(f"python {path}", word(n)),
        made("delete_file", "Deleted.", path=path),
    ]


def bisect(n: int) -> list[TraceCall]:
    """One commit after the other, good or bad."""
    return [run(f"git show {word(n)}:a.py > /tmp/a.py", ""), run("python /tmp/a.py", f"{'good' if n % 2 else 'bad'}, "
                                                                 f"{word(n)} are left")]  # fmt: skip


def flaky(n: int) -> list[TraceCall]:
    """Run again to see how often it fails, and then something else."""
    again = [fails(TESTS, "FAILED test_net: timed out"), run(TESTS, "1 passed"), run(TESTS, "1 passed")]
    return [*again, read(f"net/{word(n)}.py"), hunk(f"net/{word(n)}.py", n)]


def test_driven(n: int) -> list[TraceCall]:
    """A test, its failure, the code, its success."""
    return [
        edit("tests/test_a.py", f"# {word(n)}", f"# {word(n)}\ndef test_{word(n)}(): ..."),
        failing(n),
        edit("a.py", f"# {word(n)}", f"# {word(n)}\ndef {word(n)}(): ..."),
        run(TESTS, f"{n + 1} passed"),
    ]


def bench(n: int) -> list[TraceCall]:
    """A measurement after each change."""
    return [hunk(f"fast/{word(n)}.py", n), run("make bench", f"{1000 - n} a second")]


def lint(n: int) -> list[TraceCall]:
    """A finding, its repair."""
    return [fails("ruff check", f"{word(n)}.py: unused import {word(n)}"), hunk(f"{word(n)}.py", n)]


def reread(n: int) -> list[TraceCall]:
    """The file after each edit of it."""
    return [hunk("a.py", n), read("a.py", f"a.py with {n} hunks")]


def three_at_once(n: int) -> list[TraceCall]:
    """Three files in one reply."""
    return [read(f"{word(3 * n + k)}.py", turn=n) for k in range(3)]


def measure(n: int) -> list[TraceCall]:
    """Five runs of one measurement for a mean, then the next one."""
    return [run(f"bench {word(n)}", f"{n * 70 + k} requests a second") for k in range(5)]


def timed(n: int) -> list[TraceCall]:
    """Three runs that print nothing but how long they took, which is no outcome of its own."""
    return [run(f"time {word(n)}", f"{n * 7 + k} ms of {word(n)}") for k in range(3)]


def retried_edit(n: int) -> list[TraceCall]:
    """An edit that does not match, a look, and the edit that does."""
    missing = made("edit_file", f"No match for {word(n)}.", ok=False, path=f"{word(n)}.py", old_str=f"wrong {word(n)}")
    return [missing, read(f"{word(n)}.py"), hunk(f"{word(n)}.py", n)]


READING: dict[str, tuple[Round, int]] = {
    "paging through a long file": (lambda n: [read("long.py", f"part {word(n)}", start=100 * n + 1)], 60),
    "reading every file": (lambda n: [read(f"{word(n)}.py")], 80),
    "three files a reply": (three_at_once, 90),
    "searching for many names": (lambda n: [search(word(n), f"a.py: {word(n)}")], 60),
    "greps without a match": (lambda n: [fails(f"grep {word(n)} -r .", "")], 30),
    "searches without a match": (lambda n: [search(word(n), "No matches."), read(f"{word(n)}.py")], 40),
    "a listing of each folder": (lambda n: [run(f"ls {word(n)}", f"{word(n)}.py")], 40),
    "the log of each file": (lambda n: [run(f"git log {word(n)}.py", f"commit of {word(n)}")], 40),
    "the difference of each file": (lambda n: [run(f"git diff {word(n)}.py", f"+{word(n)}")], 40),
    "the help of each command": (lambda n: [run(f"tool {word(n)} --help", f"usage: {word(n)}")], 30),
    "tail of a log that grows": (lambda n: [run("tail -n 1 log", f"step {word(n)} done")], 40),
    "reading in two halves": (lambda n: [read(f"{word(n // 2)}.py", f"half {n}", start=1 + 100 * (n % 2))], 60),
}

WRITING: dict[str, tuple[Round, int]] = {
    "bulk edits of many files": (lambda n: [hunk(f"{word(n)}.py", n)], 80),
    "read and edit many files": (lambda n: [read(f"{word(n)}.py"), hunk(f"{word(n)}.py", n)], 100),
    "thirty hunks of one file": (lambda n: [hunk("a.py", n)], 30),
    "a file that grows by sections": (lambda n: [edit("a.md", "# end", f"## {word(n)}\n# end")], 30),
    "new files": (lambda n: [write(f"{word(n)}.py", f"def {word(n)}(): ...")], 60),
    "a file written whole a few times": (lambda n: [write("a.py", f"{word(n)}"), failing(n)], 12),
    "debug prints in and out": (debug_prints, 30),
    "a scratch file": (scratch, 45),
    "reading after each edit": (reread, 50),
    "an edit that needs a look": (retried_edit, 60),
    "an edit and a commit message": (lambda n: [hunk(f"{word(n)}.py", n), run("git status", f"M {word(n)}.py")], 60),
    "two files by turns": (lambda n: [hunk("a.py", n), hunk("b.py", n)], 50),
    "formatting after each edit": (lambda n: [hunk(f"{word(n)}.py", n), run("ruff format", "1 file reformatted")], 60),
    "deleting many files": (lambda n: [made("delete_file", "Deleted.", path=f"{word(n)}.py")], 40),
}

RUNNING: dict[str, tuple[Round, int]] = {
    "polling with news": (lambda n: [run("cat progress", f"stage {word(n)}")], 40),
    "polling that comes up at the fourth": (
        lambda n: [*[fails(f"curl {word(n)}", "connection refused")] * 2, run(f"curl {word(n)}", f"{word(n)} is up")],
        30,
    ),
    "a flaky test": (flaky, 50),
    "bisecting": (bisect, 24),
    "test-driven rounds": (test_driven, 60),
    "a failure that moves": (lambda n: [hunk("a.py", n), failing(n)], 50),
    "a benchmark after each change": (bench, 60),
    "lint and repair": (lint, 60),
    "thirty test files that pass": (
        lambda n: [run(f"pytest tests/test_{word(n)}.py", f"tests/test_{word(n)}.py . [100%] 1 passed in {n} s")], 30),
    "eleven test files that pass and say no name": (lambda n: [run(f"pytest -q {word(n)}.py", "1 passed")], 11),
    "test files with their counts": (lambda n: [run(f"pytest tests/test_{word(n)}.py", f"{word(n)}: passed")], 30),
    "long builds": (lambda n: [run(f"make {word(n)}", f"built {word(n)}"), hunk(f"{word(n)}.c", n)], 40),
    "types and repair": (lambda n: [fails("mypy .", f"{word(n)}.py: wrong type {word(n)}"), hunk("a.py", n)], 50),
    "silent commands": (lambda n: [run(f"mkdir -p {word(n)}", "")], 40),
    "a measurement five times": (measure, 40),
    "a duration three times": (timed, 30),
    "a script with other arguments": (lambda n: [run(f"./tool {word(n)}", f"answer {word(n)}")], 40),
    "tests after each of six edits": (lambda n: [hunk("a.py", n), fails(TESTS, "1 failed")], 12),
    "four ways to undo": (
        lambda n: [made("run_command", "git only reads here.", ok=False, command=f"git {word(n)}").model_copy(
            update={"error_sha": ""})], 4),
    "four commands that miss a program": (
        lambda n: [made("run_command", "python: command not found", ok=False, command=f"python {word(n)}").model_copy(
            update={"error_sha": ""})], 4),
}  # fmt: skip

HONEST: dict[str, tuple[Round, int]] = READING | WRITING | RUNNING
