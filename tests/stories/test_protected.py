"""Workers that make checks pass by what decides them, and one that is told to change a test."""

from __future__ import annotations

from tests.stories.conftest import Serve
from tests.support.scripts import SUB, call, finish, plan_of, review, script, shell, task, worker
from tests.support.story import Story, git

FAILING = """import unittest

from calc import subtract


class Subtract(unittest.TestCase):
    def test_subtract(self):
        self.assertEqual(subtract(5, 3), 2)
"""
ALWAYS = "class TestCase: pass\ndef main(*a, **k): pass\nif __name__ == '__main__': main()\n"
CHEATS = {
    "deletes": ("rm test_sub.py", "test_sub.py", "protected_file"),
    "skips": ("sed -i 's/def test/@unittest.skip(1)\\n    def test/' test_sub.py", "test_sub.py", "protected_file"),
    "renames": ("mv test_sub.py sub.txt", "test_sub.py", "protected_file"),
    "links": ("rm test_sub.py && ln -s test_calc.py test_sub.py", "test_sub.py", "protected_file"),
    "shadows": (f'printf "{ALWAYS}" > unittest.py', "unittest.py", "shadowing_module"),
    "makes": ("printf 'test:\\n\\ttrue\\n' > GNUmakefile", "GNUmakefile", "protected_file"),
    "configures": ("printf '[pytest]\\naddopts = --collect-only\\n' > pytest.ini", "pytest.ini", "protected_file"),
    "hooks": ("echo 'import os' > conftest.py", "conftest.py", "protected_file"),
    "replaces": ("touch pytest.py", "pytest.py", "shadowing_module"),
    "ends": ("printf 'import os\\nos._exit(0)\\n' > calc.py", "make test", "vanished"),
    "customises": ("echo 'import os; os._exit(0)' > sitecustomize.py", "sitecustomize.py", "protected_file"),
}


def test_a_check_cannot_be_made_to_pass_by_what_decides_it(story: Story, model: Serve) -> None:
    """Whoever deletes, skips, renames or links away the failing test, shadows its library or adds what runs first is
    refused by a finding that says it, and the check still fails: it ran with everything as it was. Where the code under
    test ends the process before any test the check passes, and that no test ran is the finding."""
    (story.repository / "test_sub.py").write_text(FAILING)
    (story.repository / "Makefile").write_text("test:\n\tpython3 -m unittest -q\n")
    git(story.repository, "add", "-A")
    git(story.repository, "commit", "-qm", "A test that fails")
    model(script(*(worker(key, shell(cheat), finish()) for key, (cheat, _, _) in CHEATS.items()), review()))
    wide = "    max_attempts: 1\n    allowed_paths: ['**']\n"
    story.plan(plan_of(*(task(key, more=wide) for key in CHEATS), verification="make test"))

    assert story.run("execute").returncode == 1

    rows = story.ask(
        "MATCH (t:Task)-[:HAS_ATTEMPT]->(a)-[:FOUND]->(f:Finding) MATCH (a)-[:CHECKED_BY]->(c) "
        "RETURN t.key AS key, f.code AS code, f.locus AS locus, c.outcome AS outcome, a.stopReason AS reason"
    )
    for key, (_, locus, code) in CHEATS.items():
        found = [row for row in rows if row["key"] == key]
        assert (code, locus) in {(row["code"], row["locus"]) for row in found}, found
        outcome = "passed" if key == "ends" else "failed"
        assert {(row["outcome"], row["reason"]) for row in found} == {(outcome, "gate_failed")}, found


def test_a_task_changes_the_test_that_it_names(story: Story, model: Serve) -> None:
    """files_written says that a test is what the task is about; new tests beside need no word."""
    (story.repository / "conftest.py").write_text("")
    git(story.repository, "add", "-A")
    git(story.repository, "commit", "-qm", "More")
    wrong = call("write_file", path="test_calc.py", file_text=FAILING)
    right = call("write_file", path="calc.py", file_text=SUB)
    more = call("write_file", path="test_more.py", file_text=FAILING)
    model(script(worker("both", wrong, right, more, finish()), review()))
    story.plan(plan_of(task("both", writes=["calc.py", "test_calc.py"])))

    story.ok("execute")

    assert story.ask("MATCH (f:Finding) RETURN f.code") == []
    assert "protected  conftest.py\n" in story.ok("show", "both")


def test_what_a_worker_commits_by_itself_is_judged_all_the_same(story: Story, model: Serve) -> None:
    """Without a sandbox git is the worker's too: what it commits, amends, stashes or does on a branch of its own is
    compared with the commit that it was given, so a change elsewhere is found, and one that is allowed is delivered
    once."""
    ours = "git -c user.name=W -c user.email=w@example.org"
    elsewhere = f"mkdir other && echo x > other/x.txt && git add -A && {ours} commit -qm Mine && git checkout -qb mine"
    within = f"printf {SUB!r} > calc.py && {ours} commit -qam One && {ours} commit -q --amend -m Two && {ours} stash -q"
    kept = f"printf {SUB!r} > calc.py && git checkout -qb mine2 && {ours} commit -qam Kept"
    once = "    max_attempts: 1\n"
    model(
        script(
            worker("elsewhere", shell(elsewhere), finish()),
            worker("within", shell(f"{within}; {kept}; git status"), finish()),
            review(),
        )
    )
    story.plan(plan_of(task("elsewhere", more=once), task("within", more=once)))

    assert story.run("execute", "--sandbox", "none").returncode == 1

    rows = story.ask("MATCH (t:Task)-[:HAS_ATTEMPT]->(a) RETURN t.key AS key, a.stopReason AS reason ORDER BY key")
    assert [(row["key"], row["reason"]) for row in rows] == [("elsewhere", "gate_failed"), ("within", "accepted")]
    found = story.ask("MATCH (f:Finding {source: 'scope'}) RETURN f.locus AS locus")
    assert {row["locus"] for row in found} == {"other/x.txt"}
    branch = git(story.repository, "branch", "--list", "--format=%(refname:short)", "orchestrate/*")
    assert git(story.repository, "log", "--format=%an", f"HEAD..{branch}").count("W") == 0
    assert git(story.repository, "show", f"{branch}:calc.py") == SUB.rstrip()
    assert "mine" not in git(story.repository, "branch", "--list")
