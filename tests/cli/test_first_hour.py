"""What a user is told of a repository as it is found: dirt, environments, generated files."""

from __future__ import annotations

import json

from tests.support.scripts import plan_of, task
from tests.support.story import Story, git

PYPROJECT = '[tool.setuptools_scm]\nversion_file = "tiny/_version.py"\n'


def test_a_new_users_repository_is_told_apart(fresh: Story) -> None:
    """The plan file in the repository is no dirt, a virtual environment that git does not ignore is never to be
    committed, and a generated file that no workspace has is named with what makes it, by plan and by doctor."""
    files = {
        "tiny/__init__.py": "from tiny._version import version\n",
        "pyproject.toml": PYPROJECT,
        ".gitignore": "_version.py\n",
    }
    for name, text in files.items():
        (fresh.repository / name).parent.mkdir(exist_ok=True)
        (fresh.repository / name).write_text(text)
    git(fresh.repository, "add", "-A")
    git(fresh.repository, "commit", "-qm", "A package")
    (fresh.repository / "tiny" / "_version.py").write_text("version = '1'\n")
    (fresh.repository / "plan.yaml").write_text(plan_of(task("subtract")))
    (fresh.repository / ".venv").mkdir()
    (fresh.repository / ".venv" / "pyvenv.cfg").write_text("")

    planned = fresh.run("plan", "--file", "plan.yaml")
    doctor = {line["check"]: line for line in json.loads(fresh.run("doctor", "--json").stdout)}

    assert planned.returncode == 0, planned.stderr
    assert "uncommitted" not in planned.stderr
    assert "tiny/_version.py is ignored by git and tiny/__init__.py needs it" in planned.stderr
    assert doctor["repository"]["do"] == "Add to .gitignore, and do not commit: .venv/"
    assert doctor["workspace"]["verdict"] == "warn"
    assert 'prepare = ["python -m setuptools_scm --force-write-version-files"]' in doctor["workspace"]["do"]
    assert '"node_modules", "tiny/_version.py"]' in doctor["workspace"]["do"]
