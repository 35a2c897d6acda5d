"""A story: a repository, a scripted model over real HTTP, and the real command line.

`run` calls the command line in this process (tests/support/in_process.py). `start` makes a process of it
(tests/support/forked.py), for stories that kill, signal or race processes; `spawn` the very process that a user starts.
"""

from __future__ import annotations

import contextlib
import json
import os
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from orchestrator.app import App
from orchestrator.cli.render.machine import json_ready, table_objects
from orchestrator.domain.errors import OrchestrateError
from orchestrator.store.embedded.server import embedded_stop
from orchestrator.store.graph_store import GraphStore
from tests.support.forked import Forked
from tests.support.in_process import call_cli

CLI = (sys.executable, "-m", "orchestrator")
CALC = 'def add(a, b):\n    """The sum of a and b."""\n    return a + b\n'
TEST_CALC = """import unittest

from calc import add


class Add(unittest.TestCase):
    def test_add(self):
        self.assertEqual(add(2, 3), 5)
"""


def git(folder: Path, *arguments: str) -> str:
    """Run git in a folder as a user who has configured nothing but a name."""
    identity = ("-c", "user.name=Ada", "-c", "user.email=ada@example.org", "-c", "init.defaultBranch=main")
    done = subprocess.run(("git", *identity, *arguments), cwd=folder, capture_output=True, text=True, check=True)
    return done.stdout.strip()


def make_repository(folder: Path, files: Mapping[str, str] | None = None) -> Path:
    """A small Python repository with one commit."""
    folder.mkdir(parents=True, exist_ok=True)
    for name, text in (files or {"calc.py": CALC, "test_calc.py": TEST_CALC}).items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    git(folder, "init", "-q")
    git(folder, "config", "user.name", "Ada")
    git(folder, "config", "user.email", "ada@example.org")
    git(folder, "add", "-A")
    git(folder, "commit", "-qm", "The beginning")
    return folder


def clean_environment(**more: str) -> dict[str, str]:
    """This environment without what would point orchestrate anywhere, the tester's own settings file too."""
    kept = {
        k: v for k, v in os.environ.items() if not k.startswith(("ORCHESTRATE_", "NEO4J_", "OPENAI_", "ANTHROPIC_"))
    }
    return {**kept, "XDG_CONFIG_HOME": os.devnull, **more}


@dataclass
class Story:
    """One user at one repository, whose graph is the one that `environ` names (NEO4J_…), else an embedded server of its
    own, else, after `share`, the one that all tests of this process have."""

    repository: Path
    environ: dict[str, str] = field(default_factory=clean_environment)

    @property
    def home(self) -> Path:
        """Where orchestrate keeps its own when nothing else was set."""
        return self.repository / ".git" / "orchestrate"

    def share(self, graph: Path) -> Story:
        """Make `graph`, the folder of a server that runs, this home's own; nothing is started or stopped then."""
        self.home.mkdir(mode=0o700)
        (self.home / "graph").symlink_to(graph)
        return self

    def run(self, *arguments: str, stdin: str | None = None) -> subprocess.CompletedProcess[str]:
        """Run orchestrate as a user does, in this process."""
        return call_cli(arguments, self.repository, self.environ, stdin)

    def spawn(self, *arguments: str, stdin: str | None = None) -> subprocess.CompletedProcess[str]:
        """Run orchestrate in a process of its own."""
        return subprocess.run(
            (*CLI, *arguments),
            cwd=self.repository,
            env=self.environ,
            input=stdin or "",
            capture_output=True,
            text=True,
            timeout=120,
        )

    def start(self, *arguments: str) -> Forked:
        """Start orchestrate in a process of its own and go on."""
        return Forked(arguments, self.repository, self.environ)

    def ok(self, *arguments: str, stdin: str | None = None) -> str:
        """Run orchestrate, which must succeed; its stdout."""
        done = self.run(*arguments, stdin=stdin)
        assert done.returncode == 0, f"{arguments} left with {done.returncode}\n{done.stdout}\n{done.stderr}"
        return done.stdout

    def screen(self, *arguments: str) -> str:
        """Run orchestrate, which must succeed; what a user sees of it, stdout and stderr in their order."""
        done = call_cli(arguments, self.repository, self.environ, together=True)
        assert done.returncode == 0, f"{arguments} left with {done.returncode}\n{done.stdout}"
        return done.stdout

    def plan(self, text: str) -> dict[str, Any]:
        """Load a plan file and return `plan --json`."""
        path = self.repository.parent / "plan.yaml"
        path.write_text(text)
        answer: dict[str, Any] = json.loads(self.ok("plan", "--file", str(path), "--json"))
        return answer

    def ask(self, cypher: str, **parameters: Any) -> list[dict[str, Any]]:
        """Ask the graph in Cypher, as `query --format json` does."""
        with self.graph() as graph:
            table = graph.query(cypher, parameters)
        rows: list[dict[str, Any]] = json_ready(table_objects(table))
        return rows

    @contextmanager
    def graph(self) -> Iterator[GraphStore]:
        """The story's graph."""
        with App(self.repository, self.environ, flags={}, on_wait=lambda _message: None) as app:
            yield app.graph

    def use_model(self, base_url: str) -> None:
        """Point every role at an endpoint."""
        self.environ.update(OPENAI_BASE_URL=base_url, ORCHESTRATE_MODEL="scripted")

    @contextmanager
    def closing(self) -> Iterator[Story]:
        """The story itself; an embedded server of its own is stopped at the end."""
        try:
            yield self
        finally:
            with (
                contextlib.suppress(OrchestrateError),  # a repository that a test has broken has no server either
                App(self.repository, self.environ, flags={}, on_wait=lambda _message: None) as app,
            ):
                if not (app.repository.home / "graph").is_symlink():
                    embedded_stop(app.repository.home)


def attempts(story: Story) -> list[tuple[int, str, str]]:
    """(number, status, stop reason) of every attempt."""
    rows = story.ask("MATCH (a:Attempt) RETURN a.number AS n, a.status AS s, a.stopReason AS r ORDER BY n")
    return [(row["n"], row["s"], row["r"]) for row in rows]


def guard_verdicts(story: Story, guard: str, level: str = "") -> list[tuple[str, str]]:
    """The verdicts of a guard in order, with their codes; of the ledger, those of a level."""
    rows = story.ask(
        "MATCH (a:Attempt)-[:TRIGGERED]->(g:GuardEvent {guard: $guard}) "
        "RETURN g.verdict AS v, g.code AS c, g.evidenceJson AS e ORDER BY a.startedAt, g.seq",
        guard=guard,
    )
    return [(row["v"], row["c"]) for row in rows if not level or json.loads(row["e"])["level"] == level]


def withheld_turns(story: Story) -> list[bool]:
    """Whether the worker's turns had their tools withheld, those that were sent, in order."""
    rows = story.ask(
        "MATCH (a:Attempt)-[:TOOK]->(t:Turn) WHERE t.finishReason <> 'not_sent' "
        "RETURN t.toolsWithheld AS w ORDER BY a.startedAt, t.seq"
    )
    return [row["w"] for row in rows]


def complaint(done: subprocess.CompletedProcess[str], code: int) -> str:
    """stderr of a command that must leave with `code`, with one error and no traceback."""
    assert done.returncode == code, (done.returncode, done.stdout, done.stderr)
    assert "Traceback" not in done.stdout + done.stderr
    assert done.stderr.count("Error:") <= 1
    return done.stderr
