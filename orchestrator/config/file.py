"""The settings file: `orchestrate.toml`, or `[tool.orchestrate]` in pyproject.toml, as values with their lines."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from orchestrator.domain.errors import UserError

OWN_FILE, SHARED_FILE = "orchestrate.toml", "pyproject.toml"
MAX_SETTINGS_BYTES = 1_000_000
SettingKeys = tuple[str, ...]

_TABLE = re.compile(r"\s*\[+\s*([^\]]+?)\s*\]+\s*(?:#.*)?$")
_KEY = re.compile(r"\s*([A-Za-z0-9_.\-\"' ]+?)\s*=")


@dataclass(frozen=True, slots=True)
class SettingsFile:
    """What one file sets. `lines` knows the line of every table and of every key that stands on a line of its own."""

    name: str = OWN_FILE
    values: Mapping[str, Any] = field(default_factory=dict)
    lines: Mapping[SettingKeys, int] = field(default_factory=dict)

    def where(self, keys: SettingKeys) -> str:
        """`orchestrate.toml, line 3` for a key, or for the nearest table around it."""
        while keys and keys not in self.lines:
            keys = keys[:-1]
        line = self.lines.get(keys)
        return f"{self.name}, line {line}" if line else self.name


def read_settings_file(top: Path) -> SettingsFile:
    """The one file of the repository that sets something. Raises UserError for two of them, and for one that cannot
    be read."""
    own, shared = _own(top / OWN_FILE), _shared(top / SHARED_FILE)
    if own.values and shared.values:
        raise UserError(
            f"Both {OWN_FILE} and [tool.orchestrate] in {SHARED_FILE} hold settings.",
            next_step="Keep one of them, so that it is plain which one rules.",
        )
    return shared if shared.values else own


def _own(path: Path) -> SettingsFile:
    text = _text(path)
    return SettingsFile(OWN_FILE, _parsed(text, OWN_FILE), _lines(text, ()))


def _shared(path: Path) -> SettingsFile:
    text = _text(path)
    if "orchestrate" not in text:
        return SettingsFile(SHARED_FILE)  # then whether it is TOML at all is not for us to judge
    tool = _parsed(text, SHARED_FILE).get("tool")
    values = tool.get("orchestrate", {}) if isinstance(tool, dict) else {}
    if not isinstance(values, dict):
        raise UserError(f"{SHARED_FILE}: tool.orchestrate is no table.", next_step="Write [tool.orchestrate].")
    return SettingsFile(SHARED_FILE, values, _lines(text, ("tool", "orchestrate")))


def _text(path: Path) -> str:
    try:
        content = path.read_bytes()
    except (FileNotFoundError, NotADirectoryError):
        return ""
    except OSError as error:
        raise UserError(f"{path.name} cannot be read: {error.strerror}.") from None
    if len(content) > MAX_SETTINGS_BYTES:
        raise UserError(f"{path.name} is {len(content):,} bytes, at most {MAX_SETTINGS_BYTES:,} are read.")
    try:
        return content.decode("utf-8").replace("\r\n", "\n")
    except UnicodeDecodeError as error:
        raise UserError(f"{path.name} is not UTF-8 (offset {error.start}).", next_step="Save it as UTF-8.") from None


def _parsed(text: str, name: str) -> dict[str, Any]:
    try:
        return tomllib.loads(text)
    except (tomllib.TOMLDecodeError, RecursionError) as error:
        raise UserError(f"{name} is no TOML: {error}.") from None


def _lines(text: str, inside: SettingKeys) -> dict[SettingKeys, int]:
    """Where keys stand, read line by line beside the parser: good for messages, never for values."""
    found: dict[SettingKeys, int] = {}
    table: SettingKeys = ()
    for number, row in enumerate(text.split("\n"), start=1):
        if header := _TABLE.match(row[:300]):
            table = _split(header[1])
            found.setdefault(table, number)
        elif key := _KEY.match(row[:300]):
            found.setdefault(table + _split(key[1]), number)
    return {keys[len(inside) :]: line for keys, line in found.items() if keys[: len(inside)] == inside}


def _split(dotted: str) -> SettingKeys:
    return tuple(part.strip(" \"'") for part in dotted.split("."))
