"""Sessions over the real adapter and a scripted model: what a reply becomes, what a request holds."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack
from dataclasses import dataclass
from typing import Any

import pytest

from agents.chat.model_chat import ModelChat
from agents.scripted.server import ScriptedModel, serve
from agents.session import ChatSession, Opening
from agents.tools import catalogue
from orchestrator.config.settings import ModelSettings
from orchestrator.domain.errors import ContextLengthError
from orchestrator.domain.model_io import ModelReply, ToolCall, TurnNotice
from orchestrator.domain.ports import Workspace
from tests.support.chat_world import KEY, FixedClock


@dataclass
class Desk:
    """A session with the model behind it."""

    session: ChatSession
    model: ScriptedModel

    def turn(self, used: int = 0, *, withhold_tools: bool = False) -> ModelReply:
        """Compose and send one request."""
        notice = TurnNotice(calls_used=used, budget=20, tools_withheld=withhold_tools)
        return self.session.send(self.session.compose(notice))

    def work(self, reply: ModelReply) -> list[str]:
        """Execute and answer every call of a reply, as the engine does; the texts of the results."""
        return [self._done(call) for call in reply.calls]

    def _done(self, call: ToolCall) -> str:
        text = call.defect or ("Noted." if call.control else self.session.execute(call).text)
        self.session.answer(call, text)
        return text

    @property
    def sent(self) -> list[Mapping[str, Any]]:
        """The messages of the last request."""
        return list(self.model.requests[-1]["messages"])

    @property
    def offered(self) -> list[str]:
        """The tools of the last request."""
        return [tool["function"]["name"] for tool in self.model.requests[-1]["tools"]]


Sit = Callable[..., Desk]


@pytest.fixture
def sit(workspace: Workspace) -> Iterator[Sit]:
    """Opens a session of a role's tools with a model that gives these replies."""
    with ExitStack() as running:

        def start(
            *replies: Mapping[str, Any],
            role: str = "worker",
            then: str = "error",
            context_chars: int | None = None,
            **settings: Any,
        ) -> Desk:
            conversation = {"replies": list(replies), "then": then, "context_chars": context_chars}
            model = running.enter_context(serve({"conversations": [conversation]}))
            clock = FixedClock()
            asked = ModelSettings(name="scripted", base_url=model.base_url, **settings)
            chat = ModelChat(asked, clock=clock, env={"OPENAI_API_KEY": KEY})
            running.callback(chat.close)
            tools = {"worker": catalogue.WORKER, "verifier": catalogue.VERIFIER, "planner": catalogue.PLANNER}[role]
            opening = Opening("You work.", "Task: t\nAttempt: 1", {"diff": "the whole diff"})
            session = ChatSession(
                chat,
                tools,
                opening,
                workspace,
                read_only=role == "verifier",
                redact=lambda text: text.replace("hunter2", "***"),
                monotonic=clock.monotonic,
            )
            return Desk(session, model)

        yield start


def _call(tool: str, **arguments: Any) -> dict[str, Any]:
    return {"call": {"tool": tool, "arguments": arguments}}


def test_a_call_is_parsed_executed_and_answered(sit: Sit) -> None:
    """A reply's call comes back checked; its result is paired with it in the next request."""
    desk = sit(_call("read_file", path="README.md"), {"text": "ok"})
    reply = desk.turn()
    (call,) = reply.calls
    assert (call.tool, call.pure, call.mutating, call.defect) == ("read_file", True, False, None)
    assert json.loads(call.arguments_json) == {"path": "README.md"}
    desk.work(reply)
    desk.turn(1)
    assert [message["role"] for message in desk.sent] == ["system", "user", "assistant", "tool", "user"]
    assert desk.sent[2]["tool_calls"][0]["id"] == desk.sent[3]["tool_call_id"] == call.call_id
    assert "Adds numbers" in desk.sent[3]["content"]
    assert desk.sent[4]["content"] == "Tool calls used: 1 of 20; 19 left."


