"""Protected files: what decides whether work passes is not the worker's to change.

Tests that were there, the configuration of test tools and linters, build files that checks run through, and what Python
or pytest load by itself. A task that is to change one names it; new test files are anybody's to add. What was changed
all the same is a finding, and the checks run with those files as they were.
"""

from __future__ import annotations

import fnmatch
import posixpath
import re
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass

from orchestrator.domain.finding import Finding
from orchestrator.domain.globs import literal, matches_any
from orchestrator.domain.task import Task
from orchestrator.domain.workspace import FileChange
from orchestrator.gates.deciding import PARTLY_DECIDING, deciding_part
from orchestrator.gates.finding import make_finding

_TEST_FOLDERS = frozenset({"test", "tests", "spec", "specs", "testdata", "__tests__", "__snapshots__", "e2e"})
_TEST_NAMES = (
    *("test_*.py", "*_test.py", "tests.py", "*_test.go", "*_test.rs", "*_test.exs", "*_spec.rb", "*_test.rb"),
    *("*.test.?s", "*.test.??s", "*.test.?sx", "*.spec.?s", "*.spec.??s", "*.spec.?sx", "*.snap", "*_test.dart"),
    *("*test.java", "*tests.java", "*test.kt", "*tests.cs", "*test.php", "*test.swift", "*tests.swift"),
    *("*_test.c", "*_test.cc", "*_test.cpp", "test_*.c", "test_*.cc", "test_*.cpp"),
)
_DECIDERS = (
    *("conftest.py", "pytest.ini", ".pytest.ini", "pytest.toml", ".pytest.toml", "tox.ini", "tox.toml", "noxfile.py"),
    *("sitecustomize.py", "usercustomize.py", "*.pth", "*.pyc", ".coveragerc", ".pylintrc", "pylintrc", ".flake8"),
    *("mypy.ini", ".mypy.ini", "ruff.toml", ".ruff.toml", "pyrightconfig.json", ".pre-commit-config.yaml"),
    *("makefile", "gnumakefile", "*.mk", "justfile", ".justfile", "taskfile.y*ml", "rakefile", ".rspec"),
    *("jest.config.*", "vitest.config.*", "vitest.workspace.*", "vite.config.*", "karma.conf.*", ".mocharc*"),
    *("playwright.config.*", "cypress.config.*", "babel.config.*", ".babelrc*", "tsconfig*.json", "jsconfig.json"),
    *(".eslintrc*", "eslint.config.*", ".eslintignore", "biome.json*", "deno.json*", "bunfig.toml", ".npmrc"),
    *(".yarnrc*", ".golangci.*", "clippy.toml", ".clippy.toml", "phpunit.xml*", ".gitlab-ci.y*ml", ".travis.y*ml"),
    *("azure-pipelines.y*ml", "jenkinsfile", "bitbucket-pipelines.y*ml", "appveyor.y*ml", ".drone.y*ml"),
)
_DECIDING_FOLDERS = (".github", ".circleci", ".cargo", ".buildkite", "node_modules", "*.egg-info", "*.dist-info")
_VENDORED = "vendor/modules.txt"  # go takes the modules beside it in place of those that go.mod pins
_IS_TEST, _IS_DECIDER, _IS_DECIDING_FOLDER = (
    re.compile("|".join(map(fnmatch.translate, patterns))) for patterns in (_TEST_NAMES, _DECIDERS, _DECIDING_FOLDERS)
)
"""Of one name each, in one look: a repository has many thousands of files."""
_SCRIPTS = (".sh", ".bash", ".mk")

Contents = Callable[[str], bytes | None]
"""A blob's bytes by its id; None for one that is too large to be looked into."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ProtectionRules:
    """What is protected beside the files that everybody's tools know, for one task. `named` are the paths that the task
    says it changes, `commands` its verification, and `extra` the settings' further globs."""

    named: frozenset[str] = frozenset()
    commands: tuple[str, ...] = ()
    extra: tuple[str, ...] = ()

    @classmethod
    def of(cls, task: Task, commands: Sequence[str], extra: Sequence[str] = ()) -> ProtectionRules:
        """The rules for a task. What it was granted while it worked names nothing: who asks for tests to change does
        not decide it."""
        written = (*task.files_written, *(path for path in task.allowed_paths if literal(path) == path))
        return cls(named=frozenset(written), commands=tuple(commands), extra=tuple(extra))

    def protects(self, path: str, *, existed: bool = True) -> bool:
        """Whether a change of the whole file would be one of what decides. New tests and scripts are no such thing."""
        if path in self.named:
            return False
        always = is_decider(path) or matches_any(path, self.extra)
        return always or (existed and (is_test(path) or self._is_script(path)))

    def _is_script(self, path: str) -> bool:
        """Whether a verification command runs it: a shell script, or what is called by its path."""
        naming = (command for command in self.commands if path in command)
        words = {word.strip("'\"();&|") for command in naming for word in command.split()}
        return f"./{path}" in words or (path in words and path.endswith(_SCRIPTS))


def is_test(path: str) -> bool:
    """Whether the path is a test's by its name or its folder: its data and helpers too."""
    *folders, name = path.lower().split("/")
    return not _TEST_FOLDERS.isdisjoint(folders) or _IS_TEST.match(name) is not None


def is_decider(path: str) -> bool:
    """Whether the whole file decides how checks run, by its name or its folder."""
    *folders, name = path.lower().split("/")
    decides = _IS_DECIDER.match(name) is not None or path.endswith(_VENDORED)
    return decides or any(_IS_DECIDING_FOLDER.match(folder) for folder in folders)


def protected_files(files: Iterable[str], rules: ProtectionRules) -> tuple[str, ...]:
    """Which of the files that a task begins with it may not change, sorted; those of which only a part decides are
    among them."""
    partly = (path for path in files if posixpath.basename(path) in PARTLY_DECIDING and path not in rules.named)
    return tuple(sorted({*partly, *(path for path in files if rules.protects(path))}))


def protected_changes(
    changes: Collection[FileChange], rules: ProtectionRules, contents: Contents
) -> tuple[FileChange, ...]:
    """The changes that decide how the work is checked, though the task does not name them."""
    return tuple(change for change in changes if _decides(change, rules, contents))


def judge_protected(changed: Iterable[FileChange]) -> Iterator[Finding]:
    """One finding for each protected file that was changed."""
    for change in changed:
        verb = "added" if change.status == "added" else f"{change.status} from what it was"
        fix = f"Remove {change.path}." if change.status == "added" else f"Restore {change.path} as it was."
        yield make_finding(
            "protected",
            "protected_file",
            change.path,
            f"{change.path} decides whether work passes, and was {verb}: the checks ran as if it had not been.",
            f"{fix} Where the task needs it changed, give_up and say so: its files_written has to name it.",
            symptom=change.status,
        )


def _decides(change: FileChange, rules: ProtectionRules, contents: Contents) -> bool:
    if rules.protects(change.path, existed=change.status != "added"):
        return True
    if posixpath.basename(change.path) not in PARTLY_DECIDING or change.path in rules.named:
        return False
    before, after = (_part(change.path, blob, contents) for blob in (change.before, change.blob))
    return change.kind == "symlink" or before is None or before != after


def _part(path: str, blob: str, contents: Contents) -> object:
    """What of a file decides; nothing of a file that is not there, None where that cannot be told."""
    if not blob:
        return {}
    content = contents(blob)
    return None if content is None else deciding_part(posixpath.basename(path), content)
