"""QC's conversation and the PM's, told as an attempt's is."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from orchestrator.domain.graph_ports import GraphReader
from orchestrator.domain.query import ResultRow
from orchestrator.reports.ask import ask_first, ask_graph
from orchestrator.reports.timeline import TimelineNote, TimelineTurn, tell


@dataclass(frozen=True, slots=True, kw_only=True)
class ConversationDetails:
    """One review or planning round (`kind`): its properties, the attempt or plan that it belongs to, its `steps` as an
    attempt's story has them, and of a review what was judged and found."""

    kind: Literal["Review", "PlanningRound"]
    id: str
    belongs_to: str
    properties: ResultRow
    steps: tuple[TimelineTurn | TimelineNote, ...]
    criteria: tuple[ResultRow, ...]
    findings: tuple[ResultRow, ...]


def conversation_details(reader: GraphReader, id_: str) -> ConversationDetails | None:
    """The review or planning round of this id; None where there is none. Raises GraphError kinds."""
    found = ask_first(reader, "conversation", id=id_)
    if not found:
        return None
    facts = sorted(ask_graph(reader, "conversation_facts", id=id_), key=lambda row: row["node"]["properties"]["seq"])
    return ConversationDetails(
        kind=found["label"],
        id=id_,
        belongs_to=found["belongs_to"],
        properties=found["node"],
        steps=tell(facts, 0),
        criteria=tuple(found["criteria"]),
        findings=tuple(found["findings"]),
    )
