"""Recording events and reading them back."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from orchestrator.domain.attempt import Owner
from orchestrator.domain.errors import GraphError, StaleFenceError, UserError
from orchestrator.domain.events import Event, FileWrite, GuardFired, ReplyReceived, ToolFinished, ToolRequested
from orchestrator.domain.plan import PlanningRound
from orchestrator.domain.review import Review
from orchestrator.domain.run import Claim
from orchestrator.domain.tools import executed, executes
from orchestrator.domain.verdict import Stop, Warn
from orchestrator.store.graph_store import GraphStore
from tests.support.long_story import long_story
from tests.support.samples import (
    T0,
    attempt_owner,
    call,
    claimed,
    finished,
    new_id,
    opened,
    reply,
    turn,
)


def test_events_come_back_field_for_field_and_in_order(any_graph: GraphStore) -> None:
    """Guards rebuilt from the graph see exactly what the live ones saw."""
    _, run = opened(any_graph, 1)
    claim = claimed(any_graph, run)
    for portion in long_story():
        any_graph.record(attempt_owner(claim), portion)
    expected = [event for portion in long_story() for event in portion]
    assert list(any_graph.events(claim.attempt_id)) == expected


def test_recording_the_same_again_changes_nothing(any_graph: GraphStore) -> None:
    """A transaction whose acknowledgement was lost is repeated: ids are deterministic, so nothing doubles."""
    _, run = opened(any_graph, 1)
    claim = claimed(any_graph, run)
    story = long_story()
    for portion in story:
        any_graph.record(attempt_owner(claim), portion)
        any_graph.record(attempt_owner(claim), portion)
    assert list(any_graph.events(claim.attempt_id)) == [event for portion in story for event in portion]
    count = any_graph.query(
        "MATCH (a:Attempt {id: $id})-[r:TOOK|REPORTED|REQUESTED]->() RETURN count(r) AS n", {"id": claim.attempt_id}
    )
    assert list(count.rows) == [[8]]


def test_calls_tell_whether_they_were_executed(any_graph: GraphStore) -> None:
    """What ran or may have run counts: no control tool, duplicate, refusal or defect, and nothing only asked for."""
    _, run = opened(any_graph, 1)
    claim = claimed(any_graph, run)
    story = [event for portion in long_story() for event in portion]
    last: dict[int, bool] = {}
    for event in story:
        any_graph.record(attempt_owner(claim), [event])  # each by itself: a call is started after its reply was written
        if isinstance(event, ReplyReceived):
            last |= {asked.seq: False for asked in event.reply.calls}
        elif isinstance(event, ToolRequested):
            last[event.seq] = executes(event.call, event.duplicate_of)
        elif isinstance(event, ToolFinished):
            last[event.seq] = executed(event.call, event.status)
        assert _executed(any_graph, claim) == last
    assert [seq for seq, counts in last.items() if counts] == [2, 14]
    other = claimed(any_graph, opened(any_graph, 1)[1])
    for portion in long_story():
        any_graph.record(attempt_owner(other), portion)
    assert _executed(any_graph, other) == last


def _executed(graph: GraphStore, claim: Claim) -> dict[int, bool]:
    """By the seq of the call, as stored."""
    rows = graph.query(
        "MATCH (:Attempt {id: $id})-[:TOOK]->(:Turn)-[:CALLED]->(c:ToolCall) RETURN c.seq, c.executed ORDER BY c.seq",
        {"id": claim.attempt_id},
    ).rows
    return {row[0]: row[1] for row in rows}


TEXTS = st.text(st.characters(codec="utf-8"), max_size=40)
WHOLE = st.integers(0, 2**40)
MONEY = st.none() | st.floats(0, 1e6)
INSTANTS = st.datetimes(datetime(2000, 1, 1), datetime(2100, 1, 1), timezones=st.just(UTC))  # noqa: DTZ001
WRITES = st.builds(
    FileWrite, path=TEXTS.filter(bool), added=WHOLE, removed=WHOLE, blob=TEXTS, substantive=st.booleans()
)


@st.composite
def one_turn(draw: st.DrawFn) -> list[Event]:
    """A turn with up to three calls, all finished, with any values in any field."""
    events: list[Event] = [turn(1, draw(INSTANTS), reserved_usd=draw(MONEY), window_tokens=draw(WHOLE))]
    calls = tuple(
        call(
            2 + number,
            draw(TEXTS),
            arguments_json=draw(TEXTS),
            mutating=draw(st.booleans()),
            pure=draw(st.booleans()),
            control=draw(st.booleans()),
            defect=draw(st.none() | TEXTS),
            writes_to=tuple(draw(st.lists(TEXTS, max_size=3))),
        )
        for number in range(draw(st.integers(0, 3)))
    )
    usage = {"prompt_tokens": draw(WHOLE), "cost_usd": draw(MONEY), "estimated": draw(st.booleans())}
    events.append(reply(1, calls, draw(INSTANTS), text=draw(TEXTS), failed=draw(st.booleans()), **usage))
    for asked in calls:
        written = draw(st.lists(WRITES, max_size=3, unique_by=lambda write: write.path))
        events.append(ToolRequested(at=draw(INSTANTS), turn_seq=1, call=asked))
        text, duration_ms, tree = draw(TEXTS), draw(st.floats(0, 1e9)), draw(st.none() | TEXTS)
        events.append(
            finished(asked, draw(INSTANTS), tree_after=tree, writes=tuple(written), text=text, duration_ms=duration_ms)
        )
    return events


@settings(max_examples=10, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(events=one_turn())
def test_any_values_come_back(any_graph: GraphStore, events: list[Event]) -> None:
    """0, false, null and empty are four values and stay so."""
    _, run = opened(any_graph, 1)
    claim = claimed(any_graph, run)
    any_graph.record(attempt_owner(claim), events)
    assert list(any_graph.events(claim.attempt_id)) == events


def test_a_stale_fence_is_refused_and_writes_nothing(any_graph: GraphStore) -> None:
    """After a takeover the old owner may write nothing more."""
    _, run = opened(any_graph, 1)
    claim = claimed(any_graph, run)
    any_graph.record(attempt_owner(claim), [turn(1)])
    late = T0 + timedelta(hours=1)
    orphan = any_graph.orphans(run.id, late, [])[0]
    assert any_graph.close_interrupted(orphan, late)
    with pytest.raises(StaleFenceError, match="taken over"):
        any_graph.record(attempt_owner(claim), [reply(1)])
    assert any_graph.events(claim.attempt_id) == (turn(1),)


def test_a_wrong_fence_is_refused(any_graph: GraphStore) -> None:
    """The fence of a write must be the attempt's current one."""
    _, run = opened(any_graph, 1)
    claim = claimed(any_graph, run)
    with pytest.raises(StaleFenceError):
        any_graph.record(Owner("Attempt", claim.attempt_id, claim.attempt_id, claim.fence + 1), [turn(1)])
    assert any_graph.events(claim.attempt_id) == ()


