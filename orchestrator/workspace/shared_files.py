"""What `workspace.share` names: folders that commands see as they are in the checkout, and files of which each
workspace has a copy, so that commands and file tools see the same."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

from orchestrator.config.settings import Settings
from orchestrator.domain.errors import PathRefusedError, ToolError, UserError
from orchestrator.workspace.git import Git
from orchestrator.workspace.paths import ConfinedTree, parts_of
from orchestrator.workspace.repository import UserRepository
from orchestrator.workspace.sandbox.spec import Mount
from orchestrator.workspace.worktree_dir import WorktreeDir


def check_share(repository: UserRepository, settings: Settings) -> None:
    """Raise UserError for what cannot be shared: paths out of the repository, links, files that git does not ignore,
    whose copies would be changes of every task."""
    git = Git(git_dir=repository.git_dir, work_tree=repository.root, users=True)
    for name in settings.workspace.share:
        try:
            parts = parts_of(name, "/nowhere")
        except PathRefusedError as error:
            way_out = "Name a folder or file of the repository, from its top level."
            raise UserError(f"workspace.share cannot hold {name!r}.", next_step=way_out) from error
        if _is_file(repository, parts):
            _check_file(repository, git, name, parts)


def _check_file(repository: UserRepository, git: Git, name: str, parts: tuple[str, ...]) -> None:
    try:
        ConfinedTree(repository.root, repository.root).read(parts)
    except ToolError as error:
        raise UserError(
            f"workspace.share cannot hold {name!r}: {error}", next_step="Name a regular file of the repository."
        ) from error
    if not _is_tracked(git, name) and not _is_ignored(git, name):
        raise UserError(
            f"workspace.share cannot hold {name!r}: git does not ignore that file, so its copy would be a change.",
            next_step="Add it to .gitignore, or commit it.",
        )


def copy_shared_files(repository: UserRepository, settings: Settings, place: WorktreeDir) -> None:
    """Copy the shared files into a fresh checkout, but where it has one at the path, or does not ignore it."""
    for parts in shared_files(repository, settings):
        name = "/".join(parts)
        with suppress(ToolError):  # a link of the tree is in the way, or the file has gone meanwhile
            if place.files.stat(parts) is None and _is_ignored(place.git, name):
                place.files.write(parts, ConfinedTree(repository.root, repository.root).read(parts))


def shared_files(repository: UserRepository, settings: Settings) -> Iterator[tuple[str, ...]]:
    """The paths, by components, of the files among what is shared."""
    for name in settings.workspace.share:
        if _is_file(repository, parts := parts_of(name, "/nowhere")):
            yield parts


def shared_folders(repository: UserRepository, settings: Settings) -> tuple[Mount, ...]:
    """The folders among what is shared that commands may see."""
    judged = _judged_folders(repository, settings)
    return tuple(Mount(path.resolve(), path) for path, refusal in judged if not refusal)


def refused_folders(repository: UserRepository, settings: Settings) -> tuple[str, ...]:
    """Why the others are not shown, each in a sentence with the way out; a tracked one needs no word."""
    return tuple(refusal for _, refusal in _judged_folders(repository, settings) if refusal)


def _judged_folders(repository: UserRepository, settings: Settings) -> Iterator[tuple[Path, str]]:
    """Each folder that git does not track, and why it is not shown. What a clone brings along is not the user's to
    share: a tracked link would show what it leads to as soon as a worker has removed it."""
    git = Git(git_dir=repository.git_dir, work_tree=repository.root, users=True)
    for name in settings.workspace.share:
        path = repository.root / name
        if not path.is_dir() or _is_tracked(git, name):
            continue
        if _is_seen(git, name):
            yield path, f"{name} is not shared with commands: git does not ignore it. Add it to .gitignore."
        elif not _may_lead(path.resolve(), repository, settings):
            real = path.resolve()
            yield path, f"{name} is not shared with commands: it leads to {real}. Name that in sandbox.read_paths."
        else:
            yield path, ""


def _may_lead(real: Path, repository: UserRepository, settings: Settings) -> bool:
    named = (Path(path).expanduser().resolve() for path in settings.sandbox.read_paths)
    if any(real.is_relative_to(path) for path in named):
        return True
    ours = (repository.common_dir, repository.home)
    return real.is_relative_to(repository.root) and not any(real.is_relative_to(path) for path in ours)


def _is_seen(git: Git, name: str) -> bool:
    """Whether git would list something in it as new: an environment may ignore all that is in it by itself."""
    return _lists(git, name, "--others", "--exclude-standard", "--directory", "--no-empty-directory")


def _is_file(repository: UserRepository, parts: tuple[str, ...]) -> bool:
    path = repository.root.joinpath(*parts)
    return bool(parts) and path.exists() and not path.is_dir()


def _is_tracked(git: Git, name: str) -> bool:
    return _lists(git, name)


def _lists(git: Git, name: str, *options: str) -> bool:
    """Whether git lists something there, or refuses to look, as it does beyond a tracked link."""
    answer = git.ask("ls-files", *options, "--", f":(literal){name}")
    return bool(answer.code or answer.out)


def _is_ignored(git: Git, name: str) -> bool:
    return git.ask("check-ignore", "--quiet", "--", name).code == 0
