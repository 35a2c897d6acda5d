"""Shadowing modules: a new `unittest.py` is imported in place of Python's own, and the tests it runs always pass."""

from __future__ import annotations

import posixpath
import re
import sys
from collections.abc import Collection, Iterable, Iterator, Mapping

from orchestrator.domain.finding import Finding
from orchestrator.domain.workspace import FileChange
from orchestrator.gates.finding import make_finding
from orchestrator.gates.protected import ProtectionRules, is_test

_TOOLS = frozenset(
    ("pytest", "_pytest", "pluggy", "iniconfig", "packaging", "py", "attr", "coverage", "hypothesis", "mock")
)
"""What test tools load before any test is looked at."""
_ROOTS = ("", "src", "lib")
_MODULE = re.compile(r"([A-Za-z_]\w*)(?:\.py|\.pyc|\.pyd|(?:\.[\w-]+)?\.so)$")
_INIT = re.compile(r"__init__\.(?:pyc?|pyd|(?:[\w-]+\.)?so)$")
_RUN = re.compile(r"\s-m[\s=]*([A-Za-z_]\w*)")


def new_modules(
    changes: Iterable[FileChange], files: Collection[str], rules: ProtectionRules
) -> Mapping[str, FileChange]:
    """The modules that can be imported by their bare name since these changes, with what made each; `files` are those
    of the start. Left out are those that the task names, and names that a module of the repository had before."""
    roots = {*_ROOTS, *(posixpath.dirname(path) for path in files if is_test(path))}
    known = {name for path in files if (name := _module(path, roots))}
    added = (change for change in changes if change.status == "added" and change.path not in rules.named)
    found = ((_module(change.path, roots, link=change.kind == "symlink"), change) for change in added)
    return {name: change for name, change in found if name and name not in known}


def built_in(names: Iterable[str], commands: Iterable[str]) -> frozenset[str]:
    """Which of the names Python itself or its test tools have, or a command runs with `-m`."""
    run = {name for command in commands for name in _RUN.findall(command)}
    return frozenset(names) & (sys.stdlib_module_names | _TOOLS | run)


def judge_shadowing(made: Mapping[str, FileChange], needed: Collection[str]) -> Iterator[Finding]:
    """One finding for each new module that is imported in place of one that was `needed` from elsewhere."""
    for name, change in made.items():
        if name in needed:
            yield make_finding(
                "protected",
                "shadowing_module",
                change.path,
                f"{change.path} is imported in place of the module {name} that the checks need: they ran without it.",
                f"Give {change.path} another name.",
                severity="critical",
            )


def _module(path: str, roots: Collection[str], *, link: bool = False) -> str:
    """The bare name by which a file is imported, where its folder, or the one above its package, is an import root."""
    folder, name = posixpath.split(path)
    if _INIT.match(name):
        above, package = posixpath.split(folder)
        return package if package and above in roots else ""
    if folder not in roots:
        return ""
    module = _MODULE.match(name)
    return module[1] if module else name if link else ""
