"""Which exit codes a shell command can end with, judged from its text alone: one that always succeeds proves nothing.

A model that may choose its own verification chooses `true`, or `pytest || true`. No text shows that of every command
(`python check.py` may print and leave), so this finds what a shell itself swallows: constants, what stands behind `||`
or `;`, and the filters at the end of a pipe. What it cannot read can fail, as far as it knows.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

Codes = frozenset[int]
"""0 for success and 1 for failure, as far as they are possible."""

_Outcome = tuple[Codes, Codes]
_NONE: Codes = frozenset()
_ZERO, _ONE, _EITHER = frozenset({0}), frozenset({1}), frozenset({0, 1})
_QUOTED = r"""'[^']*'|"(?:\\.|[^"\\])*"|\\."""
_OPERATOR = r"&&|\|\||\|&|[;&|\n()]"
_WORD = rf"(?:{_QUOTED}|&?>[>&]?|[0-9]*[<>]&|[^\s;|&()'\"\\])+"
_TOKEN = re.compile(rf"(?P<operator>{_OPERATOR})|(?P<word>{_WORD})")
_COMMENT = re.compile(rf"({_QUOTED})|(?<!\S)\#[^\n]*", re.DOTALL)
_REDIRECTION = re.compile(r"&?[0-9]*(?:>>?|<)&?(.*)")
_ASSIGNMENT = re.compile(r"[A-Za-z_]\w*=")


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


_COMPOUND = _words("if while until for case select function [[ <<")
_ALWAYS = _words("true : echo printf pwd date whoami hostname uname sleep export unset set wait")
_FILTERS = _words("cat head tail sort wc uniq tr column nl less more")
_WRAPPERS = _words("command exec env time timeout nohup builtin nice eval")
_OPTION = re.compile(r"-|\d+[smhd]?$")
_SHELLS = _words("sh bash dash zsh ksh")
_NO_FILES = re.compile(r"-[bcdefghprstuwxLNOS]|-[no]t|-ef")
_EMPTY_PYTHON = re.compile(r"(pass|\d+|print\([^()]*\)|(sys\.)?exit\(0?\))?")
_MOST_NESTING = 8


def always_succeeds(command: str) -> bool:
    """Whether the command ends with 0 whatever it finds (`true`, `exit 0`, `pytest || true`, `pytest | tee log`)."""
    return _codes(command, 0) == _ZERO


def _codes(command: str, depth: int) -> Codes:
    """The codes that a whole script can end with."""
    tokens = list(_tokens(command))
    if depth > _MOST_NESTING or _COMPOUND.intersection(tokens):
        return _EITHER
    strict = any(word in ("-e", "errexit") or re.fullmatch(r"-[a-z]*e[a-z]*", word) for word in _set_options(tokens))
    script = _Script(tokens, strict=strict, pipefail="pipefail" in tokens, depth=depth)
    codes, left = script.codes()
    return codes | left if script.read else _EITHER


def _tokens(command: str) -> Iterator[str]:
    """Words with their quotes, and operators; without comments."""
    text = _COMMENT.sub(lambda found: found[1] or "", command.replace("\\\n", " "))
    for found in _TOKEN.finditer(text.strip()):
        yield found["operator"] or found["word"]


def _set_options(tokens: Sequence[str]) -> Iterator[str]:
    """What follows `set` up to the next operator."""
    inside = False
    for word in tokens:
        inside = word == "set" or (inside and word not in (";", "&&", "||", "\n", "&", "|"))
        if inside:
            yield word


