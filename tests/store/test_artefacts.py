"""The files about a task."""

from __future__ import annotations

import json
import logging
from pathlib import Path

import pytest

from orchestrator.store.artefacts import Artefacts
from orchestrator.store.records import Redaction


def test_documents_are_whole_files_without_secrets(tmp_path: Path) -> None:
    """One folder for each task, each document replaced as a whole, nothing half written left over."""
    files = Artefacts(tmp_path / "tasks", Redaction(tmp_path, lambda text: text.replace("hunter2", "***")))
    assert files.artefact_folder("p1:..") == ""
    files.write_artefacts("p1:..", {"a.json": {"said": ["hunter2", "\ud800"]}, "b.json": {}})
    files.write_artefacts("p1:..", {"a.json": {"said": "hunter2 again"}})
    folder = Path(files.artefact_folder("p1:.."))
    assert folder.parent == tmp_path / "tasks", "whatever the task is called"
    assert {path.name: json.loads(path.read_text("utf-8")) for path in folder.iterdir()} == {
        "a.json": {"said": "*** again"},
        "b.json": {},
    }


def test_what_cannot_be_written_is_logged(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    """The graph has all of it, so a full disk ends nothing here."""
    tmp_path.joinpath("tasks").write_text("in the way")
    files = Artefacts(tmp_path / "tasks", Redaction(tmp_path, str))
    with caplog.at_level(logging.WARNING):
        files.write_artefacts("p1:t", {"a.json": {}})
    assert "The artefacts of p1:t cannot be written" in caplog.text
