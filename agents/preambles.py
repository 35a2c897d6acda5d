"""The texts that roles are told, from the folder preambles/: Markdown with {{variables}}, nothing else."""

from __future__ import annotations

import hashlib
import re
from functools import cache
from importlib import resources

from orchestrator.domain.errors import OrchestrateError

_VARIABLE = re.compile(r"\{\{\s*(\w+)\s*\}\}")


class PreambleError(OrchestrateError):
    """A template that is missing, or whose variables are not those it was given. A defect of ours."""


def render_preamble(name: str, /, **variables: object) -> str:
    """The template preambles/<name>.md with its variables filled in; values are not looked into for variables.

    Raises PreambleError for a missing template, a variable without a value, and a value without its variable."""
    template = _template(name)
    wanted = set(_VARIABLE.findall(template))
    if wanted != set(variables):
        missing, unknown = sorted(wanted - set(variables)), sorted(set(variables) - wanted)
        raise PreambleError(f"Preamble {name}: missing variables {missing}, unknown variables {unknown}.")
    return _VARIABLE.sub(lambda match: str(variables[match.group(1)]), template).strip()


@cache
def preamble_hash(*names: str) -> str:
    """One hash over these templates as they stand. Raises PreambleError for a missing one."""
    return hashlib.sha256("\0".join(map(_template, names)).encode()).hexdigest()[:16]


def known_preambles(folder: str) -> frozenset[str]:
    """The names of the templates in a folder of preambles/, such as `overlays/fix`."""
    files = resources.files("preambles").joinpath(folder).iterdir()
    return frozenset(file.name.removesuffix(".md") for file in files if file.name.endswith(".md"))


@cache
def _template(name: str) -> str:
    file = resources.files("preambles").joinpath(f"{name}.md")
    try:
        return file.read_text(encoding="utf-8")
    except (FileNotFoundError, NotADirectoryError):
        raise PreambleError(f"There is no preamble {name}.md.") from None
