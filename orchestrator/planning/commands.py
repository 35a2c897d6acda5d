"""Whether a verification command is one that a machine can execute, judged from its text alone.

A plan's author writes "Manual endpoint test (curl or Postman)" as readily as `pytest -q`, and the first let a worker
spiral for 180 steps, because nothing could tell it that it was done. What is looked for is prose where a shell expects
programs and arguments. Quoted text, comments, redirections and the arguments of options are not looked at, so
`grep -q "manual" README.md` and `pytest -k manually` are commands. In doubt a command passes: one that does not exist
is found when it first runs.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

QUOTED = "\x01"
_HEREDOC = re.compile(r"<<-?\s*(['\"]?)(\w+)\1(.*?)^\s*\2\s*$", re.DOTALL | re.MULTILINE)
_MASKED = re.compile(r"""'[^']*'|"(?:\\.|[^"\\])*"|\\.|(?<!\S)\#[^\n]*""", re.DOTALL)
_REDIRECTION = re.compile(r"&>>?\s*\S+|\d*[<>]{1,3}&?\s*[^\s;|&()]+")
_OPERATOR = re.compile(r"&&|\|\||[<>$]?\(|[;|&\n){}`]")
_IN_BACKTICKS = re.compile(r"`[^`]*`")
_ASSIGNMENT = re.compile(r"[A-Za-z_]\w*=")
_PLAIN = re.compile(r"[A-Za-z]+[.,:;!?]?$")
_PROGRAM = re.compile(r"[\w./~$@+%\[\]:,=*?^-]+$")


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


_KEYWORDS = _words("! if then elif else do while until time exec command env sudo")
_SKIPPED = _words("for case select function echo printf done fi esac [[ [")
_PATTERN_FIRST = _words("grep rg egrep fgrep ag ack sed awk jq")
_CAPITAL_PROGRAMS = _words("R Rscript Xvfb MSBuild")
_BY_HAND = _words("manual manually visual visually")
_OPENS = _words("open xdg-open")
_VERBS = _words(
    "ask browse check click compare confirm ensure examine inspect launch load navigate observe please review run see "
    "try use validate verify visit returns should must"
)
_STRONG = _words(
    "the an and or that this these is are was with without of when then should must works passes succeeds returns "
    "shows displays correctly properly successfully → – — ≥"
)
_WEAK = _words("a in on to for from at by it its all each every no not both against")
_NO_PROGRAMS = (_STRONG | _WEAK) - _words("at for then")
_PLACEHOLDERS = _words("n/a none tbd todo pending ... - ?")
_POSTMAN_COMMANDS = _words("collection login api performance --version")
_HAND_PHRASE = re.compile(r"\b(?:in|with|using) (?:a|the|your|any) (?:web )?browser\b|\bby hand\b|\bpeer review\b")


def executable(command: str) -> str | None:
    """Why nobody can execute this command, as the end of a sentence; None when a machine can."""
    if not command.strip():
        return "it is empty"
    if command.strip().lower() in _PLACEHOLDERS:
        return "it stands for a command that nobody has written yet"
    if _IN_BACKTICKS.fullmatch(command.strip()):
        return "it stands in backticks, which a shell replaces by the command's output: leave them out"
    masked = _MASKED.sub(lambda match: "" if match[0].startswith("#") else QUOTED, _HEREDOC.sub("", command))
    if '"' in masked or "'" in masked:
        return "a quote is not closed, so no shell can read it"
    segments = list(_segments(_REDIRECTION.sub(" ", masked)))
    if not segments:
        return "it holds no command"
    return next((reason for words in segments if (reason := _judge(words))), None)


def _segments(text: str) -> Iterator[list[str]]:
    """The simple commands between the operators, without keywords and assignments before the program."""
    for segment in _OPERATOR.split(text):
        words = segment.split()
        while words and (words[0] in _KEYWORDS or _ASSIGNMENT.match(words[0])):
            words.pop(0)
        if words:
            yield words


def _judge(words: Sequence[str]) -> str | None:
    program, bare = words[0], list(_bare(words))
    if program in _SKIPPED:
        return None
    return _not_a_program(program, bare) or _by_hand(words, bare) or _prose(program, bare)


def _bare(words: Sequence[str]) -> Iterator[str]:
    """The arguments that are neither options, nor follow one, nor quoted."""
    arguments = words[2:] if words[0] in _PATTERN_FIRST and len(words) > 1 and words[1][0] != "-" else words[1:]
    previous = ""
    for word in arguments:
        if word[0] not in "-$" and not previous.startswith("-") and QUOTED not in word:
            yield word
        previous = word


def _not_a_program(program: str, bare: Sequence[str]) -> str | None:
    word = program.rstrip(".,:;!?")
    if word.lower() in _BY_HAND:
        return f"{word!r} means that somebody does it by hand"
    if program in _OPENS:
        return f"{word!r} shows something to a person and proves nothing by itself"
    if QUOTED in program or (program in _CAPITAL_PROGRAMS or program == "."):
        return None
    if _PLAIN.match(program) and (program[0].isupper() or program != word):
        return f"it reads as prose: {word!r} is no program"
    if word in _NO_PROGRAMS:
        return f"it reads as prose: {word!r} is no program"
    if word in _VERBS and any(_PLAIN.match(other) for other in bare):
        return f"it reads as prose: {word!r} tells a person what to do"
    if word.isdigit() or not _PROGRAM.match(program):
        return f"{program!r} is no program"
    return None


def _by_hand(words: Sequence[str], bare: Sequence[str]) -> str | None:
    text = " ".join(bare).lower()
    if (match := _HAND_PHRASE.search(text)) is not None:
        return f"{match[0]!r} needs a person"
    for word in bare:
        name = word.lower().strip(".,:;!?")
        if name == "manually":
            return "'manually' means that somebody does it by hand"
        if name == "postman" and "/" not in word:
            return "Postman is used by a person"
    if words[0] == "postman" and (len(words) < 2 or words[1] not in _POSTMAN_COMMANDS):
        return "Postman is used by a person"
    return None


def _prose(program: str, bare: Sequence[str]) -> str | None:
    for word in bare:
        if any(part in _STRONG for part in word.lower().rstrip(".,:;!?").split("/")):
            return f"it reads as prose: {word!r} stands among a command's arguments (quote it if it is one)"
        if re.fullmatch(r"[A-Za-z]+,|[a-z]{3,}\.", word):
            return f"it reads as prose: {word!r} ends like a sentence, not like an argument"
    weak = [word for word in bare if word.lower() in _WEAK]
    if len(weak) > 1:
        return f"it reads as prose: {' '.join(weak)!r} stand among a command's arguments (quote them if they are)"
    if (program, *bare[:1]) in (("make", "sure"), ("go", "to")):
        return f"it reads as prose: '{program} {bare[0]}' tells a person what to do"
    if program == "test" and len(bare) > 1 and all(_PLAIN.match(word) for word in bare):
        return "it reads as prose: 'test' compares or looks at files, this tells a person what to test"
    return None
