"""The command line's frame: help, usage errors, exit codes, crashes, pipes."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from click import BadParameter
from click.testing import CliRunner

from orchestrator.cli import COMMANDS, cli
from orchestrator.cli.values import Duration
from tests.support.story import CLI, Story, make_repository

HEAVY = ("pydantic", "neo4j", "rich", "openai", "httpx", "networkx", "pygit2", "yaml", "logging", "asyncio")


def _python(code: str, *, cwd: Path | None = None) -> subprocess.CompletedProcess[str]:
    return subprocess.run((sys.executable, "-c", code), capture_output=True, text=True, cwd=cwd, timeout=60)


def test_help_imports_nothing_heavy() -> None:
    """`--help` loads click and the errors, so that it answers as fast as a bare click program."""
    done = _python(
        "import sys, click; bare = set(sys.modules)\n"
        "from orchestrator.cli import run; run(['--help'])\n"
        f"print([name for name in {HEAVY!r} if name in set(sys.modules) - bare], file=sys.stderr)"
    )
    assert done.stderr.strip() == "[]"
    assert "Plan a goal into a graph of tasks" in done.stdout


@pytest.mark.parametrize("name", COMMANDS)
def test_command_help_says_what_it_does(name: str) -> None:
    """Every command of the table exists, has help, and loads no driver to say it."""
    done = _python(
        f"import sys\nfrom orchestrator.cli import run; run([{name!r}, '--help'])\n"
        "assert not {'neo4j', 'openai', 'rich'} & set(sys.modules)"
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert f"Usage: orchestrate {name}" in done.stdout


def test_settings_load_neither_graph_nor_git_library(tmp_path: Path) -> None:
    """A command waits for what it needs, and for no more."""
    make_repository(tmp_path / "repository")
    done = _python(
        "import sys\nfrom orchestrator.cli import run; run(['settings'])\n"
        "assert not {'neo4j', 'openai', 'pygit2', 'networkx', 'yaml'} & set(sys.modules)",
        cwd=tmp_path / "repository",
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert "review" in done.stdout


def test_commands_of_later_issues_are_absent() -> None:
    """A command that a later issue brings is unknown, not a stub."""
    for name in ("override", "split", "checkout", "worker", "gc"):
        assert CliRunner().invoke(cli, [name]).exit_code == 2


def test_completion_lists_the_commands() -> None:
    """Shell completion works as click has it."""
    environ = {
        **os.environ,
        "_ORCHESTRATE_COMPLETE": "bash_complete",
        "COMP_WORDS": "orchestrate st",
        "COMP_CWORD": "1",
    }
    code = "from orchestrator.cli import main; main()"
    done = subprocess.run((sys.executable, "-c", code), env=environ, capture_output=True, text=True, timeout=60)
    assert done.stdout.strip() == "plain,status"


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["nosuch"], "No such command 'nosuch'"),
        (["-C", "/nonexistent-folder", "status"], "'/nonexistent-folder' does not exist"),
        (["--log-level", "loud", "status"], "'loud' is not one of"),
        (["plan"], "Give a GOAL, or --file PLAN."),
        (["plan", "goal", "--file", "x.yaml"], "Give a GOAL, or --file PLAN."),
        (["plan", "  "], "The goal is empty"),
        (["plan", "@missing.md"], "missing.md cannot be read: No such file or directory"),
        (["plan", "--file", "missing.yaml"], "missing.yaml cannot be read"),
        (["execute", "--resume", "--fresh"], "give one of them"),
        (["execute", "--parallel", "0"], "0 is not in the range"),
        (["execute", "--max-cost", "0"], "0.0 is not in the range"),
        (["execute", "--max-tokens", "many"], "'many' is not a valid integer"),
        (["execute", "--deadline", "soon"], "'soon' is no duration. Write it as 90s, 15m, 2h or 1h30m."),
        (["execute", "--sandbox", "docker"], "'docker' is not one of"),
        (["query"], "Give a Cypher statement, - for stdin, --name SAVED or --list."),
        (["query", "RETURN 1", "--name", "kpis"], "Give a Cypher statement"),
        (["query", "why-failed"], "why-failed is the name of a saved query, which `--name why-failed` runs."),
        (["query", "   "], "The Cypher statement is empty."),
        (["query", "RETURN $a, $b"], "The query needs $a, $b. Give --param a=VALUE --param b=VALUE."),
        (["query", "RETURN $a", "--param", "a"], "'a' is not of the form name=value"),
        (["query", "--name", "kpi"], "There is no saved query 'kpi'. Did you mean kpis?"),
        (["query", "--name", "kpis", "--param", "task=1"], "Query kpis has no parameter task."),
        (
            ["query", "--name", "most-expensive", "--param", "limit=abc"],
            'Parameter limit of query most-expensive is a whole number, 0 or more; "abc" is not. '
            "Give --param 'limit=10'.",
        ),
        (["query", "--name", "most-expensive", "--param", "limit=-1"], "0 or more; -1 is not."),
        (["query", "--name", "most-expensive", "--param", "limit=true"], "0 or more; true is not."),
        (["query", "--name", "most-expensive", "--param", "limit=null"], "0 or more; null is not."),
        (["query", "--name", "why-failed", "--param", "task=12"], "text; 12 is not. Give --param 'task=\"12\"'."),
        (["status", "--watch", "--json"], "--watch shows a screen"),
        (["show", "--diff", "--json"], "--diff prints a diff"),
        (["calibrate"], "Missing option '--replay'"),
        (["calibrate", "--replay", "missing.toml"], "missing.toml cannot be read"),
        (["calibrate", "--replay", "limits.toml", "--repeat-last", "0"], "0 is not in the range"),
        (["graph", "sideways"], "No such command 'sideways'"),
    ],
)
def test_wrong_usage_is_one_message_and_exit_code_2(arguments: list[str], says: str, nowhere: Story) -> None:
    """Wrong usage names the value and the way out, before anything is looked for or started."""
    done = nowhere.run(*arguments)
    assert done.returncode == 2
    assert says in done.stderr
    assert done.stdout == ""
    assert "Traceback" not in done.stderr


@pytest.mark.parametrize(
    "command", [["status"], ["show"], ["execute"], ["query", "RETURN 1"], ["graph", "status"], ["plan", "a goal"]]
)
def test_outside_a_repository(command: list[str], nowhere: Story) -> None:
    """A folder that is no repository is the user's to mend: exit code 2, one message."""
    done = nowhere.run(*command)
    assert done.returncode == 2
    assert done.stderr.startswith("Error: ")
    assert len(done.stderr.strip().splitlines()) == 1
    assert done.stdout == ""


