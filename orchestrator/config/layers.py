"""What settings there are so far, layer over layer, and where each value comes from."""

from __future__ import annotations

from collections.abc import Iterator
from copy import deepcopy
from dataclasses import dataclass, field
from typing import Any, Literal

from orchestrator.config.file import SettingKeys, SettingsFile
from orchestrator.config.former import ROLES
from orchestrator.config.secrets import is_secret_name, url_holds_password

OriginKind = Literal["default", "user file", "repository file", "environment", "flag"]


@dataclass(frozen=True, slots=True)
class Origin:
    """Where a value comes from: which layer, and its line, variable or flag."""

    kind: OriginKind
    place: str = ""


DEFAULT = Origin("default")


@dataclass(slots=True)
class Layers:
    """The values so far, and where each comes from."""

    values: dict[str, Any] = field(default_factory=dict)
    origins: dict[SettingKeys, Origin] = field(default_factory=dict)
    defects: list[str] = field(default_factory=list)

    def add(self, file: SettingsFile, kind: OriginKind) -> None:
        """Set what a file sets, over what the files before it did."""
        for keys, value in file.settings():
            secrets = [f"{file.where(at)}: {told}" for at, told in _secrets_in(keys, value)]
            self.defects += secrets
            if not secrets:
                self.put(keys, deepcopy(value), Origin(kind, file.where(keys)))

    def put(self, keys: SettingKeys, value: Any, origin: Origin) -> None:
        """Set one value over whatever lower layers had."""
        table = self.values
        for key in keys[:-1]:
            table = table.setdefault(key, {})
            if not isinstance(table, dict):
                return  # the file has no table there, which is reported as the file's defect
        table[keys[-1]] = value
        self.origins[keys] = origin

    def get(self, keys: SettingKeys) -> Any:
        """The value, or None."""
        table: Any = self.values
        for key in keys:
            table = table.get(key) if isinstance(table, dict) else None
        return table

    def where(self, keys: SettingKeys) -> str:
        """The variable, flag or line that set this; for a section, those that set parts of it."""
        around = (keys[:end] for end in range(len(keys), 0, -1))
        at = next((self.origins[some].place for some in around if some in self.origins), None)
        below = dict.fromkeys(origin.place for some, origin in self.origins.items() if some[: len(keys)] == keys)
        return at or ", ".join(below) or "the settings"


_ADVICE = (
    "is a secret, and secrets come from the environment alone: put it into a variable such as OPENAI_API_KEY and name "
    "that with api_key_env"
)


def _secrets_in(keys: SettingKeys, value: Any) -> Iterator[tuple[SettingKeys, str]]:
    """A file is committed and shared: no key of a model's endpoint, and no password in a URL, may stand in it."""
    for at, leaf in _leaves(keys, value):
        if at[:1] != ("workspace",) and is_secret_name(at[-1]) and not _names_a_header(at):
            yield at, f"{'.'.join(at)} {_ADVICE}"
        elif at[-1] == "base_url" and isinstance(leaf, str) and url_holds_password(leaf):
            yield at, f"{'.'.join(at)} holds a password: it {_ADVICE}"


def _names_a_header(keys: SettingKeys) -> bool:
    """Whether what stands there is the name of a variable, whatever the header is called."""
    above = tuple(key for key in keys[:-1] if key not in ROLES)
    return above == ("models", "headers")


def _leaves(keys: SettingKeys, value: Any) -> Iterator[tuple[SettingKeys, Any]]:
    if not isinstance(value, dict):
        yield keys, value
        return
    for key, inner in value.items():
        yield from _leaves((*keys, key), inner)
