"""The settings files as values with their lines: a repository's (`orchestrate.toml`, or `[tool.orchestrate]` in
pyproject.toml) and the user's own."""

from __future__ import annotations

import hashlib
import json
import os
import re
import stat
import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from pydantic import BaseModel

from orchestrator.config.settings import Settings
from orchestrator.domain.errors import UserError
from orchestrator.domain.nesting import nests_deeper

OWN_FILE, SHARED_FILE = "orchestrate.toml", "pyproject.toml"
MAX_SETTINGS_BYTES = 1_000_000
MAX_DEPTH = 20
"""Tables within tables; the settings need four."""
SettingKeys = tuple[str, ...]

_TABLE = re.compile(r"\s*\[+\s*([^\]]+?)\s*\]+\s*(?:#.*)?$")
_KEY = re.compile(r"\s*([A-Za-z0-9_.\-\"' ]+?)\s*=")


@dataclass(frozen=True, slots=True)
class SettingsFile:
    """What one file sets. `lines` knows the line of every table and of every key that stands on a line of its own;
    `digest` is the SHA-256 of what the file says to us, hexadecimal."""

    name: str = OWN_FILE
    path: Path = Path()
    digest: str = ""
    values: Mapping[str, Any] = field(default_factory=dict)
    lines: Mapping[SettingKeys, int] = field(default_factory=dict)

    def where(self, keys: SettingKeys) -> str:
        """`orchestrate.toml, line 3` for a key, or for the nearest table around it."""
        while keys and keys not in self.lines:
            keys = keys[:-1]
        line = self.lines.get(keys)
        return f"{self.name}, line {line}" if line else self.name

    def settings(self) -> Iterator[tuple[SettingKeys, Any]]:
        """Every setting with its value, tables that are no section whole, and what is no setting at all."""
        return _settings_in(self.values, Settings, ())


def _settings_in(
    table: Mapping[str, Any], section: type[BaseModel], above: SettingKeys
) -> Iterator[tuple[SettingKeys, Any]]:
    for key, value in table.items():
        info = section.model_fields.get(key)
        inner = info.annotation if info else None
        if isinstance(value, dict) and isinstance(inner, type) and issubclass(inner, BaseModel):
            yield from _settings_in(value, inner, (*above, key))
        else:
            yield (*above, key), value


def read_settings_file(top: Path) -> SettingsFile:
    """The one file of the repository that sets something. Raises UserError for two of them, and for one that cannot
    be read."""
    own, shared = _own(top / OWN_FILE, OWN_FILE), _shared(top / SHARED_FILE)
    if own.values and shared.values:
        raise UserError(
            f"Both {OWN_FILE} and [tool.orchestrate] in {SHARED_FILE} hold settings.",
            next_step="Keep one of them, so that it is plain which one rules.",
        )
    return shared if shared.values else own


def read_user_file(environ: Mapping[str, str]) -> SettingsFile:
    """The user's own file, below XDG_CONFIG_HOME or ~/.config; sets nothing where neither that nor HOME is known.
    Raises UserError for one that cannot be read."""
    folder = xdg_folder(environ, "XDG_CONFIG_HOME", ".config")
    path = folder / "config.toml" if folder else Path()
    return _own(path, str(path)) if folder else SettingsFile(name="config.toml")


def xdg_folder(environ: Mapping[str, str], variable: str, default: str) -> Path | None:
    """Our folder below the one that an XDG variable names, or below the default one of HOME; None without either. A
    relative path counts as none, as the XDG specification has it."""
    named, home = Path(environ.get(variable, "")), Path(environ.get("HOME", ""))
    base = named if named.is_absolute() else home / default if home.is_absolute() else None
    return base / "orchestrate" if base else None


def _own(path: Path, name: str) -> SettingsFile:
    content = _content(path)
    text = _text(content, path.name)
    return SettingsFile(name, path, hashlib.sha256(content).hexdigest(), _parsed(text, name), _lines(text, ()))


def _shared(path: Path) -> SettingsFile:
    text = _text(_content(path), path.name)
    if "orchestrate" not in text:
        return SettingsFile(SHARED_FILE)  # then whether it is TOML at all is not for us to judge
    tool = _parsed(text, SHARED_FILE).get("tool")
    values = tool.get("orchestrate", {}) if isinstance(tool, dict) else {}
    if not isinstance(values, dict):
        raise UserError(f"{SHARED_FILE}: tool.orchestrate is no table.", next_step="Write [tool.orchestrate].")
    ours = json.dumps(values, sort_keys=True, default=str)  # the rest of the file changes with every dependency
    return SettingsFile(
        SHARED_FILE, path, hashlib.sha256(ours.encode()).hexdigest(), values, _lines(text, ("tool", "orchestrate"))
    )


def _content(path: Path) -> bytes:
    """The bytes of a regular file; none where it is missing. A repository may hold a link to a device or pipe instead,
    which would never end."""
    try:
        # opening a pipe that nobody writes to would wait for ever
        with os.fdopen(os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC), "rb") as stream:
            regular = stat.S_ISREG(os.fstat(stream.fileno()).st_mode)
            content = stream.read(MAX_SETTINGS_BYTES + 1) if regular else b""
    except (FileNotFoundError, NotADirectoryError):
        return b""
    except OSError as error:
        raise UserError(f"{path.name} cannot be read: {error.strerror}.") from None
    if not regular:
        raise UserError(f"{path.name} cannot be read: it is no regular file.")
    if len(content) > MAX_SETTINGS_BYTES:
        raise UserError(f"{path.name} is larger than the {MAX_SETTINGS_BYTES:,} bytes that are read.")
    return content


def _text(content: bytes, name: str) -> str:
    try:
        return content.decode("utf-8").replace("\r\n", "\n")
    except UnicodeDecodeError as error:
        raise UserError(f"{name} is not UTF-8 (offset {error.start}).", next_step="Save it as UTF-8.") from None


def _parsed(text: str, name: str) -> dict[str, Any]:
    try:
        values = tomllib.loads(text)
    except (ValueError, RecursionError) as error:  # an integer of thousands of digits is a plain ValueError
        raise UserError(f"{name} is no TOML: {error}.") from None
    if nests_deeper(values, MAX_DEPTH):
        raise UserError(f"{name} nests deeper than {MAX_DEPTH} tables.")
    return values


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