def test_limits_with_an_unknown_key(nowhere: Story) -> None:
    """An unknown limit is named with its nearest neighbour."""
    (nowhere.repository / "limits.toml").write_text("repetition_stp = 4\n")
    done = nowhere.run("calibrate", "--replay", "limits.toml")
    assert done.returncode == 2
    assert "repetition_stp" in done.stderr
    assert "repetition_stop" in done.stderr


def test_a_defect_of_ours_leaves_its_traceback_in_a_log() -> None:
    """An exception that nobody expected: exit code 70, a short message, and where the details are; a key of the
    environment, which may stand among the arguments, is in neither."""
    done = _python(
        "import os, sys, orchestrator.cli as c\nos.environ['A_KEY'] = 'sk-in-an-argument'\n"
        "c.COMMANDS['status'] = ('nowhere', '')\nsys.exit(c.run(['status', 'sk-in-an-argument']))"
    )
    assert done.returncode == 70
    assert "Traceback" not in done.stderr
    message, log = done.stderr.strip().removesuffix(".").split(" The details are in ")
    assert message.startswith("Error: a defect of orchestrate: ModuleNotFoundError")
    logged = Path(log).read_text()
    assert "Traceback" in logged
    assert "CRASH ['status', '***']" in logged


def test_a_reader_who_leaves_is_no_error(nowhere: Story) -> None:
    """`orchestrate ... | head` ends without a message, as other programs do."""
    pipe = f"{' '.join(CLI)} query --list --format json | true; echo ${{PIPESTATUS[0]}}"
    done = subprocess.run(
        ("bash", "-c", pipe), cwd=nowhere.repository, env=nowhere.environ, capture_output=True, text=True, timeout=60
    )
    assert done.stderr == ""
    assert done.stdout.strip() == "141"


def test_a_foreign_agents_package_is_named(tmp_path: Path) -> None:
    """The import name `agents` is also another package's: that is said, with the way out."""
    (tmp_path / "agents").mkdir()
    (tmp_path / "agents" / "__init__.py").write_text("")
    done = _python("import sys; from orchestrator.cli import run; sys.exit(run(['doctor']))", cwd=tmp_path)
    assert done.returncode == 2
    assert "taken by another package" in done.stdout
    assert "uv tool install" in done.stdout


@pytest.mark.parametrize(
    ("text", "seconds"),
    [("90s", 90), ("15m", 900), ("2h", 7_200), ("1h30m", 5_400), ("1.5h", 5_400), (" 1 D ", 86_400)],
)
def test_durations(text: str, seconds: float) -> None:
    """--deadline takes seconds, minutes, hours and days."""
    assert Duration().convert(text, None, None) == seconds


@pytest.mark.parametrize("text", ["", "90", "s", "1x", "-5m", "0s", "1h 30", "9" * 400 + "d", "366d", "1m;", "٣m"])
def test_no_duration(text: str) -> None:
    """What is none is refused with how to write one."""
    with pytest.raises(BadParameter):
        Duration().convert(text, None, None)
