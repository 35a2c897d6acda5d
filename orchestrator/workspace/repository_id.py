"""Which repository this is, wherever it stands: an id made once and kept in its git directory."""

from __future__ import annotations

import hashlib
import os
import re
import secrets
from pathlib import Path

ID_FILE = "repository-id"
_ID = re.compile(r"r[0-9a-f]{12}")


def repository_id(common_dir: Path, home: Path, root: Path) -> str:
    """The id of the repository with this git directory, made where there is none yet. A clone has another one, though
    it stands at an equal path, as clones in containers do; a repository that is moved takes it along. An older release
    derived it from the path: that one is kept where such a release has left something in `home`, so that its records
    are found, and used where nothing can be written."""
    file = common_dir / "orchestrate" / ID_FILE
    derived = f"r{hashlib.sha256(os.fsencode(root)).hexdigest()[:12]}"
    try:
        known = _read(file)
        if known is None:
            known = _keep(file, derived if _is_used(home) else f"r{secrets.token_hex(6)}")
        return known
    except OSError:
        return derived


def _is_used(home: Path) -> bool:
    return home.is_dir() and any(not entry.name.startswith(ID_FILE) for entry in home.iterdir())


def _read(file: Path) -> str | None:
    try:
        text = file.read_bytes().decode("ascii", "replace").strip()
    except FileNotFoundError:
        return None
    return text if _ID.fullmatch(text) else None


def _keep(file: Path, made: str) -> str:
    """The first of those who make one at once wins; a damaged file is replaced."""
    file.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    fresh = file.with_name(f"{file.name}.{os.getpid()}.{secrets.token_hex(4)}")
    fresh.write_text(f"{made}\n", encoding="ascii")
    try:
        os.link(fresh, file)
    except FileExistsError:
        other = _read(file)
        if other is not None:
            return other
        fresh.replace(file)
    finally:
        fresh.unlink(missing_ok=True)
    return made
