"""A campaign of SIGKILLs against the embedded graph server: does the next command always find a graph that answers?

Each round starts a client over the home of the round before or a new one and, at random moments while it starts and
works, kills the client, the supervisor, the JVM, or several of them. Then a last client, left alone, must open the
graph, write and read as the user's reader: within 15 seconds, or, where the machine is so busy that an undisturbed
start takes longer than five, within three times that. Run it with `python -m benchmarks.kills [ROUNDS [SEED]]`
(default: 30 rounds, a random seed, which is printed); a round takes some five seconds. It leaves with 1 if any round
was not healed.
"""

from __future__ import annotations

import contextlib
import os
import random
import signal
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

from orchestrator.store.embedded.server import embedded_stop
from orchestrator.store.embedded.state import read_state, supervisor_pid

HEALED_S, STARTS = 15.0, 3
LONGEST_S = 90.0
FRESH = 1 / 3
"""How often a round has a home of its own, so that the first start is hit too."""

CLIENT = """
import os, sys, pathlib
from orchestrator.store.graph_store import open_graph
os.environ.pop("NEO4J_URI", None)
with open_graph(pathlib.Path(sys.argv[1]), os.environ, wait_s=float(sys.argv[3])) as graph:
    for n in range(int(sys.argv[2])):
        graph.query("MERGE (k:Kill {id: $id})", {"id": f"{sys.argv[2]}.{n}"}, write=True)
        graph.query("MATCH (k:Kill) RETURN count(k)")
"""


@dataclass(frozen=True, slots=True)
class Healing:
    """What came of a round: what was killed when, and how the last client fared."""

    story: str
    seconds: float
    said: str

    def in_time(self, bar_s: float) -> bool:
        """Whether it is as promised."""
        return not self.said and self.seconds <= bar_s


def client(home: Path, writes: int) -> subprocess.Popen[str]:
    """A process that opens the graph and writes and reads so often."""
    return subprocess.Popen(
        [sys.executable, "-c", CLIENT, str(home), str(writes), str(HEALED_S)],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
    )


def campaign_round(home: Path, chance: random.Random) -> Healing:
    """Kill at random moments, then see whether the next client is served."""
    victim, told = client(home, 200), []
    for _ in range(chance.randint(1, 4)):
        wait_s = chance.choice((0.3, 1.0, 3.0)) * chance.random()
        time.sleep(wait_s)
        whom = chance.choice(("client", "supervisor", "jvm", "supervisor jvm", "jvm supervisor", "new client"))
        told.append(f"{wait_s:.2f}s {whom}")
        if whom == "new client":
            victim.kill()
            victim.communicate()
            victim = client(home, 200)
        for name in whom.split():
            strike(name, home, victim)
    seconds, said = undisturbed(home)
    victim.kill()
    if complaint := last_line(victim.communicate()[1]):
        told.append(f"the victim said: {complaint}")
    return Healing("; ".join(told), seconds, last_line(said))


def last_line(text: str) -> str:
    """The last line; empty where there is none."""
    return (text.strip().splitlines() or [""])[-1]


def undisturbed(home: Path) -> tuple[float, str]:
    """The seconds that a client takes that nobody kills, and what it had to complain of."""
    began, last = time.monotonic(), client(home, 1)
    try:
        said = last.communicate(timeout=LONGEST_S)[1]
    except subprocess.TimeoutExpired:
        last.kill()
        said = f"{last.communicate()[1]} still busy after {LONGEST_S} s"
    return time.monotonic() - began, said


def strike(name: str, home: Path, victim: subprocess.Popen[str]) -> None:
    """SIGKILL one of them, if it is there."""
    state = read_state(home / "graph")
    jvm = state.pid if state else None
    pid = {"client": victim.pid, "supervisor": supervisor_pid(home / "graph"), "jvm": jvm}.get(name)
    if pid is not None:
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)


def main() -> None:
    """Run the campaign and print each round."""
    rounds = int(sys.argv[1]) if len(sys.argv) > 1 else 30
    seed = int(sys.argv[2]) if len(sys.argv) > 2 else random.randrange(10_000)
    print(f"seed {seed}")
    chance, failed = random.Random(seed), 0
    with tempfile.TemporaryDirectory() as folder:
        home = Path(folder) / "home"
        bar_s = max(HEALED_S, STARTS * undisturbed(home)[0])
        print(f"an undisturbed start bears {bar_s:.1f} s")
        try:
            for number in range(1, rounds + 1):
                if chance.random() < FRESH:
                    embedded_stop(home)
                    home = Path(folder) / f"home{number}"
                found = campaign_round(home, chance)
                healed = found.in_time(bar_s)
                failed += not healed
                mark = "healed" if healed else "FAILED"
                print(f"{number:3} {mark} {found.seconds:5.1f} s  {found.story}  {found.said}", flush=True)
        finally:
            embedded_stop(home)
    print(f"{failed} of {rounds} rounds were not healed")
    sys.exit(bool(failed))


if __name__ == "__main__":
    main()
