"""The user's repository: where it is, what state it is in, who its user is. Read, never written, here."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from urllib.parse import urlsplit, urlunsplit

from orchestrator.domain.errors import UserError
from orchestrator.domain.plan import Repository
from orchestrator.domain.text import counted
from orchestrator.workspace.dirt import Dirt, sort_dirt
from orchestrator.workspace.filesystem import FULL, disk_error
from orchestrator.workspace.git import Git, require_version
from orchestrator.workspace.paths import printable
from orchestrator.workspace.repository_id import repository_id

OUR_NAME = "orchestrate"
OUR_EMAIL = "orchestrate@localhost"


@dataclass(frozen=True, slots=True)
class Identity:
    """Whose name commits carry."""

    name: str
    email: str


@dataclass(frozen=True, slots=True, kw_only=True)
class UserRepository:
    """A usable repository. `root` is the git top level; `common_dir` the git directory that linked worktrees share;
    `head` a full commit id; `branch` is empty when HEAD is detached; `dirty` are the changed and untracked paths."""

    root: Path
    git_dir: Path
    common_dir: Path
    home: Path
    head: str
    branch: str
    default_branch: str
    remote: str
    identity: Identity
    dirty: tuple[str, ...]
    submodules: bool

    @property
    def record(self) -> Repository:
        """The repository as the graph knows it."""
        id_ = repository_id(self.common_dir, self.home, self.root)
        return Repository(id_, str(self.root), self.remote, self.default_branch)

    @property
    def dirt(self) -> Dirt:
        """The uncommitted paths by what they are."""
        return sort_dirt(self.root, self.dirty)

    @property
    def advice(self) -> str:
        """What to do about the warnings."""
        ignored = ", ".join(map(printable, self.dirt.installed))
        advised = ("Commit what should be part of it.",) if self.dirt.work or not ignored else ()
        return " ".join((*advised, *((f"Add to .gitignore, and do not commit: {ignored}",) if ignored else ())))

    @property
    def warnings(self) -> tuple[str, ...]:
        """What the user should know before work starts (a dirty checkout is named in a warning)."""
        found = []
        if self.dirt.work:
            held = counted(len(self.dirt.work), "uncommitted path")
            found.append(f"The checkout has {held} ({_shown(self.dirt.work)}); work starts from HEAD without them.")
        if self.dirt.installed:
            found.append(f"git does not ignore what tools made: {_shown(self.dirt.installed)}.")
        if not self.branch:
            found.append(f"HEAD is detached at {self.head[:12]}; work starts from that commit.")
        if self.submodules:
            found.append(
                "The repository has submodules: their folders are empty where tasks work, and checks cannot use them."
            )
        return tuple(found)


def _shown(paths: tuple[str, ...]) -> str:
    return ", ".join(printable(path) for path in paths[:3]) + (", …" if len(paths) > 3 else "")


def discover(folder: Path, environ: Mapping[str, str]) -> UserRepository:
    """The repository that holds `folder`. Raises UserError for a folder that is none, a bare repository, one without
    commits, one of SHA-256 objects, or a git that is too old."""
    require_version(environ)
    if not folder.is_dir():
        raise UserError(f"{folder} is not a folder.", next_step="Name the repository with -C DIR.")
    git_dir, common_dir, root = _locate(folder, environ)
    git = Git(git_dir=git_dir, work_tree=root, users=True, environ=environ)
    home = environ.get("ORCHESTRATE_HOME", "")
    configured = _configured(git)
    state = _state(replace(git, emptied=configured.filters), root)
    return UserRepository(
        root=root,
        git_dir=git_dir,
        common_dir=common_dir,
        home=Path(home).expanduser().absolute() if home else common_dir / "orchestrate",
        head=state.head,
        branch=state.branch,
        default_branch=_default_branch(git) or state.branch,
        remote=configured.remote,
        identity=configured.identity,
        dirty=state.dirty,
        submodules=(root / ".gitmodules").is_file(),
    )


_CHECKOUT = "Name a checkout with -C DIR; of a bare repository make one with git clone."


@dataclass(frozen=True, slots=True)
class _Configured:
    """What is read of git's configuration, in one call. `filters` are those that the repository's own names: programs
    that git would run over changed files. The user's, such as that of git-lfs, stay."""

    identity: Identity
    remote: str
    filters: tuple[str, ...]


_READ = r"^(user\.(name|email)|remote\..*\.url|filter\..*)$"


def _configured(git: Git) -> _Configured:
    listed = git.ask("config", "--null", "--show-scope", "--get-regexp", _READ).fields()
    settings = [(scope, *entry.partition("\n")[::2]) for scope, entry in zip(listed[::2], listed[1::2], strict=True)]
    values = {name: value.strip() for _, name, value in settings}  # of several the last counts
    own = (name for scope, name, _ in settings if scope in ("local", "worktree") and name.startswith("filter."))
    return _Configured(_identity(values), _remote(values), tuple(dict.fromkeys(own)))


