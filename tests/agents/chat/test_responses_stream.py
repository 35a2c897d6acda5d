"""Streams of Responses: by their last event, and by their items where that leaves them out."""

from __future__ import annotations

from typing import Any

import pytest

from agents.chat.failures import MalformedReplyError
from agents.chat.model_chat import ModelChat
from agents.chat.responses import Responses
from agents.chat.sse import SseReader
from orchestrator.config.settings import ModelSettings
from orchestrator.domain.model_io import ModelReply
from tests.support import odd_endpoint as odd
from tests.support.chat_world import HELLO, FixedClock
from tests.support.responses_shapes import CALL, DELTAS, REASONING, SAID, WHOLE, ended, response, stream

WIRE = Responses()


def read(body: bytes) -> ModelReply:
    """The reply that a stream is."""
    reader = SseReader()
    return WIRE.reply(WIRE.joined([*reader.feed(body), *reader.end()]))


@pytest.mark.parametrize(
    "body",
    [
        stream(*DELTAS, ended(WHOLE)),
        stream(ended(WHOLE), "data: [DONE]"),
        stream(*DELTAS, ended({**WHOLE, "output": []})),
        stream(*DELTAS, ended({**WHOLE, "output": [{**REASONING, "encrypted_content": None}, SAID, CALL]})),
    ],
    ids=["as OpenAI", "whole alone", "items alone", "sealed item alone"],
)
def test_a_stream_is_what_would_have_come_whole(body: bytes) -> None:
    """By the whole response of its last event, and by its items where that leaves them out."""
    reply, whole = read(body), WIRE.reply(WHOLE)
    assert (reply, reply.message) == (whole, whole.message)


def test_a_stream_without_its_whole_response_is_read_by_its_items() -> None:
    """Where it says that it is done; usage is estimated then."""
    reply = read(stream(*DELTAS, "data: [DONE]"))
    assert (reply.message["output"], reply.estimated) == ([REASONING, SAID, CALL], True)


def test_no_half_stream_of_items_is_taken_for_an_answer() -> None:
    """Cut behind any byte, a stream is either malformed or says all that it was to say."""
    body, whole = stream(*DELTAS, ended(WHOLE)), WIRE.reply(WHOLE)
    answers = []
    for end in range(len(body)):
        try:
            answers.append(read(body[:end]))
        except MalformedReplyError:
            continue
    assert answers
    assert all((reply, reply.message) == (whole, whole.message) for reply in answers)


@pytest.mark.parametrize(
    ("event", "told"),
    [
        ({"type": "error", "code": "server_error", "message": "Oops.", "param": None}, "Oops."),
        ({"type": "error", "error": {"code": "server_error", "message": "Oops."}}, "Oops."),
        (
            ended(response(status="failed", error={"code": "rate_limit_exceeded", "message": "Oops."})),
            "Oops.",
        ),
        (ended(response(status="failed")), "The response failed; the endpoint does not say why."),
    ],
)
def test_an_error_within_a_stream_is_told_as_one(event: dict[str, Any], told: str) -> None:
    """However it came; what had come before it is no answer."""
    assert WIRE.ends(event)
    assert WIRE.joined([*DELTAS, event])["error"]["message"] == told


@pytest.mark.parametrize(("begun", "lost"), [(DELTAS, 1), ([], 0)], ids=["begun", "nothing came"])
def test_an_error_behind_half_a_reply_counts_as_a_lost_one(begun: list[dict[str, Any]], lost: int) -> None:
    """What was begun may have cost what it could, and is asked for again."""
    error = {"type": "error", "code": "server_error", "message": "Oops."}
    answers = iter([stream(*begun, error), stream(ended(WHOLE))])
    told: list[str] = []
    with odd.odd_endpoint(lambda _asked: odd.response(200, next(answers).decode(), "text/event-stream")) as endpoint:
        settings = ModelSettings(name="m", base_url=endpoint.base_url, api="responses")
        chat = ModelChat(settings, clock=FixedClock(), env={})
        assert (chat.complete(HELLO, told.append).text, len(told)) == ("I look.", lost)
        chat.close()


def test_the_text_is_told_as_it_comes() -> None:
    """Deltas of texts alone: neither reasoning nor arguments."""
    kinds = ("output_text", "reasoning_text", "refusal", "function_call_arguments")
    assert [WIRE.text({"type": f"response.{kind}.delta", "delta": "x"}) for kind in kinds] == ["x", "", "", ""]