def test_a_request_tells_what_it_may_cost(sit: Sit) -> None:
    """reserved_tokens is the window and a whole reply; an unknown price is None; composing changes nothing."""
    desk = sit({"text": "ok"}, max_output_tokens=1_000)
    request = desk.session.compose(TurnNotice())
    assert request.reserved_tokens == request.window_tokens + 1_000
    assert request.reserved_usd is None
    assert request.window_messages == 3
    assert desk.session.compose(TurnNotice()) == request
    assert desk.model.requests == []


def test_bad_calls_are_defects_and_stay_paired(sit: Sit) -> None:
    """Unknown tools, broken JSON and junk names are answered like any call, and what goes back is valid."""
    calls = [
        {"tool": "reed_file", "arguments": {"path": "a"}},
        {"tool": "read_file", "arguments": '{"path": "a"'},
        {"tool": "rm -rf /", "arguments": "[[["},
        {"tool": "read_file", "arguments": {"path": "README.md"}},
    ]
    desk = sit({"calls": calls}, {"text": "ok"})
    reply = desk.turn()
    assert [bool(call.defect) for call in reply.calls] == [True, True, True, False]
    assert len({call.call_id for call in reply.calls}) == 4
    desk.work(reply)
    desk.turn()
    said, *results, _ = desk.sent[2:]
    assert [call["id"] for call in said["tool_calls"]] == [result["tool_call_id"] for result in results]
    assert all(isinstance(json.loads(call["function"]["arguments"]), dict) for call in said["tool_calls"])
    assert said["tool_calls"][2]["function"]["name"] == "rm_-rf_"


@pytest.mark.parametrize(
    "text",
    [
        'I will read it.\n```json\n{"tool": "read_file", "arguments": {"path": "README.md"}}\n```',
        '<tool_call>{"name": "read_file", "arguments": {"path": "README.md"}}</tool_call>',
    ],
)
def test_a_call_written_as_text_is_a_call(sit: Sit, text: str) -> None:
    """Weak models write their calls into the text; they are read, and go back as calls."""
    desk = sit({"text": text}, {"text": "ok"})
    reply = desk.turn()
    assert [call.tool for call in reply.calls] == ["read_file"]
    desk.work(reply)
    desk.turn()
    assert desk.sent[2]["tool_calls"][0]["function"]["name"] == "read_file"


def test_the_submit_tools_object_in_the_text_is_a_submission(sit: Sit) -> None:
    """QC's and the PM's answer is taken from the text too; other JSON is no submission."""
    review = {"passed": True, "score": 95, "feedback": "Good.", "criteria": [], "findings": []}
    desk = sit({"text": f"My review:\n{json.dumps(review)}"}, role="verifier")
    (call,) = desk.turn().calls
    assert (call.tool, call.arguments["score"], call.control) == ("submit_review", 95, True)
    other = sit({"text": 'pytest printed {"passed": 12, "failed": 0, "errors": 0}'}, role="verifier")
    assert other.turn().calls == ()
    plan = sit({"text": json.dumps({"goal": "g", "tasks": [{"key": "a"}]})}, role="planner")
    assert [call.tool for call in plan.turn().calls] == ["submit_plan"]
    done = sit({"text": '{"summary": "All done.", "artefacts": []}'})
    assert done.turn().calls == ()  # a worker finishes by finish_task alone


def test_withheld_tools_leave_only_the_ending_ones(sit: Sit) -> None:
    """When the tools are withheld, the request offers finish_task and give_up and says so last."""
    desk = sit({"text": "ok"}, {"text": "ok"}, {"text": "ok"})
    desk.turn(withhold_tools=True)
    assert desk.offered == ["finish_task", "give_up"]
    assert desk.model.requests[-1]["tool_choice"] == "required"
    assert "\n\nNo tools are left but finish_task or give_up." in desk.sent[-1]["content"]
    desk.turn()
    assert len(desk.offered) == 13
    assert "No tools are left" not in json.dumps(desk.sent)
    review = sit({"text": "ok"}, role="verifier")
    review.turn(withhold_tools=True)
    assert review.offered == ["submit_review"]


def test_a_request_waits_for_every_answer(sit: Sit) -> None:
    """While a call has no result there is no next request, and no call takes two."""
    desk = sit({"calls": [["read_file", {"path": "README.md"}], ["list_files", {}]]})
    reply = desk.turn()
    desk.session.answer(reply.calls[0], "x")
    with pytest.raises(ValueError, match=reply.calls[1].call_id):
        desk.session.compose(TurnNotice())
    with pytest.raises(ValueError, match="not waiting"):
        desk.session.answer(reply.calls[0], "again")


