"""What of a transcript a model is shown: a pure function from the transcript and the earlier window.

Between compactions a request starts with the bytes of the one before it, so that the endpoint's prompt cache holds: new
entries are only appended, and notices stand last and are not kept. More than `most_calls` calls in full, or too many
tokens, compact once: the opening stays, the last `keep` items stand in full, older calls become one digest line each.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from agents.chat.port import Message
from agents.preambles import render_preamble
from agents.transcript import DIGEST, Pair, Remark, TranscriptEntry, Turn, cut, turn_messages

Estimate = Callable[[Sequence[Message]], int]

_HEADROOM = 0.6  # of the tokens beside the opening are in use after a compaction, so that the next one is not near
_SHRINKS = (1.0, 0.8, 0.6, 0.4, 0.2)  # of the original, after so many context-length errors
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
        body = _shrunk((*window.prefix, *_since(entries, window))[len(head) :], _SHRINKS[shrink])
        messages = (*head, *body, *last)
        tokens, cap = estimate(messages), tokens
        window = Window((*head, *body), len(entries), _calls(entries, window), tokens)
    return Composed(
        messages=messages,
        window=window,
        tokens=tokens,
        compacted=compacted or shrink > 0,
        uncompacted=uncompacted,
        token_cap=cap,
    )


def select(reserved: Sequence[bool], keep: int, least_others: int) -> tuple[int, ...]:
    """Which of the items, oldest first, stay in full: reserved ones and the newest others, `keep` in all.

    At least `least_others` others stay; where the reserved leave no room for them, the oldest reserved go, and the
    digest that then holds these takes one place of the `keep`.
    """
    special = [i for i, is_reserved in enumerate(reserved) if is_reserved]
    others = [i for i, is_reserved in enumerate(reserved) if not is_reserved]
    least = min(least_others, len(others), keep)
    if len(special) + least <= keep:
        return tuple(sorted([*special, *_newest(others, keep - len(special))]))
    room = keep - least
    return tuple(sorted([*_newest(special, room - 1 if room > 1 else room), *_newest(others, least)]))


def _newest(items: Sequence[int], count: int) -> Sequence[int]:
    return items[max(len(items) - count, 0) :]


# --- compaction --------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _Item:
    """What a compaction keeps or drops as one: a pair, or a remark. `entry` is where it stands."""

    entry: int
    value: Pair | Remark
    reserved: bool


def _items(entries: Sequence[TranscriptEntry]) -> list[_Item]:
    """Pairs and remarks in order. Reserved: the last turn, whose results were not seen yet, and the last reminder."""
    last_turn = max((i for i, entry in enumerate(entries) if isinstance(entry, Turn)), default=-1)
    last_reminder = max((i for i, e in enumerate(entries) if isinstance(e, Remark) and e.role == "user"), default=-1)
    items: list[_Item] = []
    for i, entry in enumerate(entries):
        values: Sequence[Pair | Remark] = entry.pairs if isinstance(entry, Turn) else (entry,)
        items.extend(_Item(i, value, i in (last_turn, last_reminder)) for value in values)
    return items


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
    for body, calls in _bodies(entries, limits):
        compacted = Window((*head, *body), len(entries), calls, window.token_cap)
        if estimate((*compacted.prefix, *last)) <= target:
            break
    return compacted


def _bodies(entries: Sequence[TranscriptEntry], limits: WindowLimits) -> Iterator[tuple[tuple[Message, ...], int]]:
    """Bodies with the calls they hold in full, from the most that may be kept down to a bare digest."""
    items = _items(entries)
    lines = min(_DIGEST_LINES, max(limits.token_cap // 10 // _LINE_TOKENS, 5))
    for keep in (limits.keep, *range(limits.keep - 1, limits.least_others, -1)):
        body, calls = _body(items, entries, keep, limits, lines)
        yield body, calls
    for share in _CUTS:
        yield _shrunk(body, share), calls
    body, calls = _body(items, entries, 1, limits, 5)
    for share in (1.0, *_CUTS):
        yield _shrunk(body, share), calls
    yield _body(items, entries, 0, limits, 0)


def _body(
    items: Sequence[_Item], entries: Sequence[TranscriptEntry], keep: int, limits: WindowLimits, lines: int
) -> tuple[tuple[Message, ...], int]:
    chosen = select([item.reserved for item in items], keep, min(limits.least_others, keep // 4))
    kept = [items[i] for i in chosen]
    pairs = [item.value for item in kept if isinstance(item.value, Pair)]
    left = set(chosen)
    digested = [item.value for i, item in enumerate(items) if i not in left and isinstance(item.value, Pair)]
    return (*_digest(digested, lines), *_in_full(kept, entries)), len(pairs)


def _in_full(kept: Sequence[_Item], entries: Sequence[TranscriptEntry]) -> Iterator[Message]:
    """The kept items in order; of a turn that is kept in part, the assistant message with the calls that are."""
    position = 0
    while position < len(kept):
        entry = entries[kept[position].entry]
        if isinstance(entry, Remark):
            yield from entry.messages
            position += 1
            continue
        same = [item.value for item in kept if item.entry == kept[position].entry and isinstance(item.value, Pair)]
        yield from entry.messages if len(same) == len(entry.pairs) else turn_messages(entry.text, same)
        position += len(same)


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
    """The messages with their texts cut to `share` of what they hold together, the longest first. None is emptied:
    endpoints refuse a message of nothing."""
    sizes = [size for message in messages for size in _sizes(message)]
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


def _sizes(message: Message) -> Iterator[int]:
    yield len(message.get("content") or "")
    for call in message.get("tool_calls", ()):
        yield from (len(text) for text in _strings(json.loads(call["function"]["arguments"])))


def _strings(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, Mapping | list):
        for inner in value.values() if isinstance(value, Mapping) else value:
            yield from _strings(inner)


def _cut_message(message: Message, most: int) -> Message:
    """The message with its texts cut; itself where none is longer."""
    if all(size <= most for size in _sizes(message)):
        return message
    changed = dict(message)
    if message.get("content"):
        changed["content"] = cut(message["content"], most, message.get("tool_call_id", ""))
    if "tool_calls" in message:
        changed["tool_calls"] = [_cut_call(call, most) for call in message["tool_calls"]]
    return changed


def _cut_call(call: Mapping[str, Any], most: int) -> Mapping[str, Any]:
    short = _cut_strings(json.loads(call["function"]["arguments"]), most)
    return {**call, "function": {**call["function"], "arguments": json.dumps(short, ensure_ascii=False)}}


def _cut_strings(value: Any, most: int) -> Any:
    if isinstance(value, str):
        return cut(value, most)
    if isinstance(value, Mapping):
        return {name: _cut_strings(inner, most) for name, inner in value.items()}
    return [_cut_strings(inner, most) for inner in value] if isinstance(value, list) else value


# --- parts of a request ------------------------------------------------------------------------------------------


def _since(entries: Sequence[TranscriptEntry], window: Window) -> Iterator[Message]:
    for entry in entries[window.since :]:
        yield from entry.messages


def _calls(entries: Sequence[TranscriptEntry], window: Window) -> int:
    return window.calls + sum(len(entry.pairs) for entry in entries[window.since :] if isinstance(entry, Turn))


def _notice(notices: Sequence[str]) -> tuple[Message, ...]:
    return ({"role": "user", "content": "\n\n".join(notices)},) if notices else ()
