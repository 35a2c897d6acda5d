"""The scripted model: scripts, roles, progress, and serving one from the command line."""

from __future__ import annotations

import json
import time
from pathlib import Path
from typing import Any

import pytest

from agents.chat.model_chat import ModelChat
from agents.chat.port import ChatRequest
from agents.chat.probe import probe_endpoint
from agents.scripted.chat_form import ChatForm
from agents.scripted.conversations import Conversations
from agents.scripted.script import load_script
from agents.scripted.server import serve, serve_from_command_line
from benchmarks.bare_loop import bare_loop, model_process, script
from orchestrator.config.settings import ModelSettings
from orchestrator.domain.errors import ContextLengthError, ModelRefusedError, ModelUnavailableError, UserError
from tests.support.chat_world import FixedClock, refusal, tool, world

CHAT = ChatForm()


def asked(first: str, *more: dict[str, Any], tools: tuple[str, ...] = (), system: str = "s") -> dict[str, Any]:
    """A request body with this first user message."""
    messages = [{"role": "system", "content": system}, {"role": "user", "content": first}, *more]
    return {"model": "m", "messages": messages, "tools": [tool(name) for name in tools]}


def said(conversations: Conversations, request: dict[str, Any]) -> str:
    """The text of the next reply, or of the refusal."""
    body = conversations.answer(CHAT, request).body
    text = body["choices"][0]["message"]["content"] if "choices" in body else body["error"]["message"]
    return str(text)


def script_of(*conversations: dict[str, Any]) -> Conversations:
    """Conversations by this script."""
    return Conversations(load_script({"conversations": list(conversations)}))


@pytest.mark.parametrize(
    ("submit", "role"),
    [
        ("submit_plan", "planner"),
        ("submit_review", "verifier"),
        ("submit_decision", "decider"),
        ("finish_task", "worker"),
    ],
)
def test_the_role_is_told_by_the_tools_offered(submit: str, role: str) -> None:
    """Each role's submit tool picks its conversation, also where the tools stand in the system text."""
    roles = ("planner", "verifier", "decider", "worker")
    entries = [{"when": {"role": each}, "replies": [{"text": each}]} for each in roles]
    assert said(script_of(*entries), asked("Go", tools=("read_file", submit))) == role
    assert said(script_of(*entries), asked("Go", system=f"Tools.\n- read_file: x\n- {submit}: y")) == role


def test_task_and_attempt_are_whole_lines() -> None:
    """`Task: a` is not `Task: ab`, `Attempt: 1` is not `Attempt: 10`."""
    conversations = script_of(
        {"when": {"task": "a", "attempt": 1}, "replies": [{"text": "first"}]},
        {"when": {"task": "ab"}, "replies": [{"text": "other"}]},
        {"when": {"contains": ["Attempt: 10", "retry"]}, "replies": [{"text": "tenth"}]},
    )
    assert said(conversations, asked("Do it.\nTask: a\nAttempt: 1\n")) == "first"
    assert said(conversations, asked("Task: ab\nAttempt: 1")) == "other"
    assert said(conversations, asked("Task: a\nAttempt: 10\nretry")) == "tenth"


def test_progress_survives_compaction_and_withheld_tools() -> None:
    """A conversation is known by system text and first user message, however the rest of the window changes."""
    conversations = script_of({"when": {"role": "worker"}, "replies": [{"text": "1"}, {"text": "2"}, {"text": "3"}]})
    turn = {"role": "assistant", "content": "1"}
    assert said(conversations, asked("Task: a", tools=("finish_task",))) == "1"
    assert said(conversations, asked("Task: a", turn, turn, turn, tools=("finish_task",))) == "2"
    assert said(conversations, asked("Task: a", {"role": "user", "content": "digest"})) == "3"
    assert said(conversations, asked("Task: b", tools=("finish_task",))) == "1"


@pytest.mark.parametrize(
    ("then", "texts"),
    [("repeat", ["a", "b", "b", "b"]), ("cycle 2", ["a", "b", "a", "b"]), ("cycle 9", ["a", "b", "a", "b"])],
)
def test_after_the_last_reply(then: str, texts: list[str]) -> None:
    """The last reply is repeated, or the last N go round."""
    conversations = script_of({"replies": [{"text": "a"}, {"text": "b"}], "then": then})
    assert [said(conversations, asked("x")) for _ in texts] == texts


