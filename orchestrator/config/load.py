"""Settings from the file, the environment and the command line, in that order of growing rank.

Every setting has one environment variable, `ORCHESTRATE_` and its name: `guards.repetition_stop` is
`ORCHESTRATE_GUARDS_REPETITION_STOP`. Lists, tables and null are JSON there. An empty variable counts as unset. All
defects are reported at once, each with where it comes from.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from copy import deepcopy
from dataclasses import dataclass, field
from pathlib import Path
from types import UnionType
from typing import Any, Literal, Union, get_args, get_origin

from pydantic import BaseModel, ValidationError
from pydantic.fields import FieldInfo
from pydantic_core import ErrorDetails

from orchestrator.config.file import SettingKeys, SettingsFile, read_settings_file
from orchestrator.config.former import GONE, RENAMED, ROLES, former
from orchestrator.config.secrets import is_secret_name, url_holds_password
from orchestrator.config.settings import Settings
from orchestrator.domain.errors import UserError
from orchestrator.domain.text import counted, nearest

PREFIX = "ORCHESTRATE_"
MODEL_VARIABLES: Mapping[str, tuple[str, ...]] = {
    "ORCHESTRATE_MODEL": ROLES,
    "ORCHESTRATE_PM_MODEL": ("planner",),
    "ORCHESTRATE_WORKER_MODEL": ("worker",),
    "ORCHESTRATE_QC_MODEL": ("verifier",),
}
NO_SETTINGS = frozenset({"ORCHESTRATE_HOME"})
"""Variables of that prefix which others read."""

_BOOLEANS = {"true": True, "yes": True, "on": True, "1": True, "false": False, "no": False, "off": False, "0": False}
_PATTERNS = {
    "base_url": "must be a URL that begins with http:// or https://",
    "api_key_env": "must be the name of an environment variable that holds the key, never the key itself",
}


@dataclass(frozen=True, slots=True)
class Setting:
    """One leaf of the settings: its keys, and the model's field."""

    keys: SettingKeys
    field: FieldInfo

    @property
    def name(self) -> str:
        """`guards.repetition_stop`."""
        return ".".join(self.keys)

    @property
    def variable(self) -> str:
        """`ORCHESTRATE_GUARDS_REPETITION_STOP`."""
        return _variable(self.name)


@dataclass(slots=True)
class _Layers:
    """The values so far, and where each comes from."""

    file: SettingsFile
    values: dict[str, Any]
    origins: dict[SettingKeys, str] = field(default_factory=dict)
    defects: list[str] = field(default_factory=list)

    def put(self, keys: SettingKeys, value: Any, origin: str) -> None:
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
        """The variable, flag or line that set this; for a section, the variables and flags that set parts of it."""
        around = (keys[:end] for end in range(len(keys), 0, -1))
        at = next((self.origins[some] for some in around if some in self.origins), None)
        below = dict.fromkeys(origin for some, origin in self.origins.items() if some[: len(keys)] == keys)
        return at or ", ".join(below) or self.file.where(keys)


def load_settings(top: Path, environ: Mapping[str, str], flags: Mapping[str, Any] | None = None) -> Settings:
    """The settings of the repository whose git top level is `top`. `flags` are settings by dotted name, None where not
    given. Raises UserError that names every wrong key, value and variable with its place."""
    file = read_settings_file(top)
    layers = _Layers(file, deepcopy(dict(file.values)))
    _refuse_secrets(layers)
    _read_environment(layers, environ)
    for name, value in (flags or {}).items():
        if value is not None:
            layers.put(tuple(name.split(".")), value, "on the command line")
    _switch_off(layers)
    return _validated(layers)


def settings_tree(model: type[BaseModel] = Settings, above: SettingKeys = ()) -> Iterator[Setting]:
    """Every setting, in the order of the models."""
    for name, info in model.model_fields.items():
        if isinstance(info.annotation, type) and issubclass(info.annotation, BaseModel):
            yield from settings_tree(info.annotation, (*above, name))
        else:
            yield Setting((*above, name), info)


def _variable(name: str) -> str:
    return PREFIX + name.replace(".", "_").upper()


def _switch_off(layers: _Layers) -> None:
    """TOML has no null: the text none is it, where a setting may be absent."""
    for setting in settings_tree():
        if layers.get(setting.keys) == "none" and type(None) in get_args(setting.field.annotation):
            layers.put(setting.keys, None, layers.where(setting.keys))


# --- environment --------------------------------------------------------------------------------------------------


