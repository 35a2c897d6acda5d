"""The home of an older release as text files: its graph as Cypher statements, its repositories as `git fast-export`.

`write` makes such a folder from a home that is there, `load` a repository with a home from the folder. What the graph
says of the repository's place are the parameters `$root` and `$repository`. Both spell out what the release did and
call nothing of ours for it: today's code must not explain yesterday's files.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import subprocess
from collections.abc import Mapping
from datetime import timedelta
from pathlib import Path
from typing import Any

import neo4j
from neo4j.time import DateTime

from orchestrator.store.embedded.cache import cache_folder
from orchestrator.store.embedded.server import Embedded
from orchestrator.store.schema import schema_statements
from tests.support.story import git

GRAPH, USERS, SHADOW = "graph.cypher", "repository.fast-export", "shadow.fast-export"
PURPOSE = "// Purpose: the graph of an older release, see README.md. Parameters: $root (path), $repository (id)."
LONG_AGO = timedelta(days=3_650)
"""Instants are put back by this: a lease has expired then, whatever clock the reader's machine has."""
NODES = "MATCH (n) RETURN labels(n)[0] AS label, properties(n) AS properties"
RELATIONSHIPS = (
    "MATCH (a)-[r]->(b) RETURN labels(a)[0] AS label, a.id AS id, type(r) AS type, properties(r) AS properties, "
    "labels(b)[0] AS otherLabel, b.id AS otherId"
)


def load(folder: Path, repository: Path) -> None:
    """Make the repository that the folder's graph is about, with the folder's home in it; its server is running."""
    home = _home(repository)
    _import(repository, folder / USERS, "init", "--quiet", str(repository))
    git(repository, "config", "user.name", "Ada")
    git(repository, "config", "user.email", "ada@example.org")
    git(repository, "reset", "--quiet", "--hard", "main")
    _import(home / "shadow.git", folder / SHADOW, "init", "--quiet", "--bare", str(home / "shadow.git"))
    lines = (folder / GRAPH).read_text(encoding="utf-8").split("\n")
    _run(home, [line for line in lines if line and not line.startswith("//")], _parameters(repository))


def write(repository: Path, folder: Path) -> None:
    """Write the repository and its home as the folder's files."""
    folder.mkdir(parents=True, exist_ok=True)
    _export(repository, folder / USERS)
    _export(_home(repository) / "shadow.git", folder / SHADOW)
    kept = (_home(repository) / "repository-id").read_text().strip()  # a loaded one has what release 0.1 derives
    places = {value: f"${name}" for name, value in (_parameters(repository) | {"repository": kept}).items()}
    nodes, relationships = _run(_home(repository), [NODES, RELATIONSHIPS], {})
    statements = [
        *schema_statements(),
        *sorted(_node(row, places) for row in nodes),
        *sorted(_relationship(row, places) for row in relationships),
    ]
    (folder / GRAPH).write_text("\n".join([PURPOSE, *(f"{s};" for s in statements), ""]), encoding="utf-8")


def _home(repository: Path) -> Path:
    return repository / ".git" / "orchestrate"


def _parameters(repository: Path) -> dict[str, str]:
    """Where the repository is, and the id that release 0.1 derives from that."""
    root = str(repository.resolve())
    return {"root": root, "repository": f"r{hashlib.sha256(os.fsencode(root)).hexdigest()[:12]}"}


def _import(repository: Path, stream: Path, *init: str) -> None:
    repository.mkdir(parents=True)
    git(repository, *init)
    subprocess.run(["git", "fast-import", "--quiet"], cwd=repository, input=stream.read_bytes(), check=True)


def _export(repository: Path, stream: Path) -> None:
    refs = git(repository, "for-each-ref", "--format=%(refname)").splitlines()  # not --all: worktrees have refs too
    stream.write_text(git(repository, "fast-export", *refs) + "\n", encoding="utf-8")


def _run(home: Path, statements: list[str], parameters: Mapping[str, str]) -> list[list[dict[str, Any]]]:
    """The rows of each statement, run by the embedded server of the home as they are."""
    server = Embedded(home, caches=cache_folder(os.environ))
    at = server.locate()
    try:
        with (
            neo4j.GraphDatabase.driver(at.uri, auth=(at.username, at.password)) as driver,
            driver.session(database=at.database) as session,
        ):
            return [session.run(each, dict(parameters)).data() for each in statements]
    finally:
        server.release()


def _node(row: Mapping[str, Any], places: Mapping[str, str]) -> str:
    return f"CREATE (:{row['label']} {_map(row['properties'], places)})"


def _relationship(row: Mapping[str, Any], places: Mapping[str, str]) -> str:
    ends = ((row["label"], row["id"]), (row["otherLabel"], row["otherId"]))
    a, b = (f":{label} {{id: {_literal(id_, places)}}}" for label, id_ in ends)
    properties = f" {_map(row['properties'], places)}" if row["properties"] else ""
    return f"MATCH (a{a}), (b{b}) CREATE (a)-[:{row['type']}{properties}]->(b)"


def _map(properties: Mapping[str, Any], places: Mapping[str, str]) -> str:
    known = sorted((key, value) for key, value in properties.items() if value is not None)
    return "{" + ", ".join(f"{key}: {_literal(value, places)}" for key, value in known) + "}"


def _literal(value: Any, places: Mapping[str, str]) -> str:
    """A property's value in Cypher; a place in a text becomes its parameter."""
    if isinstance(value, DateTime):
        return f'datetime("{(value.to_native() - LONG_AGO).isoformat().replace("+00:00", "Z")}")'
    if isinstance(value, list):
        return f"[{', '.join(_literal(item, places) for item in value)}]"
    if isinstance(value, str) and value:
        parts = re.split(f"({'|'.join(map(re.escape, places))})", value)
        return " + ".join(places.get(part) or json.dumps(part, ensure_ascii=False) for part in parts if part)
    return json.dumps(value)
