"""Settings from the user's file, the repository's, the environment and the command line, in that order of growing rank.

Every setting has one environment variable, `ORCHESTRATE_` and its name: `guards.repetition_stop` is
`ORCHESTRATE_GUARDS_REPETITION_STOP`. Lists, tables and null are JSON there. An empty variable counts as unset. All
defects are reported at once, each with where it comes from.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from types import UnionType
from typing import Any, Literal, Union, get_args, get_origin

from pydantic import BaseModel, ValidationError
from pydantic.fields import FieldInfo
from pydantic_core import ErrorDetails

from orchestrator.config.file import SettingKeys, SettingsFile, read_settings_file, read_user_file
from orchestrator.config.former import GONE, RENAMED, ROLES, former
from orchestrator.config.keys import KeyPairs, key_pairs
from orchestrator.config.layers import DEFAULT, Layers, Origin
from orchestrator.config.secrets import is_secret_name
from orchestrator.config.settings import ModelsSettings, Settings
from orchestrator.config.trust import TrustStore, Untrusted
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
    "api_version": "must be a version such as 2024-10-21",
}
_HEADER = "must be a header's name, and the name of the environment variable that holds its value, never the value"


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


@dataclass(frozen=True, slots=True, kw_only=True)
class Configuration:
    """The settings of one invocation; `origins` has those that are not defaults, by their keys. `keys` says which key
    may go to which host, and `untrusted` is the repository's file where it asks for what does not count yet."""

    settings: Settings
    origins: Mapping[SettingKeys, Origin]
    keys: KeyPairs
    untrusted: Untrusted | None

    def required(self) -> Settings:
        """The settings to work by. Raises UntrustedSettingsError where some of them do not count yet."""
        if self.untrusted is not None:
            raise self.untrusted.error
        return self.settings


def load_settings(top: Path, environ: Mapping[str, str], flags: Mapping[str, Any] | None = None) -> Settings:
    """The settings of the repository whose git top level is `top`. `flags` are settings by dotted name, None where not
    given. Raises UserError that names every wrong key, value and variable with its place, and UntrustedSettingsError
    for a repository's file that asks for what was not trusted."""
    return load_configuration(top, environ, flags).required()


def load_configuration(top: Path, environ: Mapping[str, str], flags: Mapping[str, Any] | None = None) -> Configuration:
    """The settings with where they come from, of an untrusted file only the harmless ones. Raises UserError as
    `load_settings` does, also for what does not count yet, and UntrustedSettingsError where the rest cannot stand
    alone."""
    file = read_settings_file(top)
    loaded = _loaded(file, environ, flags or {})
    untrusted = Untrusted.of(file, read_user_file(environ))
    if not untrusted.demands or TrustStore.of(environ).holds(file):
        return loaded
    try:
        return replace(_loaded(untrusted.harmless_part, environ, flags or {}), untrusted=untrusted)
    except UserError:
        raise untrusted.error from None


def _loaded(file: SettingsFile, environ: Mapping[str, str], flags: Mapping[str, Any]) -> Configuration:
    """As if the repository's file were trusted."""
    users = read_user_file(environ)
    layers, persons = _layered(users, file, environ, flags), _layered(users, SettingsFile(), environ, flags)
    settings = _validated(layers)
    keys = key_pairs(_models_of(persons), file.values, environ)
    return Configuration(settings=settings, origins=layers.origins, keys=keys, untrusted=None)


def _layered(
    users: SettingsFile, repositorys: SettingsFile, environ: Mapping[str, str], flags: Mapping[str, Any]
) -> Layers:
    layers = Layers()
    layers.add(users, "user file")
    layers.add(repositorys, "repository file")
    if _level(repositorys) == "none":
        layers.defects.append(f"{repositorys.where(('sandbox', 'level'))}: sandbox.level {_NO_SANDBOX}")
    _read_environment(layers, environ)
    for name, value in flags.items():
        if value is not None:
            layers.put(tuple(name.split(".")), value, Origin("flag", "on the command line"))
    _switch_off(layers)
    return layers


def _level(file: SettingsFile) -> Any:
    sandbox = file.values.get("sandbox")
    return sandbox.get("level") if isinstance(sandbox, Mapping) else None


_NO_SANDBOX = (
    "cannot be none in a file of a repository, trusted or not: pass --sandbox none, or set it in your own settings"
)


