"""Protected files and shadowing modules: what of a change decides whether work passes."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from orchestrator.domain.task import Task
from orchestrator.domain.workspace import FileChange
from orchestrator.gates.deciding import PARTLY_DECIDING, deciding_part
from orchestrator.gates.protected import (
    ProtectionRules,
    judge_protected,
    protected_changes,
    protected_files,
)
from orchestrator.gates.shadowing import built_in, judge_shadowing, new_modules
from tests.support.samples import new_task

CHANGE = FileChange(
    path="calc.py", status="modified", added=1, removed=1, blob="b", before="a", kind="file", substantive=True
)
RULES = ProtectionRules(commands=("python3 -m unittest -q",))


def changed(*changes: FileChange, rules: ProtectionRules = RULES, **blobs: str) -> list[str]:
    """The paths that count as protected changes; `blobs` are contents by id."""
    contents = {name: text.encode() for name, text in blobs.items()}
    return [change.path for change in protected_changes(changes, rules, contents.get)]


@pytest.mark.parametrize(
    "path",
    ["test_calc.py", "tests/data/a.json", "pkg/sum_test.go", "src/a.test.tsx", "web/__tests__/a.js", "spec/a_spec.rb"],
)
def test_a_test_of_the_start_is_protected_and_a_new_one_is_free(path: str) -> None:
    """Editing, deleting or linking away a test that was there is a finding; adding one is work."""
    for status in ("modified", "deleted"):
        assert changed(replace(CHANGE, path=path, status=status)) == [path]
    assert changed(replace(CHANGE, path=path, status="added")) == []


@pytest.mark.parametrize(
    "path",
    [
        *("conftest.py", "a/b/conftest.py", "pytest.ini", "tox.ini", "GNUmakefile", "Makefile", "sitecustomize.py"),
        *(".github/workflows/ci.yml", "jest.config.mjs", "tsconfig.build.json", "__pycache__/calc.cpython-311.pyc"),
        *("evil.egg-info/entry_points.txt", "vendor/modules.txt", ".cargo/config.toml", "node_modules/jest/index.js"),
    ],
)
def test_what_decides_how_checks_run_is_protected_also_where_it_is_new(path: str) -> None:
    """Tools find these files by their name, so a new one changes what a check does."""
    for status in ("added", "modified", "deleted"):
        assert changed(replace(CHANGE, path=path, status=status)) == [path]


def test_usual_work_is_not_protected() -> None:
    """Sources, documents and data are what tasks are about."""
    for path in ("calc.py", "app/contest.py", "docs/testing.md", "latest/a.py", "src/index.ts", "vendor/a.css"):
        assert changed(replace(CHANGE, path=path)) == []


def test_a_task_may_change_what_it_names_and_the_settings_protect_more() -> None:
    """files_written and a path in allowed_paths name a file; a glob names none, nor does what was granted since."""
    task: Task = replace(
        new_task("p", 1, ()), files_written=("test_calc.py",), allowed_paths=("Makefile", "tests/**", "**/conftest.py")
    )
    rules = ProtectionRules.of(task, (), ("golden/**",))
    paths = ("test_calc.py", "Makefile", "tests/test_a.py", "conftest.py", "golden/a.txt", "calc.py")
    found = changed(*(replace(CHANGE, path=path) for path in paths), rules=rules)
    assert found == ["tests/test_a.py", "conftest.py", "golden/a.txt"]
    assert protected_files((*paths, "pyproject.toml"), rules) == (
        *("conftest.py", "golden/a.txt", "pyproject.toml", "tests/test_a.py"),
    )


def test_a_script_that_a_command_runs_is_protected() -> None:
    """What the command calls by its path, and the shell script that it names; not a program's argument."""
    rules = ProtectionRules(commands=("bash ci/run.sh && ./check calc.py",))
    found = changed(*(replace(CHANGE, path=path) for path in ("ci/run.sh", "check", "calc.py")), rules=rules)
    assert found == ["ci/run.sh", "check"]


