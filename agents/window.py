"""What of a transcript a model is shown: a pure function from the transcript and the earlier window.

Between compactions a request starts with the bytes of the one before it, so that the endpoint's prompt cache holds: new
entries are only appended, and notices stand last and are not kept. More than `most_calls` calls in full, or too many
tokens, compact once: the opening stays, the last `keep` items stand in full, older calls become one digest line each.
A turn stands whole or not at all, as it came: endpoints check signatures and reasoning against what follows them. Only
results and texts of ours are ever cut.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import chain

from agents.chat.port import Message
from agents.preambles import render_preamble
from agents.transcript import DIGEST, Pair, Remark, TranscriptEntry, Turn, cut

Estimate = Callable[[Sequence[Message]], int]

_HEADROOM = 0.6  # of the tokens beside the opening are in use after a compaction, so that the next one is not near
_SHRINKS = (1.0, 0.8, 0.6, 0.4, 0.2)  # of the original, after so many context-length errors
_SHRINK_SLACK = 0.1  # of the original, by which what the model said may exceed the share
_CUTS = (0.8, 0.6, 0.4, 0.2, 0.1, 0.05, 0.02)
_LINE_TOKENS = 70
_DIGEST_LINES = 200


@dataclass(frozen=True, slots=True)
class WindowLimits:
    """Caps of a window. `token_cap` bounds prompt tokens, tools included; the opening alone may exceed it."""

    token_cap: int
    most_calls: int = 50
    keep: int = 20
    least_others: int = 3


@dataclass(frozen=True, slots=True)
class Window:
    """The state between two requests: the messages that a compaction left, and from which entry on all stand in full.
    `calls` counts the calls in full within the prefix; `token_cap` is what a context-length error taught."""

    prefix: tuple[Message, ...]
    since: int = 0
    calls: int = 0
    token_cap: int | None = None


@dataclass(frozen=True, slots=True)
class Composed:
    """A request's messages, the window that holds once it is sent, and its size in tokens; `uncompacted` is the size
    that it would have had, `token_cap` what it may have: after a context-length error less than what was refused."""

    messages: tuple[Message, ...]
    window: Window
    tokens: int
    compacted: bool
    uncompacted: int
    token_cap: int


def compose(
    head: Sequence[Message],
    entries: Sequence[TranscriptEntry],
    window: Window,
    limits: WindowLimits,
    estimate: Estimate,
    *,
    notices: Sequence[str] = (),
    shrink: int = 0,
) -> Composed:
    """The next request's messages. `shrink` 1 to 4 cuts all but the opening to 80, 60, 40, 20 % of what it would be."""
    limits = replace(limits, token_cap=min(limits.token_cap, window.token_cap or limits.token_cap))
    last = _notice(notices)
    messages = (*window.prefix, *_since(entries, window), *last)
    uncompacted = estimate(messages)
    compacted = _calls(entries, window) > limits.most_calls or uncompacted > limits.token_cap
    if compacted:
        window = _compact(head, entries, window, limits, estimate, last)
        messages = (*window.prefix, *last)
    tokens, cap = estimate(messages) if compacted else uncompacted, limits.token_cap
    if shrink:
        window = _shrink(head, entries, window, limits, estimate, last, _SHRINKS[shrink])
        messages = (*window.prefix, *last)
        tokens, cap = estimate(messages), tokens
        window = replace(window, token_cap=tokens)
    return Composed(
        messages=messages,
        window=window,
        tokens=tokens,
        compacted=compacted or shrink > 0,
        uncompacted=uncompacted,
        token_cap=cap,
    )


def select(weights: Sequence[int], reserved: Sequence[bool], keep: int, least_others: int) -> tuple[int, ...]:
    """Which of the items, oldest first, stay in full: the reserved ones, and the newest others as long as all weigh
    `keep` at most together. At least `least_others` others stay, however much the reserved weigh, but for one that
    alone weighs more than `keep`."""
    chosen = [i for i, is_reserved in enumerate(reserved) if is_reserved]
    room = keep - sum(weights[i] for i in chosen)
    newest_first = reversed([i for i, is_reserved in enumerate(reserved) if not is_reserved])
    for kept, i in enumerate(newest_first):
        room -= weights[i]
        if weights[i] > keep or (room < 0 and kept >= least_others):
            break
        chosen.append(i)
    return tuple(sorted(chosen))


# --- compaction --------------------------------------------------------------------------------------------------


def _reserved(entries: Sequence[TranscriptEntry], most_calls: int) -> list[bool]:
    """The last turn, whose results were not seen yet, unless it alone is more than a window holds; and the last
    reminder."""
    turns = [i for i, entry in enumerate(entries) if isinstance(entry, Turn)]
    last_turn = next((i for i in turns[-1:] if _weight(entries[i]) <= most_calls), -1)
    last_reminder = max((i for i, e in enumerate(entries) if isinstance(e, Remark) and e.role == "user"), default=-1)
    return [i in (last_turn, last_reminder) for i in range(len(entries))]


def _weight(entry: TranscriptEntry) -> int:
    return len(entry.pairs) if isinstance(entry, Turn) else 1


def _compact(
    head: Sequence[Message],
    entries: Sequence[TranscriptEntry],
    window: Window,
    limits: WindowLimits,
    estimate: Estimate,
    last: Sequence[Message],
) -> Window:
    """The first of ever smaller bodies that leaves headroom; the smallest where none does."""
    fixed = estimate((*head, *last))
    target = fixed + int(_HEADROOM * max(limits.token_cap - fixed, 0))
    bodies = (Window((*head, *body), len(entries), calls, window.token_cap) for body, calls in _bodies(entries, limits))
    return _first_within(target, bodies, estimate, last)


