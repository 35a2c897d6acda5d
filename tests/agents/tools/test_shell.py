"""run_command and read_output."""

from __future__ import annotations

import json

import pytest

from agents.chat.json_tools import asked_call
from agents.tools.catalogue import VERIFIER
from agents.tools.port import ToolEnv
from agents.tools.toolbox import Toolbox
from agents.transcript import Transcript, assistant_message
from orchestrator.domain.model_io import ToolCall
from orchestrator.domain.ports import Workspace
from orchestrator.workspace.sandbox import probe_sandbox
from tests.agents.tools.conftest import Do, Parse


def test_run_command_gives_output_and_exit_code(do: Do) -> None:
    """The output comes first, the exit code last; anything may have changed."""
    told = do("run_command", command="echo out; echo err >&2")
    assert told.ok
    assert told.text == "out\nerr\n[exit code 0]"
    assert told.touched is None


def test_what_a_command_prints_is_told_as_plain_text(do: Do) -> None:
    """Colours and titles are for a terminal; a coloured count is no word, as a plain one is none."""
    told = do("run_command", command="printf '\\033[31mred\\033[0m \\033]0;title\\007end\\n'")
    assert told.text == "red end\n[exit code 0]"
    counts = [do("run_command", command=f"printf '\\033[1m{n}\\033[0m'; exit 1").error_hash for n in (1, 1, 2)]
    assert counts[0] == counts[1] != counts[2]


def test_a_failing_command_is_a_failed_call(do: Do) -> None:
    """A non-zero exit is an error of the tool, with its output."""
    told = do("run_command", command="printf partial; exit 3")
    assert (told.ok, told.error_kind, told.text) == (False, "tool", "partial\n[exit code 3]")


def test_equal_failures_of_other_commands_are_no_repeated_error(do: Do) -> None:
    """Two searches that find nothing fail alike but are different errors; the same command twice is the same."""
    one = do("run_command", command="grep -r nothing1 app")
    other = do("run_command", command="grep -r nothing2 app")
    assert one.outcome_hash == other.outcome_hash
    assert one.error_hash != other.error_hash
    assert one.error_hash == do("run_command", command="grep -r nothing1 app").error_hash


def test_commands_that_fail_with_the_same_words_are_one_error(do: Do) -> None:
    """How the command is worded says nothing when its output does; a bare count is no word."""
    words = [do("run_command", command=f"python3 nope.py # {n}").error_hash for n in range(2)]
    assert words[0] == words[1]
    counts = [do("run_command", command=f"grep -c nothing{n} app/main.py").error_hash for n in range(2)]
    assert counts[0] != counts[1]


def test_durations_and_temporary_paths_do_not_change_the_outcome(do: Do) -> None:
    """Outcomes are hashed without their noise, so that a repeated result is seen to be the same."""
    one = do("run_command", command="echo ran in 0.31s in /tmp/a1/x; false")
    other = do("run_command", command="echo ran in 0.57s in /tmp/b2/y; false")
    assert one.outcome_hash == other.outcome_hash


def test_a_command_that_takes_too_long_is_stopped(do: Do) -> None:
    """A time limit ends the command, and the result says so."""
    told = do("run_command", command="echo begun; sleep 30", timeout_s=0.5)
    assert not told.ok
    assert told.error_kind == "tool"
    assert told.text.startswith("begun\n[stopped")


@pytest.fixture
def transcript() -> Transcript:
    """One call with a long result."""
    made = Transcript(())
    asked = [asked_call("long", "run_command", "{}")]
    made.say(assistant_message("", asked), asked)
    made.answer("long", "".join(f"line {n}\n" for n in range(400)), "ok")
    return made


def _read(workspace: Workspace, transcript: Transcript, **arguments: object) -> str:
    box = Toolbox(VERIFIER, ToolEnv(workspace, transcript, page_chars=1_000, read_only=True))
    call = box.parse(asked_call("c", "read_output", json.dumps(arguments)))
    return box.execute(call).text


def test_read_output_pages_through_the_whole_result(workspace: Workspace, transcript: Transcript) -> None:
    """Pages joined are the whole result, and each says how to get the next."""
    whole, offset, pages = transcript.output("long") or "", 0, []
    while offset < len(whole):
        heading, _, page = _read(workspace, transcript, call_id="long", offset=offset).partition("\n")
        pages.append(page)
        offset += len(page)
        assert (f"offset={offset} reads on" in heading) == (offset < len(whole))
    assert "".join(pages) == whole
    assert "nothing" in _read(workspace, transcript, call_id="long", offset=len(whole))


def test_read_output_of_an_unknown_id_names_the_last_ones(workspace: Workspace, transcript: Transcript) -> None:
    """An unknown id is an error that says which there are."""
    told = _read(workspace, transcript, call_id="nope")
    assert "no call with the id nope" in told
    assert "long" in told


def test_read_output_lists_every_call_under_digest(workspace: Workspace, transcript: Transcript) -> None:
    """The id `digest` gives a line for each call."""
    assert "- long: run_command {} -> ok: line 0 line 1" in _read(workspace, transcript, call_id="digest")


def test_qc_commands_change_nothing(workspace: Workspace, transcript: Transcript) -> None:
    """QC's run_command is not mutating, and where there is a sandbox it cannot write."""
    box = Toolbox(VERIFIER, ToolEnv(workspace, transcript, page_chars=1_000, read_only=True))

    def run(command: str) -> tuple[ToolCall, bool]:
        call = box.parse(asked_call("c", "run_command", json.dumps({"command": command})))
        return call, box.execute(call).ok

    call, ok = run("cat README.md")
    assert ok
    assert not call.mutating
    _, wrote = run("echo x > app/main.py")
    assert wrote is not probe_sandbox("bubblewrap").works


@pytest.mark.parametrize("command", ["git checkout -- app", "git reset --hard", "git add -A", "git commit -qam x"])
def test_a_git_write_is_answered_with_the_way_to_take_a_change_back(do: Do, command: str) -> None:
    """It fails, and is no error of the work: whoever tries four ways learns one thing."""
    told = do("run_command", command=command)
    assert (told.ok, told.error_hash) == (False, "")
    assert "git show HEAD:path > path" in told.text
    assert do("run_command", command="git show HEAD:app/main.py > app/main.py && git status --short").ok


def test_a_program_that_is_not_here_is_a_lesson(do: Do) -> None:
    """Four commands that miss one interpreter are no error made four times."""
    told = [do("run_command", command=f"pythonx -m unittest {n}") for n in range(2)]
    assert [(each.ok, each.error_hash) for each in told] == [(False, "")] * 2


def test_how_long_a_command_may_take_makes_no_other_call(parse: Parse) -> None:
    """The time limit is no part of the signature."""
    assert len({parse("run_command", command="ls", timeout_s=n).signature for n in (5, 60)}) == 1
