"""Replies that say nothing about the work, and replies that were cut: what the guards make of how a reply ended."""

from __future__ import annotations

from dataclasses import replace
from typing import get_args

import pytest

from orchestrator.domain.model_io import DECLINED, FinishReason
from orchestrator.domain.verdict import Stop
from tests.support.guard_scripts import START, Choke, call, choke, reply

BROKEN = call("write_file", "a.py", defect="arguments are no JSON object")


def _replied(run: Choke, ended: FinishReason, text: str = "", *, defect: bool = False, failed: bool = False) -> Choke:
    event = reply(1, (BROKEN,) if defect else (), START)
    run.judge(replace(event, reply=replace(event.reply, finish_reason=ended, text=text), failed=failed))
    return run


def _stopped(run: Choke) -> Stop:
    assert run.guard_set.stopped is not None
    return run.guard_set.stopped


@pytest.mark.parametrize("ended", get_args(FinishReason))
def test_only_a_reply_that_was_declined_stops_at_once(ended: FinishReason) -> None:
    """A refusal and a filter end the attempt with a code of their own; no other end does, and no turn that failed."""
    assert _replied(choke(), ended).code == ("model_declined" if ended in DECLINED else None)
    assert _replied(choke(), ended, failed=True).code is None


def test_the_stop_says_who_declined_and_in_which_words() -> None:
    """The beginning of what was said, in whole words, and what can be done."""
    stop = _stopped(_replied(choke(), "refusal", "I cannot\nhelp with that. " + "Because " * 100))
    assert stop.evidence["declined by"] == "the model"
    assert str(stop.evidence["said"]).startswith("I cannot help with that. Because ")
    assert str(stop.evidence["said"]).endswith(" Because …")
    assert "said I cannot help" in stop.message
    assert stop.message.endswith(
        "Reword the task's prompt, or give it another model; a new run does not try it unchanged."
    )
    assert _stopped(_replied(choke(), "content_filter")).evidence["declined by"] == "a filter of the endpoint's"


@pytest.mark.parametrize("defect", [False, True], ids=["no_action", "malformed_calls"])
def test_a_stop_after_cut_replies_names_what_to_raise(defect: bool) -> None:
    """How many of the row were cut at max_output_tokens is in the evidence, and raising that the first advice."""
    run = choke()
    for ended in ("length", "stop", "length"):
        _replied(run, ended, defect=defect)
    stop = _stopped(run)
    assert stop.evidence["replies cut off at max_output_tokens"] == 2
    assert "Raise max_output_tokens" in stop.message
    whole = choke()
    for _ in range(3):
        _replied(whole, "stop", defect=defect)
    assert not any("max_output_tokens" in name for name in _stopped(whole).evidence)


def test_a_reply_that_paused_counts_as_one_without_a_call() -> None:
    """A model that only ever pauses is bounded as one that only ever talks."""
    run = choke()
    for _ in range(3):
        _replied(run, "pause")
    assert run.code == "no_action"
