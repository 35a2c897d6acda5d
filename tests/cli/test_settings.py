"""init, settings, trust and completion as a user meets them."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest

from agents.scripted.server import serve
from orchestrator.config.load import settings_tree
from orchestrator.config.secrets import MASK
from tests.support.scripts import call, script
from tests.support.story import Story, git


@pytest.fixture
def user(fresh: Story, tmp_path: Path) -> Story:
    """A user with a home of their own."""
    fresh.environ |= {"XDG_DATA_HOME": str(tmp_path / "data"), "XDG_CONFIG_HOME": str(tmp_path / "config")}
    return fresh


def test_settings_tell_value_and_origin(user: Story, tmp_path: Path) -> None:
    """Every setting once: by file and line, variable, flag, or default, without secrets; what waits for trust is
    apart."""
    own = tmp_path / "config/orchestrate/config.toml"
    own.parent.mkdir(parents=True)
    own.write_text("[run]\nparallel = 3\n")
    (user.repository / "orchestrate.toml").write_text(
        '[run]\nlease_s = 40\n[workspace.env]\nMODE = "test"\n[models.worker]\nname = "m"\n'
    )
    user.environ["ORCHESTRATE_REVIEW_THRESHOLD"] = "90"
    user.environ["OPENAI_BASE_URL"] = "http://me:in-the-url@127.0.0.1/v1"
    told = json.loads(user.ok("settings", "--json", "--sandbox", "none"))
    rows = {row.pop("setting"): row for row in told["settings"]}
    assert list(rows) == [setting.name for setting in settings_tree()]
    assert rows["run.parallel"] == {"value": 3, "origin": "user file", "place": f"{own}, line 2"}
    assert rows["run.lease_s"] == {"value": 40.0, "origin": "repository file", "place": "orchestrate.toml, line 2"}
    threshold = {"value": 90, "origin": "environment", "place": "ORCHESTRATE_REVIEW_THRESHOLD"}
    assert rows["review.threshold"] == threshold
    assert rows["sandbox.level"] == {"value": "none", "origin": "flag", "place": "on the command line"}
    assert rows["budgets.simple"] == {"value": 20, "origin": "default", "place": ""}
    assert rows["workspace.env"]["value"] == {}
    assert rows["models.worker.base_url"]["value"] == f"http://me:{MASK}@127.0.0.1/v1"
    assert told["untrusted"] == [
        {"setting": "workspace.env", "value": {"MODE": "test"}, "place": "orchestrate.toml, line 3"}
    ]
    shown = user.screen("settings")
    assert "= 3  # " in shown and "of this repository does not count before `orchestrate trust`:" in shown


def test_trust_can_be_given_and_taken_back(user: Story) -> None:
    """It shows what it trusts; without anything to trust, and without trust to take back, it says so."""
    assert "Nothing" in user.ok("trust")
    assert "was not trusted" in user.ok("trust", "--revoke")
    (user.repository / "orchestrate.toml").write_text("[sandbox]\nnetwork = true\n")
    assert "sandbox.network = true  (orchestrate.toml, line 2)" in user.ok("trust")
    assert 'untrusted": []' in user.ok("settings", "--json")
    assert "no longer" in user.ok("trust", "--revoke")
    assert user.run("status").returncode == 2


def test_init_writes_the_commands_that_pass(user: Story) -> None:
    """Proposals are run in the sandbox; what passes holds for plans that name nothing, and the PM is told of it."""
    (user.repository / "gradlew").write_text("#!/bin/sh\nexit 3\n")
    (user.repository / "gradlew").chmod(0o755)
    git(user.repository, "add", "-A")
    git(user.repository, "commit", "-qm", "Gradle too")
    done = user.run("init", "--json")
    assert done.returncode == 0, done.stderr
    made = {row["command"]: row["passed"] for row in json.loads(done.stdout)["commands"]}
    assert made == {"python3 -m unittest -q": True, "./gradlew test": False}
    text = (user.repository / "orchestrate.toml").read_text()
    assert '"python3 -m unittest -q",\n' in text and "# ./gradlew test: exit code 3\n" in text
    assert "is there already" in user.run("init").stderr

    user.plan("goal: g\ntasks:\n  - {key: a, prompt: Do it., files_written: [a.py]}\n")
    rows = user.ask("MATCH (p:Plan) RETURN p.verification AS v")
    assert rows == [{"v": ["python3 -m unittest -q"]}]
    plan = {"tasks": [{"key": "b", "prompt": "Do it.", "files_written": ["b.py"]}]}
    with serve(script({"when": {"role": "planner"}, "replies": [call("submit_plan", goal="g", **plan)]})) as model:
        user.use_model(model.base_url)
        assert json.loads(user.ok("plan", "Make it better", "--json"))["status"] == "ready"
    assert "name none:\n\n- python3 -m unittest -q" in model.requests[0]["messages"][1]["content"]


def test_init_writes_no_command_that_finds_no_test(user: Story) -> None:
    """It would pass whatever the work is: it stands in the file as what was tried."""
    (user.repository / "test_calc.py").write_text("# To be written.\n")
    git(user.repository, "commit", "-qam", "No test yet")
    done = user.run("init")
    assert done.returncode == 0, done.stderr
    if sys.version_info < (3, 12):  # since then unittest fails where it finds none
        assert "fails: it runs no test" in done.stderr
    text = (user.repository / "orchestrate.toml").read_text()
    assert "# python3 -m unittest -q: " in text and '# commands = ["make test"]' in text


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_completion_prints_a_script_for_the_shell(user: Story, shell: str) -> None:
    """It calls us back by the variable that click takes."""
    assert f"_ORCHESTRATE_COMPLETE={shell}_complete" in user.ok("completion", shell)


def test_task_keys_and_saved_queries_are_completed(user: Story) -> None:
    """Keys of the newest plan where the graph runs, names of queries anywhere; nothing is started for it."""

    def completed(typed: str) -> list[str]:
        words = {"COMP_WORDS": typed, "COMP_CWORD": str(typed.count(" ")), "_ORCHESTRATE_COMPLETE": "bash_complete"}
        user.environ |= words
        try:
            return [line.removeprefix("plain,") for line in user.run().stdout.split()]
        finally:
            for name in words:
                del user.environ[name]

    task = "  - {key: %s, prompt: Do it., files_written: [%s.py], verification: [python3 -m unittest]}\n"
    user.plan("goal: g\ntasks:\n" + task % ("tally", "a") + task % ("test", "b") + task % ("other", "c"))
    assert completed("orchestrate show t") == ["tally", "test"]
    assert completed("orchestrate execute --task o") == completed("orchestrate retry o") == ["other"]
    assert completed("orchestrate query --name k") == ["kpis"]
    (user.repository / "orchestrate.toml").write_text("[sandbox]\nnetwork = true\n")
    assert completed("orchestrate show t") == []


@pytest.mark.parametrize(
    ("typed", "meant"),
    [
        (["exeucte"], "did you mean 'execute'?"),
        (["stauts"], "did you mean 'status'?"),
        (["execute", "--paralel", "2"], "'--parallel'"),
        (["graph", "stauts"], "'status'"),
    ],
)
def test_a_mistyped_command_or_option_is_answered_with_the_nearest(user: Story, typed: list[str], meant: str) -> None:
    """Wrong usage, exit code 2, and what was probably meant."""
    done = user.run(*typed)
    assert done.returncode == 2 and meant in done.stderr
