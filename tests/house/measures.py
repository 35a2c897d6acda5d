"""What can be counted of the code without running it: names, constructions, lengths.

The rules of this folder and `python -m benchmarks.walk` use the same arithmetic.
"""

from __future__ import annotations

import ast
import sys
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import quantiles

ROOT = Path(__file__).parents[2]
PACKAGES = ("orchestrator", "agents")
NOT_OURS = ROOT / "orchestrator" / "demo" / "sample"
MOST_POSITIONAL = 5
LONGEST_FUNCTION = 40
LONGEST_FILE = 300

Function = ast.FunctionDef | ast.AsyncFunctionDef


@dataclass(frozen=True)
class Module:
    """One Python file, parsed."""

    path: Path
    """Relative to the root of the repository."""
    text: str
    tree: ast.Module

    @property
    def line_count(self) -> int:
        """Lines, as `wc -l` counts them."""
        return self.text.count("\n")


def modules(root: Path = ROOT, packages: Sequence[str] = PACKAGES) -> list[Module]:
    """Every Python file of the packages, but for the demo's sample."""
    paths = [path for package in packages for path in sorted((root / package).rglob("*.py"))]
    ours = [path for path in paths if NOT_OURS not in path.parents]
    texts = {path: path.read_text(encoding="utf-8") for path in ours}
    return [Module(path.relative_to(root), text, ast.parse(text)) for path, text in texts.items()]


def shared_names(code: Iterable[Module]) -> dict[str, list[str]]:
    """Public classes, type aliases and functions of a module's top level that more than one file defines, with these
    files. What a module imports, and so may offer further, is defined elsewhere. An entry point is called by its file:
    `main`, and the function of a command."""
    homes: defaultdict[str, list[str]] = defaultdict(list)
    for module in code:
        for name in sorted(set(_public_names(module.tree))):
            homes[name].append(str(module.path))
    return {name: files for name, files in sorted(homes.items()) if len(files) > 1}


def _public_names(tree: ast.Module) -> Iterator[str]:
    for node in tree.body:
        name = _defined_name(node)
        if name and not name.startswith("_"):
            yield name


def _defined_name(node: ast.stmt) -> str:
    """The class, alias or function that a statement defines; empty for any other statement."""
    if isinstance(node, ast.ClassDef):
        return node.name
    if isinstance(node, Function):
        return "" if node.name == "main" or _is_command(node) else node.name
    return _alias_name(node)


def _is_command(function: Function) -> bool:
    calls = (each.func for each in function.decorator_list if isinstance(each, ast.Call))
    return any(isinstance(called, ast.Attribute) and called.attr in ("command", "group") for called in calls)


def _alias_name(node: ast.stmt) -> str:
    """The name of `Name = SomeType[...]`, `Name = One | Other`, `Name: TypeAlias = ...` and `type Name = ...`."""
    if sys.version_info >= (3, 12) and isinstance(node, ast.TypeAlias):
        return node.name.id
    if isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name):
        return node.target.id if ast.unparse(node.annotation).endswith("TypeAlias") else ""
    if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name):
        name = node.targets[0].id
        return name if _is_type_name(name) and isinstance(node.value, ast.Subscript | ast.BinOp) else ""
    return ""


def _is_type_name(name: str) -> bool:
    return name.lstrip("_")[:1].isupper() and not name.isupper()


def long_constructions(code: Sequence[Module], most: int = MOST_POSITIONAL) -> list[str]:
    """Where a class of ours is called with more positional arguments than a reader can tell apart."""
    classes = {node.name for module in code for node in ast.walk(module.tree) if isinstance(node, ast.ClassDef)}
    return [
        f"{module.path}:{node.lineno} {ast.unparse(node.func)}"
        for module in code
        for node in ast.walk(module.tree)
        if isinstance(node, ast.Call) and len(node.args) > most and _called(node) in classes
    ]


def _called(call: ast.Call) -> str:
    return ast.unparse(call.func).rpartition(".")[2]


def format_skips(code: Iterable[Module]) -> list[str]:
    """Where the formatter was told to look away."""
    return [
        f"{module.path}:{number}"
        for module in code
        for number, line in enumerate(module.text.splitlines(), start=1)
        if "# fmt: skip" in line or "# fmt: off" in line
    ]


def function_lengths(code: Iterable[Module]) -> dict[str, int]:
    """Lines of every function and method, decorators left out, by where it stands."""
    return {
        f"{module.path}:{node.lineno} {node.name}": (node.end_lineno or node.lineno) - node.lineno + 1
        for module in code
        for node in ast.walk(module.tree)
        if isinstance(node, Function)
    }


def spread(lengths: Mapping[str, int]) -> tuple[int, int, int]:
    """Median, 90th percentile and greatest of the lengths."""
    tenths = quantiles(lengths.values(), n=10, method="inclusive")
    return round(tenths[4]), round(tenths[8]), max(lengths.values())


def long_functions(code: Iterable[Module], most: int = LONGEST_FUNCTION) -> list[str]:
    """Functions of more lines than one sees at once."""
    return [f"{place}: {lines}" for place, lines in function_lengths(code).items() if lines > most]


def long_files(code: Iterable[Module], most: int = LONGEST_FILE) -> list[str]:
    """Files of more lines than one reads in one sitting."""
    return [f"{module.path}: {module.line_count}" for module in code if module.line_count > most]
