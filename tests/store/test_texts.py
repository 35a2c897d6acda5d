"""What is stored of a text: all of it, or its ends with the whole beside; and never a secret."""

from __future__ import annotations

from pathlib import Path

from orchestrator.domain.events import Event, FileWrite, GuardFired, ToolRequested
from orchestrator.domain.verdict import Warn
from orchestrator.store.graph_store import GraphStore
from tests.support.graph_servers import GraphServer
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


def test_a_long_text_is_stored_head_and_tail_and_kept_whole_beside(graph_server: GraphServer, tmp_path: Path) -> None:
    """Text over 16 KiB: head and tail in the graph with ...Chars and ...Sha256, the whole in the artefact folder
    ; events() gives the whole."""
    whole = "first ü\n" + "x" * 40_000 + "\nlast"
    with graph_server.open() as graph:
        _, run = opened(graph, 1)
        claim = claimed(graph, run)
        asked = call(2)
        story: list[Event] = [
            turn(1),
            reply(1, (asked,)),
            ToolRequested(at=T0, turn_seq=1, call=asked),
            finished(asked, text=whole),
        ]
        graph.record(attempt_owner(claim), story)
        assert list(graph.events(claim.attempt_id)) == story
        row = graph.query(
            "MATCH (c:ToolCall {id: $id}) RETURN c.result, c.resultChars, c.resultSha256",
            {"id": f"{claim.attempt_id}:2"},
        ).rows[0]
    stored, chars, digest = row
    assert stored.startswith("first ü") and stored.endswith("last") and len(stored.encode()) <= 16 * 1024
    assert digest in stored and chars == len(whole)
    kept = list((graph_server.home / "artefacts").rglob(f"{digest}.txt"))
    assert [path.read_text() for path in kept] == [whole]


def test_known_secrets_are_stored_nowhere(graph_server: GraphServer) -> None:
    """Secrets that the settings know are replaced by *** in everything stored, artefacts too."""
    secret = new_id("sk-")

    def redact(text: str) -> str:
        return text.replace(secret, "***")

    with graph_server.open(redact=redact) as graph:
        _, run = opened(graph, 1)
        claim = claimed(graph, run)
        asked = call(2, arguments_json=f'{{"key":"{secret}"}}', writes_to=(secret,))
        fired = GuardFired(
            seq=3,
            at=T0,
            at_tool_call=1,
            verdict=Warn(guard="g", code="c", message=secret, observed=1, limit=1, evidence={"seen": [secret]}),
        )
        done = finished(
            asked,
            text=f"{secret} " * 2_000,
            writes=(FileWrite(path=f"shop/{secret}.py", added=1, removed=1, blob="b"),),
        )
        graph.record(attempt_owner(claim), [turn(1), reply(1, (asked,), text=secret), fired, done])
        found = graph.query("MATCH (a:Attempt {id: $id})-[*0..3]->(n) RETURN n", {"id": claim.attempt_id})
        assert "***" in str(found.rows) and secret not in str(found.rows)
    assert all(secret not in path.read_text() for path in (graph_server.home / "artefacts").rglob("*.txt"))


def test_text_that_utf8_cannot_hold_is_stored_all_the_same(any_graph: GraphStore) -> None:
    """A hostile reply with a lone surrogate or a NUL stops nobody."""
    _, run = opened(any_graph, 1)
    claim = claimed(any_graph, run)
    any_graph.record(attempt_owner(claim), [turn(1), reply(1, text="a\ud800b\x00c")])
    assert any_graph.events(claim.attempt_id)[1] == reply(1, text="a?b\x00c")
