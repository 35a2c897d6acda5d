"""The Shadow: the bare repository under ORCHESTRATE_HOME that holds every snapshot.

Made by a local clone (hard links), never collected by git itself, safe for many processes: git's own locks guard refs
and objects, ours guards only its making and each delivery.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import pygit2

from orchestrator.domain.errors import UserError, WorkspaceError
from orchestrator.domain.workspace import MergeCommit
from orchestrator.workspace.filesystem import disk, file_lock, replace_text
from orchestrator.workspace.git import Git, failure
from orchestrator.workspace.repository import UserRepository

_ANY_COMMIT = "--upload-pack=git -c uploadpack.allowAnySHA1InWant=true -c core.hooksPath=/dev/null upload-pack"
_FETCH = ("fetch", "--quiet", "--no-tags", "--no-write-fetch-head", "--update-shallow", _ANY_COMMIT)
_CONFIG = {"gc.auto": "0", "gc.pruneExpire": "never", "maintenance.auto": "false", "core.logAllRefUpdates": "false"}

_BASES = "refs/orchestrate/bases/"
"""Below it each commit that was brought here, by its id."""

# Content is kept byte for byte: what git would convert (line ends, keywords, filters, encodings) stays as it is, so
# that a tree made from bytes equals the one that git add makes. info/attributes outranks every .gitattributes.
_ATTRIBUTES = "* -text -eol -ident -filter -working-tree-encoding !diff !merge\n"


@dataclass(frozen=True, slots=True, kw_only=True)
class Shadow:
    """The Shadow of one repository. `git_dir` is its bare git directory, `home` ORCHESTRATE_HOME."""

    repository: UserRepository
    home: Path

    @property
    def git_dir(self) -> Path:
        """The bare repository."""
        return self.home / "shadow.git"

    @property
    def git(self) -> Git:
        """git on the Shadow, without a work tree."""
        return Git(git_dir=self.git_dir)

    @property
    def users(self) -> Git:
        """git on the user's repository, for reads and for the delivery of a branch."""
        return Git(git_dir=self.repository.common_dir, users=True)

    def ensure_made(self) -> None:
        """Make it if it is not there yet: once, whoever else is at it. Its exclude file follows the user's, so that
        what git ignores for them is ignored for the worker."""
        with file_lock(self.home / "shadow.lock"):
            if not self.git_dir.exists():
                _create(self)
            _refresh(self)

    def objects(self) -> pygit2.Repository:
        """The Shadow in this process, for one thread."""
        return pygit2.Repository(str(self.git_dir), pygit2.enums.RepositoryOpenFlag.BARE)

    def resolve(self, revision: str) -> str:
        """The full commit id of a revision of the user's repository (or of the Shadow), brought into the Shadow and
        anchored. Raises UserError when there is no such commit."""
        if f"{_BASES}{revision}" in self.objects().references:
            return revision
        for git in (Git(git_dir=self.repository.git_dir, users=True), self.git):
            found = git.ask("rev-parse", "--verify", "--quiet", "--end-of-options", f"{revision}^{{commit}}")
            if found.code == 0:
                self._bring(found.text)
                return found.text
        raise UserError(f"There is no commit {revision!r} in {self.repository.root}.", next_step="Name another one.")

    def _bring(self, commit: str) -> None:
        anchor = f"{_BASES}{commit}"
        if anchor in self.objects().references:
            return
        if self.git.ask("cat-file", "-e", f"{commit}^{{commit}}").code != 0:
            self.git(*_FETCH, str(self.repository.common_dir), commit)
        self.git("update-ref", anchor, commit)

    def tree_of(self, revision: str) -> str:
        """The tree id of a commit or tree. Raises WorkspaceError when the Shadow does not hold it."""
        try:
            return str(self.objects().revparse_single(f"{revision}^{{tree}}").id)
        except (KeyError, ValueError, pygit2.GitError) as error:
            raise WorkspaceError(f"The Shadow holds no commit or tree {revision!r}.") from error

    def merge(self, *, head: str, base: str, tree: str, message: str, trailers: Mapping[str, str]) -> MergeCommit:
        """One commit on `head` with what changed from `base` to `tree`, anchored; no branch moves. Both sides become
        commits on `base` first, so that git finds exactly that as the merge base (its --merge-base came in 2.40)."""
        objects = self.objects()
        self.tree_of(base)  # what is gone from here is our own trouble, said in words
        ours = self._commit(objects, self.tree_of(head), base, "the run's head")
        theirs = self._commit(objects, self.tree_of(tree), base, "the attempt's tree")
        asked = self.git.ask("merge-tree", "--write-tree", "-z", "--name-only", "--no-messages", ours, theirs)
        if asked.code == 1:
            paths = asked.fields()[1:]
            return MergeCommit(None, paths, f"both the run and the attempt changed {', '.join(paths)}")
        if asked.code != 0:
            raise failure(("merge-tree",), asked)
        commit = self._commit(objects, asked.fields()[0].strip(), head, with_trailers(message, trailers))
        self.git("update-ref", f"refs/orchestrate/commits/{commit}", commit)
        return MergeCommit(commit)

    def _commit(self, objects: pygit2.Repository, tree: str, parent: str, message: str) -> str:
        who = self.repository.identity
        author = pygit2.Signature(who.name, who.email)
        return str(objects.create_commit(None, author, author, message, pygit2.Oid(hex=tree), [parent]))

    def deliver(self, branch: str, commit: str) -> None:
        """Make `branch` equal to `commit`, here and in the user's repository; nothing happens where it is so already,
        or further on: of two deliveries at once the older may come last. Raises UserError when the user has the branch
        checked out, or has moved it since we last did, which a ref of the Shadow tells."""
        ref = f"refs/heads/{branch}"
        if self.git.ask("check-ref-format", ref).code != 0:
            raise UserError(f"{branch!r} is no branch name.")
        with file_lock(self.home / "deliver.lock"):
            if self._is_ancestor(commit, there := _commit_at(self.git, ref)):
                commit = there
            self.git("update-ref", ref, commit)
            delivered = f"refs/orchestrate/delivered/{branch}"
            if (now := _commit_at(self.users, ref)) != commit:
                last = _commit_at(self.git, delivered)
                if now not in ("", last) and (last or not self._is_ancestor(now, commit)):
                    raise UserError(
                        f"The branch {branch} stands at {now[:12]}, where we did not leave it; it is not moved.",
                        next_step=f"Keep your commits elsewhere (git branch -m {branch} NEW-NAME), then resume.",
                    )
                self._move_users(branch, now, commit)
            self.git("update-ref", delivered, commit)

    def _is_ancestor(self, older: str, newer: str) -> bool:
        return bool(newer) and self.git.ask("merge-base", "--is-ancestor", older, newer).code == 0

    def _move_users(self, branch: str, now: str, commit: str) -> None:
        users, ref, folder = self.users, f"refs/heads/{branch}", ""
        for line in users("worktree", "list", "--porcelain", "-z").fields():
            folder = line.removeprefix("worktree ") if line.startswith("worktree ") else folder
            if line == f"branch {ref}":
                raise UserError(
                    f"The branch {branch} is checked out in {folder}; it is not moved under you.",
                    next_step="Switch that checkout to another branch (git switch -), then resume.",
                )
        users(*_FETCH, str(self.git_dir), commit)
        moved = users.ask("update-ref", "-m", "orchestrate: deliver", ref, commit, now or "0" * 40)
        if moved.code != 0:
            raise UserError(
                f"The branch {branch} could not be delivered: {moved.err}",
                next_step="Remove or rename the branch that is in its way, then resume.",
            )


