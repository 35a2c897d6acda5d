"""A Task as the engine sees it: frozen, judged by pre-flight, ready to be executed."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

Kind = Literal["simple", "moderate", "complex", "research"]


@dataclass(frozen=True, slots=True)
class Task:
    """The smallest unit that a worker executes and QC reviews. Paths and globs are from the git top level."""

    id: str
    plan_id: str
    key: str
    title: str
    prompt: str
    kind: Kind
    role: str
    qc_role: str
    tool_call_budget: int
    max_attempts: int
    acceptance_criteria: tuple[str, ...] = ()
    edge_cases: tuple[str, ...] = ()
    verification: tuple[str, ...] = ()
    verification_criteria: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    allowed_paths: tuple[str, ...] = ()
    files_read: tuple[str, ...] = ()
    files_written: tuple[str, ...] = ()
    depends_on: tuple[str, ...] = ()
    max_changed_files: int = 10
    max_changed_lines: int = 400
    model: str | None = None
