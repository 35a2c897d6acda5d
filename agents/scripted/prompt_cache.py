"""What a provider keeps of prompts, and how many tokens of the next one come from there."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

LOOKBACK = 20
"""Items before a mark at which a prefix that is kept is looked for."""

_CHARS_PER_TOKEN = 4


@dataclass(slots=True)
class SeenPrompt:
    """The last prompt of a conversation, item by item: its tokens, and a digest of all up to each."""

    items: Sequence[Any] = ()
    tokens: list[int] = field(default_factory=list)
    digests: list[bytes] = field(default_factory=list)

    def followed_by(self, items: Sequence[Any]) -> tuple[SeenPrompt, int]:
        """The next prompt, and with how many of the same items it begins: nothing of them is counted again."""
        most = min(len(self.items), len(items))
        same = next((at for at in range(most) if self.items[at] != items[at]), most)
        tokens, digests = self.tokens[:same], self.digests[:same]
        for item in items[same:]:
            written = json.dumps(item)
            tokens.append(4 + len(written) // _CHARS_PER_TOKEN)
            digests.append(hashlib.sha256((digests[-1] if digests else b"") + written.encode()).digest())
        return SeenPrompt(items, tokens, digests), same


class MarkedPrefixes:
    """What is kept of prompts whose marks say what to keep, of all conversations with the endpoint."""

    def __init__(self) -> None:
        self._kept: set[bytes] = set()

    def held(self, prompt: SeenPrompt, marks: Sequence[int]) -> int:
        """Of how many of the prompt's items, from the first, the longest kept prefix is: it ends at a mark, or a few
        items before one."""
        places = (at for mark in sorted(marks, reverse=True) for at in range(mark, max(mark - LOOKBACK, 0), -1))
        return next((at for at in places if prompt.digests[at - 1] in self._kept), 0)

    def keep(self, prompt: SeenPrompt, marks: Sequence[int]) -> None:
        """From now on the prompt up to each mark is kept."""
        self._kept.update(prompt.digests[mark - 1] for mark in marks)