_ASKED = (
    "--is-bare-repository",
    "--is-inside-work-tree",
    "--show-object-format",
    "--absolute-git-dir",
    "--git-common-dir",
    "--show-toplevel",
)


def _locate(folder: Path, environ: Mapping[str, str]) -> tuple[Path, Path, Path]:
    git = Git(folder=folder, users=True, environ=environ)
    asked = git.ask("rev-parse", "--path-format=absolute", *_ASKED)
    if "safe.bareRepository" in asked.err:
        raise UserError(f"{folder} is a bare repository, or inside a git directory.", next_step=_CHECKOUT)
    told = asked.text.split("\n")
    if len(told) > len(_ASKED):
        raise UserError(f"The path of {folder} has a line break.", next_step="Use a checkout at another path.")
    if len(told) < len(_ASKED) - 1:  # the last is an error of git's where the others are reason enough
        raise _no_repository(folder, asked.err)
    bare, inside, objects = told[:3]
    if bare == "true":
        raise UserError(f"{folder} is a bare repository.", next_step=_CHECKOUT)
    if inside != "true":
        raise UserError(f"{folder} is inside a git directory.", next_step=_CHECKOUT)
    if objects != "sha1":
        raise UserError(f"{folder} uses {objects} objects; only sha1 repositories can be used.")
    git_dir, common_dir, root = (Path(line).resolve() for line in told[3:])
    return git_dir, common_dir, root


def _no_repository(folder: Path, said: str) -> UserError:
    if "not a git repository" not in said:
        return UserError(f"git cannot use {folder}: {said}")
    return UserError(
        f"{folder} is not in a git repository.",
        next_step="Name one with -C DIR, or make one: git init, git add -A, git commit.",
    )


@dataclass(frozen=True, slots=True)
class _State:
    """HEAD's commit, its branch (empty: detached), and the changed and untracked paths."""

    head: str
    branch: str
    dirty: tuple[str, ...]


_LOOKED = ("status", "--porcelain=v2", "--branch", "-z", "--no-ahead-behind", "--no-renames", "--ignore-submodules=all")
_BEFORE_PATH = {"1": 8, "u": 10, "?": 1}
"""How many words stand before the path in an entry of this kind."""


def _state(git: Git, root: Path) -> _State:
    told = git(*_LOOKED).fields()
    about = dict(line.removeprefix("# branch.").split(" ", 1) for line in told if line.startswith("# branch."))
    if about["oid"] == "(initial)":
        raise UserError(f"{root} has no commits.", next_step="Commit something first: git add -A, git commit.")
    branch = "" if about["head"] == "(detached)" else about["head"]
    entries = ((line, _BEFORE_PATH.get(line[0])) for line in told)
    return _State(about["oid"], branch, tuple(line.split(" ", words)[words] for line, words in entries if words))


def ensure_home(home: Path) -> None:
    """Create ORCHESTRATE_HOME, private to the user. Raises UserError when it cannot be written."""
    way_out = "Make it writable, or set ORCHESTRATE_HOME to a folder that is."
    try:
        home.mkdir(mode=0o700, parents=True, exist_ok=True)
        probe = home / f".writable.{os.getpid()}"
        probe.write_bytes(b"")
        probe.unlink(missing_ok=True)
    except OSError as error:
        if error.errno in FULL:
            raise disk_error(f"{home} cannot be written", error) from error
        raise UserError(f"{home} cannot be written: {error.strerror}.", next_step=way_out) from error


_DEFAULTS = ("refs/remotes/origin/HEAD", "refs/heads/main", "refs/heads/master")


def _default_branch(git: Git) -> str:
    """What the remote calls its default, else the usual name that there is."""
    told = git("for-each-ref", "--format=%(refname) %(symref)", *_DEFAULTS).text.splitlines()
    found = dict(line.split(" ", 1) for line in told)
    if remote := found.get("refs/remotes/origin/HEAD"):
        return remote.removeprefix("refs/remotes/origin/")
    return next((name for name in ("main", "master") if f"refs/heads/{name}" in found), "")


def _remote(values: Mapping[str, str]) -> str:
    """The address of origin, else of the first remote."""
    addresses = {name: value for name, value in sorted(values.items()) if name.startswith("remote.")}
    first = next(iter(addresses.values()), "")
    return without_credentials(addresses.get("remote.origin.url", first))


def without_credentials(url: str) -> str:
    """A remote's URL without user name, password, query and fragment; `git@host:path` and folders stay as they are."""
    if not re.match(r"[A-Za-z][A-Za-z0-9+.-]*://", url):
        return url
    parts = urlsplit(url)
    return urlunsplit((parts.scheme, parts.netloc.rpartition("@")[2], parts.path, "", ""))


def _identity(values: Mapping[str, str]) -> Identity:
    name, email = values.get("user.name"), values.get("user.email")
    return Identity(name, email) if name and email else Identity(OUR_NAME, OUR_EMAIL)
