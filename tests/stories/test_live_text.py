"""The words of a reply while it comes: on a terminal, sanitised, until the turn is over; and nowhere else."""

from __future__ import annotations

from typing import Any

import pytest

from tests.stories.conftest import Serve
from tests.support.processes import wait_until
from tests.support.scripts import SUB, call, finish, plan_of, review, script, slowly, task, worker
from tests.support.story import Story, attempts
from tests.support.terminal import on_terminal, with_words

SECRET = "tok-3141592653589793"
FIRST, LAST = "First I look at the tests. ", " Now I know what calc lacks"
# A stream comes in halves: the first ends within the secret.
TEXT = f"{FIRST}\x1b[31m{SECRET}{' ' * (len(FIRST) + 5 - len(LAST))}{LAST}"
ALL = "MATCH (n) RETURN properties(n) AS node"


def _slowly(text: str, bytes_a_second: float = 350, **more: Any) -> dict[str, Any]:
    """A call with a text that comes slowly, as a stream."""
    reply = call("write_file", path="calc.py", file_text=SUB)
    return {**reply, "text": text, "fault": {"drip": bytes_a_second}, **more}


@pytest.fixture
def talking(story: Story, model: Serve) -> Story:
    """A plan whose worker talks before it writes; the user's environment holds a secret."""
    assert TEXT[: len(TEXT) // 2].startswith(FIRST) and SECRET not in TEXT[: len(TEXT) // 2]
    story.environ["SHOP_TOKEN"] = SECRET
    # The next turn is on the screen for longer than a redraw takes, on a busy machine too.
    model(script(worker("subtract", _slowly(TEXT), slowly(finish())), review()))
    story.plan(plan_of(task("subtract")))
    return story


def test_a_terminal_shows_when_a_reply_begins_and_its_newest_words(talking: Story) -> None:
    """In the task's line, as they come, within the screen's width, without the secret that comes in two pieces and
    without the sequence; behind the turn they are gone, and the log has none of them."""
    with on_terminal(talking, "execute", columns=150) as shown:
        pass

    assert shown.process.returncode == 0
    early = with_words(shown.screens, FIRST.strip())
    late = with_words(shown.screens, LAST.strip())
    assert early and late
    (line,) = [each for each in early[0].splitlines() if FIRST.strip() in each]
    assert line.startswith("subtract #1") and "answers after" in line and "tok" not in line
    assert "***" in late[-1]
    assert all(len(each) <= 150 for state in (*early, *late) for each in state.splitlines())
    drawn = shown.drawn.decode("utf-8", "replace")
    assert SECRET[:8] not in drawn and SECRET[-8:] not in drawn and f"\x1b[31m{SECRET[:1]}" not in drawn
    second = next(n for n, state in enumerate(shown.screens) if "asks the model (turn 2 of" in state)
    assert not with_words(shown.screens[second:], LAST.strip())
    log = (talking.home / "logs" / "orchestrate.log").read_text()
    assert FIRST.strip() not in log and LAST.strip() not in log
    assert [node for node in talking.ask(ALL) if FIRST.strip() in str(node)] != [], "the whole reply, once it was there"


@pytest.mark.parametrize("words", [("execute", "--json"), ("execute",)], ids=["json on a terminal", "pipe"])
def test_where_nobody_looks_nothing_is_shown_of_it(talking: Story, words: tuple[str, ...]) -> None:
    """With --json the live display is without it, and a pipe gets no display at all."""
    if "--json" in words:
        with on_terminal(talking, *words) as shown:
            pass
        assert shown.process.returncode == 0
        seen = shown.drawn.decode("utf-8", "replace")
        assert "subtract #1" in seen
    else:
        done = talking.spawn(*words)
        assert done.returncode == 0
        seen = done.stdout + done.stderr
    assert "answers after" not in seen and "know what calc lacks" not in seen


def test_the_pms_words_are_shown_while_it_plans(story: Story, model: Serve) -> None:
    """The same for `plan`, in its own line."""
    plan = {
        "verification": ["python3 -m unittest"],
        "tasks": [{"key": "subtract", "prompt": "Add it.", "files_written": ["calc.py"]}],
    }
    planner = {"when": {"role": "planner"}, "replies": [_slowly(FIRST, call=["submit_plan", plan])]}
    model(script(planner))
    with on_terminal(story, "plan", "Make it subtract") as shown:
        pass
    lines = [line for state in shown.screens for line in state.splitlines() if FIRST.strip() in line]
    assert lines
    assert [line for line in lines if not line.startswith("plan #1   answers after ")] == []


def test_an_endpoint_that_does_not_stream_is_asked_for_it_once_in_a_run(story: Story, model: Serve) -> None:
    """Its first answer, whole all the same, tells; from then on no attempt of the run asks for a stream again."""
    write = call("write_file", path="calc.py", file_text=SUB)
    note = call("write_file", path="NOTES.md", file_text="Subtracts.\n")
    workers = worker("subtract", write, finish()), worker("notes", note, finish())
    served = model({**script(*workers, review()), "streams": False})
    story.plan(plan_of(task("subtract"), task("notes", writes=["NOTES.md"], after=["subtract"])))
    story.ok("execute")
    assert [number for number, _, _ in attempts(story)] == [1, 1]
    asked = [bool(request.get("stream")) for request in served.requests]
    assert asked == [True, *[False] * 5]


def test_a_screen_that_stands_still_does_not_hold_up_the_reply(story: Story, model: Serve) -> None:
    """The terminal takes nothing any more while a reply comes: it is read to its end all the same, its call is made and
    the next request goes out."""
    served = model(script(worker("subtract", _slowly(TEXT), finish()), review()))
    story.plan(plan_of(task("subtract")))
    with on_terminal(story, "execute") as shown:
        wait_until(lambda: b"answers after" in shown.drawn)
        assert len(served.requests) == 1
        shown.stand_still()
        wait_until(lambda: len(served.requests) == 2)
    assert shown.process.returncode == 0
    assert attempts(story) == [(1, "accepted", "accepted")]
