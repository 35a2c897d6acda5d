"""Path globs as scope uses them. Pure text: paths are from the git top level, `/` between their parts.

- `*` and `?` stay within one part; `**` as a whole part spans any number of them: `**/x` matches `x`, `a/**/b` matches
  `a/b`. At the end it means everything below: `app/**` matches `app/x`, not `app` itself.
- A pattern without wildcards is a file or a folder: `src` and `src/` match everything below `src`, never `srcx/f`. With
  a trailing slash a pattern with wildcards is a folder too: `packages/*/`.
- `[abc]`, `[a-z]`, `[!a]`, `[^a]` are character classes; `\\` takes the next character as it is; an unclosed `[`
  stands for itself.
- `+dir/*` matches new files only, those that did not exist when the attempt's task began. A name that really starts
  with a plus is written `./+name`.

Matching takes at most |path| x |pattern| steps: no regular expression, so no pattern is catastrophic.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import lru_cache
from typing import Any

NEW_ONLY = "+"
_WILD = frozenset("*?[\\")

GlobToken = str | Callable[[str], bool] | None
"""What one character is compared with: a character, a class, or None for `*`."""
GlobPart = tuple[GlobToken, ...] | None
"""One part of a pattern; None is `**`."""


def allows(path: str, allowed_paths: Iterable[str], *, existed: bool, ignored_paths: Iterable[str] = ()) -> bool:
    """Whether a task may change `path`. `existed` says whether it was there when the task began: `+` patterns match
    only what was not. Ignored paths win: they are judged by nobody, whatever else matches."""
    if matches_any(path, ignored_paths):
        return True
    return any(_allows_one(path, pattern, existed=existed) for pattern in allowed_paths)


def matches_any(path: str, patterns: Iterable[str]) -> bool:
    """Whether one of the patterns matches the path."""
    return any(matches(path, pattern) for pattern in patterns)


def matches(path: str, pattern: str) -> bool:
    """Whether the pattern matches the path, or names a folder above it."""
    parts, (wanted, folder) = _parts(path), _compiled(pattern)
    if not parts or not pattern.strip():
        return False
    return _reached(parts, wanted, _match_part, folder=folder) == len(wanted)


def literal(path: str) -> str:
    """The pattern that matches this path and nothing else (`app/[id].tsx` holds no character class then)."""
    escaped = "".join("\\" + char if char in _WILD else char for char in path)
    return f"./{escaped}" if escaped.startswith(NEW_ONLY) else escaped


def paths_in_words(patterns: Iterable[str]) -> str:
    """Allowed paths in one line, for who need not know what a plus means."""
    return ", ".join(f"{p[len(NEW_ONLY) :]} (new files only)" if p.startswith(NEW_ONLY) else p for p in patterns)


def _allows_one(path: str, pattern: str, *, existed: bool) -> bool:
    if pattern.startswith(NEW_ONLY):
        return not existed and matches(path, pattern[len(NEW_ONLY) :])
    return matches(path, pattern)


def _parts(path: str) -> list[str]:
    return [part for part in path.split("/") if part not in ("", ".")]


@lru_cache(maxsize=1024)
def _compiled(pattern: str) -> tuple[tuple[GlobPart, ...], bool]:
    """The pattern's parts, and whether it names a folder with all that is below."""
    parts = tuple(None if part == "**" else tuple(_tokens(part)) for part in _parts(pattern))
    plain = all(part is not None and all(isinstance(token, str) for token in part) for part in parts)
    return parts, plain or pattern.endswith("/")


def _reached(items: Sequence[str], wanted: Sequence[Any], same: Callable[[str, Any], bool], *, folder: bool) -> int:
    """How much of `wanted` the items have used up when they end, -1 where they do not match. Where it is a `folder`,
    what goes beyond it is below it. Greedy with one way back: only the last None, which stands for any number of items,
    can need to take more, so no item is compared twice with one."""
    at = want = 0
    span = retry = -1
    while at < len(items):
        if want == len(wanted) and folder:
            return want
        if want < len(wanted) and wanted[want] is None:
            span, retry, want = want, at, want + 1
        elif want < len(wanted) and same(items[at], wanted[want]):
            at, want = at + 1, want + 1
        elif span >= 0:
            retry += 1
            at, want = retry, span + 1
        else:
            return -1
    return want


def _match_part(part: str, tokens: tuple[GlobToken, ...]) -> bool:
    want = _reached(part, tokens, _match_char, folder=False)
    return want >= 0 and all(token is None for token in tokens[want:])


def _match_char(char: str, token: GlobToken) -> bool:
    return token(char) if callable(token) else char == token


def _tokens(part: str) -> Iterator[GlobToken]:
    at = 0
    while at < len(part):
        token, at = _token(part, at)
        yield token


def _token(part: str, at: int) -> tuple[GlobToken, int]:
    char = part[at]
    if char == "*":
        return None, at + 1
    if char == "?":
        return lambda _char: True, at + 1
    if char == "\\" and at + 1 < len(part):
        return part[at + 1], at + 2
    close = _class_end(part, at) if char == "[" else -1
    if close > 0:
        return _class(part[at + 1 : close]), close + 1
    return char, at + 1


def _class_end(part: str, at: int) -> int:
    """Where the class that opens at `at` closes; a `]` in the first place belongs to it. -1: never."""
    first = at + 2 if part[at + 1 : at + 2] in ("!", "^") else at + 1
    return part.find("]", first + 1)


def _class(body: str) -> GlobToken:
    negated = body[:1] in ("!", "^")
    chars = body[1:] if negated else body
    singles, ranges, at = set(), [], 0
    while at < len(chars):
        if chars[at + 1 : at + 2] == "-" and at + 2 < len(chars):
            ranges.append((chars[at], chars[at + 2]))
            at += 3
        else:
            singles.add(chars[at])
            at += 1

    def holds(char: str) -> bool:
        inside = char in singles or any(low <= char <= high for low, high in ranges)
        return inside != negated

    return holds
