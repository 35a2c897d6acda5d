"""Stall and forced finish, no action, malformed replies, and the window."""

from __future__ import annotations

from itertools import count

from orchestrator.domain.events import Compacted, TurnRequested
from orchestrator.domain.model_io import ModelRequest
from orchestrator.domain.verdict import Refuse
from orchestrator.guards.guard_set import GuardSet
from orchestrator.guards.limits import GuardLimits
from tests.support.guard_scripts import LIMITS, START, Choke, Result, call, choke, reply

BATCH = [call("pct", 13), call("pct", 88)]


def test_three_identical_batches_stall_and_the_fourth_withholds_the_tools() -> None:
    """Stall 1 at the third identical batch, stall 2 at the fourth, which takes the tools away for one turn."""
    run = choke().run([BATCH] * 3)
    assert (run.warned("stall"), run.guard_set.withholds_tools) == ([3], False)
    run.turn(BATCH)
    assert (run.warned("stall"), run.guard_set.withholds_tools) == ([3, 4], True)
    assert run.guard_set.counters.stall_count == 4


def test_another_call_in_the_forced_turn_stops() -> None:
    """Refusing to finish stops the attempt as stalled, whatever the call."""
    run = choke().run([BATCH] * 4)
    run.turn([call("read_file", "something else")])
    assert run.code == "stalled"


def test_finishing_in_the_forced_turn_is_heard() -> None:
    """finish_task and give_up are what is left in the forced turn."""
    run = choke().run([BATCH] * 4)
    run.turn([call("give_up")])
    assert (run.code, run.statuses[-1]) == (None, "ok")


def test_text_in_the_forced_turn_gives_the_tools_back_but_keeps_the_count() -> None:
    """The counter is not silently reset: the same batch once more stops."""
    run = choke().run([BATCH] * 4)
    run.turn([])
    assert not run.guard_set.withholds_tools
    run.turn(BATCH)
    assert run.code == "stalled"


def test_a_second_text_in_a_forced_turn_stops_whatever_led_to_it() -> None:
    """Same call four times, text, another call four times, text: the second refusal to finish is the end."""
    run = choke(answer=lambda _: Result(tree="t"))
    for n in range(9):
        run.run([[call("run_command", n)]] * 4)
        assert run.guard_set.stopped is not None or run.guard_set.withholds_tools
        run.run([[]])
    assert (run.code, run.executed) == ("stalled", 8)
    assert run.guard_set.stopped is not None
    assert "replied with text for the second time" in run.guard_set.stopped.message


def test_a_malformed_finish_leaves_the_tools_withheld() -> None:
    """finish_task that cannot be parsed is no way out of the forced turn, and no refusal to finish."""
    run = choke().run([BATCH] * 4)
    run.turn([call("finish_task", "{", defect="not JSON")])
    assert (run.code, run.guard_set.withholds_tools) == (None, True)
    run.turn(BATCH)
    assert run.code == "stalled"


def test_a_poll_that_comes_up_at_the_fourth_request_goes_on() -> None:
    """Waiting three times, then ready: the forced finish is dropped when the fourth batch brings news."""
    results = iter(["waiting"] * 3 + ["ready"])
    run = choke(answer=lambda each: Result(next(results) if each.tool == "run_command" else "same", tree="t"))
    run.run([[call("run_command", "poll")]] * 4)
    assert run.warned("stall") == [3, 4]
    assert not run.guard_set.withholds_tools
    run.run([[call("write_file", "a=1")], [call("read_file", "a")]])
    assert (run.code, run.statuses) == (None, ["ok"] * 6)


def test_a_stop_in_the_forced_turn_says_what_was_seen() -> None:
    """Four identical batches and then another call are four, and the sentence says so; the same one is five."""
    for last, seen, told in ((call("read_file", 1), 4, "asked for other calls"), (BATCH[0], 5, "asked for the same")):
        run = choke().run([[BATCH[0]]] * 4)
        run.turn([last])
        assert run.guard_set.stopped is not None
        assert run.guard_set.stopped.observed == seen
        assert f"asked for {seen} times" in run.guard_set.stopped.message
        assert told in run.guard_set.stopped.message


def test_a_refused_repeated_failure_is_told_to_finish_when_its_tools_go() -> None:
    """The fourth identical failing call is refused and the next turn withholds the tools; the advice is
    to finish, not to make a different call."""
    run = choke(answer=lambda _: Result(error="gone")).run([[call("read_file", "x")]] * 4)
    refusal = next(v for v in run.verdicts if isinstance(v, Refuse))
    assert (run.statuses, run.guard_set.withholds_tools) == (["error"] * 3 + ["refused"], True)
    assert "your next turn has its tools withheld: finish then, or give up" in refusal.message
    assert "different call" not in refusal.message
    run.turn([call("finish_task")])
    assert run.code is None


def test_a_repeated_failure_without_a_stall_may_be_followed_by_a_different_call() -> None:
    """Where the tools stay, the advice is a different call, and a different call is heard."""
    run = choke(answer=lambda each: Result(error="gone") if each.tool == "read_file" else Result())
    run.run([[each] for n in range(4) for each in (call("read_file", "x"), call("search", n))])
    refusal = next(v for v in run.verdicts if isinstance(v, Refuse))
    assert "make a different call" in refusal.message
    assert (run.code, run.guard_set.withholds_tools) == (None, False)


