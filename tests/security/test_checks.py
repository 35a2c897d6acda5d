"""Work that forges the checks which follow the one that runs it."""

from __future__ import annotations

from tests.stories.conftest import Serve, model, story
from tests.support.scripts import call, finish, plan_of, review, script, task, worker
from tests.support.story import Story, git

TEST_SUB = """import unittest

from calc import subtract


class Subtract(unittest.TestCase):
    def test_subtract(self):
        self.assertEqual(subtract(5, 3), 2)
"""
WRONG = """import importlib.util
import pathlib
import py_compile

def add(a, b):
    return a + b

def subtract(a, b):
    return 0

tests = pathlib.Path(__file__).parent
forged = (tests / "test_sub.py").read_text().replace("5, 3), 2", "5, 3), 0")
"""
REWRITES = '(tests / "test_sub.py").write_text(forged)\n'
COMPILES = """(tests / "forged").write_text(forged)
cached = importlib.util.cache_from_source("test_sub.py")
unchecked = py_compile.PycInvalidationMode.UNCHECKED_HASH
py_compile.compile("forged", cfile=cached, invalidation_mode=unchecked)
"""
SHADOWS = '(tests / "test_sub").mkdir(exist_ok=True)\n(tests / "test_sub" / "__init__.py").write_text(forged)\n'
FORGERIES = {"rewrites": REWRITES, "compiles": COMPILES, "shadows": SHADOWS}


def test_a_check_makes_nothing_of_the_next_ones_tests(story: Story, model: Serve) -> None:
    """Code that the first command runs rewrites the second's test, leaves a compiled one that Python takes unseen in a
    folder that git ignores, or a package in the test's place, ignored too: the second runs what is delivered, and
    fails."""
    (story.repository / "test_sub.py").write_text(TEST_SUB)
    (story.repository / ".gitignore").write_text("__pycache__/\ntest_sub/\nforged\n")
    git(story.repository, "add", "-A")
    git(story.repository, "commit", "-qm", "A test that fails")
    wrongs = {key: call("write_file", path="calc.py", file_text=WRONG + forged) for key, forged in FORGERIES.items()}
    model(script(*(worker(key, wrong, finish()) for key, wrong in wrongs.items()), review()))
    plan = plan_of(*(task(key, more="    max_attempts: 1\n") for key in FORGERIES))
    two = "['python3 -m unittest -q test_calc', 'python3 -m unittest -q test_sub']"
    story.plan(plan.replace("['python3 -m unittest -q']", two))

    assert story.run("execute").returncode == 1

    rows = story.ask(
        "MATCH (t:Task)-[:HAS_ATTEMPT]->(a)-[:CHECKED_BY]->(c) WHERE a.stopReason = 'gate_failed' "
        "RETURN t.key AS key, c.outcome AS outcome, c.output AS said ORDER BY key, c.startedAt"
    )
    assert [(row["key"], row["outcome"]) for row in rows] == [
        (key, outcome) for key in sorted(FORGERIES) for outcome in ("passed", "failed")
    ]
    assert all("0 != 2" in row["said"] for row in rows if row["outcome"] == "failed")


__all__ = ["model", "story"]
