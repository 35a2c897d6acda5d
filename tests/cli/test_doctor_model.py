"""`orchestrate doctor --model` against endpoints that misbehave: one clear line, the right exit code, in bounded time.

The refusals are in the words of the servers that are named, as their documentation and source have them."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator, Sequence
from typing import Any

import pytest

from agents.scripted.server import serve
from tests.support.odd_endpoint import Answer, Asked, call, completion, odd_endpoint, response
from tests.support.story import Story

PAGE = "<!DOCTYPE html><html><head><title>Welcome to nginx!</title></head><body>Hello</body></html>"
REPORTED = [call("report", word="heron", number=number) for number in (7, 8)]


def good(asked: Asked, usage: Any = True) -> bytes:
    """What a capable endpoint answers."""
    return completion(asked, tool_calls=REPORTED, usage=usage)


def whole(asked: Asked) -> bytes:
    """A reply in one piece, whatever was asked for."""
    return completion(Asked(asked.path, asked.headers, {**asked.body, "stream": False}), tool_calls=REPORTED)


def refused(message: str, status: int = 400, **fields: Any) -> Answer:
    """An endpoint that refuses every request."""
    return lambda _asked: response(status, {"error": {"message": message, **fields}})


def without_streams(asked: Asked) -> bytes:
    """Refuses a stream."""
    return refused("stream is not supported")(asked) if asked.body.get("stream") else good(asked)  # type: ignore[return-value]


def silent(asked: Asked) -> Iterator[bytes]:
    """A stream that begins and says no more."""
    yield b"HTTP/1.1 200 Odd\r\nContent-Type: text/event-stream\r\n\r\ndata: "
    for _ in range(100):
        time.sleep(0.1)
        yield b""


def drip(asked: Asked) -> Iterator[bytes]:
    """A stream without an end, never silent for long."""
    yield b"HTTP/1.1 200 Odd\r\nContent-Type: text/event-stream\r\n\r\n"
    for _ in range(200):
        time.sleep(0.05)
        yield b": still there\n\n"


def forgetful(asked: Asked) -> bytes:
    """Reads the last 4,000 characters, as Ollama does whose num_ctx is small: the system text is lost, nothing said."""
    word = "heron" if asked.chars < 4_000 else "none"
    usage = {"prompt_tokens": min(asked.chars, 4_000) // 4, "completion_tokens": 20}
    return completion(asked, tool_calls=[call("report", word=word, number=number) for number in (7, 8)], usage=usage)


def only_short(asked: Asked) -> bytes:
    """Refuses a long prompt, as llama.cpp does."""
    told = "the request exceeds the available context size (4096 tokens), try increasing it"
    if asked.chars < 4_000:
        return good(asked)
    return response(400, {"error": {"code": 400, "message": told, "type": "exceed_context_size_error"}})


def usage(prompt: int, output: int) -> Answer:
    """An endpoint that tells this usage."""
    return lambda asked: good(asked, {"prompt_tokens": prompt, "completion_tokens": output})


NO_TOOLS = "registry.ollama.ai/library/gemma3:4b does not support tools"
NO_PARSER = '"auto" tool choice requires --enable-auto-tool-choice and --tool-call-parser to be set'
SIGNATURE = "messages.1.content.0: Invalid `signature` in `thinking` block"
SEALED = "The encrypted content gAAA could not be verified. Reason: it could not be decrypted or parsed."
CHECKS = [
    pytest.param(good, 0, "tools", "called report", id="nothing wrong"),
    pytest.param(refused("Not Found", 404), 4, "endpoint", "none of the APIs that were tried: /chat", id="404"),
    pytest.param(refused("Method Not Allowed", 405), 4, "endpoint", "none of the APIs", id="405"),
    pytest.param(refused("Not Implemented", 501), 4, "endpoint", "none of the APIs", id="501"),
    pytest.param(lambda _: response(200, PAGE, "text/html"), 4, "endpoint", "HTML page: Welcome to nginx", id="page"),
    pytest.param(lambda _: response(502, PAGE, "text/html"), 4, "endpoint", "HTTP 502", id="gateway's page"),
    pytest.param(refused(NO_TOOLS), 4, "endpoint", 'tools = "json"', id="no tools, Ollama"),
    pytest.param(refused(NO_PARSER), 4, "endpoint", 'tools = "json"', id="no tools, vLLM"),
    pytest.param(refused('The model "m" does not exist', 404), 4, "endpoint", "Check the model name", id="no model"),
    pytest.param(
        lambda asked: completion(asked, content='{"tool": "report", "arguments": {"word": "heron", "number": 7}}'),
        4,
        "tools",
        'tools = "json"',
        id="calls as text",
    ),
    pytest.param(
        lambda asked: completion(asked, tool_calls=[call("report", "same", word="heron", number=n) for n in (7, 8)]),
        0,
        "parallel calls",
        "2 calls",
        id="same ids twice",
    ),
    pytest.param(lambda asked: completion(asked, tool_calls=REPORTED[:1]), 0, "parallel calls", "fewer", id="one call"),
    pytest.param(lambda asked: good(asked, None), 0, "usage", "estimated", id="no usage"),
    pytest.param(usage(0, 0), 0, "usage", "estimated", id="usage of zero"),
    pytest.param(usage(-5, 10), 0, "usage", "estimated", id="negative usage"),
    pytest.param(usage(900_000, 20), 0, "usage", "estimated", id="usage larger than the window"),
    pytest.param(without_streams, 0, "streaming", "come whole", id="stream refused"),
    pytest.param(whole, 0, "streaming", "come whole", id="whole answer to a stream"),
    pytest.param(silent, 4, "endpoint", "no byte of its reply came for 0.5 s", id="silent stream"),
    pytest.param(drip, 4, "endpoint", "no complete reply came within 2 s", id="endless drip"),
    pytest.param(lambda _: response(200, '{"choices": ['), 4, "endpoint", "sent not JSON", id="broken JSON"),
    pytest.param(lambda _: response(200, "[" * 100_000), 4, "endpoint", "sent not JSON", id="hostile JSON"),
    pytest.param(refused("Bad key.", 401), 4, "endpoint", "No key was sent", id="401"),
    pytest.param(lambda _: response(200, {"choices": []}), 4, "endpoint", "no choices", id="empty choices"),
    pytest.param(forgetful, 4, "long prompts", "Set context_window", id="truncated context"),
    pytest.param(only_short, 4, "long prompts", "set that to what it holds", id="context refused"),
    pytest.param(refused(SIGNATURE), 4, "endpoint", "does not take back", id="signature refused, Anthropic"),
    pytest.param(refused(SEALED, code="invalid_encrypted_content"), 4, "endpoint", "does not take back", id="OpenAI"),
]


def checked(story: Story, base_url: str, **settings: str) -> tuple[int, dict[str, dict[str, str]]]:
    """doctor's exit code, and its lines about the model by check."""
    story.environ |= {"OPENAI_BASE_URL": base_url, "ORCHESTRATE_MODEL": "m"}
    story.environ |= {"ORCHESTRATE_MODELS_TIMEOUT_S": "2", "ORCHESTRATE_MODELS_IDLE_TIMEOUT_S": "0.5", **settings}
    done = story.run("doctor", "--model", "--json")
    assert "Traceback" not in done.stdout + done.stderr
    lines: Sequence[dict[str, str]] = json.loads(done.stdout)
    return done.returncode, {line["check"].rpartition(": ")[2]: line for line in lines if ": " in line["check"]}


