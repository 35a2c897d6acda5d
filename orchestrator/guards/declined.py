"""Declined: a reply in which the model declined, or of which a filter of the endpoint's left nothing."""

from __future__ import annotations

from dataclasses import dataclass

from orchestrator.domain.events import Event, ReplyReceived
from orchestrator.domain.model_io import DECLINED, FinishReason
from orchestrator.domain.rule import Rule
from orchestrator.domain.verdict import ALLOW, Verdict

_RULE = Rule("declined", "model_declined")
_BY: dict[FinishReason, str] = {"refusal": "the model", "content_filter": "a filter of the endpoint's"}
_SAID_CHARS = 160


@dataclass(frozen=True, slots=True)
class DeclinedGuard:
    """The first such reply stops: the same words to the same model, asked again in the same conversation, come to the
    same. Nothing of it is work, whatever its text or its calls; what was said stands in the evidence."""

    def observe(self, event: Event) -> tuple[DeclinedGuard, Verdict]:
        """Judge how a reply ended."""
        if not isinstance(event, ReplyReceived) or event.failed or event.reply.finish_reason not in DECLINED:
            return self, ALLOW
        reply = event.reply
        return self, _RULE.stop(1, 0, {"declined by": _BY[reply.finish_reason], "said": _beginning(reply.text)})


def _beginning(text: str) -> str:
    """The first whole words: half a word might be half a secret, which nobody would know for one."""
    flat = " ".join(text.split())
    if len(flat) <= _SAID_CHARS:
        return flat
    words, _, _ = flat[:_SAID_CHARS].rpartition(" ")
    return f"{words} …"
