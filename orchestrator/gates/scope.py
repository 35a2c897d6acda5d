"""The scope gate: what changed, against what the task may change. Looks at trees, not at claims."""

from __future__ import annotations

import posixpath
from collections.abc import Collection, Iterable, Iterator

from orchestrator.domain.finding import Finding
from orchestrator.domain.git_names import is_git_name
from orchestrator.domain.globs import allows, paths_in_words
from orchestrator.domain.workspace import FileChange
from orchestrator.gates.finding import make_finding

_GIT_CONFIGURATION = frozenset({".gitignore", ".gitattributes", ".gitmodules"})
_SETTINGS_FILE = "orchestrate.toml"


def judge_scope(changes: Iterable[FileChange], allowed_paths: tuple[str, ...]) -> tuple[Finding, ...]:
    """One finding for each change outside the allowed paths, escaping symlink, nested repository or git setting."""
    return tuple(finding for change in changes for finding in _judge_change(change, allowed_paths))


def judge_size(changes: Collection[FileChange], max_files: int, max_lines: int) -> tuple[Finding, ...]:
    """The diff budget: at most so many changed files and lines."""
    lines = sum(change.added + change.removed for change in changes)
    return tuple(
        make_finding(
            "diff_budget",
            "diff_budget",
            what,
            f"{observed} {what} changed, limit {limit}.",
            f"Change at most {limit} {what}, or raise max_changed_{what} of the task.",
        )
        for what, observed, limit in (("files", len(changes), max_files), ("lines", lines, max_lines))
        if observed > limit
    )


def judge_effect(changes: Collection[FileChange], declared: Collection[str]) -> tuple[Finding, ...]:
    """A task that declares what it writes and left everything as it was needs no QC call."""
    if changes or not declared:
        return ()
    message = f"Nothing was changed, though the task writes {', '.join(declared)}."
    fix = "Make the change that the task asks for, or give_up and say why there is none to make."
    return (make_finding("scope", "no_change", "no_change", message, fix),)


def judge_outputs(declared: Iterable[str], present: Collection[str]) -> tuple[Finding, ...]:
    """A declared output file that does not exist keeps the task open without a QC call."""
    return tuple(
        make_finding("scope", "missing_output", path, f"The declared output {path} does not exist.", f"Write {path}.")
        for path in declared
        if path not in present and not any(char in path for char in "*?[")
    )


def nested_repository(detail: str) -> Finding:
    """A snapshot was refused because of a nested `.git`: nobody could see what changes inside."""
    return make_finding("scope", "nested_repository", detail, detail, "Remove the nested .git.", severity="critical")


def _judge_change(change: FileChange, allowed_paths: tuple[str, ...]) -> Iterator[Finding]:
    path = change.path
    if not allows(path, allowed_paths, existed=change.status != "added"):
        yield make_finding(
            "scope",
            "out_of_scope",
            path,
            f"{path} was {change.status}, but the task may only change {paths_in_words(allowed_paths) or 'nothing'}.",
            f"Restore {path}, or ask for it with request_scope before changing it.",
        )
    elif posixpath.basename(path).lower() in _GIT_CONFIGURATION and path not in allowed_paths:
        yield make_finding(
            "scope", "git_settings", path, f"{path} changes what git sees.", f"Restore {path}.", severity="critical"
        )
    elif path == _SETTINGS_FILE and path not in allowed_paths:
        fix = f"Restore {path}; a task that is to change it names it in allowed_paths."
        message = f"{path} sets the bounds of later runs."
        yield make_finding("scope", "settings_file", path, message, fix, severity="critical")
    if change.kind == "gitlink" and change.status != "deleted":
        yield nested_repository(f"{path} is a nested repository.")
    if change.kind == "symlink" and change.status != "deleted" and _escapes(path, change.link_target):
        yield make_finding(
            "scope",
            "symlink_escape",
            path,
            f"{path} is a symlink to {change.link_target}, outside the repository.",
            f"Remove {path}.",
            severity="critical",
        )


def _escapes(path: str, target: str) -> bool:
    """Read as text, which holds only while no `..` follows a name: that name may be a symlink to somewhere higher up
    (`a/b/up/../x`, where `up` is a symlink to the top level, is outside)."""
    resolved = posixpath.normpath(posixpath.join(posixpath.dirname(path), target))
    parts = [part for part in target.split("/") if part not in ("", ".")]
    climbs = [part == ".." for part in parts]
    return (
        resolved.startswith(("/", "../"))
        or resolved == ".."
        or climbs != sorted(climbs, reverse=True)
        or any(map(is_git_name, resolved.split("/")))
    )
