"""Properties of the whole loop with random scripted models, and that it is deterministic."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from itertools import count
from typing import Any

import pytest
from hypothesis import event, given, settings
from hypothesis import strategies as st

from orchestrator.domain.errors import ContextLengthError, ModelRefusedError, ModelUnavailableError, ReplyLostError
from orchestrator.domain.events import BudgetDecided, Finished, GuardFired, ReplyReceived, ToolFinished, ToolRequested
from orchestrator.domain.events import TurnRequested as Turn
from orchestrator.domain.stop_reasons import ATTEMPT_STOPS
from orchestrator.domain.tools import FINISHING_NAMES
from orchestrator.domain.verdict import Stop
from orchestrator.guards.guard_set import replay
from orchestrator.guards.limits import GuardLimits
from orchestrator.workspace.workspaces import ShadowWorkspaces
from tests.support.observed import seqs, unpaired
from tests.support.rig import Said, Walked, call, walk

_names = count()

ERRORS = (ContextLengthError, ModelRefusedError, ModelUnavailableError)
FINISHED = Said("", (call("finish_task", summary="done"),))
READS = st.sampled_from([
    call("read_file", path="a.txt"), call("read_file", path="long.txt"), call("read_file", path="./a.txt"),
    call("read_file", path="missing"), call("list_files"), call("search", pattern="o"), call("search", pattern="("),
    call("read_output", call_id="digest"),
])  # fmt: skip
WRITES = st.builds(
    lambda path, text: call("write_file", path=path, file_text=text),
    st.sampled_from(["a.txt", "b.txt", "new/c.txt", "outside.txt", "../up.txt"]),
    st.sampled_from(["x\n", "y\n", " x\n", "long line\n" * 300]),
)
EDITS = st.builds(
    lambda old, new: call("edit_file", path="a.txt", old_str=old, new_str=new),
    st.sampled_from(["one", "x", "zzz"]),
    st.sampled_from(["x", "one"]),
)
COMMANDS = st.sampled_from([call("run_command", command="echo x > b.txt"), call("run_command", command="false")])
CONTROLS = st.sampled_from([
    call("report_progress", description="on it"), call("request_budget", additional=3, justification="more"),
    call("request_scope", paths=["outside.txt"], justification="needed"), call("give_up", reason="cannot"),
])  # fmt: skip
BROKEN = st.sampled_from([
    ("read_file", "{broken"), ("read_file", "[]"), ("read_file", "{}"), ("teleport", "{}"), ("", ""),
    ("write_file", '{"path": 3}'), ("submit_review", "{}"), ("read_file", '{"path": "a.txt", "view_range": [1]}'),
])  # fmt: skip
FINISH = st.just(call("finish_task", summary="done"))
CALLS = st.one_of(READS, READS, WRITES, EDITS, COMMANDS, CONTROLS, BROKEN, FINISH)
BATCHES = st.one_of(
    st.lists(CALLS, min_size=1, max_size=6).map(tuple),
    st.builds(lambda each, times: (each,) * times, st.one_of(READS, WRITES, BROKEN), st.integers(2, 20)),
)
SAID = st.one_of(
    st.builds(Said, st.sampled_from(["", "I am done.", '{"tool": "read_file"}'])),
    st.builds(lambda calls: Said("", calls), BATCHES),
    st.builds(lambda calls: Said("", calls), BATCHES),
    st.builds(lambda calls: Said("", calls), BATCHES),
    st.builds(lambda each: Said("", (each,)), CALLS),
    st.sampled_from([Said("x"), Said("y"), *(Said(error=error) for error in (*ERRORS, ReplyLostError))]),
    st.builds(lambda each: Said("", (each,), lost=1), CALLS),
    st.builds(
        lambda each, calls, ended: Said(each, calls, ended=ended),
        *(st.sampled_from(["", "Hm."]), st.one_of(st.just(()), BATCHES)),
        st.sampled_from(["length", "length", "pause", "pause", "refusal", "content_filter"]),
    ),
)
MODELS = st.lists(SAID, min_size=1, max_size=10)
# Each of these bounds must be reached now and then, not hidden behind the stricter ones.
LIMITS = st.sampled_from([
    GuardLimits(),
    GuardLimits(repetition_stop=1000, cycle_rounds=1000, stall_batches=1000, same_error_stop=1000, revert_stop=1000,
                thrash_stop=1000, repeated_failures=1000, malformed_replies=1000, no_action_turns=50),
    GuardLimits(max_tokens=40_000, progress_stop=3, progress_warn=2, progress_every=1),
])  # fmt: skip


def _walk(workspaces: ShadowWorkspaces, says: list[Said], **options: Any) -> Walked:
    return walk(workspaces, says, name=f"walk{next(_names)}", **options)


@given(says=MODELS, budget=st.integers(1, 9), grant=st.integers(0, 9), limits=LIMITS)
@settings(max_examples=40)
def test_whatever_the_model_does_the_loop_holds(
    workspaces: ShadowWorkspaces, says: list[Said], budget: int, grant: int, limits: GuardLimits
) -> None:
    """Bounded, answered, paired, recorded first, replayable, and ended with exactly one known code."""
    walked = _walk(workspaces, says, budget=budget, grant=grant, limits=limits)
    event(walked.ending.reason + walked.ending.tool)
    _ended_once(walked)
    _finished_last(walked)
    _within_its_bounds(walked, grant)
    _answered(walked)
    _recorded_first(walked)
    _replayable(walked)


def _ended_once(walked: Walked) -> None:
    reason = walked.ending.reason
    assert reason == "submitted" or reason in ATTEMPT_STOPS
    assert (reason == "submitted") == (walked.ending.tool in FINISHING_NAMES)
    stops = [each for each in walked.ledger.of(GuardFired) if isinstance(each.verdict, Stop)]
    assert [each.verdict.code for each in stops] == ([reason] if walked.ending.stop else [])


def _finished_last(walked: Walked) -> None:
    assert [each.reason for each in walked.ledger.of(Finished)] == [walked.ending.reason]
    assert isinstance(walked.ledger.events[-1], Finished)


def _within_its_bounds(walked: Walked, grant: int) -> None:
    decided = walked.ledger.of(BudgetDecided)
    granted = sum(each.granted_calls for each in decided if each.granted)
    assert granted <= min(grant, max(walked.budget // 2, 1))
    assert walked.executed <= walked.budget + granted
    most = walked.begun.limits.request_factor * (walked.budget + granted) + 1
    assert walked.guard_set.counters.requests_used <= most  # identical calls of one reply count once
    # Turns without a call are bounded by no_action, those that fail by four shrinks; two more finish.
    silent = walked.begun.limits.no_action_turns
    assert len(walked.chat.requests) <= (most + 3) * (silent + 1) * 5
    for request in walked.session.requests:
        assert request.window_tokens <= walked.chat.context_window - walked.chat.max_output_tokens


def _answered(walked: Walked) -> None:
    assert not [each for each, times in Counter(walked.session.answered).items() if times > 1]
    last = walked.ledger.of(ReplyReceived)[-1]
    unreached = {each.call_id for each in last.reply.calls}
    assert set(walked.session.asked) - set(walked.session.answered) <= unreached
    finished = [each.call.call_id for each in walked.ledger.of(ToolFinished)]
    assert finished == walked.session.answered
    for request in walked.chat.requests:
        assert unpaired(request.messages) == []
        assert [message["role"] for message in request.messages[:2]] == ["system", "user"]


def _recorded_first(walked: Walked) -> None:
    for kind, which, durable in walked.ledger.effects:
        last = durable[-1]
        while isinstance(last, GuardFired):  # verdicts stand behind what they are about
            durable, last = durable[:-1], durable[-2]
        if kind == "send":
            assert isinstance(last, Turn)
            assert sum(isinstance(each, Turn) for each in durable) == which + 1
        else:
            assert isinstance(last, ToolRequested)
            assert last.call.signature == which
    numbers = seqs(walked.ledger.events)
    assert all(kind == sorted(set(kind)) for kind in numbers.values())
    whole = [number for kind in numbers.values() for number in kind]
    assert len(whole) == len(set(whole))


def _replayable(walked: Walked) -> None:
    again = replay(walked.begun, walked.ledger.events)
    assert again.stopped == walked.guard_set.stopped
    assert (again.budget, again.calls_executed) == (walked.guard_set.budget, walked.guard_set.calls_executed)
    assert again.counters.requests_used == walked.guard_set.counters.requests_used
    in_doubt = walked.guard_set.stopped is not None  # a call that a Stop kept from running was let through before it
    assert walked.guard_set.calls_executed - walked.executed in ((0, 1) if in_doubt else (0,))


@given(says=MODELS)
@settings(max_examples=12)
def test_the_same_script_and_clock_record_the_same_bits(workspaces: ShadowWorkspaces, says: list[Said]) -> None:
    """Two runs of one script under a fixed clock record identical events and send identical requests."""
    one, other = (_walk(workspaces, says) for _ in range(2))
    assert one.ledger.events == other.ledger.events
    assert one.chat.requests == other.chat.requests
    assert (one.ending.reason, one.ending.detail) == (other.ending.reason, other.ending.detail)


def test_a_long_honest_conversation_is_compacted_and_stays_within_its_window(workspaces: ShadowWorkspaces) -> None:
    """Window <= cap over 120 calls, the opening always first, and every reply's calls answered."""
    says = [Said("", (call("write_file", path="a.txt", file_text=f"{n}\n" * 40),)) for n in range(110)]
    says += [Said("", (call("finish_task", summary="done"),))]
    lax = GuardLimits(thrash_stop=1000, thrash_warn=1000, progress_stop=1000, writes_stop=1000)
    walked = _walk(workspaces, says, budget=150, limits=lax, context_window=9_000)
    assert walked.ending.tool == "finish_task", walked.ending
    assert walked.executed == 110
    assert any(each.request.compacted for each in walked.ledger.of(Turn))
    assert walked.ledger.of(Turn)[-1].request.history_messages > walked.ledger.of(Turn)[-1].request.window_messages
    _within_its_bounds(walked, 0)
    _answered(walked)
    _recorded_first(walked)
    _replayable(walked)


