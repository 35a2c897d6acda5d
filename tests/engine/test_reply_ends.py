"""How the loop goes on by how a reply ended: declined, paused, cut."""

from __future__ import annotations

from dataclasses import dataclass, field
from itertools import count

import pytest

from orchestrator.domain.errors import ModelUnavailableError
from orchestrator.domain.events import ReplyReceived, ToolRequested
from orchestrator.domain.live_text import LiveText
from orchestrator.domain.model_io import FinishReason
from orchestrator.guards.limits import GuardLimits
from orchestrator.workspace.workspaces import ShadowWorkspaces
from tests.support.rig import Said, Walked, call, walk

_names = count()
READ = call("read_file", path="a.txt")
FINISH = call("finish_task", summary="done")


def _walk(
    workspaces: ShadowWorkspaces, *says: Said, limits: GuardLimits | None = None, live: LiveText | None = None
) -> Walked:
    return walk(workspaces, says, name=f"ends{next(_names)}", limits=limits, live=live)


@dataclass
class Hearing:
    """LiveText that notes what it is told, and raises at every piece."""

    told: list[str] = field(default_factory=list)

    def begin(self) -> None:
        """Note it."""
        self.told.append("begin")

    def hear(self, piece: str) -> None:
        """Note it, and fail."""
        self.told.append(piece)
        raise RuntimeError("the screen is gone")

    def end(self) -> None:
        """Note it."""
        self.told.append("end")


def _roles(walked: Walked, request: int) -> list[str]:
    return [str(message["role"]) for message in walked.chat.requests[request].messages]


@pytest.mark.parametrize("ended", ["refusal", "content_filter"])
@pytest.mark.parametrize(
    "said",
    [Said("I cannot."), Said("", (READ, FINISH)), Said('{"tool": "finish_task", "arguments": {"summary": "x"}}')],
    ids=["text", "calls", "calls in the text"],
)
def test_a_declined_reply_ends_the_attempt_and_nothing_of_it_is_done(
    workspaces: ShadowWorkspaces, said: Said, ended: FinishReason
) -> None:
    """No text is taken for an answer and no call for one; what was said stays on the turn as it came."""
    walked = _walk(workspaces, Said("", (READ,)), Said(said.text, said.calls, ended=ended))
    assert (walked.ending.reason, walked.ending.tool) == ("model_declined", "")
    assert len(walked.chat.requests) == 2
    assert len(walked.ledger.of(ToolRequested)) == 1
    last = walked.ledger.of(ReplyReceived)[-1]
    assert (last.reply.finish_reason, last.reply.text, last.reply.calls, last.failed) == (ended, said.text, (), False)
    assert said.text.split("{")[0] in walked.ending.detail


def test_a_pause_is_sent_back_as_it_came_and_nothing_is_said_to_it(workspaces: ShadowWorkspaces) -> None:
    """The next request ends with what the model has begun: neither a reminder nor a notice stands behind it."""
    walked = _walk(workspaces, Said("Let me see", ended="pause"), Said("", (READ,)), Said("", (FINISH,)))
    assert walked.ending.tool == "finish_task"
    first, gone_on, after = (walked.chat.requests[n].messages for n in range(3))
    assert _roles(walked, 1) == ["system", "user", "assistant"]
    assert gone_on[:2] == first[:2]
    assert gone_on[-1]["content"] == "Let me see"
    assert _roles(walked, 2)[2:] == ["assistant", "assistant", "tool", "user"]
    assert after[:3] == gone_on, "what the endpoint has cached stays the beginning"


def test_pauses_without_an_end_are_bounded(workspaces: ShadowWorkspaces) -> None:
    """The bound of replies without a call counts them; what it warned of waits for something to be said with."""
    walked = _walk(workspaces, Said("Hm", ended="pause"))
    assert walked.ending.reason == "no_action"
    assert len(walked.chat.requests) == 3
    assert all(set(_roles(walked, n)[2:]) <= {"assistant"} for n in (1, 2))


def test_withheld_tools_are_told_even_to_a_model_that_paused(workspaces: ShadowWorkspaces) -> None:
    """Where only ending is left, a pause does not keep that from being said."""
    limits = GuardLimits(stall_batches=2, repetition_stop=1_000, no_action_turns=9)
    walked = _walk(workspaces, *[Said("", (call("list_files"),))] * 3, Said("Hm", ended="pause"), limits=limits)
    withheld = [n for n, request in enumerate(walked.session.requests) if request.tools_withheld]
    assert withheld
    for number in withheld:
        assert "No tools are left" in str(walked.chat.requests[number].messages[-1]["content"])


def test_a_cut_reply_is_told_as_one(workspaces: ShadowWorkspaces) -> None:
    """Not that text changes nothing, but where it was cut and what to do; calls that were cut off have it as result."""
    cut = Said("First I shall think about", ended="length")
    broken = Said("", (("write_file", '{"path": "a.txt", "file_te'),), ended="length")
    walked = _walk(workspaces, cut, broken, Said("", (FINISH,)))
    reminded = str(walked.chat.requests[1].messages[-2]["content"])
    assert reminded.startswith("Your reply was cut at 500 tokens")
    assert "finish_task" in reminded
    result = str(walked.chat.requests[2].messages[-2]["content"])
    assert "The reply ended at the output limit" in result
    assert [each.reply.finish_reason for each in walked.ledger.of(ReplyReceived)][:2] == ["length", "length"]


def test_a_whole_call_in_a_cut_reply_is_done(workspaces: ShadowWorkspaces) -> None:
    """What could be read before the cut is a call as any other."""
    walked = _walk(workspaces, Said("and then", (FINISH,), ended="length"))
    assert walked.ending.tool == "finish_task"


def test_replies_that_are_always_cut_end_with_what_to_raise(workspaces: ShadowWorkspaces) -> None:
    """The diagnosis names max_output_tokens."""
    walked = _walk(workspaces, Said("Let me think", ended="length"))
    assert walked.ending.reason == "no_action"
    assert "replies cut off at max_output_tokens 3" in walked.ending.detail
    assert "Raise max_output_tokens" in walked.ending.detail


def test_a_replys_words_are_heard_between_its_turns_beginning_and_end(workspaces: ShadowWorkspaces) -> None:
    """Each try is a turn of its own; one that fails ends its turn too, and a listener that raises breaks nothing."""
    live = Hearing()
    begun = Said("Hm", (READ,), lost=1)  # two requests
    walked = _walk(workspaces, begun, begun, Said("Done", (FINISH,)), live=live)
    assert walked.ending.tool == "finish_task"
    assert live.told == ["begin", "end", "begin", "Hm", "end", "begin", "Done", "end"]

    failing = Hearing()
    assert _walk(workspaces, Said(error=ModelUnavailableError), live=failing).ending.reason == "model_error"
    assert failing.told == ["begin", "end"]
