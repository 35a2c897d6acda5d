"""docs/settings.md, drawn from the settings' docstrings: `python -m orchestrator.config.docs > docs/settings.md`."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from types import UnionType
from typing import Annotated, Any, Literal, Union, get_args, get_origin

from pydantic import BaseModel
from pydantic.fields import FieldInfo

from orchestrator.config.load import Setting, settings_tree
from orchestrator.config.settings import Settings

_HEAD = """# Settings

<!-- Drawn from orchestrator/config/settings.py by `python -m orchestrator.config.docs`; a test keeps it current. -->

Settings stand in a file of yours, `~/.config/orchestrate/config.toml` (below `XDG_CONFIG_HOME` where that is set), and
in the repository's: `orchestrate.toml` at its top level, or `[tool.orchestrate]` of its `pyproject.toml`, not both. The
repository's rules over yours, setting by setting, the environment over both, flags of the command line over the
environment; `orchestrate settings` shows each value with its origin. An unknown key, or an unknown variable that begins
with `ORCHESTRATE_`, is an error that names its nearest neighbour.

Of the repository's file, what sends something elsewhere, runs something, opens the sandbox or loosens a bound counts
only after `orchestrate trust`, and asks again when the file changes. That is everything but the names, timeouts and
sizes of models, `budgets`, `run.parallel` and the like, and numbers of `complexity`, `convergence`, `guards` and `run`
that are not above those of your own file or the defaults.
`sandbox.level = "none"` is refused in it. A key, or a header's value, goes only to a host that it was paired with: the
vendor's own, what environment, flags and your file name together, or what a trusted file names as `base_url` and
`api_key_env` or `headers` of one table.
[models.md](models.md) has the settings of common endpoints.

In the environment lists and tables are JSON: `ORCHESTRATE_WORKSPACE_PREPARE='["npm ci"]'`; an empty variable counts as
unset. A number is in the unit that its name or meaning says: what ends in `_s` is in seconds, `_mb` in megabytes,
`_usd` in US dollars. `"none"` switches off a limit that has a default, such as `guards.deadline_s`.

Secrets come from the environment alone. A settings file names the variable that holds a key (`api_key_env`) or a
header's value (`headers`), and one that holds a key itself is refused.

## Environment

| variable | meaning |
| --- | --- |
| `OPENAI_API_KEY` | the key of the model endpoint, unless `api_key_env` names another variable |
| `ANTHROPIC_API_KEY` | the same for api.anthropic.com |
| `OPENAI_BASE_URL` | the endpoint of every role whose `base_url` is not set |
| `ORCHESTRATE_MODEL` | the name of the model of all roles |
| `ORCHESTRATE_PM_MODEL`, `ORCHESTRATE_WORKER_MODEL`, `ORCHESTRATE_QC_MODEL` | the same by role |
| `NEO4J_URI`, `NEO4J_USERNAME`, `NEO4J_PASSWORD`, `NEO4J_DATABASE` | the graph; without `NEO4J_URI` the embedded one |
| `ORCHESTRATE_HOME` | where graph, worktrees, logs and artefacts live (`orchestrate/` in the git common directory) |
"""
_ROW = "| setting | type | default | environment | meaning |\n| --- | --- | --- | --- | --- |"


def settings_reference() -> str:
    """The whole document."""
    return "\n".join([_HEAD, *_sections()]).rstrip() + "\n"


def _sections() -> Iterator[str]:
    for name, info in Settings.model_fields.items():
        section = info.annotation
        if name == "models":
            yield from _models()
        elif isinstance(section, type) and issubclass(section, BaseModel):
            yield _section(name, section, (name,))
        else:
            yield _tables(Setting((name,), info))


def _tables(setting: Setting) -> str:
    """A list of tables, with the fields of each."""
    model = get_args(setting.field.annotation)[0]
    inner = [_row(field, variable=f"in `{setting.variable}`") for field in settings_tree(model, setting.keys)]
    return "\n".join([f"## `[[{setting.name}]]`", "", _sentence(model), "", _ROW, _row(setting), *inner, ""])


def _section(title: str, model: type[BaseModel], above: tuple[str, ...]) -> str:
    rows = [_row(setting) for setting in settings_tree(model, above)]
    return "\n".join([f"## `[{title}]`", "", _sentence(model), "", _ROW, *rows, ""])


def _models() -> Iterator[str]:
    """The roles' tables are alike, so one stands for all three."""
    roles = list(settings_tree())
    shown = [setting for setting in roles if setting.keys[:2] == ("models", "worker")]
    intro = (
        "The models by role: `[models.planner]`, `[models.worker]` and `[models.verifier]` take the same settings, and "
        "so does `[models]`, whose values are the defaults of every role; "
    )
    rows = [_row(setting) for setting in shown]
    yield "\n".join(
        ["## `[models.worker]`", "", f"{intro}the variables likewise.", "", _ROW, *rows, *_parts(shown), ""]
    )


def _parts(settings: list[Setting]) -> Iterator[str]:
    """The fields of tables that may be absent, such as `price`."""
    for setting in settings:
        for option in get_args(setting.field.annotation):
            if isinstance(option, type) and issubclass(option, BaseModel):
                for inner in settings_tree(option, setting.keys):
                    yield _row(inner, variable=f"in `{setting.variable}`")


def _row(setting: Setting, variable: str = "") -> str:
    cells = [
        f"`{setting.name}`",
        _type(setting.field.annotation),
        _default(setting.field),
        variable or f"`{setting.variable}`",
        " ".join((setting.field.description or "").split()),
    ]
    return f"| {' | '.join(cell.replace('|', chr(92) + '|') for cell in cells)} |"


def _sentence(model: type[BaseModel]) -> str:
    return " ".join((model.__doc__ or "").split())


def _default(info: FieldInfo) -> str:
    if info.is_required():
        return "required"
    value = info.get_default(call_default_factory=True, validated_data={})
    return "none" if value is None else f"`{json.dumps(value)}`"


def _type(annotation: Any) -> str:
    options = get_args(annotation)
    if get_origin(annotation) is Annotated:
        return _type(options[0])
    if get_origin(annotation) is Literal:
        return " or ".join(f"`{option}`" for option in options)
    if get_origin(annotation) in (Union, UnionType):
        return " or ".join(_type(option) for option in options if option is not type(None))
    if get_origin(annotation) is tuple:
        return f"list of {_type(options[0])}s"
    names = {str: "text", int: "whole number", float: "number", bool: "true or false"}
    return names.get(annotation, "table")


if __name__ == "__main__":
    sys.stdout.write(settings_reference())