@pytest.mark.parametrize(("answer", "code", "check", "says"), CHECKS)
def test_a_misbehaving_endpoint_is_one_clear_line(
    fresh: Story, answer: Answer, code: int, check: str, says: str
) -> None:
    """What cannot be worked with fails with exit code 4, what can is a warning; what hangs is left."""
    with odd_endpoint(answer) as endpoint:
        ended, lines = checked(fresh, endpoint.base_url)
    line = lines[check]
    assert says in line["seen"] and "\n" not in line["seen"] and len(line["seen"]) < 1_500
    assert (ended, line["verdict"] == "fail") == (code, code == 4)


def test_a_redirect_is_not_followed(fresh: Story) -> None:
    """Whoever it leads to would be sent what was paired with another host; where it leads is said."""
    with odd_endpoint(good) as other:
        to = {"Location": f"{other.base_url}/chat/completions"}
        with odd_endpoint(lambda _: response(307, {}, "application/json", **to)) as endpoint:
            code, lines = checked(fresh, endpoint.base_url)
    assert (code, other.asked) == (4, [])
    assert "It redirects to http://127.0.0.1" in lines["endpoint"]["seen"]
    assert "Set base_url" in lines["endpoint"]["seen"]


@pytest.mark.parametrize("api", ["chat", "responses"])
def test_it_says_which_wire_was_taken(fresh: Story, api: str) -> None:
    """An endpoint that has one alone is found; usage, cached tokens and long prompts are looked at over it."""
    calls = [["report", {"word": "heron", "number": number}] for number in (7, 8)]
    with serve({"apis": [api], "conversations": [{"replies": [{"calls": calls}]}]}) as model:
        code, lines = checked(fresh, model.base_url)
    assert (code, f'(api = "{api}")' in lines["endpoint"]["seen"]) == (0, True)
    looked = {"streaming", "tools", "tool choice", "parallel calls", "structured output", "usage", "long prompts"}
    assert {check for check, line in lines.items() if line["verdict"] == "ok"} == {*looked, "endpoint", "cached tokens"}


def test_a_wire_that_the_settings_name_is_not_exchanged(fresh: Story) -> None:
    """It is said which to try."""
    replies = [{"call": ["report", {"word": "heron", "number": 7}]}]
    with serve({"apis": ["chat"], "conversations": [{"replies": replies}]}) as model:
        code, lines = checked(fresh, model.base_url, ORCHESTRATE_MODELS_API="responses")
    assert (code, model.requests) == (4, [])
    assert 'does not have the api = "responses" of the settings: try "chat"' in lines["endpoint"]["seen"]


def test_an_api_that_does_not_exist_is_named(fresh: Story) -> None:
    """With those that do."""
    fresh.environ |= {"ORCHESTRATE_MODELS_API": "completions"}
    done = fresh.run("doctor", "--model")
    assert done.returncode == 2
    assert "must be 'auto', 'chat', 'responses' or 'messages'" in done.stdout + done.stderr
