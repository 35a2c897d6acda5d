"""Which part of a project's manifest decides how its checks run: tools' sections and scripts, not what is packaged."""

from __future__ import annotations

import configparser
import json
import tomllib
from collections.abc import Callable, Mapping
from typing import Any

_BUILD_TOOLS = """
poetry setuptools setuptools_scm setuptools-scm flit maturin scikit-build cibuildwheel commitizen bumpversion bumpver
semantic_release towncrier versioneer
"""
_PACKAGING = frozenset(_BUILD_TOOLS.split())
"""Tools of pyproject.toml that only build or release."""
_WITH_TASKS = {"hatch": "envs", "pdm": "scripts", "rye": "scripts", "uv": "tasks"}
"""And those of which one table runs commands."""
_CFG_SECTIONS = """
metadata options bdist sdist build egg_info wheel install upload files entry_points develop devpi versioneer bumpversion
extract_messages easy_install
"""
_CFG_PACKAGING = tuple(_CFG_SECTIONS.split())
_NPM_FIELDS = """
name version description keywords homepage bugs license author contributors funding files main module type types typings
browser bin man directories repository dependencies devDependencies peerDependencies peerDependenciesMeta private
bundleDependencies bundledDependencies optionalDependencies overrides resolutions engines os cpu publishConfig exports
imports packageManager workspaces sideEffects unpkg jsdelivr volta browserslist pnpm
"""
_NPM_PACKAGING = frozenset(_NPM_FIELDS.split())
_CARGO_DECIDING = ("lib", "test", "profile", "lints", "patch", "replace")


def deciding_part(name: str, content: bytes) -> Mapping[str, Any] | None:
    """The part that decides, of a file with one of the names PARTLY_DECIDING; None for one that cannot be read."""
    try:
        return PARTLY_DECIDING[name](content.decode("utf-8"))
    except (ValueError, configparser.Error, RecursionError, AttributeError, TypeError):
        return None


def _pyproject(text: str) -> Mapping[str, Any]:
    tools = tomllib.loads(text).get("tool", {})
    whole = {name: part for name, part in tools.items() if name not in _PACKAGING and name not in _WITH_TASKS}
    tasks = {name: tools[name][table] for name, table in _WITH_TASKS.items() if table in tools.get(name, {})}
    return {**whole, **tasks}


def _setup_cfg(text: str) -> Mapping[str, Any]:
    parser = configparser.RawConfigParser()
    parser.read_string(text)
    return {name: dict(parser[name]) for name in parser.sections() if not name.startswith(_CFG_PACKAGING)}


def _package_json(text: str) -> Mapping[str, Any]:
    return {name: part for name, part in json.loads(text).items() if name not in _NPM_PACKAGING}


def _cargo(text: str) -> Mapping[str, Any]:
    manifest = tomllib.loads(text)
    found = {name: manifest.get(name) for name in _CARGO_DECIDING}
    found["autotests"] = manifest.get("package", {}).get("autotests")
    found["workspace"] = manifest.get("workspace", {}).get("lints")
    return {name: part for name, part in found.items() if part is not None}


PARTLY_DECIDING: Mapping[str, Callable[[str], Mapping[str, Any]]] = {
    "pyproject.toml": _pyproject,
    "setup.cfg": _setup_cfg,
    "package.json": _package_json,
    "Cargo.toml": _cargo,
}
"""The manifests of which a part decides, and how that is read."""
