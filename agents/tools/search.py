"""Finding things: lines by regular expression, and the rest of an earlier result."""

from __future__ import annotations

from pydantic import Field

from agents.tools.port import Arguments, ToolEnv, ToolOutput
from agents.transcript import cut
from orchestrator.domain.errors import ToolError


class Search(Arguments):
    """Find lines by a regular expression in the repository's text files; each match is shown as path:line:text."""

    pattern: str = Field(min_length=1)
    """A regular expression."""
    path: str = "."
    """A file or folder, from the repository's top level."""
    glob: str | None = None
    """Only files that match, such as **/*.py."""


def search(env: ToolEnv, arguments: Search) -> ToolOutput:
    """The matching lines; that there are none is an answer, no error."""
    found = env.workspace.search(arguments.pattern, arguments.path, arguments.glob)
    return ToolOutput("\n".join(found) if found else f"No line matches {cut(arguments.pattern, 200)}.")


class ReadOutput(Arguments):
    """Read on in a result that was cut or shortened."""

    call_id: str = Field(min_length=1)
    """The id of the call whose result it is; "digest" lists all calls with their ids."""
    offset: int = Field(default=0, ge=0)
    """The character to start from."""


def read_output(env: ToolEnv, arguments: ReadOutput) -> ToolOutput:
    """One page of it, and how to get the next."""
    text = env.outputs.output(arguments.call_id)
    if text is None:
        known = ", ".join(env.outputs.ids()[-8:])
        raise ToolError(f"There is no call with the id {cut(arguments.call_id, 80)}. The last ids: {known}.")
    start, end = arguments.offset, min(arguments.offset + env.page_chars, len(text))
    if start >= len(text):
        return ToolOutput(f"The result has {len(text)} characters; there is nothing from {start} on.")
    rest = f"; offset={end} reads on" if end < len(text) else ""
    return ToolOutput(f"[characters {start} to {end} of {len(text)}{rest}]\n{text[start:end]}")
