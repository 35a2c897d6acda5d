"""A small history on each server: the embedded one, and a real Neo4j where one can be had."""

from __future__ import annotations

from dataclasses import dataclass
from uuid import uuid4

import pytest

from orchestrator.store.graph_store import GraphStore

# Every id ends in $s, so that several tests can share one server. Two plans' worth of history in short: alpha passed
# after a failed review, beta was stopped in a loop, gamma waits for beta, delta is being worked on.
HISTORY = """
CREATE (r:Repository {id: "r" + $s, path: "/x" + $s}),
  (p:Plan {id: "p" + $s, name: "p", goal: "g", status: "ready", createdAt: datetime("2026-01-01T00:00:00Z")}),
  (r)-[:HAS_PLAN]->(p),
  (alpha:Task {id: "t1" + $s, planId: p.id, key: "alpha", title: "A", status: "completed", complexityBand: "simple",
    complexityScore: 20, estimatedToolCalls: 20, toolCallBudget: 20}),
  (beta:Task {id: "t2" + $s, planId: p.id, key: "beta", title: "B", status: "failed", stopReason: "stops_exhausted",
    complexityBand: "simple", complexityScore: 30, estimatedToolCalls: 30, toolCallBudget: 20}),
  (gamma:Task {id: "t3" + $s, planId: p.id, key: "gamma", title: "C", status: "blocked"}),
  (delta:Task {id: "t4" + $s, planId: p.id, key: "delta", title: "D", status: "running", leaseOwner: "me",
    toolCallBudget: 20}),
  (p)-[:HAS_TASK]->(alpha), (p)-[:HAS_TASK]->(beta), (p)-[:HAS_TASK]->(gamma), (p)-[:HAS_TASK]->(delta),
  (run:Run {id: "run" + $s})-[:EXECUTES]->(p),
  (alpha)-[:HAS_ATTEMPT]->(a1:Attempt {id: "a1" + $s, number: 1, status: "rejected", stopReason: "review_failed",
    stopDetail: "the empty list", startedAt: datetime("2026-01-01T01:00:00Z"), toolCallCount: 4, promptTokens: 100,
    completionTokens: 20, costUsd: 0.01, durationMs: 100.0, model: "m", qcScore: 50}),
  (alpha)-[:HAS_ATTEMPT]->(a2:Attempt {id: "a2" + $s, number: 2, status: "accepted", stopReason: "accepted",
    startedAt: datetime("2026-01-01T02:00:00Z"), toolCallCount: 5, promptTokens: 110, completionTokens: 21,
    costUsd: 0.02, durationMs: 100.0, model: "m", qcScore: 95}),
  (beta)-[:HAS_ATTEMPT]->(a3:Attempt {id: "a3" + $s, number: 1, status: "stopped", stopReason: "loop_detected",
    stopDetail: "Loop", startedAt: datetime("2026-01-01T03:00:00Z"), toolCallCount: 101, toolCallBudget: 20,
    promptTokens: 1, completionTokens: 2, durationMs: 10.0, model: "m"}),
  (delta)-[:HAS_ATTEMPT]->(a4:Attempt {id: "a4" + $s, number: 1, status: "running", toolCallBudget: 20, model: "m",
    startedAt: datetime("2026-01-01T04:00:00Z"), lastEventAt: datetime("2026-01-01T04:00:01Z")}),
  (run)-[:MADE]->(a4),
  (a1)-[:REVIEWED_BY]->(v1:Review {id: "v1" + $s, passed: false, score: 50, model: "q"}),
  (a2)-[:REVIEWED_BY]->(v2:Review {id: "v2" + $s, passed: true, score: 95, model: "q"}),
  (a1)-[:TOOK]->(:Turn {id: "u5" + $s, seq: 1, promptTokens: 100, completionTokens: 20, costUsd: 0.01}),
  (a2)-[:TOOK]->(:Turn {id: "u6" + $s, seq: 1, promptTokens: 110, completionTokens: 21, costUsd: 0.02}),
  (v1)-[:TOOK]->(:Turn {id: "u7" + $s, seq: 1, promptTokens: 9, completionTokens: 1, costUsd: 0.005}),
  (v1)-[:RAISED]->(f1:Finding {id: "f1" + $s, code: "missing_case", severity: "error", message: "no zero case",
    locus: "a.py", source: "review", fingerprint: "abc"}),
  (a1)-[:FOUND]->(f1),
  (a2)-[:FOUND]->(f2:Finding {id: "f2" + $s, code: "missing_case", severity: "warning", message: "no zero case 2",
    locus: "a.py", source: "review", fingerprint: "abc"}),
  (a3)-[:TRIGGERED]->(g:GuardEvent {id: "g" + $s, seq: 8, guard: "repetition", verdict: "stop", reason: "same call",
    observed: 5.0, limit: 5.0}),
  (a3)-[:TOOK]->(u1:Turn {id: "u1" + $s, seq: 1, status: "replied", text: "I begin", model: "m", promptTokens: 1,
    completionTokens: 2, finishReason: "tool_calls", latencyMs: 3.0, windowMessages: 2, windowTokens: 50,
    compacted: false}),
  (u1)-[:CALLED]->(c1:ToolCall {id: "c1" + $s, seq: 2, turnSeq: 1, tool: "write_file", argumentsJson: "{}",
    signature: "s1", status: "ok", executed: true, durationMs: 1.0}),
  (a3)-[:REPORTED]->(k:Checkpoint {id: "k" + $s, seq: 3, description: "did it"}),
  (a3)-[:TOOK]->(u2:Turn {id: "u2" + $s, seq: 4, status: "replied", text: "", model: "m", promptTokens: 1,
    completionTokens: 2, reasoningTokens: 1, finishReason: "length", latencyMs: 3.0}),
  (u2)-[:CALLED]->(c2:ToolCall {id: "c2" + $s, seq: 5, turnSeq: 4, tool: "read_file", argumentsJson: "{}",
    signature: "s2", status: "ok", executed: true, durationMs: 1.0}),
  (a3)-[:TOOK]->(u3:Turn {id: "u3" + $s, seq: 6, status: "replied", text: "", model: "m", promptTokens: 1,
    completionTokens: 2, latencyMs: 3.0}),
  (u3)-[:CALLED]->(c3:ToolCall {id: "c3" + $s, seq: 7, turnSeq: 6, tool: "read_file", argumentsJson: "{}",
    signature: "s2", status: "duplicate", executed: false, durationMs: 0.0}),
  (c3)-[:DUPLICATE_OF]->(c2), (g)-[:AT]->(c3),
  (a3)-[:CHECKED_BY]->(ch:Check {id: "ch" + $s, command: "x", exitCode: 1, outcome: "failed",
    startedAt: datetime("2026-01-01T04:00:00Z")}),
  (f:File {id: "fi" + $s, path: "a.py"}),
  (c1)-[:WROTE {added: 3, removed: 1, substantive: true}]->(f),
  (c2)-[:WROTE {added: 0, removed: 0, substantive: false}]->(f),
  (a4)-[:TOOK]->(u4:Turn {id: "u4" + $s, seq: 1, status: "replied"}),
  (u4)-[:CALLED]->(:ToolCall {id: "c5" + $s, seq: 2, turnSeq: 1, tool: "read_file", status: "ok", executed: true}),
  (u4)-[:CALLED]->(:ToolCall {id: "c6" + $s, seq: 3, turnSeq: 1, tool: "read_file", status: "duplicate",
    executed: false}),
  (u4)-[:CALLED]->(:ToolCall {id: "c7" + $s, seq: 4, turnSeq: 1, tool: "report_progress", status: "ok",
    executed: false}),
  (u4)-[:CALLED]->(:ToolCall {id: "c8" + $s, seq: 5, turnSeq: 1, tool: "write_file", status: "refused",
    executed: false}),
  (u4)-[:CALLED]->(:ToolCall {id: "c4" + $s, seq: 6, turnSeq: 1, tool: "search", argumentsJson: '{"pattern":"x"}',
    status: "running", executed: true}),
  (a4)-[:REQUESTED]->(:BudgetRequest {id: "b1" + $s, seq: 7, kind: "calls", granted: true, grantedCalls: 5}),
  (a4)-[:TOOK]->(:Turn {id: "u8" + $s, seq: 8, status: "requested", reservedTokens: 700, reservedUsd: 0.5})
"""


@dataclass(frozen=True)
class World:
    """A graph with the history in it; `id("p")` is what `p` is called there."""

    graph: GraphStore
    suffix: str

    def id(self, short: str) -> str:
        """The full id."""
        return short + self.suffix


@pytest.fixture
def world(any_graph: GraphStore) -> World:
    """The history, in a repository of this test's own."""
    suffix = uuid4().hex[:8]
    any_graph.query(HISTORY, {"s": suffix}, write=True)
    return World(any_graph, suffix)