def _shrink(
    head: Sequence[Message],
    entries: Sequence[TranscriptEntry],
    window: Window,
    limits: WindowLimits,
    estimate: Estimate,
    last: Sequence[Message],
    share: float,
) -> Window:
    """What stands now with our part of it cut to `share`, or, where the model's own words are what is long, the first
    of the smaller bodies that takes no more than about that share."""
    standing, fixed = (*window.prefix, *_since(entries, window)), estimate((*head, *last))
    room = estimate((*standing, *last)) - fixed
    cut_body = (_shrunk(standing[len(head) :], share), _calls(entries, window))
    bodies = chain((cut_body,), _bodies(entries, limits))
    windows = (Window((*head, *body), len(entries), calls) for body, calls in bodies)
    return _first_within(fixed + int((share + _SHRINK_SLACK) * room), windows, estimate, last)


def _first_within(target: int, windows: Iterable[Window], estimate: Estimate, last: Sequence[Message]) -> Window:
    """The first whose request takes no more than the target, else the last."""
    for window in windows:
        if estimate((*window.prefix, *last)) <= target:
            break
    return window


def _bodies(entries: Sequence[TranscriptEntry], limits: WindowLimits) -> Iterator[tuple[tuple[Message, ...], int]]:
    """Bodies with the calls they hold in full, from the most that may be kept down to a bare digest."""
    lines = min(_DIGEST_LINES, max(limits.token_cap // 10 // _LINE_TOKENS, 5))
    for keep in (limits.keep, *range(limits.keep - 1, limits.least_others, -1)):
        body, calls = _body(entries, keep, limits, lines)
        yield body, calls
    for share in _CUTS:
        yield _shrunk(body, share), calls
    body, calls = _body(entries, 1, limits, 5)
    for share in (1.0, *_CUTS):
        yield _shrunk(body, share), calls
    yield tuple(_digest([pair for entry in entries if isinstance(entry, Turn) for pair in entry.pairs], 0)), 0


def _body(
    entries: Sequence[TranscriptEntry], keep: int, limits: WindowLimits, lines: int
) -> tuple[tuple[Message, ...], int]:
    weights = [_weight(entry) for entry in entries]
    reserved = _reserved(entries, limits.most_calls)
    chosen = set(select(weights, reserved, keep, min(limits.least_others, keep // 4)))
    digested = [
        pair for i, entry in enumerate(entries) if i not in chosen and isinstance(entry, Turn) for pair in entry.pairs
    ]
    kept = [entries[i] for i in sorted(chosen)]
    messages = (message for entry in kept for message in entry.messages)
    return (*_digest(digested, lines), *messages), sum(len(e.pairs) for e in kept if isinstance(e, Turn))


def _digest(pairs: Sequence[Pair], lines: int) -> Iterator[Message]:
    """One message: a line a call; beyond `lines` the oldest are counted only, in blocks, so that the text stays
    bounded and its beginning seldom changes."""
    if not pairs:
        return
    block = max(lines // 2, 1)
    counted = min(max(-((lines - len(pairs)) // block) * block, 0), len(pairs))
    told = [render_preamble("overlays/digest")]
    if counted:
        tools = Counter(pair.asked.tool for pair in pairs[:counted])
        kinds = ", ".join(f"{tool} {count}" for tool, count in sorted(tools.items())[:20])
        told.append(render_preamble("overlays/digest_counted", count=counted, kinds=kinds, digest=DIGEST))
    told.extend(pair.line for pair in pairs[counted:])
    yield {"role": "user", "content": "\n".join(told)}


# --- shrinking ---------------------------------------------------------------------------------------------------


def _shrunk(messages: Sequence[Message], share: float) -> tuple[Message, ...]:
    """The messages with what is ours in them cut to `share` of what it holds together, the longest first; what the
    model said stays as it came. None is emptied: endpoints refuse a message of nothing."""
    sizes = [len(message["content"]) for message in messages if message["role"] != "assistant"]
    most = max(_level(sizes, int(share * sum(sizes))), 1)
    return tuple(_cut_message(message, most) for message in messages)


def _level(sizes: Sequence[int], total: int) -> int:
    """The greatest m for which the sum of min(size, m) does not exceed the total."""
    left = len(sizes)
    for size in sorted(sizes):
        if size * left > total:
            return total // left
        total -= size
        left -= 1
    return max(sizes, default=0)


def _cut_message(message: Message, most: int) -> Message:
    if message["role"] == "assistant" or len(message["content"]) <= most:
        return message
    return {**message, "content": cut(message["content"], most, message.get("tool_call_id", ""))}


# --- parts of a request ------------------------------------------------------------------------------------------


def _since(entries: Sequence[TranscriptEntry], window: Window) -> Iterator[Message]:
    for entry in entries[window.since :]:
        yield from entry.messages


def _calls(entries: Sequence[TranscriptEntry], window: Window) -> int:
    return window.calls + sum(len(entry.pairs) for entry in entries[window.since :] if isinstance(entry, Turn))


def _notice(notices: Sequence[str]) -> tuple[Message, ...]:
    return ({"role": "user", "content": "\n\n".join(notices)},) if notices else ()