@pytest.mark.parametrize("error", ERRORS)
def test_an_endpoint_that_fails_ends_the_conversation_with_its_error(workspaces: ShadowWorkspaces, error: Any) -> None:
    """The error is the ending's; a window too long is tried at 80, 60, 40 and 20 percent first."""
    reads = [Said("", (call("read_file", path="long.txt", view_range=[n, n + 300]),)) for n in (1, 400)]
    walked = _walk(workspaces, [*reads, *[Said(error=error)] * 9])
    if error is ContextLengthError:  # the task's own bound: the run goes on with the others
        assert (walked.ending.reason, walked.ending.error) == ("context_exhausted", None)
        assert len(walked.chat.requests) == len(reads) + 5
    else:
        assert walked.ending.reason == "model_error"
        assert isinstance(walked.ending.error, error)
        assert len(walked.chat.requests) == len(reads) + 1
    failed = [each for each in walked.ledger.of(ReplyReceived) if each.failed]
    assert [each.seq for each in failed] == [each.seq for each in walked.ledger.of(Turn)][len(reads) :]
    assert {each.reply.prompt_tokens for each in failed} == {0}
    sizes = [request.window_tokens for request in walked.session.requests[len(reads) :]]
    assert sizes == sorted(set(sizes), reverse=True)