def test_order_and_repeats_within_a_batch_say_nothing() -> None:
    """The batch is the set of its signatures."""
    run = choke()
    run.run([BATCH, BATCH[::-1], [*BATCH, BATCH[0]], BATCH])
    assert run.warned("stall") == [3, 4]


def test_different_values_are_no_stall() -> None:
    """pct(13), pct(88), pct(97) are three calls."""
    run = choke().run([[call("pct", n)] for n in (13, 88, 97, 13, 88, 97)])
    assert run.warned("stall") == []


def test_polling_is_no_stall_while_its_results_differ() -> None:
    """The same batch with other results each time is polling."""
    numbers = count()
    run = choke(answer=lambda _: Result(f"{next(numbers)} %")).run([[call("run_command", "status")]] * 30)
    assert (run.warned("stall"), run.code) == ([], None)


def test_polling_that_stands_still_stalls_from_there() -> None:
    """Once the results stop changing the count begins."""
    results = iter(["1 %", "2 %", *["3 %"] * 20])
    run = choke(answer=lambda _: Result(next(results))).run([[call("run_command", "status")]] * 20)
    assert run.guard_set.stopped is not None


def test_cycles_of_large_batches_stop_within_three_rounds() -> None:
    """Alternating batches of five calls are a cycle of period 2, though of ten calls."""
    batches = [[call("run_command", f"{b}{n}") for n in range(5)] for b in "ab"]
    run = choke().run(batches * 10)
    assert run.code in ("stalled", "loop_detected")
    assert run.executed <= 3 * 10


def test_three_replies_without_a_call_stop() -> None:
    """No action: one warning before, then the stop."""
    run = choke().run([[]] * 9)
    assert (run.warned("no_action"), run.code) == ([2], "no_action")


def test_a_call_ends_a_row_of_talk() -> None:
    """No action: in a row means in a row."""
    assert choke().run([[], [], [call("read_file", 1)], [], [], [call("read_file", 2)]]).code is None


def test_three_replies_of_malformed_calls_stop() -> None:
    """Malformed arguments get an error result and the loop goes on, three replies in a row stop."""
    run = choke().run([[call("read_file", n, defect="not JSON")] for n in range(9)])
    assert (run.statuses, run.code) == (["error", "error"], "malformed_calls")


def test_talking_between_malformed_replies_is_no_way_around() -> None:
    """A reply without a call does not end the row of malformed ones."""
    run = choke().run([[call("x", n, defect="unknown tool")] if n % 2 else [] for n in range(9)])
    assert run.code == "malformed_calls"


def test_one_valid_call_ends_a_row_of_malformed_replies() -> None:
    """A reply that holds a call that can be executed is not malformed."""
    batches = [[call("read_file", n, defect="no" if n % 3 else None)] for n in range(12)]
    assert choke().run(batches).code is None


def test_three_compactions_without_headroom_stop() -> None:
    """Window: each compaction that leaves less than a twentieth of the cap free counts; one that leaves more resets."""
    run = _compact([(1_100, 960), (3_000, 990), (1_010, 1_000)])
    assert (run.warned("window"), run.code) == ([2], "context_exhausted")
    assert _compact([(1_100, 960), (1_100, 950), (1_100, 960), (1_100, 990)]).code is None


def test_compactions_that_make_room_each_time_never_stop() -> None:
    """Window: equal sizes after each of many compactions are no lack of headroom, nor is one of small calls, due to
    their number, that takes away nothing."""
    assert _compact([(1_800, 900)] * 30).warnings == []
    assert _compact([(300, 300)] * 30).warnings == []


def _compact(windows: list[tuple[int, int]]) -> Choke:
    run = choke()
    for before, after in windows:
        run.judge(
            Compacted(
                at=START,
                request=ModelRequest(
                    model="m",
                    window_messages=0,
                    reserved_tokens=0,
                    reserved_usd=None,
                    window_tokens=after,
                    uncompacted_tokens=before,
                    token_cap=1_000,
                ),
            )
        )
        run.judge(
            TurnRequested(
                seq=1,
                at=START,
                request=ModelRequest(
                    model="m", reserved_tokens=1, reserved_usd=0.0, window_messages=1, window_tokens=after
                ),
            )
        )
    return run


def test_a_recorded_turn_whose_tools_were_there_is_no_refusal() -> None:
    """Replay: a call counts as a refusal only where the recorded turn had its tools withheld."""
    guard_set = GuardSet.begin(LIMITS, 100, ())
    for turn, argument in enumerate([*[7] * 4, 8]):
        asked = call("read_file", argument)
        guard_set, _ = guard_set.observe(
            TurnRequested(
                seq=turn,
                at=START,
                request=ModelRequest(
                    model="m",
                    reserved_tokens=1,
                    reserved_usd=0.0,
                    window_messages=1,
                    window_tokens=1,
                    tools_withheld=False,
                ),
            )
        )
        guard_set, _ = guard_set.observe(reply(turn, (asked,)))
    assert guard_set.stopped is None


def test_limits_move_the_thresholds() -> None:
    """The numbers are settings."""
    run = choke(limits=GuardLimits(stall_batches=2)).run([BATCH] * 2)
    assert run.warned("stall") == [2]
