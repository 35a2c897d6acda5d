"""A worker's toolbox over a real workspace."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest

from agents.chat.json_tools import asked_call
from agents.tools.catalogue import WORKER
from agents.tools.port import ToolEnv
from agents.tools.toolbox import Toolbox
from agents.transcript import Transcript
from orchestrator.domain.model_io import ToolCall, ToolResult
from orchestrator.domain.ports import Workspace

Parse = Callable[..., ToolCall]
Do = Callable[..., ToolResult]


@pytest.fixture
def toolbox(workspace: Workspace) -> Toolbox:
    """All of a worker's tools."""
    return Toolbox(WORKER, ToolEnv(workspace, Transcript(()), page_chars=1_000))


@pytest.fixture
def parse(toolbox: Toolbox) -> Parse:
    """Reads a call of a tool with keyword arguments."""

    def read(tool: str, **arguments: Any) -> ToolCall:
        return toolbox.parse(asked_call("c1", tool, json.dumps(arguments)))

    return read


@pytest.fixture
def do(toolbox: Toolbox, parse: Parse) -> Do:
    """Reads and executes a call."""

    def run(tool: str, **arguments: Any) -> ToolResult:
        call = parse(tool, **arguments)
        assert call.defect is None, call.defect
        return toolbox.execute(call)

    return run
