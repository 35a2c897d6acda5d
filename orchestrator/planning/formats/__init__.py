"""Plan files as text: YAML, JSON or a Markdown chain-output in, YAML out. Reading touches no disk."""

from __future__ import annotations

import re

from orchestrator.planning.formats.json_source import parse_json
from orchestrator.planning.formats.markdown import parse_markdown
from orchestrator.planning.formats.yaml_source import dump_plan, parse_yaml
from orchestrator.planning.source import PlanSource
from orchestrator.planning.validate import Defect, Examined, PlanFileError, examine

__all__ = ["MAX_BYTES", "dump_plan", "read_plan"]

MAX_PLAN_BYTES = 4_000_000
_MARKDOWN = re.compile(r"^[ \t]*(?:[-*][ \t]+)?\*\*Task ID:?\*\*|^#{1,6}[ \t]+Task[ \t]+\d", re.MULTILINE)


def read_plan(content: bytes, suffix: str = "") -> Examined:
    """The plan in a file's bytes, or all of its defects (`Examined.ready()` raises them). The suffix (`.yaml`, `.yml`,
    `.json`, `.md`, `.markdown`) says what it is; any other, as of standard input, is told by the content. Raises
    PlanFileError for bytes that are no text of at most MAX_BYTES."""
    text = _decode(content)
    if not text.strip():
        raise PlanFileError([Defect(None, "", None, "is empty; a plan is a mapping with `goal` and `tasks`")])
    return examine(_parse(text, suffix.lower()))


def _parse(text: str, suffix: str) -> PlanSource:
    if suffix == ".json":
        return parse_json(text)
    if suffix in (".md", ".markdown"):
        return parse_markdown(text)
    if suffix in (".yaml", ".yml"):
        return parse_yaml(text)
    if text.lstrip()[0] in "{[":
        return parse_json(text)
    return parse_markdown(text) if _MARKDOWN.search(text) else parse_yaml(text)


def _decode(content: bytes) -> str:
    if len(content) > MAX_PLAN_BYTES:
        message = f"is {len(content):,} bytes, at most {MAX_PLAN_BYTES:,} are read; split the plan"
        raise PlanFileError([Defect(None, "", None, message)])
    try:
        text = content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = content[: error.start].count(b"\n") + 1
        message = f"is not UTF-8: byte 0x{content[error.start]:02x} at offset {error.start}; save it as UTF-8"
        raise PlanFileError([Defect(None, "", line, message)]) from None
    if "\0" in text:
        line = text[: text.index("\0")].count("\n") + 1
        raise PlanFileError([Defect(None, "", line, "holds a NUL character, so it is no text")])
    return text.replace("\r\n", "\n")