def test_then_finish_and_error() -> None:
    """`finish` calls finish_task, `error` refuses with the number of the reply that is missing."""
    finish = script_of({"replies": [{"text": "a"}], "then": "finish"})
    finish.answer(CHAT, asked("x"))
    call = finish.answer(CHAT, asked("x")).body["choices"][0]["message"]["tool_calls"][0]
    assert call["function"]["name"] == "finish_task"
    error = script_of({"replies": [{"text": "a", "times": 2}], "then": "error"})
    assert [said(error, asked("x")) for _ in range(3)][2] == "The script has no reply number 3 for this conversation."


def test_call_ids_are_fresh_and_the_same_in_a_second_run() -> None:
    """No id comes twice, and the whole run repeats bit by bit."""
    entry = {"replies": [{"call": ["edit_file", {"path": "a"}], "times": 5}], "then": "repeat"}

    def ids() -> list[str]:
        conversations = script_of(entry)
        bodies = [conversations.answer(CHAT, asked(f"Task: {n % 2}")).body for n in range(12)]
        return [body["choices"][0]["message"]["tool_calls"][0]["id"] for body in bodies]

    assert len(set(ids())) == 12
    assert ids() == ids()


def test_no_match_names_what_was_looked_for() -> None:
    """A request that no entry answers is refused, and adapter and user see why."""
    entry = {"when": {"role": "planner", "task": "a"}, "replies": [{"text": "x"}]}
    with serve({"conversations": [entry]}) as model:
        chat = ModelChat(ModelSettings(name="m", base_url=model.base_url), clock=FixedClock(), env={})
        with pytest.raises(ModelRefusedError, match=r"role worker .* 'Task: b'"):
            chat.complete(ChatRequest([{"role": "user", "content": "Task: b"}], [tool("finish_task")]))
        chat.close()


def test_a_prompt_beyond_context_chars_is_refused_until_it_shrinks() -> None:
    """The limit consumes no reply."""
    entry = {"replies": [{"text": "fits"}], "context_chars": 300}
    with serve({"conversations": [entry]}) as model:
        chat = ModelChat(ModelSettings(name="m", base_url=model.base_url), clock=FixedClock(), env={})
        first = {"role": "user", "content": "Task: a"}
        with pytest.raises(ContextLengthError):
            chat.complete(ChatRequest([first, {"role": "user", "content": "x" * 300}]))
        assert chat.complete(ChatRequest([first])).text == "fits"
        chat.close()


def test_a_reply_that_nobody_waits_for_is_given_back() -> None:
    """A client killed while it waits leaves its reply to its successor."""
    conversations = script_of({"replies": [{"text": "a"}, {"text": "b"}]})
    conversations.answer(CHAT, asked("x")).take_back()
    assert [said(conversations, asked("x")) for _ in range(2)] == ["a", "b"]


def test_a_client_that_left_gets_the_slow_reply_on_its_next_try() -> None:
    """Over the wire: who gave up while waiting is answered with the same reply later."""
    with serve({"conversations": [{"replies": [{"text": "a", "latency_ms": 400}, {"text": "b"}]}]}) as model:
        settings = ModelSettings(name="m", base_url=model.base_url, retries=0)
        request = ChatRequest([{"role": "user", "content": "x"}])
        hasty = ModelChat(settings.model_copy(update={"timeout_s": 0.1}), clock=FixedClock(), env={})
        with pytest.raises(ModelUnavailableError, match="within"):
            hasty.complete(request)
        while model.open_exchanges:
            time.sleep(0.01)
        patient = ModelChat(settings, clock=FixedClock(), env={})
        assert patient.complete(request).text == "a"
        patient.close()


