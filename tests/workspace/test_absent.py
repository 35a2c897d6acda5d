"""Which ignored files are known to be needed, and what is said to make them."""

from __future__ import annotations

from pathlib import Path

import pytest

from orchestrator.config.settings import Settings
from orchestrator.domain.workspace import AbsentFile
from orchestrator.workspace.absent import absent_files
from tests.support.repositories import commit, discovered, write

USER = "user.py"


def found(repository: Path, tracked: dict[str, str], ignored: str, **workspace: object) -> tuple[AbsentFile, ...]:
    """What is absent where one ignored file lies in the checkout."""
    commit(repository, tracked | {".gitignore": f"{ignored}\n"})
    write(repository, {ignored: "made = 1\n"})
    return absent_files(discovered(repository), Settings.model_validate({"workspace": workspace}))


@pytest.mark.parametrize(
    ("tracked", "ignored", "command"),
    [
        (
            {USER: "from ._version import v\n", "pyproject.toml": "[tool.setuptools_scm]\nwrite_to = '_version.py'\n"},
            "_version.py",
            "python -m setuptools_scm --force-write-version-files",
        ),
        (
            {USER: "import _v\n", "pyproject.toml": "[tool.hatch.build.hooks.vcs]\nversion-file = '_v.py'\n"},
            "_v.py",
            "hatch build --hooks-only",
        ),
        (
            {USER: "from api import call_pb2\n", "api/call.proto": ""},
            "api/call_pb2.py",
            "python -m grpc_tools.protoc -I. --python_out=. api/call.proto",
        ),
        ({USER: "import fast\n", "setup.py": "..."}, "fast.cpython-311.so", "python setup.py build_ext --inplace"),
        (
            {USER: "from made import names\n", "made/__init__.py": ""},
            "made/names.py",
            "the command that makes made/names.py",
        ),
        ({"a.js": "const g = require('./g')\n"}, "g.js", "the command that makes g.js"),
        ({"main.c": '#include "config.h"\n'}, "config.h", "the command that makes config.h"),
        ({"p/a.go": "package p\n"}, "p/zz_made.go", "the command that makes p/zz_made.go"),
    ],
)
def test_a_needed_file_is_named_with_what_makes_it(
    repository: Path, tracked: dict[str, str], ignored: str, command: str
) -> None:
    """An ignored file that a tracked one imports, or that belongs to a tracked Go package, is absent."""
    [absent] = found(repository, tracked, ignored)
    assert (absent.path, absent.needed_by) == (ignored, next(iter(tracked)))
    assert f'prepare = ["{command}"]' in absent.way_out


def test_a_whole_package_is_named_once(repository: Path) -> None:
    """A generated package is one absent folder, not one line for each of its files."""
    [absent] = found(repository, {USER: "from made import names\n"}, "made/names.py")
    assert absent.path == "made"


@pytest.mark.parametrize(
    ("tracked", "ignored"),
    [
        ({USER: "import json\n"}, "scratch.py"),
        ({USER: "from . import settings_of\n"}, "settings.py"),
        ({USER: "import log\n"}, "log.txt"),
        ({"a.ts": "import { b } from './b'\n", "b.ts": ""}, "b.js"),
        ({"p/a.go": "package p\n"}, "p/mine_test.go"),
    ],
)
def test_what_nobody_needs_is_not_named(repository: Path, tracked: dict[str, str], ignored: str) -> None:
    """A scratch file, a like name, a log, compiled output beside its source and a private test are no news."""
    assert found(repository, tracked, ignored) == ()


@pytest.mark.parametrize("workspace", [{"share": ("_version.py",)}, {"prepare": ("make version",)}])
def test_what_workspaces_get_is_not_absent(repository: Path, workspace: dict[str, object]) -> None:
    """A file that is shared, or where something is prepared, is taken care of."""
    assert found(repository, {USER: "import _version\n"}, "_version.py", **workspace) == ()
