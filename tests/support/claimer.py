"""A process that claims with several threads until nothing is left: `claimer.py HOME RUN PLAN OWNER THREADS`.

It is given the server by NEO4J_… in the environment, or by HOME; it prints the attempts that it got, one a line.
"""

from __future__ import annotations

import os
import sys
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta
from pathlib import Path

from orchestrator.domain.run import ClaimRequest
from orchestrator.store.graph_store import GraphStore, open_graph


def claim_all(graph: GraphStore, run_id: str, plan_id: str, owner: str) -> list[str]:
    """Claim until there is nothing to claim."""
    now = datetime.now(UTC)
    request = ClaimRequest(run_id=run_id, plan_id=plan_id, owner=owner, at=now, lease_until=now + timedelta(minutes=5))
    won = []
    while (claim := graph.claim(request)) is not None:
        won.append(claim.attempt_id)
    return won


def main(home: str, run_id: str, plan_id: str, owner: str, threads: str) -> None:
    """Claim with so many threads."""
    with open_graph(Path(home), os.environ, wait_s=30) as graph, ThreadPoolExecutor(int(threads)) as pool:
        futures = [pool.submit(claim_all, graph, run_id, plan_id, f"{owner}{n}") for n in range(int(threads))]
        for future in futures:
            sys.stdout.writelines(f"{attempt}\n" for attempt in future.result())


if __name__ == "__main__":
    main(*sys.argv[1:])
