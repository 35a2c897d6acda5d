"""Where what a guard stopped began."""

from __future__ import annotations

from dataclasses import replace

from orchestrator.domain.events import CallStatus, Event, ToolRequested
from orchestrator.guards.guard_set import GuardSet, replay
from orchestrator.guards.limits import GuardLimits
from orchestrator.guards.origin import origin
from tests.support.samples import call, finished, reply, turn

BEGUN = GuardSet.begin(GuardLimits(), 20, ("shop/**",))


def one_call(number: int, command: str, outcome: str, *, error: str = "") -> list[Event]:
    """A turn with one command; its call's seq is twice its number."""
    seq = 2 * number
    asked = replace(call(seq, "run_command", writes_to=()), signature=command)
    status: CallStatus = "error" if error else "ok"
    done = finished(asked, status=status, outcome_hash=outcome, error_kind="tool" if error else "none",
                    error_hash=error, tree_after="tree1")  # fmt: skip
    return [turn(seq - 1), reply(seq - 1, (asked,)), ToolRequested(at=done.at, turn_seq=seq - 1, call=asked), done]


def test_a_loop_begins_with_the_first_of_its_calls() -> None:
    """Work before the repetition is not part of it."""
    work = [event for n in range(1, 9) for event in one_call(n, f"s{n}", f"o{n}")]
    same = [event for n in range(9, 13) for event in one_call(n, f"t{n}", f"p{n}", error="boom")]
    stop = replay(BEGUN, [*work, *same]).stopped
    assert stop is not None and stop.code == "same_error"
    assert origin(BEGUN, [*work, *same]) == 18


def test_a_budget_begins_with_the_first_call() -> None:
    """Every call was part of what was used up."""
    events = [event for n in range(1, 23) for event in one_call(n, f"s{n}", f"o{n}")]
    stop = replay(BEGUN, events).stopped
    assert stop is not None and stop.code == "budget_exhausted"
    assert origin(BEGUN, events[:-1]) == 2


def test_what_these_events_did_not_lead_to_has_no_beginning_in_them() -> None:
    """A bound of the task, or a loop that began in an earlier attempt."""
    assert origin(BEGUN, one_call(1, "s", "o")) is None
    assert origin(BEGUN, []) is None