def test_an_unknown_attempt_is_refused(any_graph: GraphStore) -> None:
    """There is no recording about, and no reading of, what is not there."""
    nobody = new_id("p") + ":t0:1"
    with pytest.raises(StaleFenceError, match="not in the graph"):
        any_graph.record(Owner("Attempt", nobody, nobody, 1), [turn(1)])
    with pytest.raises(UserError, match=nobody):
        any_graph.events(nobody)


def test_a_guards_verdict_hangs_on_the_call_that_it_is_about(any_graph: GraphStore) -> None:
    """(Attempt)-[:TRIGGERED]->(GuardEvent)-[:AT]->(ToolCall), with evidence, and guards do not read it back."""
    _, run = opened(any_graph, 1)
    claim = claimed(any_graph, run)
    asked = call(2)
    fired = GuardFired(
        seq=3,
        at=T0,
        at_tool_call=1,
        call_seq=2,
        verdict=Stop(
            guard="repetition",
            code="loop_detected",
            message="same",
            observed=5,
            limit=5,
            evidence={"calls": ["a", 1, None]},
        ),
    )
    loose = GuardFired(
        seq=4,
        at=T0,
        at_tool_call=1,
        verdict=Warn(guard="budget", code="budget_exhausted", message="80 %", observed=16.0, limit=20.0, evidence={}),
    )
    any_graph.record(attempt_owner(claim), [turn(1), reply(1, (asked,)), fired, loose])
    table = any_graph.query(
        "MATCH (:Attempt {id: $id})-[:TRIGGERED]->(g:GuardEvent) OPTIONAL MATCH (g)-[:AT]->(c:ToolCall) "
        "RETURN g.guard AS guard, g.evidenceJson AS evidence, c.seq AS call ORDER BY g.seq",
        {"id": claim.attempt_id},
    )
    assert list(table.rows) == [["repetition", '{"calls":["a",1,null]}', 2], ["budget", "{}", None]]
    assert any_graph.events(claim.attempt_id) == (turn(1), reply(1, (asked,)))


def test_reviews_and_planning_rounds_have_turns_too(any_graph: GraphStore) -> None:
    """(Review|PlanningRound)-[:TOOK]->(Turn)-[:CALLED]->(ToolCall); a review is fenced by its attempt."""
    plan, run = opened(any_graph, 1)
    claim = claimed(any_graph, run)
    any_graph.await_review(claim, "Done.", "tree", T0)
    review = Review(
        id=f"{claim.attempt_id}:review",
        passed=None,
        score=None,
        feedback="",
        strictness="normal",
        model="m",
        content_hash="h",
        prompt_tokens=0,
        completion_tokens=0,
        tool_call_count=0,
        duration_ms=0.0,
        at=T0,
    )
    any_graph.begin_review(claim, review)
    any_graph.store_round(PlanningRound(f"{plan.id}:round1", plan.id, 1))
    for owner in (
        Owner("Review", review.id, claim.attempt_id, claim.fence),
        Owner("PlanningRound", f"{plan.id}:round1"),
    ):
        any_graph.record(owner, [turn(1), reply(1, (call(2),))])
        found = any_graph.query(
            "MATCH (o {id: $id})-[:TOOK]->(:Turn)-[:CALLED]->(c:ToolCall) RETURN c.id", {"id": owner.id}
        )
        assert list(found.rows) == [[f"{owner.id}:2"]]
    with pytest.raises(StaleFenceError):
        any_graph.record(Owner("Review", review.id, claim.attempt_id, claim.fence - 1), [turn(3)])
    with pytest.raises(GraphError, match="not in the graph"):
        any_graph.record(Owner("PlanningRound", "nowhere"), [turn(1)])
