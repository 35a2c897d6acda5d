"""Where one workspace stands on disk, how it is made and removed.

worktrees/<id>/tree       the worktree, as commands see it
worktrees/<id>/index      the engine's private index (its stat cache)
worktrees/<id>/dotgit     the `.git` file that is mounted into the sandbox
worktrees/<id>/staging    new content on its way into the worktree
worktrees/<id>/scratch    HOME, /tmp and /dev/shm of the command that runs
worktrees/<id>/caches     what its build tools keep from one command to the next
shadow.git/worktrees/<id> git's own record of the worktree: HEAD, index
"""

from __future__ import annotations

import hashlib
import re
import shutil
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path

from orchestrator.workspace.filesystem import disk, hold_folder, remove_folder
from orchestrator.workspace.git import Git
from orchestrator.workspace.paths import ConfinedTree
from orchestrator.workspace.sandbox.bubblewrap import INSIDE


@dataclass(frozen=True, slots=True)
class WorktreeDir:
    """The folders of one workspace. `name` is safe in paths and refs."""

    home: Path
    name: str

    @property
    def folder(self) -> Path:
        """All that is this workspace's own."""
        return self.home / "worktrees" / self.name

    @property
    def tree(self) -> Path:
        """The worktree."""
        return self.folder / "tree"

    @property
    def dotgit(self) -> Path:
        """The `.git` file for the sandbox."""
        return self.folder / "dotgit"

    @property
    def scratch(self) -> Path:
        """Where a command's private folders are made."""
        return self.folder / "scratch"

    @property
    def caches(self) -> Path:
        """Where its layer of build caches is made."""
        return self.folder / "caches"

    @property
    def git_dir(self) -> Path:
        """git's record of the worktree, in the Shadow."""
        return self.home / "shadow.git" / "worktrees" / self.name

    @property
    def git(self) -> Git:
        """git on the worktree, with the private index."""
        return Git(git_dir=self.git_dir, work_tree=self.tree, index=self.folder / "index")

    @property
    def files(self) -> ConfinedTree:
        """The worktree for file tools."""
        return ConfinedTree(self.tree, self.folder / "staging")

    def make(self, start: str, head: str) -> ExitStack:
        """Check out `start` (commit or tree) with the commit `head` as HEAD, and hold the folder. What stood here
        before is removed. git's own `worktree add` would take a lock and two more calls for the same three files."""
        self.remove()
        with ExitStack() as held:
            with disk(f"The workspace {self.folder} cannot be made"):
                held.enter_context(hold_folder(self.folder))
                self._make_folders()
                self._write_records(head)
            self.git("read-tree", "--reset", "-u", start)
            with disk(f"The workspace {self.folder} cannot be made"):
                shutil.copyfile(self.folder / "index", self.git_dir / "index")
            Git(git_dir=self.git_dir, work_tree=self.tree)("read-tree", "--reset", head)
            return held.pop_all()

    def write_gitfile(self) -> None:
        """The `.git` file of the worktree itself, where it has none."""
        (self.tree / ".git").write_text(f"gitdir: {self.git_dir}\n")

    def _make_folders(self) -> None:
        for folder in (self.tree, self.folder / "staging", self.scratch, self.git_dir):
            folder.mkdir(parents=True)

    def _write_records(self, head: str) -> None:
        (self.git_dir / "HEAD").write_text(f"{head}\n")
        (self.git_dir / "commondir").write_text("../..\n")
        (self.git_dir / "gitdir").write_text(f"{self.tree / '.git'}\n")
        self.write_gitfile()
        self.dotgit.write_text(f"gitdir: {INSIDE}/shadow.git/worktrees/{self.name}\n")

    def remove(self) -> None:
        """Remove the worktree; what is not there is fine."""
        remove_folder(self.git_dir)
        remove_folder(self.folder)  # last: as long as it stands, sweep finds what a dead process left of both


def safe_name(attempt_id: str) -> str:
    """The id as a folder and ref name: `p1:add:2` is p1_add_2 (no key holds `_`); one that git refuses is a digest."""
    name = attempt_id.replace(":", "_")
    if re.fullmatch(r"[A-Za-z0-9](\.?[A-Za-z0-9_-])*", name) and len(name) <= 100 and not name.endswith(".lock"):
        return name
    return "x" + hashlib.sha256(attempt_id.encode("utf-8", "surrogatepass")).hexdigest()[:32]
