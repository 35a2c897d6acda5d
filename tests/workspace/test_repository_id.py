"""The id by which the graph knows a repository."""

from __future__ import annotations

import hashlib
import os
import re
import shutil
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from orchestrator.workspace.repository_id import ID_FILE, repository_id
from tests.support.repositories import discovered, git, make_repository


def derived(root: Path) -> str:
    """What release 0.1 made of a path."""
    return f"r{hashlib.sha256(os.fsencode(root)).hexdigest()[:12]}"


def test_an_id_is_made_once_and_moves_with_the_repository(tmp_path: Path) -> None:
    """The same after a move and in a linked worktree; a clone at the very same path has another one."""
    here = make_repository(tmp_path / "here")
    made = discovered(here).record
    assert re.fullmatch("r[0-9a-f]{12}", made.id)
    git(here, "worktree", "add", "-q", "-b", "side", str(tmp_path / "side"))
    assert discovered(tmp_path / "side").record.id == made.id
    git(here, "worktree", "remove", "--force", str(tmp_path / "side"))

    shutil.move(here, tmp_path / "there")
    git(tmp_path, "clone", "-q", "there", "here")

    moved, clone = discovered(tmp_path / "there").record, discovered(here).record
    assert (moved.id, moved.path) == (made.id, str(tmp_path / "there"))
    assert (clone.id != made.id, clone.path) == (True, made.path)


def test_what_an_older_release_recorded_is_found(tmp_path: Path) -> None:
    """Where a home stands already the id is the one that its path gave, and is kept from then on."""
    root = make_repository(tmp_path / "old")
    (root / ".git" / "orchestrate" / "logs").mkdir(parents=True)
    assert discovered(root).record.id == derived(root)
    shutil.move(root, tmp_path / "moved")
    assert discovered(tmp_path / "moved").record.id == derived(root)


def test_a_damaged_id_is_made_anew(tmp_path: Path) -> None:
    """What is no id does not become one; a place that cannot be written has the path's."""
    common = tmp_path / ".git"
    kept = common / "orchestrate" / ID_FILE
    kept.parent.mkdir(parents=True)
    kept.write_text("' OR 1=1")
    (kept.parent / "logs").mkdir()
    first = repository_id(common, common / "orchestrate", tmp_path)
    assert first == derived(tmp_path) == kept.read_text().strip()
    (tmp_path / "file").write_text("")
    assert repository_id(tmp_path / "file", tmp_path / "none", tmp_path) == derived(tmp_path)


def test_processes_that_begin_at_once_agree(tmp_path: Path) -> None:
    """The first file wins, and nothing else is left behind."""
    barrier = threading.Barrier(8)

    def ask(_: int) -> str:
        barrier.wait()
        return repository_id(tmp_path, tmp_path / "orchestrate", tmp_path)

    with ThreadPoolExecutor(8) as pool:
        found = set(pool.map(ask, range(8)))
    kept = (tmp_path / "orchestrate" / ID_FILE).read_text().strip()
    assert found == {kept}
    assert kept != derived(tmp_path)
    assert [path.name for path in (tmp_path / "orchestrate").iterdir()] == [ID_FILE]
