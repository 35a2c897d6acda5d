"""The sandbox without root's rights, when the tests themselves run as root."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

NOBODY = "65534"
ROOT = Path(__file__).parents[2]
CASES = (
    "attacks or writing_outside or git_works or background or read_only or network or memory_hog or environment "
    "or unreadable"
)


def command(*arguments: str) -> list[str]:
    """A command line under another user's id; `env` starts it, since setpriv itself still has root's rights then."""
    return ["setpriv", "--reuid", NOBODY, "--regid", NOBODY, "--clear-groups", "env", *arguments]


def environment(home: Path) -> dict[str, str]:
    """An environment in which that user finds our libraries."""
    libraries = os.pathsep.join(path for path in sys.path if path.endswith("site-packages"))
    return {
        "PATH": "/usr/local/bin:/usr/bin:/bin",
        "HOME": str(home),
        "PYTHONPATH": f"{ROOT}{os.pathsep}{libraries}",
        "PYTHONDONTWRITEBYTECODE": "1",
    }


def interpreter(home: Path) -> str | None:
    """A Python that the other user may start and that can load our libraries."""
    version = f"python{sys.version_info.major}.{sys.version_info.minor}"
    for candidate in (sys.executable, f"/usr/bin/{version}", f"/usr/local/bin/{version}"):
        trial = command(candidate, "-c", "import orchestrator.workspace.workspaces, pytest, hypothesis")
        if subprocess.run(trial, env=environment(home), cwd="/", capture_output=True, check=False).returncode == 0:
            return candidate
    return None


@pytest.fixture
def home() -> Iterator[Path]:
    """A folder that another user can reach and write."""
    folder = Path(tempfile.mkdtemp())
    os.chown(folder, int(NOBODY), int(NOBODY))
    yield folder
    shutil.rmtree(folder)


@pytest.mark.skipif(os.geteuid() != 0, reason="these tests run without root's rights already")
def test_sandbox_holds_for_a_user_without_rights(home: Path) -> None:
    """The hostile commands get no further under an ordinary user's sandbox than under root's."""
    python = interpreter(home) if shutil.which("setpriv") else None
    if python is None:
        pytest.skip("NOT TESTED HERE: no Python that another user may start")
    names = ("test_sandbox.py", "test_command_ends.py", "test_build_caches.py")
    files = [*(str(ROOT / "tests" / "workspace" / name) for name in names), str(ROOT / "tests" / "security")]
    suite = [*files, "-k", CASES, f"--basetemp={home}/base"]
    tests = command(python, "-m", "pytest", "-q", "-p", "no:cacheprovider", *suite)
    done = subprocess.run(tests, env=environment(home), cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
