"""What an attempt's input costs by the way its conversation is trimmed, cached tokens at a tenth of the price.

Cached is what a request's messages have in common, byte for byte from the start, with the request before. The calls are
those of a plain coding attempt: reads, edits, commands, of sizes drawn with a fixed seed. Prints a table, and fails
where our window is not below 0.8 of the untrimmed conversation at 100 calls and below 0.5 at 300.

Run: python benchmarks/window.py
"""

from __future__ import annotations

import json
import random
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from os.path import commonprefix
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from agents.chat.estimate import Estimator
from agents.chat.json_tools import asked_call
from agents.chat.port import Message
from agents.preambles import render_preamble
from agents.transcript import Transcript, assistant_message
from agents.window import Window, WindowLimits, compose

CACHED_PRICE = 0.1
SIZES = (25, 50, 100, 200, 300)
TARGETS = {100: 0.8, 300: 0.5}
SLIDING = 20
WORDS = (
    "return",
    "self",
    "value",
    "index",
    "error",
    "expected",
    "name",
    "the",
    "of",
    "assert",
    "list",
    "None",
    "import",
)

Requests = Callable[[Transcript], Sequence[Message]]


@dataclass
class Untrimmed:
    """Everything, always."""

    def __call__(self, transcript: Transcript) -> Sequence[Message]:
        return (*transcript.head, *_bodies(transcript, 0))


@dataclass
class Sliding:
    """The opening and the last turns: what many loops do."""

    keep: int

    def __call__(self, transcript: Transcript) -> Sequence[Message]:
        return (*transcript.head, *_bodies(transcript, max(len(transcript.entries) - self.keep, 0)))


class Ours:
    """agents/window.py with its defaults, over a model with 128,000 tokens."""

    def __init__(self, head: Sequence[Message]) -> None:
        self.window = Window(tuple(head))
        self.limits = WindowLimits(token_cap=int((128_000 - 8_192) * 0.95))
        self.estimator = Estimator()

    def __call__(self, transcript: Transcript) -> Sequence[Message]:
        composed = compose(
            transcript.head, transcript.entries, self.window, self.limits, self.estimator.request, notices=("Used.",)
        )
        self.window = composed.window
        return composed.messages


def _bodies(transcript: Transcript, first: int) -> Iterator[Message]:
    for entry in transcript.entries[first:]:
        yield from entry.messages


def _text(generator: random.Random, size: int) -> str:
    words = (generator.choice(WORDS) for _ in range(max(size // 5, 1)))
    return "".join(word + ("\n" if number % 9 == 8 else " ") for number, word in enumerate(words))


def calls(generator: random.Random, count: int) -> Iterator[tuple[str, str, str]]:
    """(tool, arguments, result): a read of 500 to 8,000 characters, an edit, a command, by turns."""
    for number in range(count):
        kind = number % 3
        if kind == 0:
            yield (
                "read_file",
                json.dumps({"path": f"app/m{number}.py"}),
                _text(generator, generator.randint(500, 8_000)),
            )
        elif kind == 1:
            old, new = (_text(generator, generator.randint(50, 600)) for _ in range(2))
            yield "edit_file", json.dumps({"path": "app/m.py", "old_str": old, "new_str": new}), "Edited app/m.py."
        else:
            yield "run_command", json.dumps({"command": "pytest -q"}), _text(generator, generator.randint(100, 3_000))


def cost(requests: Requests, transcript_of: Callable[[], Transcript], count: int) -> tuple[float, float]:
    """(input tokens at full price, milliseconds of composing a request) over an attempt of `count` calls."""
    generator, transcript, estimator = random.Random(7), transcript_of(), Estimator()
    before: Sequence[Message] = ()
    total = spent = 0.0
    for number, (tool, arguments, result) in enumerate(calls(generator, count)):
        started = time.perf_counter()
        messages = requests(transcript)
        spent += time.perf_counter() - started
        tokens, cached = estimator.request(messages), _cached(before, messages, estimator)
        total += tokens - (1 - CACHED_PRICE) * cached
        before = messages
        asked = [asked_call(f"call_{number}", tool, arguments)]
        transcript.say(assistant_message("", asked), asked)
        transcript.answer(f"call_{number}", result, "ok")
    return total, spent / count * 1000


def _cached(before: Sequence[Message], now: Sequence[Message], estimator: Estimator) -> float:
    """Tokens of the bytes that the two requests begin with alike; of the first message that differs, its share."""
    for position, (one, other) in enumerate(zip(before, now, strict=False)):
        if one is not other and one != other:
            share = len(commonprefix([json.dumps(one), json.dumps(other)])) / len(json.dumps(other))  # noqa: RUF071  characters are meant
            return estimator.request(now[:position]) + share * estimator.request([other])
    return estimator.request(now[: len(before)])


def _opening() -> Transcript:
    task = "Task: t\nAttempt: 1\n\n" + _text(random.Random(1), 4_000)
    system = render_preamble("worker", role="Backend engineer", progress_every=25)
    return Transcript(({"role": "system", "content": system}, {"role": "user", "content": task}))


def main() -> int:
    """Print the table; 1 when a target is missed."""
    print("Input cost of an attempt, cached tokens at a tenth of the price, as a share of the untrimmed conversation")
    print(f"{'calls':>6}{'untrimmed':>14}{'ours':>9}{f'last {SLIDING}':>9}{'target':>9}{'compose ms':>12}")
    missed = False
    for count in SIZES:
        whole, _ = cost(Untrimmed(), _opening, count)
        ours, spent = cost(Ours(_opening().head), _opening, count)
        sliding, _ = cost(Sliding(SLIDING), _opening, count)
        target = TARGETS.get(count)
        missed |= target is not None and ours / whole >= target
        shown = f"<{target}" if target else ""
        print(f"{count:>6}{whole:>14,.0f}{ours / whole:>9.2f}{sliding / whole:>9.2f}{shown:>9}{spent:>12.2f}")
    print(f"A transcript of 1,000 calls composed from nothing: {_from_nothing():.1f} ms")
    return int(missed)


def _from_nothing() -> float:
    transcript = _opening()
    for number, (tool, arguments, result) in enumerate(calls(random.Random(7), 1_000)):
        asked = [asked_call(f"call_{number}", tool, arguments)]
        transcript.say(assistant_message("", asked), asked)
        transcript.answer(f"call_{number}", result, "ok")
    started = time.perf_counter()
    Ours(transcript.head)(transcript)
    return (time.perf_counter() - started) * 1000


if __name__ == "__main__":
    sys.exit(main())