def _models_of(layers: Layers) -> ModelsSettings:
    """The models of layers that nobody has to be told the defects of: the defaults where there are any."""
    try:
        return ModelsSettings.model_validate_json(json.dumps(layers.get(("models",)) or {}, default=str), strict=True)
    except ValidationError:
        return ModelsSettings()


def settings_tree(model: type[BaseModel] = Settings, above: SettingKeys = ()) -> Iterator[Setting]:
    """Every setting, in the order of the models."""
    for name, info in model.model_fields.items():
        if isinstance(info.annotation, type) and issubclass(info.annotation, BaseModel):
            yield from settings_tree(info.annotation, (*above, name))
        else:
            yield Setting((*above, name), info)


def _variable(name: str) -> str:
    return PREFIX + name.replace(".", "_").upper()


def _switch_off(layers: Layers) -> None:
    """TOML has no null: the text none is it, where a setting may be absent."""
    for setting in settings_tree():
        if layers.get(setting.keys) == "none" and type(None) in get_args(setting.field.annotation):
            layers.put(setting.keys, None, layers.origins.get(setting.keys, DEFAULT))


# --- environment --------------------------------------------------------------------------------------------------


def _read_environment(layers: Layers, environ: Mapping[str, str]) -> None:
    given = {name: value for name, value in environ.items() if name.startswith(PREFIX) and value.strip()}
    for variable, names in MODEL_VARIABLES.items():
        for name in names if variable in given else ():
            layers.put(("models", name, "name"), given[variable], Origin("environment", variable))
    settings = {setting.variable: setting for setting in settings_tree()}
    for variable in sorted(given.keys() & settings.keys()):
        setting = settings[variable]
        value = _read(setting.field.annotation, given[variable])
        layers.put(setting.keys, value, Origin("environment", variable))
    _default_base_url(layers, environ.get("OPENAI_BASE_URL", "").strip())
    told = {_variable(name): former(name) for name in (*RENAMED, *GONE)}
    known = {*settings, *MODEL_VARIABLES, *NO_SETTINGS}
    for variable in sorted(given.keys() - known - set(_named_variables(layers))):
        layers.defects.append(f"{variable}: {told.get(variable) or f'is no setting{nearest(variable, known)}'}")


def _named_variables(layers: Layers) -> Iterator[str]:
    """The variables that the settings name for keys and headers, as text: a file may hold anything there."""
    for role in ((), *((role,) for role in ROLES)):
        yield str(layers.get(("models", *role, "api_key_env")))
        headers = layers.get(("models", *role, "headers"))
        yield from map(str, headers.values() if isinstance(headers, dict) else ())


def _default_base_url(layers: Layers, url: str) -> None:
    for role in ROLES if layers.get(("models", "base_url")) is None else ():
        if url and layers.get(("models", role, "base_url")) is None:
            layers.put(("models", role, "base_url"), url, Origin("environment", "OPENAI_BASE_URL"))


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


def _validated(layers: Layers) -> Settings:
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


def _defect(layers: Layers, details: ErrorDetails) -> str:
    keys = tuple(str(part) for part in details["loc"])
    where, name = layers.where(keys), ".".join(keys)
    if details["type"] == "extra_forbidden":
        return f"{where}: {former(name) or f'{name} is no setting{nearest(keys[-1], _siblings(keys))}'}"
    if details["type"] == "missing":
        return f"{where}: {name} is required"
    if details["type"] == "string_pattern_mismatch" and "headers" in keys:
        return f"{where}: {name.removesuffix('.[key]')} {_HEADER}"
    if details["type"] == "string_pattern_mismatch":
        return f"{where}: {name} {_PATTERNS.get(keys[-1], details['msg'])}"
    message = details["msg"].removeprefix("Value error, ").replace("Input should be", "must be")
    return f"{where}: {name} {message}, is {_shown(keys[-1], details['input'])}"


def _siblings(keys: SettingKeys) -> list[str]:
    """The settings and sections that could have been meant in this place."""
    model: Any = Settings
    for key in (key for key in keys[:-1] if not key.isdigit()):  # the place in a list of tables
        info = model.model_fields.get(key) if isinstance(model, type) and issubclass(model, BaseModel) else None
        options = [info.annotation, *get_args(info.annotation)] if info is not None else []
        model = next((each for each in options if isinstance(each, type) and issubclass(each, BaseModel)), None)
    return list(model.model_fields) if model is not None else []


def _shown(key: str, value: Any) -> str:
    text = "***" if is_secret_name(key) else json.dumps(value, default=str, ensure_ascii=False)
    return text if len(text) <= 80 else f"{text[:77]}..."
