"""How long the embedded server takes to store a plan of a thousand tasks, to claim, and to record a worker's step.

Run: python -m benchmarks.graph_ingest
"""

from __future__ import annotations

import statistics
import tempfile
import time
from pathlib import Path

from orchestrator.domain.events import Event, FileWrite, ToolRequested
from orchestrator.domain.run import Claim
from orchestrator.store.embedded.server import embedded_stop
from orchestrator.store.graph_store import GraphStore, open_graph
from tests.store.samples import attempt_owner, call, claimed, finished, new_plan, new_run, opened, reply, turn

STEPS = 400


def main() -> None:
    """Measure on a server of our own, warmed up first."""
    with tempfile.TemporaryDirectory() as folder:
        home = Path(folder)
        begin = time.perf_counter()
        try:
            with open_graph(home, {}, wait_s=60) as graph:
                print(f"first connection, server started and schema made: {time.perf_counter() - begin:.2f} s")
                for _ in range(2):
                    ingest(graph, 200)
                print(f"ingest of 1,000 tasks with 2,994 dependencies: {ingest(graph, 1_000):.2f} s")
                for size in (10, 1_000, 10, 1_000):
                    print(f"claim, p50 of 10 with {size:5} ready tasks: {claims(graph, size):.2f} ms")
                record(graph, home)
        finally:
            embedded_stop(home)


def ingest(graph: GraphStore, size: int) -> float:
    """Seconds to store one plan in which each task waits for the three before it."""
    plan = new_plan(size, lambda index: range(max(0, index - 3), index))
    begin = time.perf_counter()
    graph.store_plan(plan)
    return time.perf_counter() - begin


def claims(graph: GraphStore, size: int) -> float:
    """The median milliseconds of ten claims in a plan of independent tasks."""
    _, run = opened(graph, size)
    times = []
    for _ in range(10):
        begin = time.perf_counter()
        claimed(graph, run)
        times.append(time.perf_counter() - begin)
    return statistics.median(times) * 1e3


def record(graph: GraphStore, home: Path) -> None:
    """Print what one step of a worker costs: two transactions, and bytes on disk with 200-byte writes."""
    plan = new_plan(1)
    graph.store_plan(plan)
    claim = claimed(graph, graph.open_run(new_run(plan)))
    before = stored(home)
    times: list[float] = []
    last: list[Event] = []
    for step in range(STEPS):
        last = one_step(graph, claim, step, last, times)
        if step + 1 in (50, 100, 200, STEPS):
            recent = statistics.median(times[-50:]) * 1e3
            size = (stored(home) - before) / (step + 1)
            print(f"record at step {step + 1:4}: p50 {recent:.2f} ms a transaction, {size:6.0f} bytes a step")


def one_step(graph: GraphStore, claim: Claim, step: int, last: list[Event], times: list[float]) -> list[Event]:
    """Finish the last call and request a turn; settle it and request a call. Returns what is still to be recorded."""
    seq, path = 2 * step + 1, f"src/module{step % 7}.py"
    asked = call(seq + 1, arguments_json=f'{{"path":"{path}","file_text":"{"x" * 200}"}}', signature=f"{step:064x}")
    portions: list[list[Event]] = [
        [*last, turn(seq)],
        [reply(seq, (asked,)), ToolRequested(at=turn(seq).at, turn_seq=seq, call=asked)],
    ]
    for portion in portions:
        begin = time.perf_counter()
        graph.record(attempt_owner(claim), portion)
        times.append(time.perf_counter() - begin)
    tree = f"{step:040x}"
    return [
        finished(
            asked,
            result="Wrote 200 bytes.",
            tree_after=tree,
            writes=(FileWrite(path=path, added=3, removed=1, blob=tree),),
        )
    ]


def stored(home: Path) -> int:
    """Bytes of the database without its write-ahead log, which is recycled (at most 64 MB a file)."""
    files = (home / "graph/server/databases").rglob("*")
    return sum(path.stat().st_size for path in files if path.is_file() and path.suffix != ".wal")


if __name__ == "__main__":
    main()