def test_a_window_that_cannot_shrink_is_not_tried_for_ever(workspaces: ShadowWorkspaces) -> None:
    """An opening that is too long by itself ends as context_exhausted, not in a loop of requests."""
    walked = _walk(workspaces, [Said(error=ContextLengthError)])
    assert walked.ending.reason == "context_exhausted"
    assert len(walked.chat.requests) == 3


def test_a_turn_that_a_bound_forbids_is_settled_at_nothing(workspaces: ShadowWorkspaces) -> None:
    """What a refused turn reserved counts nowhere: neither sent nor left open in the graph."""
    walked = _walk(workspaces, [Said("", (call("list_files"),))], limits=GuardLimits(max_tokens=2_000))
    assert walked.ending.reason == "token_limit"
    assert len(walked.chat.requests) < len(walked.ledger.of(Turn))
    last = walked.ledger.of(ReplyReceived)[-1]
    assert (last.seq, last.reply.finish_reason) == (walked.ledger.of(Turn)[-1].seq, "not_sent")
    assert (last.reply.prompt_tokens, last.reply.completion_tokens, last.reply.cost_usd) == (0, 0, 0.0)


def test_a_lost_reply_counts_at_what_its_turn_reserved(workspaces: ShadowWorkspaces) -> None:
    """Every try is a turn of its own; those whose replies were lost have failed and cost what they might have."""
    walked = _walk(workspaces, [replace(FINISHED, lost=2), Said(error=ReplyLostError)])
    turns, replies = walked.ledger.of(Turn), walked.ledger.of(ReplyReceived)
    assert [(each.seq, each.failed) for each in replies] == list(zip((t.seq for t in turns), (1, 1, 0), strict=True))
    for turn, lost in zip(turns[:2], replies[:2], strict=True):
        assert lost.reply.prompt_tokens + lost.reply.completion_tokens == turn.request.reserved_tokens
        assert (lost.reply.cost_usd, lost.reply.estimated) == (turn.request.reserved_usd, True)
        assert (lost.reply.finish_reason, lost.reply.text) == ("lost", "drawn")
    ended = _walk(workspaces, [Said(error=ReplyLostError)])
    assert ended.ending.reason == "model_error"
    assert ended.ledger.of(ReplyReceived)[0].reply.cost_usd == ended.ledger.of(Turn)[0].request.reserved_usd


def test_a_further_try_is_not_sent_where_a_bound_has_no_room_for_it(workspaces: ShadowWorkspaces) -> None:
    """What was lost has used up its reservation, so the next try is stopped before it is sent."""
    one = _walk(workspaces, [FINISHED]).ledger.of(Turn)[0].request.reserved_tokens
    walked = _walk(workspaces, [replace(FINISHED, lost=1)], limits=GuardLimits(max_tokens=2 * one - 1))
    assert walked.ending.reason == "token_limit"
    assert len(walked.chat.requests) == 1
    assert walked.ledger.of(ReplyReceived)[-1].reply.finish_reason == "not_sent"