def test_reminders_join_the_conversation(sit: Sit) -> None:
    """A reply without calls stays, followed by what the engine says to it."""
    desk = sit({"text": "I am done."}, {"text": "ok"})
    assert desk.turn().calls == ()
    desk.session.remind("\n[warning: soon]")
    desk.turn()
    said, reminded = desk.sent[2:4]
    assert (said["role"], said["content"], reminded["role"]) == ("assistant", "I am done.", "user")
    assert reminded["content"].startswith("You replied without a tool call.")
    assert reminded["content"].endswith("only finish_task or give_up ends the work.\n[warning: soon]")


def test_long_results_are_read_on_by_their_id(sit: Sit) -> None:
    """A result over 16 KiB is cut for the model, which can read the rest; so can texts that the assignment cut."""
    long = {"command": "seq 1 20000"}
    desk = sit(_call("run_command", **long), _call("read_output", call_id="diff"), {"text": "ok"})
    reply = desk.turn()
    whole = desk.work(reply)[0]
    shown = desk.work(desk.turn())[0]
    assert shown.endswith("the whole diff")
    cut = desk.sent[3]["content"]
    assert len(whole) > 100_000
    assert len(cut) <= 16 * 1024
    assert f'read_output(call_id="{reply.calls[0].call_id}", offset=' in cut
    assert cut.endswith("20000\n[exit code 0]")


def test_a_context_length_error_shrinks_and_the_task_stays(sit: Sit) -> None:
    """After the endpoint refuses a request as too long, the next is composed smaller; task and tools are whole
    ."""
    command = _call("run_command", command=f"echo {'x' * 12_000}")
    desk = sit(command, {"text": "ok"}, context_chars=20_000)
    desk.work(desk.turn())
    with pytest.raises(ContextLengthError):
        desk.turn()
    sizes = []
    for shrink in (1, 2, 3, 4):
        request = desk.session.compose(TurnNotice(), shrink=shrink)
        sizes.append(request.window_tokens)
        assert request.compacted
        try:
            desk.session.send(request)
        except ContextLengthError:
            continue
        break
    assert sizes == sorted(sizes, reverse=True)
    assert len(json.dumps(desk.sent)) <= 20_000
    assert desk.sent[1]["content"] == "Task: t\nAttempt: 1"
    assert len(desk.offered) == 13


def test_two_hundred_steps_keep_the_endpoints_cache(sit: Sit) -> None:
    """Over 200 steps most prompt tokens come from the endpoint's cache, and compactions are told."""
    desk = sit(_call("read_file", path="app/main.py"), then="repeat")
    compacted = prompt = cached = 0
    for step in range(200):
        request = desk.session.compose(TurnNotice(calls_used=step, budget=200))
        reply = desk.session.send(request)
        compacted += request.compacted
        prompt, cached = prompt + reply.prompt_tokens, cached + reply.cached_tokens
        desk.work(reply)
    assert compacted == 5
    assert cached > 0.9 * prompt


def test_secrets_never_reach_the_model(sit: Sit) -> None:
    """What the settings know as a secret is replaced in results and warnings."""
    desk = sit(_call("run_command", command="echo hunter2"), {"text": "no"}, {"text": "ok"})
    desk.work(desk.turn())
    desk.turn()
    desk.session.remind("hunter2 warning")
    desk.turn()
    told = [message["content"] for message in desk.sent if message["role"] != "assistant"]
    assert "hunter2" not in json.dumps(told)
    assert json.dumps(told).count("***") == 2


def test_call_ids_are_unique_over_the_whole_conversation(sit: Sit) -> None:
    """Servers that number their calls anew in each reply do not confuse read_output."""
    desk = sit({"text": "ok"})
    ids = [desk.session._fresh_id(wanted) for wanted in ("call_1", "call_1", "", "", "call_1", "x" * 99, "x" * 99)]
    assert len(set(ids)) == len(ids)
    assert all(len(made) <= 64 for made in ids)