@pytest.mark.parametrize(
    ("text", "named"),
    [
        ("conversations:\n  - replies:\n      - txt: hi\n", ["conversations[0].replies[0].txt", "line 3"]),
        ("conversations: []\n", ["conversations"]),
        ("conversations:\n  - replies:\n      - text: a\n        times: 0\n", ["replies[0].times", "line 4"]),
        ("conversations:\n  - replies: [{text: a}]\n    then: sometimes\n", ["conversations[0].then", "line 3"]),
        ("conversations: [\n", ["line"]),
        ("- a\n", ["the script"]),
        ("", ["the script"]),
    ],
)
def test_a_script_with_a_defect_names_entry_and_line(text: str, named: list[str], tmp_path: Path) -> None:
    """Unknown fields, wrong values and broken YAML are found before anything is served."""
    file = tmp_path / "script.yaml"
    file.write_text(text, encoding="utf-8")
    with pytest.raises(UserError) as caught:
        load_script(file)
    assert all(name in str(caught.value) for name in named), str(caught.value)


def test_all_defects_are_told_at_once(tmp_path: Path) -> None:
    """Two wrong fields, one message."""
    file = tmp_path / "script.yaml"
    file.write_text("conversations:\n  - when: {rule: x}\n    replies: [{text: a, times: 0}]\n", encoding="utf-8")
    with pytest.raises(UserError, match=r"2 defect.*when\.rule.*times"):
        load_script(file)


def test_a_script_that_is_not_there_ends_the_command_with_2(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """One message on stderr, no traceback."""
    assert serve_from_command_line([str(tmp_path / "none.yaml")]) == 2
    assert "none.yaml" in capsys.readouterr().err


def test_a_served_script_answers_a_bare_loop_in_another_process(tmp_path: Path) -> None:
    """`python -m agents.scripted.server` prints its address and serves the plain openai client."""
    with model_process(script(3)) as base_url:
        assert base_url.startswith("http://127.0.0.1:")
        assert bare_loop(base_url, 3) > 0


def test_a_script_may_be_json(tmp_path: Path) -> None:
    """JSON is YAML."""
    file = tmp_path / "script.json"
    file.write_text(json.dumps({"conversations": [{"replies": [{"text": "a"}]}]}), encoding="utf-8")
    assert load_script(file).conversations[0].replies[0].text == "a"


REPORT = {"calls": [["report", {"word": "heron", "number": number}] for number in (7, 8)], "times": 3}


def checks(*replies: dict[str, Any], **settings: Any) -> dict[str, tuple[bool, str]]:
    """The probe's answers by check."""
    with world(*replies, **settings) as w:
        return {name: (ok, detail) for name, ok, detail, _needed in probe_endpoint(w.chat)}


def test_a_capable_endpoint_passes_every_check() -> None:
    """Tools, tool choice, parallel calls, structured output, usage, long prompts and the cache, by use."""
    assert {name for name, (ok, _) in checks(REPORT).items() if ok} == {
        "endpoint",
        "streaming",
        "tools",
        "tool choice",
        "parallel calls",
        "structured output",
        "usage",
        "long prompts",
        "cached tokens",
    }


def test_a_probe_says_what_an_endpoint_lacks() -> None:
    """Calls in the text, no usage, no tool choice, a wrong key: each is named with what to do."""
    in_text = checks({"text": '{"tool": "report", "arguments": {}}', "fault": {"no_usage": True}})
    assert 'tools = "json"' in in_text["tools"][1]
    assert not any(in_text[name][0] for name in ("tools", "tool choice", "structured output", "usage"))
    assert not checks(refusal("tool_choice is not supported"), REPORT)["tool choice"][0]
    assert "timeout_s" in checks(refusal("stream is not supported"), REPORT)["streaming"][1]
    assert checks(refusal("No.", 401)).keys() == {"endpoint"}
    assert not checks({"call": ["report", "{broken"]})["structured output"][0]


@pytest.mark.parametrize(("told", "ok"), [(4096, False), (200_000, True)])
def test_a_probe_compares_the_context_length_that_the_endpoint_tells(told: int, ok: bool) -> None:
    """A context_window larger than the endpoint's is named with the right value."""
    with serve({"context_length": told, "conversations": [{"replies": [REPORT]}]}) as model:
        settings = ModelSettings(name="scripted", base_url=model.base_url, context_window=128_000)
        chat = ModelChat(settings, clock=FixedClock(), env={})
        (found,) = [each for each in probe_endpoint(chat) if each.check == "context length"]
        chat.close()
    assert (found.ok, str(told) in found.detail) == (ok, True)
