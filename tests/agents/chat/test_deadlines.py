"""How long a reply is waited for, and what becomes of one that is lost while the endpoint works at it."""

from __future__ import annotations

import re
import threading
from typing import Any

import pytest

from orchestrator.domain.errors import ModelUnavailableError, ReplyLostError
from tests.support.chat_world import HELLO, world

OK = {"text": "Hi."}


def _exchanges() -> list[threading.Thread]:
    return [thread for thread in threading.enumerate() if thread.name == "chat-exchange"]


def _all_ended() -> bool:
    for thread in _exchanges():
        thread.join(100)
    return not _exchanges()


def test_a_stream_that_falls_silent_is_given_up_after_the_idle_timeout() -> None:
    """Half a reply and then nothing is lost after idle_timeout_s, said to have been worked at, and tried again."""
    with world({"text": "Hi.", "fault": {"stall_s": 60}}, OK, idle_timeout_s=0.3, timeout_s=30) as w:
        assert w.chat.complete(HELLO).retries == 1
        assert re.search(
            r"accepted the request and was working, but no byte .* for 0\.3 s \(\d+ bytes had come\)", w.waits[0]
        )
        assert _all_ended()


@pytest.mark.parametrize("reply", [{"latency_ms": 600}, {"fault": {"drip": 1_000}}], ids=["thinks", "speaks slowly"])
def test_what_takes_longer_than_the_idle_timeout_is_waited_for(reply: dict[str, Any]) -> None:
    """Neither the time before the first byte nor that of all of them together is a silence."""
    with world({"text": "Hi.", **reply}, idle_timeout_s=0.2, timeout_s=30) as w:
        assert (w.chat.complete(HELLO).text, w.waits, len(w.model.requests)) == ("Hi.", [], 1)


def test_a_hang_cannot_outlast_the_total_deadline() -> None:
    """A single read that hangs ends at the total deadline, although idle_timeout_s is longer."""
    with world({"fault": {"hang_s": 60}}, retries=0, idle_timeout_s=60, timeout_s=0.3) as w:
        with pytest.raises(ReplyLostError, match=r"accepted the request and was working, but .* 0\.3 s") as caught:
            w.chat.complete(HELLO)
        assert "timeout_s" in caught.value.next_step
        assert _all_ended()


def test_a_drip_is_ended_by_the_total_deadline() -> None:
    """A byte at a time, headers included, never trips a timeout per read; the deadline in all ends it, and the
    connection with it."""
    with world({"text": "Hi.", "fault": {"drip": 20}}, retries=0, idle_timeout_s=60, timeout_s=0.5) as w:
        with pytest.raises(ReplyLostError, match=r"within 0\.5 s"):
            w.chat.complete(HELLO)
        assert _all_ended()


@pytest.mark.parametrize(
    ("reply", "lost"),
    [
        ({"text": "Hi.", "fault": {"cut": True}}, True),
        ({"fault": {"close": True}}, True),
        ({"fault": {"status": 503}}, False),
        ({"fault": {"html": True, "status": 502}}, False),
    ],
    ids=["cut", "closed", "refused", "a gateway's page"],
)
def test_a_try_that_was_worked_at_is_told_as_lost(reply: dict[str, Any], lost: bool) -> None:
    """What was accepted and broke off may have cost what it could, and is told before the next try; a refusal and
    another page cost nothing."""
    told: list[str] = []
    with world(reply, OK) as w:
        assert w.chat.complete(HELLO, told.append).text == "Hi."
    assert (len(told), len(w.waits)) == (int(lost), 1)
    with world(reply, retries=0) as w, pytest.raises(ModelUnavailableError) as caught:
        w.chat.complete(HELLO, told.append)
    assert isinstance(caught.value, ReplyLostError) is lost
    assert len(told) == int(lost), "the last one is the error itself"


def test_who_is_told_of_a_lost_reply_may_end_the_request() -> None:
    """Where a bound has no room for the next try, none is sent and nothing is waited for."""

    def no_room(_why: str) -> None:
        raise KeyboardInterrupt

    with world({"text": "Hi.", "fault": {"cut": True}}, OK) as w:
        with pytest.raises(KeyboardInterrupt):
            w.chat.complete(HELLO, no_room)
        assert (len(w.model.requests), w.waits, w.clock.slept) == (1, [], [])


def test_after_a_timeout_the_chat_goes_on() -> None:
    """The connection that was given up is not used again."""
    with world({"text": "late", "fault": {"drip": 20}}, OK, OK, timeout_s=0.5) as w:
        assert w.chat.complete(HELLO).text == "Hi."
        assert w.chat.complete(HELLO).text == "Hi."
