"""Which program a command is sure to look for, so that one which is not there is told before anybody is paid.

Only what is certain: the first program of a command, with those behind its pipes, by a bare name. What a shell decides
while it runs, what stands behind a program that may install another one, and paths, which a task may write, are left
alone: in doubt nothing is refused.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence
from dataclasses import dataclass

from orchestrator.planning.commands import QUOTED

_QUOTES = re.compile(r"""'[^']*'|"[^"$`\\]*\"""")
_REDIRECTION = re.compile(r"&>>?\s*[^\s<>|&]+|\d{0,3}[<>]{1,2}&?\s*[^\s<>|&]+")
_UNCERTAIN = re.compile(r"""\|\||\|&|(?<!&)&(?!&)|&&&|[;\n\r(){}`$\\'"#<>]""")
_HARMLESS = frozenset(["cd", ":", "true", "set", "export", "umask", "ulimit", "echo", "printf", "test", "["])
_ASSIGNMENT = re.compile(r"[A-Za-z_]\w*=")
_NAME = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.+-]*")
_ASK = 'for name in {names}; do command -v "$name" >/dev/null 2>&1 || echo "missing $name"; done; echo "path $PATH"'


@dataclass(frozen=True, slots=True)
class MissingPrograms:
    """Programs that are not found where commands run, and the PATH on which they were looked for."""

    names: frozenset[str] = frozenset()
    path: str = ""

    def told(self, command: str) -> str | None:
        """What is wrong with a command, as a sentence; None where nothing is missing."""
        missing = [repr(name) for name in programs_of(command) if name in self.names]
        if not missing:
            return None
        return (
            f"{command.strip()[:120]!r} needs {' and '.join(missing)}, which commands do not find here. Looked at: "
            f"{self.path}. Install it where the sandbox sees it (sandbox.read_paths, workspace.share, "
            "workspace.prepare), or name another command"
        )


NONE_MISSING = MissingPrograms()


def programs_of(command: str) -> tuple[str, ...]:
    """The programs that the command cannot do without; none where that is not certain."""
    masked = _REDIRECTION.sub(" ", _QUOTES.sub(QUOTED, command))
    if _UNCERTAIN.search(masked):
        return ()
    for part in masked.split("&&"):
        called = [_called(segment.split()) for segment in part.split("|")]
        if called != [":"]:
            return tuple(dict.fromkeys(name for name in called if name and _NAME.fullmatch(name)))
    return ()


def asks_for(names: Collection[str]) -> str:
    """The command that tells which of the names are no program, builtin or keyword."""
    return _ASK.format(names=" ".join(sorted(names)))


def read_missing(output: str) -> MissingPrograms:
    """What that command tells."""
    told = [line.partition(" ") for line in output.splitlines()]
    names = frozenset(name for word, _, name in told if word == "missing")
    return MissingPrograms(names, next((path for word, _, path in told if word == "path"), ""))


def _called(words: Sequence[str]) -> str:
    """The program of a simple command; `:` for one that finds the next program as this one did, empty where nobody
    knows."""
    if any("PATH=" in word for word in words):
        return ""
    rest = [word for word in words if word != "!"]
    while rest and _ASSIGNMENT.match(rest[0]):
        rest = rest[1:]
    return ":" if not rest or rest[0] in _HARMLESS else rest[0]
