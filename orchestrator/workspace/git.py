"""The one way git is run: by argument list, hardened, bounded in time.

The worker is hostile to git, so nothing that it can write is consulted: the git directory, work tree and index come
from us, hooks, fsmonitor, signing, conversions, aliases, external diffs and prompts are off.
"""

from __future__ import annotations

import os
import re
import subprocess
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path

from orchestrator.domain.errors import UserError, WorkspaceError
from orchestrator.workspace.filesystem import disk_error
from orchestrator.workspace.programs import program

OLDEST = "2.38"
"""`git merge-tree --write-tree` came with it."""

GIT_TIMEOUT_S = 120.0
"""How long one git command may take; only a pathological repository needs more than a few seconds."""

_CONFIG = {
    "core.hooksPath": "/dev/null",
    "core.fsmonitor": "false",
    "core.untrackedCache": "false",
    "core.attributesFile": "/dev/null",
    "core.autocrlf": "false",
    "core.safecrlf": "false",
    "core.quotePath": "false",
    "core.pager": "cat",
    "core.editor": "false",
    "core.askPass": "",
    "core.sshCommand": "false",
    "core.alternateRefsCommand": "true",
    "safe.bareRepository": "explicit",  # a folder of a clone that looks like a git directory is not taken for one
    "credential.helper": "",
    "protocol.allow": "never",
    "protocol.file.allow": "always",
    "commit.gpgSign": "false",
    "log.showSignature": "false",
    "gc.auto": "0",
    "maintenance.auto": "false",
    "submodule.recurse": "false",
    "fetch.recurseSubmodules": "false",
}
_HARDENED = tuple(word for key, value in _CONFIG.items() for word in ("-c", f"{key}={value}"))
_OURS = ("-c", "core.excludesFile=/dev/null", "-c", "core.logAllRefUpdates=false")

_KEPT = ("PATH", "TMPDIR", "SYSTEMROOT")
_USERS = ("HOME", "XDG_CONFIG_HOME")
_ENVIRONMENT = {
    "LC_ALL": "C",
    "GIT_TERMINAL_PROMPT": "0",
    "GIT_ASKPASS": "false",
    "GIT_OPTIONAL_LOCKS": "0",
    "GIT_NO_REPLACE_OBJECTS": "1",
    "GIT_NO_LAZY_FETCH": "1",
    "GIT_ATTR_NOSYSTEM": "1",
    "GIT_ADVICE": "0",
}
_ISOLATED = {"GIT_CONFIG_NOSYSTEM": "1", "GIT_CONFIG_GLOBAL": "/dev/null", "HOME": "/nonexistent"}


class GitTimeoutError(WorkspaceError):
    """git did not end in time."""


@dataclass(frozen=True, slots=True)
class GitResult:
    """What git answered: exit code, stdout as bytes, stderr decoded."""

    code: int
    out: bytes
    err: str

    @property
    def text(self) -> str:
        """stdout without the newline at its end."""
        return os.fsdecode(self.out).rstrip("\n")

    def fields(self) -> tuple[str, ...]:
        """stdout as NUL-separated fields, those of paths decoded as the file system decodes them."""
        return tuple(os.fsdecode(part) for part in self.out.split(b"\0") if part)


@dataclass(frozen=True, slots=True)
class Git:
    """git on one repository. `users` marks the user's own repository: their global configuration is then read too, for
    safe.directory and their identity. `folder` is where discovery starts when `git_dir` is not known yet; `emptied` are
    the settings that count as empty."""

    git_dir: Path | None = None
    work_tree: Path | None = None
    index: Path | None = None
    folder: Path | None = None
    users: bool = False
    emptied: tuple[str, ...] = ()
    environ: Mapping[str, str] = field(default_factory=lambda: os.environ)

    def __call__(self, *arguments: str, feed: bytes = b"", seconds: float = GIT_TIMEOUT_S) -> GitResult:
        """Run it; raises WorkspaceError with git's own message unless it exits with 0."""
        answer = self.ask(*arguments, feed=feed, seconds=seconds)
        if answer.code != 0:
            raise failure(arguments, answer)
        return answer

    def ask(self, *arguments: str, feed: bytes = b"", seconds: float = GIT_TIMEOUT_S) -> GitResult:
        """Run it, whatever it exits with. Raises WorkspaceError when it cannot start, GitTimeoutError when it does not
        end in time."""
        try:
            done = subprocess.run(
                self.command(arguments), input=feed, capture_output=True, env=self.environment(), timeout=seconds
            )
        except FileNotFoundError:
            way_out = f"Install git {OLDEST} or later and put it on PATH."
            raise UserError("git was not found.", next_step=way_out) from None
        except subprocess.TimeoutExpired:
            raise GitTimeoutError(f"git {arguments[0]} took longer than {seconds:g} seconds.") from None
        except OSError as error:
            raise disk_error(f"git {arguments[0]} could not be started", error) from error
        return GitResult(done.returncode, done.stdout, done.stderr.decode("utf-8", "replace").strip())

    def command(self, arguments: Sequence[str]) -> list[str]:
        """The whole command line, for callers that read the output as it comes."""
        git = program("git", self.environ.get("PATH", os.defpath))
        return [git, *self._where(), *_HARDENED, *(() if self.users else _OURS), *arguments]

    def environment(self) -> dict[str, str]:
        """git's environment: nothing of the caller's but what is listed here, so no GIT_* of a surrounding hook."""
        kept = _KEPT + (_USERS if self.users else ())
        inherited = {name: self.environ[name] for name in kept if name in self.environ}
        index = {"GIT_INDEX_FILE": str(self.index)} if self.index else {}
        return inherited | _ENVIRONMENT | ({} if self.users else _ISOLATED) | index | dict(self._emptied())

    def _emptied(self) -> Iterator[tuple[str, str]]:
        """As variables, since a name may hold what `-c` reads as the end of it."""
        yield "GIT_CONFIG_COUNT", str(len(self.emptied))
        for number, name in enumerate(self.emptied):
            yield from ((f"GIT_CONFIG_KEY_{number}", name), (f"GIT_CONFIG_VALUE_{number}", ""))

    def _where(self) -> Iterator[str]:
        if self.folder:
            yield from ("-C", str(self.folder))
        if self.git_dir:
            yield f"--git-dir={self.git_dir}"
        if self.work_tree:
            yield from ("-C", str(self.work_tree), f"--work-tree={self.work_tree}")


def failure(arguments: Sequence[str], answer: GitResult) -> WorkspaceError:
    """git's failure as an error with git's own message."""
    said = answer.err or os.fsdecode(answer.out).strip() or f"exit code {answer.code}"
    return disk_error(f"git {arguments[0]} failed", said)


def require_version(environ: Mapping[str, str]) -> tuple[int, ...]:
    """git's version. Raises UserError when it is older than 2.38 or no git."""
    return _require(environ.get("PATH", os.defpath))


@lru_cache(maxsize=8)
def _require(path: str) -> tuple[int, ...]:
    said = Git(environ={"PATH": path})("--version").text
    found = re.search(r"(\d+)\.(\d+)(?:\.(\d+))?", said)
    version = tuple(int(part) for part in found.groups(default="0")) if found else (0,)
    if version < tuple(map(int, OLDEST.split("."))):
        raise UserError(
            f"git is too old: {said!r}, needed {OLDEST} or later (git merge-tree --write-tree).",
            next_step="Install a newer git.",
        )
    return version
