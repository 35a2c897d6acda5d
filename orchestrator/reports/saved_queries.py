"""The saved queries: one `.cypher` file each under queries/, with a header that says what it answers.

Header lines are Cypher comments, so that a file can be pasted into Neo4j Browser as it is:
`// title: …`, `// description: …`, `// param name: meaning`, `// param name = DEFAULT: meaning` (DEFAULT is JSON),
`// columns: a, b`.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Any

from orchestrator.domain.errors import QueryError, UserError
from orchestrator.domain.text import closest

_PARAM = re.compile(r"// param (?P<name>\w+)(?: = (?P<default>.+?))?: (?P<meaning>.+)")
# What may hold a `$` that is no parameter: strings, quoted names, comments.
_OPAQUE = re.compile(r"""'(?:\\.|[^'\\])*'|"(?:\\.|[^"\\])*"|`[^`]*`|//[^\n]*|/\*.*?\*/""", re.DOTALL)
_USED = re.compile(r"\$(\w+)")


@dataclass(frozen=True, slots=True)
class Parameter:
    """A `$parameter` of a saved query; `default` is None where `required`."""

    name: str
    meaning: str
    required: bool
    default: Any = None

    def check(self, query: str, value: Any) -> None:
        """Raise UserError for a value of another kind than the default: a whole number from 0 on, else text."""
        given = json.dumps(value, ensure_ascii=False)
        if isinstance(self.default, int):
            fits = isinstance(value, int) and not isinstance(value, bool) and value >= 0
            kind, example = "a whole number, 0 or more", str(self.default)
        else:
            fits = isinstance(value, str)
            kind, example = "text", f'"{given}"' if isinstance(value, int | float) else "TEXT"
        if not fits:
            raise UserError(
                f"Parameter {self.name} of query {query} is {kind}; {given} is not.",
                next_step=f"Give --param '{self.name}={example}'.",
            )


@dataclass(frozen=True, slots=True, kw_only=True)
class SavedQuery:
    """A saved query as its file has it. `cypher` is the whole file, header included."""

    name: str
    title: str
    description: str
    parameters: tuple[Parameter, ...]
    columns: tuple[str, ...]
    cypher: str

    def bind(self, given: Mapping[str, Any]) -> dict[str, Any]:
        """`given` with the defaults filled in. Raises UserError for a name that the query does not have, and for a
        value of another kind than the default."""
        known = [parameter.name for parameter in self.parameters]
        if unknown := sorted(set(given) - set(known)):
            takes = ", ".join(name for name in known if name != "repository") or "none"
            raise UserError(f"Query {self.name} has no parameter {unknown[0]}.", next_step=f"It takes: {takes}.")
        for parameter in self.parameters:
            if parameter.name in given:
                parameter.check(self.name, given[parameter.name])
        defaults = {p.name: p.default for p in self.parameters if not p.required}
        return {**defaults, **given}


def parameters_of(cypher: str) -> tuple[str, ...]:
    """The names of the `$parameters` that a statement uses, in order, each once."""
    return tuple(dict.fromkeys(_USED.findall(_OPAQUE.sub(" ", cypher))))


def require_parameters(cypher: str, given: Mapping[str, Any]) -> None:
    """Raise QueryError naming every parameter that the statement uses and `given` lacks."""
    if missing := [name for name in parameters_of(cypher) if name not in given]:
        flags = " ".join(f"--param {name}=VALUE" for name in missing)
        names = ", ".join(f"${name}" for name in missing)
        raise QueryError(f"The query needs {names}.", next_step=f"Give {flags}.")


@cache
def saved_queries() -> Mapping[str, SavedQuery]:
    """All saved queries by name, sorted."""
    folder = files("orchestrator.reports") / "queries"
    texts = {f.name.removesuffix(".cypher"): f.read_text() for f in folder.iterdir() if f.name.endswith(".cypher")}
    return {name: _parse(name, texts[name]) for name in sorted(texts)}


def saved_query(name: str) -> SavedQuery:
    """The saved query of that name. Raises UserError naming the nearest."""
    queries = saved_queries()
    if name in queries:
        return queries[name]
    near = closest(name, queries)
    hint = f"Did you mean {near[0]}? " if near else ""
    raise UserError(f"There is no saved query {name!r}.", next_step=f"{hint}`orchestrate query --list` lists them.")


def _parse(name: str, text: str) -> SavedQuery:
    header = [line for line in text.splitlines() if line.startswith("// ")]
    return SavedQuery(
        name=name,
        title=_field(header, "title"),
        description=_field(header, "description"),
        parameters=tuple(_parameter(m) for line in header if (m := _PARAM.match(line))),
        columns=tuple(_field(header, "columns").split(", ")),
        cypher=text,
    )


def _field(header: list[str], field: str) -> str:
    prefix = f"// {field}: "
    return next(line.removeprefix(prefix) for line in header if line.startswith(prefix))


def _parameter(found: re.Match[str]) -> Parameter:
    default = found["default"]
    value = None if default is None else json.loads(default)
    return Parameter(found["name"], found["meaning"], required=default is None, default=value)
