"""A role's tools as one: their wire schemas, calls checked, calls executed. Nothing that a model sends raises."""

from __future__ import annotations

import hashlib
import json
import re
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from pydantic import ValidationError

from agents.tools.port import Arguments, Tool, ToolEnv, ToolOutput
from agents.transcript import cut
from orchestrator.domain.errors import OrchestrateError, ToolError
from orchestrator.domain.model_io import ErrorKind, ToolCall, ToolResult
from orchestrator.domain.normalise import outcome_hash, shape_hash
from orchestrator.domain.text import closest
from orchestrator.domain.tools import FINISHING_NAMES

MOST_NESTING = 64
_MOST_HASHED = 1_000_000  # characters; a longer outcome is hashed by its head and tail
_WIRE_NAME = re.compile(r"[^A-Za-z0-9_-]+")


class Toolbox:
    """The tools of one session over its workspace; a session of control tools alone has none."""

    def __init__(
        self, tools: Sequence[Tool], env: ToolEnv | None, monotonic: Callable[[], float] = time.monotonic
    ) -> None:
        self._tools = {tool.name: tool for tool in tools}
        self._env = env
        self._monotonic = monotonic
        self.schemas = tuple(tool.schema for tool in tools)
        self.finishing_schemas = tuple(tool.schema for tool in tools if tool.name in FINISHING_NAMES)
        self.control_tools = frozenset(tool.name for tool in tools if tool.run is None)
        self.finishing_tools = tuple(tool.name for tool in tools if tool.name in FINISHING_NAMES)

    def knows(self, name: str) -> bool:
        """Whether there is a tool of this name."""
        return name in self._tools

    def fits(self, name: str, value: Any) -> bool:
        """Whether a JSON value looks like the arguments of this tool: two of its arguments, and not mostly others."""
        tool = self._tools[name]
        known = set(tool.schema["function"]["parameters"]["properties"])
        return isinstance(value, dict) and len(known & set(value)) >= max(2, (len(value) + 1) // 2)

    def parse(self, asked: ToolCall, *, cut_off: bool = False) -> ToolCall:
        """The call, checked. What cannot be executed has a `defect` that says why and what to send instead;
        `cut_off` says that the reply ended at the output limit."""
        tool = self._tools.get(asked.tool)
        try:
            given = _json_object(asked.arguments_json)
        except (ValueError, RecursionError) as error:
            hint = " The reply ended at the output limit: send less at once." if cut_off else ""
            return _defective(asked, tool, asked.arguments_json, f"no JSON object: {cut(str(error), 200)}.{hint}")
        if tool is None:
            return _defective(asked, None, given, self._unknown(asked.tool))
        try:
            return self._checked(tool, asked, given)
        except ValidationError as error:
            return _defective(asked, tool, given, _invalid(error, tool))
        except (ValueError, RecursionError) as error:
            return _defective(asked, tool, given, cut(str(error), 200))

    def _checked(self, tool: Tool, asked: ToolCall, given: Mapping[str, Any]) -> ToolCall:
        tolerant = tool.arguments.model_config.get("extra") == "ignore"
        read = _without_nulls(given) if tolerant else given
        arguments = tool.arguments.model_validate(read, strict=not tolerant).model_dump()
        identity = {name: value for name, value in arguments.items() if name not in tool.cosmetic}
        path = self._relative(arguments.get("path"))
        if path is not None:
            identity["path"] = path
        return replace(
            asked,
            arguments=arguments,
            signature=signature(tool.name, canonical(identity)),
            mutating=tool.touches != "nothing",
            pure=tool.pure,
            control=tool.run is None,
            writes_to=(path,) if tool.touches == "path" and path is not None else (),
        )

    def _relative(self, path: Any) -> str | None:
        """The path's one spelling where it has one; a refused path stays as it is and fails when it is used."""
        if not isinstance(path, str) or self._env is None:
            return None
        try:
            return self._env.workspace.relative(path)
        except ToolError:
            return path

    def _unknown(self, name: str) -> str:
        near = closest(name, self._tools)
        meant = f" Did you mean {near[0]}?" if near else ""
        return f"there is no tool {cut(name, 80)!r}.{meant} Tools: {', '.join(self._tools)}."

    def execute(self, call: ToolCall, within_s: float | None = None) -> ToolResult:
        """Run a valid call's tool, a command for at most so many seconds. Raises only what is nobody's call:
        WorkspaceError, SandboxError and their like."""
        tool = self._tools[call.tool]
        if tool.run is None or self._env is None:
            raise ValueError(f"{tool.name} is a control tool: its effect is the engine's.")
        started = self._monotonic()
        env = replace(self._env, within_s=within_s)
        result = _run(tool.run, env, tool, tool.arguments.model_validate(call.arguments))
        root = self._env.workspace.shown_root
        error = (
            ""
            if result.ok or result.lesson
            else outcome_hash(f"{result.error_of}\n{cut(result.text, _MOST_HASHED)}", root)
        )
        kind: ErrorKind = "infrastructure" if result.infrastructure else "tool"
        return ToolResult(
            text=result.text,
            outcome_hash=outcome_hash(cut(result.text, _MOST_HASHED), root),
            duration_ms=(self._monotonic() - started) * 1000,
            error_kind="none" if result.ok else kind,
            error_hash=error,
            shape_hash=shape_hash(cut(result.text, _MOST_HASHED), root),
            says=result.says,
            touched=_touched(tool, call, result),
        )


def _run(function: Callable[[ToolEnv, Any], ToolOutput], env: ToolEnv, tool: Tool, arguments: Arguments) -> ToolOutput:
    try:
        return function(env, arguments)
    except ToolError as error:
        return ToolOutput(f"Error: {error}", ok=False)
    except OrchestrateError:
        raise
    except Exception as error:  # fail closed: whatever a hostile argument provokes is that call's error
        return ToolOutput(f"Error: {tool.name} failed: {cut(str(error), 500)} ({type(error).__name__})", ok=False)


def _touched(tool: Tool, call: ToolCall, result: ToolOutput) -> tuple[str, ...] | None:
    """What may have changed: a file tool changes its file or, when it fails, nothing."""
    if tool.touches == "anything":
        return None
    return call.writes_to if result.ok else ()


def wire_name(name: str) -> str:
    """A name as endpoints accept it back in a request."""
    return _WIRE_NAME.sub("_", name)[:64] or "unnamed"


def wire_arguments(call: ToolCall) -> str:
    """A call's arguments as JSON text of an object, which is all that endpoints accept back."""
    try:
        _json_object(call.arguments_json)
    except (ValueError, RecursionError):
        return json.dumps({"unreadable": cut(call.arguments_json, 2_000)})
    return call.arguments_json or "{}"


def canonical(value: Any, depth: int = 0) -> Any:
    """JSON with one spelling for one value: 1.0 is 1; "13", 13 and True stay apart. Raises ValueError for nesting
    beyond 64 levels."""
    if depth > MOST_NESTING:
        raise ValueError(f"nested more than {MOST_NESTING} levels deep")
    if isinstance(value, float):
        return int(value) if value.is_integer() else value
    if isinstance(value, dict):
        return {name: canonical(inner, depth + 1) for name, inner in value.items()}
    return [canonical(inner, depth + 1) for inner in value] if isinstance(value, list) else value


def signature(tool: str, arguments: Any) -> str:
    """16 hex digits over the tool and its canonical arguments; key order does not matter."""
    text = json.dumps([tool, arguments], sort_keys=True, ensure_ascii=True)
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def _json_object(text: str) -> dict[str, Any]:
    value = canonical(json.loads(text or "{}", parse_constant=_no_constant))
    if not isinstance(value, dict):
        raise ValueError(f"it is a {type(value).__name__}")
    json.dumps(value, ensure_ascii=False).encode()  # a lone surrogate is no text: UnicodeEncodeError is a ValueError
    return value


def _without_nulls(value: Any) -> Any:
    """Where null stands for what is absent, as weak models write it."""
    if isinstance(value, dict):
        return {name: _without_nulls(inner) for name, inner in value.items() if inner is not None}
    return [_without_nulls(inner) for inner in value] if isinstance(value, list) else value


def _no_constant(name: str) -> float:
    raise ValueError(f"{name} is no JSON value")


def _defective(asked: ToolCall, tool: Tool | None, arguments: Any, why: str) -> ToolCall:
    about = f"The arguments of {tool.name} are not valid: {why}" if tool else why
    return replace(
        asked,
        tool=wire_name(asked.tool),
        signature=signature(asked.tool, arguments),
        control=tool is not None and tool.run is None,
        defect=f"Not executed: {about}",
    )


def _invalid(error: ValidationError, tool: Tool) -> str:
    """Every defect with its argument, and what the tool takes."""
    told = [
        f"{'.'.join(str(part) for part in item['loc']) or 'arguments'}: {item['msg']}"
        for item in error.errors(include_url=False, include_context=False)[:8]
    ]
    fields = tool.arguments.model_fields
    takes = ", ".join(f"{name}{'' if field.is_required() else ' (optional)'}" for name, field in fields.items())
    return f"{'; '.join(told)}. It takes: {takes}."