class _Script:
    """One reading of a script's tokens, from the left. Of each part there are two answers: the codes behind which it
    may go on, and those with which the script may be left in it, by `exit` or under `set -e`."""

    def __init__(self, tokens: Sequence[str], *, strict: bool, pipefail: bool, depth: int) -> None:
        self._tokens = list(tokens)
        self._at = 0
        self._strict = strict
        self._pipefail = pipefail
        self._depth = depth

    @property
    def read(self) -> bool:
        """Whether nothing is left, such as a bracket that nobody opened."""
        return self._at >= len(self._tokens)

    def codes(self) -> _Outcome:
        """Those of a list of commands: what follows a certain end is not read."""
        codes, left = _ZERO, _NONE
        while codes and not self.read and self._peek() not in (")", "}"):
            codes, leaving = self._and_or()
            if self._peek() == "&":
                codes, leaving = _ZERO, _NONE
            elif self._strict:
                codes, leaving = codes & _ZERO, leaving | (codes & _ONE)
            left |= leaving
            while self._peek() in (";", "&", "\n"):
                self._at += 1
        if not codes:
            self._at = len(self._tokens)
        return codes, left

    def _and_or(self) -> _Outcome:
        """Pipelines joined by `&&` and `||`."""
        codes, left = self._pipeline()
        while self._peek() in ("&&", "||"):
            goes_on = _ZERO if self._next() == "&&" else _ONE
            more, leaving = self._pipeline()
            if goes_on <= codes:
                codes, left = (codes - goes_on) | more, left | leaving
        return codes, left

    def _pipeline(self) -> _Outcome:
        inverted = self._peek() == "!"
        self._at += inverted
        parts = [self._command()]
        while self._peek() in ("|", "|&"):
            self._at += 1
            parts.append(self._command(piped=True))
        codes, left = parts[-1]
        if len(parts) > 1:  # each part is a shell of its own
            failing = self._pipefail and any(1 in codes | left for codes, left in parts)
            codes, left = codes | left | (_ONE if failing else _NONE), _NONE
        return (frozenset(1 - code for code in codes) if inverted else codes), left

    def _command(self, *, piped: bool = False) -> _Outcome:
        if self._peek() in ("(", "{"):
            return self._bracket(self._next())
        words = []
        while self._peek() not in ("", "&&", "||", "|", "|&", ";", "&", "\n", ")", "("):
            words.append(self._next())
        return _simple(words, piped=piped, depth=self._depth)

    def _bracket(self, opened: str) -> _Outcome:
        inner = _Script(self._group(), strict=self._strict, pipefail=self._pipefail, depth=self._depth + 1)
        if self._depth >= _MOST_NESTING:
            return _EITHER, _NONE
        codes, left = inner.codes()
        return (codes, left) if opened == "{" else (codes | left, _NONE)

    def _group(self) -> list[str]:
        """The tokens up to the bracket that closes the one before."""
        begun, open_ = self._at, 1
        while self._at < len(self._tokens) and open_:
            token = self._next()
            open_ += (token in ("(", "{")) - (token in (")", "}"))
        return self._tokens[begun : self._at - 1]

    def _peek(self) -> str:
        return self._tokens[self._at] if self._at < len(self._tokens) else ""

    def _next(self) -> str:
        self._at += 1
        return self._tokens[self._at - 1]


def _simple(words: Sequence[str], *, piped: bool, depth: int) -> _Outcome:
    """Those of one program with its arguments."""
    bare = _without_wrappers(list(_without_redirections(words)))
    if not bare:
        return (_ZERO if words else _EITHER), _NONE
    program, arguments = _unquoted(bare[0]).rpartition("/")[2], [_unquoted(word) for word in bare[1:]]
    if program in ("exit", "return"):
        return _NONE, _of_exit(arguments)
    return _of_program(program, arguments, piped=piped, depth=depth), _NONE


def _without_wrappers(words: list[str]) -> list[str]:
    """The words from the program on that decides: behind assignments, `env -i`, `timeout 5`."""
    wrapped = False
    while words and (_ASSIGNMENT.match(words[0]) or words[0] in _WRAPPERS or (wrapped and _OPTION.match(words[0]))):
        wrapped = wrapped or words[0] in _WRAPPERS
        words = words[1:]
    return words


def _of_exit(arguments: Sequence[str]) -> Codes:
    if len(arguments) != 1 or not arguments[0].isdigit():
        return _EITHER
    return _ZERO if int(arguments[0]) % 256 == 0 else _ONE


def _of_program(program: str, arguments: Sequence[str], *, piped: bool, depth: int) -> Codes:
    if program in _ALWAYS or (piped and (program == "tee" or (program in _FILTERS and not _names_files(arguments)))):
        return _ZERO
    if program == "false":
        return _ONE
    if program in ("test", "["):
        return _EITHER if any("$" in each or "`" in each or _NO_FILES.match(each) for each in arguments) else _ZERO
    script = arguments[1] if len(arguments) > 1 and arguments[0].startswith("-") and "c" in arguments[0] else None
    if script is not None and program in _SHELLS:
        return _codes(script, depth + 1)
    if script is not None and re.fullmatch(r"python[\d.]*", program) and _EMPTY_PYTHON.fullmatch(script.strip("; \n")):
        return _ZERO
    return _EITHER


def _names_files(arguments: Sequence[str]) -> bool:
    """Whether a filter may read files, which may be missing, and not what is piped into it."""
    return any(not each.startswith("-") and not each.isdigit() for each in arguments)


def _without_redirections(words: Sequence[str]) -> Iterator[str]:
    target = False
    for word in words:
        found = _REDIRECTION.fullmatch(word)
        if found is None and not target:
            yield word
        target = found is not None and not found[1]


def _unquoted(word: str) -> str:
    return re.sub(r"""'([^']*)'|"((?:\\.|[^"\\])*)"|\\(.)""", lambda m: m[1] or m[2] or m[3] or "", word)