@pytest.mark.parametrize(
    ("name", "before", "same", "other"),
    [
        (
            "pyproject.toml",
            "[project]\nversion = '1'\n[tool.pytest.ini_options]\naddopts = '-q'\n",
            "[project]\nversion = '2'\ndependencies = ['x']\n[tool.pytest.ini_options]\naddopts = '-q'\n",
            "[project]\nversion = '1'\n[tool.pytest.ini_options]\naddopts = '--collect-only'\n",
        ),
        (
            "setup.cfg",
            "[metadata]\nname = a\n",
            "[metadata]\nname = b\n[options.extras_require]\nx = y\n",
            "[metadata]\nname = a\n[tool:pytest]\naddopts = --co\n",
        ),
        (
            "package.json",
            '{"scripts": {"test": "jest"}}',
            '{"dependencies": {"a": "1"}, "scripts": {"test": "jest"}}',
            '{"scripts": {"test": "jest", "pretest": "rm -r test"}}',
        ),
        (
            "Cargo.toml",
            "[package]\nname = 'a'\n",
            "[package]\nname = 'a'\n[dependencies]\nb = '1'\n",
            "[package]\nname = 'a'\nautotests = false\n",
        ),
    ],
)
def test_of_a_manifest_only_the_deciding_part_is_protected(name: str, before: str, same: str, other: str) -> None:
    """A new dependency is work; a changed option, script or section of a test tool is not. One that cannot be read any
    more, or is too large to be, may hide anything; one that was added decides by what it holds."""
    change = replace(CHANGE, path=f"sub/{name}")
    assert changed(change, a=before, b=same) == []
    assert changed(change, a=before, b=other) == [change.path]
    assert changed(change, a=before, b="[[[ {") == [change.path]
    assert changed(change, a=before) == [change.path]
    new = replace(change, status="added", before="")
    assert changed(new, b=other) == [change.path]
    assert changed(new, b='{"name": "a"}' if name == "package.json" else "") == []


@given(st.sampled_from(sorted(PARTLY_DECIDING)), st.binary() | st.text().map(str.encode))
def test_no_manifest_raises(name: str, content: bytes) -> None:
    """A manifest is the worker's to write: nothing in it ends more than its own reading."""
    deciding_part(name, content)


@pytest.mark.parametrize("name", ["package.json", "pyproject.toml"])
def test_a_manifest_nested_beyond_reason_counts_as_unreadable(name: str) -> None:
    """Neither the parser's depth nor a comparison is a way to end the run."""
    deep = "[" * 100_000
    assert deciding_part(name, (deep if name == "package.json" else f"a = {deep}").encode()) is None


def test_a_finding_says_what_was_changed_and_stays_while_the_defect_does() -> None:
    """Its identity is the path and what happened to it, whatever the content."""
    [deleted] = judge_protected([replace(CHANGE, path="test_calc.py", status="deleted")])
    [again] = judge_protected([replace(CHANGE, path="test_calc.py", status="deleted", added=9)])
    [added] = judge_protected([replace(CHANGE, path="conftest.py", status="added")])
    assert (deleted.code, deleted.blocking, deleted.locus) == ("protected_file", True, "test_calc.py")
    assert deleted.fingerprint == again.fingerprint != added.fingerprint
    assert "files_written" in deleted.required_fix and added.required_fix.startswith("Remove conftest.py.")


FILES = ("calc.py", "tests/test_calc.py", "app/__init__.py", "app/main.py")


@pytest.mark.parametrize(
    ("path", "name"),
    [
        *(("unittest.py", "unittest"), ("pytest/__init__.py", "pytest"), ("src/json.py", "json")),
        *(("tests/random.py", "random"), ("unittest.cpython-311-x86_64-linux-gnu.so", "unittest"), ("re.pyc", "re")),
        *(("app/types.py", ""), ("json/data.txt", ""), ("calc2.py", "calc2"), ("requests.py", "requests")),
    ],
)
def test_a_new_module_at_an_import_root_has_a_bare_name(path: str, name: str) -> None:
    """At the top, in src and beside tests; inside a package a name is that package's own."""
    assert list(new_modules([replace(CHANGE, path=path, status="added")], FILES, RULES)) == ([name] if name else [])


def test_only_what_is_new_unnamed_and_needed_from_elsewhere_shadows() -> None:
    """A module that the task names, that was there, or that nobody needs is no finding; a link counts as what it is
    named."""
    added = replace(CHANGE, status="added")
    link = replace(added, path="unittest", kind="symlink", link_target="app")
    assert list(new_modules([replace(CHANGE, path="json.py"), replace(added, path="calc.py")], FILES, RULES)) == []
    named = ProtectionRules(named=frozenset({"json.py"}))
    assert list(new_modules([replace(added, path="json.py")], FILES, named)) == []
    made = new_modules([link, replace(added, path="helpers.py"), replace(added, path="trial.py")], FILES, RULES)
    needed = built_in(made, ("python3 -m trial",))
    assert needed == {"unittest", "trial"}
    found = list(judge_shadowing(made, needed))
    assert [(f.code, f.severity, f.locus) for f in found] == [
        ("shadowing_module", "critical", "unittest"),
        ("shadowing_module", "critical", "trial.py"),
    ]
