"""Text from a model, safe and short on a terminal; numbers as people read them. No rich in here."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from orchestrator.domain.usage import Usage

from orchestrator.domain.ansi import plain
from orchestrator.domain.stop_reasons import in_words

# C0 and C1 control characters but tab and newline, and the marks that reorder text: a model's output could move the
# cursor, change the title or hide what follows. Halves of characters (surrogates) cannot be written at all.
_UNSAFE = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u200e\u200f\u202a-\u202e\u2066-\u2069\ud800-\udfff]")


# A line of an output that says what went wrong, and one that says nothing.
_TELLS = re.compile(
    r"error|exception|fail|fatal|panic|denied|refused|cannot|can't|unable|invalid|not found|no such|undefined|^E\s",
    re.IGNORECASE,
)
_SAYS_NOTHING = re.compile(r"traceback \(most recent call last\)|^[\W_]*$|^\W*\w\W*$", re.IGNORECASE)
_LOOKED_AT = 100_000  # characters of an output


def clean(text: object) -> str:
    """The text without what a terminal would obey: sequences whole, of the rest a mark for each character."""
    return marked(plain(str(text)))


def marked(text: str) -> str:
    """The text with a mark for each character that a terminal would obey; nothing is left out, as a diff needs it."""
    return _UNSAFE.sub("\N{REPLACEMENT CHARACTER}", text.replace("\r\n", "\n"))


def error_lines(output: str, most: int = 4, width: int = 160) -> list[str]:
    """The first lines of a failed call's output that say what went wrong; its first lines where none does."""
    lines = [line for line in clean(output[:_LOOKED_AT]).splitlines() if not _SAYS_NOTHING.search(line)]
    telling = [line for line in lines if _TELLS.search(line)]
    return [one_line(line, width) for line in (telling or lines)[:most]]


def escaped(document: str) -> str:
    """A JSON document with escapes for what a terminal would obey: the same document still."""
    return _UNSAFE.sub(lambda found: f"\\u{ord(found[0]):04x}", document)


def one_line(text: object, width: int = 100) -> str:
    """The text as one line of at most `width` characters."""
    joined = " ".join(clean(text).split())
    return joined if len(joined) <= width else joined[: width - 1] + "…"


def ended_by(code: str | None, stops: int | None = None, *, codes: bool = False) -> str:
    """Why something ended, in words, with `codes` the stop code behind them. `stops`: how many a task may have."""
    if not code:
        return ""
    words = clean(in_words(code, stops))
    return f"{words} [{clean(code)}]" if codes and words != code else words


def came_to(outcome: str | None) -> str:
    """What an attempt came to, in words."""
    return "no check pass" if outcome == "error" else clean(outcome or "").replace("_", " ")


def money(usd: float | None) -> str:
    """Dollars, where the price is known."""
    if usd is None:
        return "price unknown"
    return f"${usd:.2f}" if usd >= 0.01 or usd == 0 else f"${usd:.4f}"


def spent(
    number: int, usd: float | None, reserved: int = 0, reserved_usd: float = 0.0, *, cached: int = 0, reasoning: int = 0
) -> str:
    """Tokens and dollars, apart from what of them is only reserved, and what of the tokens is special:
    `9.1k (+2.0k reserved) tokens (8.0k cached, 600 reasoning), $0.05`."""
    held = f" (+{tokens(reserved)} reserved)" if reserved else ""
    used = f"{tokens(number - reserved)}{held} tokens{token_kinds(cached=cached, reasoning=reasoning)}"
    if usd is None:
        return f"{used}, {money(None)}"
    cost = money(max(usd - reserved_usd, 0.0))
    return f"{used}, {cost}{f' (+{money(reserved_usd)} reserved)' if reserved_usd else ''}"


def spent_in_all(used: Usage) -> str:
    """The same of a usage."""
    kinds = {"cached": used.cached_tokens, "reasoning": used.reasoning_tokens}
    return spent(used.tokens, used.cost_usd, used.reserved_tokens, used.reserved_usd, **kinds)


def token_kinds(**counts: int) -> str:
    """` (8.0k cached, 600 reasoning)`: the kinds of which there are any."""
    told = ", ".join(f"{tokens(number)} {kind}" for kind, number in counts.items() if number)
    return f" ({told})" if told else ""


def duration(milliseconds: float | None) -> str:
    """Milliseconds as 340 ms, 4.2 s, 3 min 20 s or 2 h 5 min."""
    if milliseconds is None:
        return ""
    if milliseconds < 1_000:
        return f"{milliseconds:.0f} ms"
    seconds = milliseconds / 1_000
    if seconds < 60:
        return f"{seconds:.1f} s"
    minutes, rest = divmod(int(seconds), 60)
    return f"{minutes} min {rest} s" if minutes < 60 else f"{minutes // 60} h {minutes % 60} min"


def count(number: float | None) -> str:
    """A whole number with thousands separated."""
    return "" if number is None else f"{number:,.0f}"


def tokens(number: int) -> str:
    """Tokens, short: 950, 12.3k, 1.2M."""
    if number < 1_000:
        return str(number)
    return f"{number / 1_000:.1f}k" if number < 1_000_000 else f"{number / 1_000_000:.1f}M"


def cell(value: Any) -> str:
    """A query's value in a table: lists joined by lines, nodes and relationships in short."""
    if value is None:
        return ""
    if isinstance(value, bool):
        return "true" if value else "false"  # as Cypher spells them
    if isinstance(value, float):
        return f"{value:g}" if abs(value) < 1e6 else f"{value:,.1f}"
    if isinstance(value, list):
        return "\n".join(cell(item) for item in value)
    if isinstance(value, dict) and "properties" in value:
        kind = ":".join(value.get("labels", [])) or value.get("type", "")
        return f"{kind} {value['properties'].get('name') or value['properties'].get('id', '')}".strip()
    if isinstance(value, dict):
        return clean(json.dumps(value, ensure_ascii=False, default=str))
    return clean(value)
