"""What a command leaves for us beside its output: files in a folder that is its own and goes with it.

Whoever wrote the code under test can write there what they like, of any kind and size. A report names failures and
decides nothing.
"""

from __future__ import annotations

import os
import re
import stat
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import replace
from itertools import islice
from pathlib import Path

from orchestrator.domain.errors import ToolError
from orchestrator.domain.workspace import CommandResult
from orchestrator.workspace.paths import ConfinedTree
from orchestrator.workspace.sandbox.spec import REPORTS

MOST_BYTES = 10_000_000
"""Of all reports of one command: what would be more is left out."""
MOST_REPORTS = 20
_MOST_ENTRIES = 1_000
_PYTEST_REPORT = "orchestrate-pytest.xml"
REPORT_OPTIONS = f"--junit-xml=${REPORTS}/{_PYTEST_REPORT} -o junit_family=xunit1"
"""Of the families the one that tells in which file a test is."""

_PYTEST = re.compile(r"(?<![\w.-])(?:pytest|py\.test)(?![\w.-])")
_SETTINGS = ("pytest.toml", ".pytest.toml", "pytest.ini", ".pytest.ini", "pyproject.toml", "tox.ini", "setup.cfg")


def asks_pytest(command: str, options: str, files: ConfinedTree) -> bool:
    """Whether the command runs pytest, with these options of the user's, and may be asked for a report. Who asks for
    one already, or has switched that off, is left alone: pytest writes one report, and an option that it does not know
    is an error."""
    if not _PYTEST.search(command) or "junit" in f"{command} {options}":
        return False
    return not any(b"junit" in _content(files, name) for name in _SETTINGS)


def unasked(result: CommandResult) -> CommandResult:
    """The result without the line in which pytest tells where its report is: nobody asked it for one."""
    at = result.output.rfind(f"/{_PYTEST_REPORT}")
    begin, end = result.output.rfind("\n", 0, max(at, 0)) + 1, result.output.find("\n", at) + 1
    line = result.output[begin:end]
    told = at >= 0 and "generated xml file:" in line and line.lstrip("\x1b[0123456789;m").startswith("-")
    return replace(result, output=result.output[:begin] + result.output[end:]) if told else result


def read_reports(folder: Path) -> Mapping[str, bytes]:
    """The regular files of the folder by their names, as far as their number and size are bounded; nothing is followed
    and nothing waited for."""
    found: dict[str, bytes] = {}
    left = MOST_BYTES
    with suppress(OSError):
        descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC)
        try:
            for name in sorted(_names(descriptor))[:MOST_REPORTS]:
                content = _report(descriptor, name, left)
                if content is not None:
                    found[name] = content
                    left -= len(content)
        finally:
            os.close(descriptor)
    return found


def _names(folder: int) -> Iterator[str]:
    with os.scandir(folder) as entries:
        yield from (entry.name for entry in islice(entries, _MOST_ENTRIES))


def _report(folder: int, name: str, most: int) -> bytes | None:
    with suppress(OSError):
        flags = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
        with os.fdopen(os.open(name, flags, dir_fd=folder), "rb") as file:
            what = os.fstat(file.fileno())
            if stat.S_ISREG(what.st_mode) and what.st_nlink == 1 and what.st_size <= most:
                return file.read(most)
    return None


def _content(files: ConfinedTree, name: str) -> bytes:
    with suppress(ToolError, OSError):
        return files.read((name,))
    return b""
