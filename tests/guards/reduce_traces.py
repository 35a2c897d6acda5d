"""Traces of agents reduced to facts: `python -m tests.guards.reduce_traces TRACES.jsonl > REDUCED.jsonl`.

The arguments of a call hold other people's text. What a replay needs of them is which calls are equal, which file is
written, and whether a write changes more than white space; so hashes take the place of the texts, a file keeps its name
without its folder, and a trace is called by its source and a number.
"""

from __future__ import annotations

import hashlib
import json
import posixpath
import sys
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

TEXTS = ("old_str", "new_str", "file_text")
KEPT = ("name", "ok", "result_sha", "result_chars")


def reduced(traces: Iterable[Mapping[str, Any]]) -> Iterator[dict[str, Any]]:
    """The traces of a file, each with nothing but facts."""
    numbers: Counter[str] = Counter()
    for trace in traces:
        source = trace.get("source", "")
        numbers[source] += 1
        known = {"source": source, "id": f"{source} {numbers[source]}"}
        spiral = {"spiral": True} if trace.get("spiral") else {}
        yield {**known, **spiral, "calls": [reduced_call(call) for call in trace["calls"]]}


def reduced_call(call: Mapping[str, Any]) -> dict[str, Any]:
    """The call with one hash for all that its arguments say, its file, and a hash of what each text says without white
    space."""
    arguments = call.get("arguments") or {}
    facts = {key: _without_spaces(arguments[key]) for key in TEXTS if key in arguments}
    if "path" in arguments:
        facts["path"] = _file(str(arguments["path"]))
    if arguments:
        facts["sha"] = _sha(json.dumps({key: _canonical(key, arguments[key]) for key in arguments}, sort_keys=True), 12)
    return {key: call[key] for key in KEPT if key in call} | {"arguments": facts}


def _canonical(key: str, value: Any) -> Any:
    """Arguments that mean the same are the same: `./a` and `a`, 1.0 and 1."""
    if key == "path" and isinstance(value, str):
        return posixpath.normpath(value)
    return int(value) if isinstance(value, float) and value.is_integer() else value


def _file(path: str) -> str:
    folder, _, name = posixpath.normpath(path).replace("\\", "/").rpartition("/")
    return f"{_sha(folder, 8)}/{name}" if folder else name


def _without_spaces(text: Any) -> str:
    bare = "".join(str(text or "").split())
    return _sha(bare, 8) if bare else ""


def _sha(text: str, digits: int) -> str:
    return hashlib.sha256(text.encode(errors="backslashreplace")).hexdigest()[:digits]


def main(path: Path) -> None:
    """Print the reduced traces of a file, one a line."""
    lines = path.read_text(encoding="utf-8").split("\n")  # not splitlines: a JSON string may hold other line breaks
    for trace in reduced(json.loads(line) for line in lines if line.strip()):
        sys.stdout.write(json.dumps(trace, separators=(",", ":")) + "\n")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
