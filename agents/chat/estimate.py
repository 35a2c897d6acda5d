"""Tokens without a tokenizer, on the high side: a request that we think fits should fit."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Mapping, Sequence
from typing import Any

from agents.chat.port import Message, ToolSchema

CHARS_PER_TOKEN = 3.5
BYTES_PER_TOKEN_NON_ASCII = 2.0  # CJK about 1.5 a character, Cyrillic 1, an emoji 2
PER_MESSAGE = 6  # role and separators
PER_CALL = 12
OPAQUE_CHARS_PER_TOKEN = 4
CACHE_SIZE = 20_000

_SAYS_NOTHING = frozenset({"id", "call_id", "tool_call_id", "tool_use_id", "type", "role", "status", "phase"})
_OPAQUE = frozenset({"encrypted_content", "signature", "thought_signature", "data"})
_CALLS = frozenset({"function_call", "tool_use"})

# Words, numbers by at most two digits (some tokenizers take them one by one), symbols, runs of line breaks.
_PIECES = re.compile(r"[A-Za-z]+|\d{1,2}|[^\sA-Za-z\d]|\n\s*")


def text_tokens(text: str) -> int:
    """Tokens of a text: by characters or by pieces, whichever is more, and non-ASCII by its UTF-8 bytes."""
    if text.isascii():
        plain, foreign = text, 0
    else:
        plain = text.encode("ascii", "ignore").decode()
        foreign = len(text.encode("utf-8", "replace")) - len(plain)
    pieces = len(_PIECES.findall(plain))
    return math.ceil(max(len(plain) / CHARS_PER_TOKEN, pieces) + foreign / BYTES_PER_TOKEN_NON_ASCII)


class Estimator:
    """Sums per message and per tool schema, and remembers each by identity. A message must not change once it was
    estimated; the memory holds it, so that its identity cannot be another's."""

    def __init__(self) -> None:
        self._known: dict[int, tuple[Mapping[str, Any], int]] = {}

    def request(self, messages: Sequence[Message], tools: Sequence[ToolSchema] = ()) -> int:
        """Prompt tokens of a request; time is linear in the messages that were not seen before."""
        known, total = self._known, 3
        for item in (*messages, *tools):
            found = known.get(id(item))
            total += found[1] if found is not None else self._learn(item)
        return total

    def _learn(self, item: Mapping[str, Any]) -> int:
        tokens = message_tokens(item) if "role" in item else text_tokens(json.dumps(item))
        if len(self._known) >= CACHE_SIZE:
            self._known.clear()
        self._known[id(item)] = (item, tokens)
        return tokens


def message_tokens(message: Message) -> int:
    """Tokens of one message, ours or a model's as it came over any wire: its texts and calls wherever they stand in it,
    and what is encrypted or signed by its length. Nothing nests too deep for it."""
    tokens, left = PER_MESSAGE + (PER_CALL if "tool_call_id" in message else 0), list(message.items())
    while left:
        name, value = left.pop()
        if isinstance(value, str):
            tokens += _string_tokens(name, value)
        elif isinstance(value, Mapping):
            tokens += PER_CALL if str(value.get("type")) in _CALLS or "function" in value else 0
            left.extend(value.items())
        elif isinstance(value, list | tuple):
            left.extend((name, item) for item in value)
    return tokens


def _string_tokens(name: str, value: str) -> int:
    if name in _SAYS_NOTHING:
        return 0
    return math.ceil(len(value) / OPAQUE_CHARS_PER_TOKEN) if name in _OPAQUE else text_tokens(value)
