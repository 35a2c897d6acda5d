"""Which programs a command is sure to need, and what is said where one is missing."""

from __future__ import annotations

import subprocess

import pytest

from orchestrator.planning.programs import MissingPrograms, asks_for, programs_of, read_missing


@pytest.mark.parametrize(
    ("command", "programs"),
    [
        ("pytest -q", ("pytest",)),
        ("CI=1 A='x y' npm test 2>&1 | grep -q 'ok; done' > log", ("npm", "grep")),
        ("cd app && ! python3.11 -m pytest", ("python3.11",)),
        ("test -f a && export B=1 && go test ./...", ("go",)),
        ("npm ci && jest", ("npm",)),
        ("timeout 60 make test", ("timeout",)),
        ("./run.sh && pytest", ()),
        ("scripts/check.py", ()),
        ("'a program'", ()),
        ("$TOOL test", ()),
        ("PATH=bin:$PATH tool", ()),
        ("export PATH=bin && tool", ()),
        ("cd app", ()),
        ("", ()),
        ("A=1", ()),
        ("which tool || tool", ()),
        ("command -v tool; tool", ()),
        ("if tool; then tool; fi", ()),
        ("tool & wait", ()),
        ("(tool)", ()),
        ("tool() { true; }\ntool", ()),
        ("cat <<E\ntool\nE", ()),
        ("tool `other`", ()),
        ('tool "$(other)"', ()),
        ("tool # a comment", ()),
    ],
)
def test_only_what_is_certain_is_looked_for(command: str, programs: tuple[str, ...]) -> None:
    """The first program and what stands behind its pipes; nothing where a shell, a path or another program decides."""
    assert programs_of(command) == programs


def test_a_shell_tells_what_it_does_not_find() -> None:
    """Programs, builtins and keywords are there; what is not is told with where it was looked for."""
    asked = subprocess.run(
        ("bash", "-c", asks_for({"cat", "cd", "time", "no-such-tool"})),
        env={"PATH": "/usr/bin:/bin"},
        capture_output=True,
        text=True,
        check=True,
    )
    found = read_missing(asked.stdout)
    assert found == MissingPrograms(frozenset({"no-such-tool"}), "/usr/bin:/bin")
    assert found.told("cat x | cat") is None
    told = found.told("no-such-tool --all")
    assert told is not None
    assert told.startswith(
        "'no-such-tool --all' needs 'no-such-tool', which commands do not find here. Looked at: /usr"
    )
