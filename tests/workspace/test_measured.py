"""What commands showed over trees, as it is kept under ORCHESTRATE_HOME."""

from __future__ import annotations

import threading
from dataclasses import replace
from pathlib import Path

import pytest

from orchestrator.domain.attempt import Check
from orchestrator.domain.failure import Failure, ShownFailure, TestsSeen
from orchestrator.workspace import measured
from orchestrator.workspace.measured import MeasuredChecks, shared_state
from tests.support.samples import T0

CHECK = Check(
    id="c",
    command="pytest",
    exit_code=1,
    outcome="failed",
    duration_ms=1.5,
    output="x" * 5_000,
    started_at=T0,
    phase="verification",
    pass_id="p",
    tree="a" * 40,
    failures=(ShownFailure(Failure.of("pytest", test_name="t"), 2),),
    tests=TestsSeen(ran=("t", "u"), skipped=("v",)),
)


def test_an_answer_is_known_again_by_tree_command_and_environment(tmp_path: Path) -> None:
    """As it was, but for the beginning of its output; nothing else is taken for it, and no answer is not kept."""
    kept = MeasuredChecks(tmp_path / "measured", {"sandbox": "none"})
    kept.keep(CHECK)
    assert kept.of(CHECK.tree or "", "pytest") == replace(CHECK, output="x" * 4_000)
    assert kept.of(CHECK.tree or "", "pytest -q") is None
    assert kept.of("b" * 40, "pytest") is None
    assert MeasuredChecks(kept.folder, {"sandbox": "bubblewrap"}).of(CHECK.tree or "", "pytest") is None
    kept.keep(replace(CHECK, outcome="infrastructure", command="other"))
    assert kept.of(CHECK.tree or "", "other") is None


def test_a_damaged_file_is_measured_again(tmp_path: Path) -> None:
    """Half a file, none at all, or one that is none of ours is no answer."""
    kept = MeasuredChecks(tmp_path, {})
    kept.keep(CHECK)
    [path] = tmp_path.glob("*.json")
    for damage in (b"", b"{", b"[]", b'{"id": 1}', b"\xff\xfe"):
        path.write_bytes(damage)
        assert kept.of(CHECK.tree or "", "pytest") is None


def test_only_the_newest_are_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A run of many tasks leaves no folder without end."""
    monkeypatch.setattr(measured, "MOST_KEPT", 3)
    kept = MeasuredChecks(tmp_path, {})
    for number in range(6):
        kept.keep(replace(CHECK, command=f"pytest {number}"))
    assert len(list(tmp_path.glob("*.json"))) == 3


def test_one_measures_a_tree_at_a_time(tmp_path: Path) -> None:
    """Whoever comes second finds what the first has measured."""
    kept, found = MeasuredChecks(tmp_path, {}), []

    def measure() -> None:
        with kept.alone(CHECK.tree or ""):
            found.append(kept.of(CHECK.tree or "", "pytest") is not None)
            kept.keep(CHECK)

    threads = [threading.Thread(target=measure) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found == [False, True, True, True]


def test_an_installation_into_a_shared_folder_is_seen(tmp_path: Path) -> None:
    """A new package in the virtual environment is another environment; no folder is one too."""
    assert shared_state(tmp_path / "none") == ()
    packages = tmp_path / "lib" / "python3.11" / "site-packages"
    packages.mkdir(parents=True)
    before = shared_state(tmp_path)
    (packages / "new").mkdir()
    assert shared_state(tmp_path) != before
