"""The tools of the roles, from the catalogue."""

from __future__ import annotations

from agents.tools import catalogue
from agents.tools.port import Tool
from tests.support.drawn.markdown import first_sentence, table

_ROLES = {"worker": catalogue.WORKER, "QC": catalogue.VERIFIER, "PM": catalogue.PLANNER}
_ONE_TURN = {"PM, of grants": catalogue.DECIDER, "QC, of a task that ran out": catalogue.REPORTER}


def roles() -> str:
    """Every tool, with its arguments and who has it."""
    tools = {tool.name: tool for kit in (*_ROLES.values(), *_ONE_TURN.values()) for tool in reversed(kit)}
    ordered = sorted(tools.values(), key=lambda tool: (tool.run is None, tool.name))
    return table(("tool", "arguments", "what it does", "who has it"), map(_row, ordered))


def _row(tool: Tool) -> tuple[str, str, str, str]:
    names = [f"`{name}`" + ("" if field.is_required() else "?") for name, field in tool.arguments.model_fields.items()]
    who = [role for role, kit in (_ROLES | _ONE_TURN).items() if tool.name in {each.name for each in kit}]
    return f"`{tool.name}`", ", ".join(names), first_sentence(tool.arguments.__doc__), ", ".join(who)
