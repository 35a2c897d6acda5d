"""Files that `workspace.share` names: each workspace has a copy, which commands and file tools see alike."""

from __future__ import annotations

from collections.abc import Iterator

from orchestrator.config.settings import Settings
from orchestrator.domain.errors import PathRefusedError, ToolError, UserError
from orchestrator.workspace.git import Git
from orchestrator.workspace.paths import ConfinedTree, parts_of
from orchestrator.workspace.repository import UserRepository
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
        if place.files.stat(parts) is None and _is_ignored(place.git, name):
            place.files.write(parts, ConfinedTree(repository.root, repository.root).read(parts))


def shared_files(repository: UserRepository, settings: Settings) -> Iterator[tuple[str, ...]]:
    """The paths, by components, of the files among what is shared."""
    for name in settings.workspace.share:
        if _is_file(repository, parts := parts_of(name, "/nowhere")):
            yield parts


def _is_file(repository: UserRepository, parts: tuple[str, ...]) -> bool:
    path = repository.root.joinpath(*parts)
    return bool(parts) and path.exists() and not path.is_dir()


def _is_tracked(git: Git, name: str) -> bool:
    return bool(git("ls-files", "--", f":(literal){name}").out)


def _is_ignored(git: Git, name: str) -> bool:
    return git.ask("check-ignore", "--quiet", "--", name).code == 0