def _read_environment(layers: _Layers, environ: Mapping[str, str]) -> None:
    given = {name: value for name, value in environ.items() if name.startswith(PREFIX) and value.strip()}
    for variable, names in MODEL_VARIABLES.items():
        for name in names if variable in given else ():
            layers.put(("models", name, "name"), given[variable], variable)
    settings = {setting.variable: setting for setting in settings_tree()}
    for variable in sorted(given.keys() & settings.keys()):
        setting = settings[variable]
        layers.put(setting.keys, _read(setting.field.annotation, given[variable]), variable)
    _default_base_url(layers, environ.get("OPENAI_BASE_URL", "").strip())
    told = {_variable(name): former(name) for name in (*RENAMED, *GONE)}
    known = {*settings, *MODEL_VARIABLES, *NO_SETTINGS}
    key_variables = {layers.get(("models", *role, "api_key_env")) for role in ((), *((role,) for role in ROLES))}
    for variable in sorted(given.keys() - known - key_variables):
        layers.defects.append(f"{variable}: {told.get(variable) or f'is no setting{nearest(variable, known)}'}")


def _default_base_url(layers: _Layers, url: str) -> None:
    for role in ROLES if layers.get(("models", "base_url")) is None else ():
        if url and layers.get(("models", role, "base_url")) is None:
            layers.put(("models", role, "base_url"), url, "OPENAI_BASE_URL")


def _read(annotation: Any, text: str) -> Any:
    """The text as a value of that type; what does not fit stays text, for the model to refuse."""
    if _takes_text(annotation):
        return text
    if annotation is bool:
        return _BOOLEANS.get(text.strip().lower(), text)
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return text


def _takes_text(annotation: Any) -> bool:
    if get_origin(annotation) in (Union, UnionType):
        return any(_takes_text(option) for option in get_args(annotation))
    return annotation is str or get_origin(annotation) is Literal


# --- defects ------------------------------------------------------------------------------------------------------


def _validated(layers: _Layers) -> Settings:
    settings = None
    try:
        # strict JSON: true is no number and "3" neither, while a list may become a tuple
        settings = Settings.model_validate_json(json.dumps(layers.values, default=str), strict=True)
    except ValidationError as error:
        found = [_defect(layers, details) for details in error.errors(include_url=False)]
        layers.defects.extend(dict.fromkeys(found))
    if settings is None or layers.defects:
        count = counted(len(layers.defects), "defect")
        lines = "\n".join(f"  {defect}" for defect in layers.defects)
        raise UserError(f"The settings have {count}:\n{lines}\norchestrate's docs/settings.md lists every setting.")
    return settings


def _defect(layers: _Layers, details: ErrorDetails) -> str:
    keys = tuple(str(part) for part in details["loc"])
    where, name = layers.where(keys), ".".join(keys)
    if details["type"] == "extra_forbidden":
        return f"{where}: {former(name) or f'{name} is no setting{nearest(keys[-1], _siblings(keys))}'}"
    if details["type"] == "missing":
        return f"{where}: {name} is required"
    if details["type"] == "string_pattern_mismatch":
        return f"{where}: {name} {_PATTERNS.get(keys[-1], details['msg'])}"
    message = details["msg"].removeprefix("Value error, ").replace("Input should be", "must be")
    return f"{where}: {name} {message}, is {_shown(keys[-1], details['input'])}"


def _siblings(keys: SettingKeys) -> list[str]:
    """The settings and sections that could have been meant in this place."""
    model: Any = Settings
    for key in keys[:-1]:
        info = model.model_fields.get(key) if isinstance(model, type) and issubclass(model, BaseModel) else None
        options = [info.annotation, *get_args(info.annotation)] if info is not None else []
        model = next((each for each in options if isinstance(each, type) and issubclass(each, BaseModel)), None)
    return list(model.model_fields) if model is not None else []


def _shown(key: str, value: Any) -> str:
    text = "***" if is_secret_name(key) else json.dumps(value, default=str, ensure_ascii=False)
    return text if len(text) <= 80 else f"{text[:77]}..."


def _refuse_secrets(layers: _Layers) -> None:
    """A file is committed and shared: no key of a model's endpoint, and no password in a URL, may stand in it."""
    for keys, value in list(_leaves(layers.values)):
        if keys[:1] != ("workspace",) and is_secret_name(keys[-1]):
            layers.defects.append(f"{layers.file.where(keys)}: {'.'.join(keys)} {_ADVICE}")
            _remove(layers.values, keys)
        elif keys[-1] == "base_url" and isinstance(value, str) and url_holds_password(value):
            layers.defects.append(f"{layers.file.where(keys)}: {'.'.join(keys)} holds a password: it {_ADVICE}")
            _remove(layers.values, keys)


_ADVICE = (
    "is a secret, and secrets come from the environment alone: put it into a variable such as OPENAI_API_KEY and name "
    "that with api_key_env"
)


def _leaves(table: Mapping[str, Any], above: SettingKeys = ()) -> Iterator[tuple[SettingKeys, Any]]:
    for key, value in table.items():
        if isinstance(value, dict):
            yield from _leaves(value, (*above, key))
        else:
            yield (*above, key), value


def _remove(table: dict[str, Any], keys: SettingKeys) -> None:
    for key in keys[:-1]:
        table = table[key]
    del table[keys[-1]]
