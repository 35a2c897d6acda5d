"""The documents about a task in files beside the graph: derived from it, so that one that is lost can be drawn anew."""

from __future__ import annotations

import json
import logging
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from orchestrator.store.records import Redaction

_log = logging.getLogger(__name__)


class Artefacts:
    """Files by task below `folder`, without the secrets that `redaction` knows. Safe to share between threads and
    processes: the last writer wins, and every file is whole."""

    def __init__(self, folder: Path, redaction: Redaction) -> None:
        self._folder = folder
        self._redaction = redaction

    def write_artefacts(self, task_id: str, documents: Mapping[str, Mapping[str, Any]]) -> None:
        """Replace the task's documents, each file whole or not at all. What cannot be written is logged: the graph has
        all of it."""
        folder = self._of(task_id)
        try:
            folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            for name, document in documents.items():
                text = json.dumps(self._redaction.clean(document), indent=2, ensure_ascii=False) + "\n"
                fresh = folder / f".{name}.{os.getpid()}.{os.urandom(4).hex()}"
                fresh.write_text(text, "utf-8")
                fresh.replace(folder / name)
        except OSError as error:
            _log.warning("The artefacts of %s cannot be written: %s", task_id, error.strerror)

    def artefact_folder(self, task_id: str) -> str:
        """Where they are; empty where there are none."""
        folder = self._of(task_id)
        return str(folder) if folder.is_dir() else ""

    def _of(self, task_id: str) -> Path:
        return self._folder / task_id.replace(":", "_")