def _commit_at(git: Git, ref: str) -> str:
    found = git.ask("rev-parse", "--verify", "--quiet", "--end-of-options", ref)
    return found.text if found.code == 0 else ""


def with_trailers(message: str, trailers: Mapping[str, str]) -> str:
    """The commit message with its trailers as the last paragraph; a value is one line."""
    lines = "\n".join(f"{name}: {' '.join(value.split())}" for name, value in trailers.items())
    body = message.replace("\0", "").strip() or "Untitled"
    return f"{body}\n\n{lines}\n" if lines else f"{body}\n"


def _create(shadow: Shadow) -> None:
    new = shadow.home / "shadow.new"
    shutil.rmtree(new, ignore_errors=True)
    config = (f"--config={key}={value}" for key, value in _CONFIG.items())
    options = ("--quiet", "--bare", "--no-tags", "--no-reject-shallow", "--template=", *config)
    Git(users=True)("clone", *options, str(shadow.repository.common_dir), str(new), seconds=3_600)
    Git(git_dir=new)("config", "--remove-section", "remote.origin")
    with disk(f"{shadow.git_dir} cannot be made"):
        (new / "info").mkdir(exist_ok=True)
        (new / "info" / "attributes").write_text(_ATTRIBUTES)
        new.rename(shadow.git_dir)


def _refresh(shadow: Shadow) -> None:
    """Bring the ignore rules that are no part of the tree: info/exclude and the user's global excludes file."""
    rules = [_text(shadow.repository.common_dir / "info" / "exclude"), _text(_global_excludes(shadow.users))]
    replace_text(shadow.git_dir / "info" / "exclude", "\n".join(rules))


def _global_excludes(git: Git) -> Path:
    configured = git.ask("config", "--type=path", "--get", "core.excludesFile")
    if configured.code == 0 and configured.text:
        return Path(configured.text)
    config = os.environ.get("XDG_CONFIG_HOME") or os.path.expanduser("~/.config")  # noqa: PTH111
    return Path(config) / "git" / "ignore"


def _text(path: Path) -> str:
    try:
        return path.read_text("utf-8", "surrogateescape")
    except OSError:
        return ""
