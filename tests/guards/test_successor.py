"""A successor of a killed attempt: it is held to what was used, not to what somebody else repeated."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from orchestrator.domain.events import FileWrite, Resumed
from orchestrator.domain.model_io import ToolCall
from orchestrator.guards.guard_set import replay
from orchestrator.guards.limits import GuardLimits
from tests.support.guard_scripts import START, Choke, Result, call, choke

LIMITS = GuardLimits(repetition_stop=4, stall_batches=3, same_error_stop=4, thrash_stop=6, revert_stop=99)
RESUMED = Resumed(at=START, last_event_at=START)


def _rewritten() -> Callable[[ToolCall], Result]:
    """One file with ever new contents."""
    contents = iter(range(100))

    def answer(_call: ToolCall) -> Result:
        number = next(contents)
        write = FileWrite(path="a", added=5, removed=1, blob=f"b{number}", rewritten=1)
        return Result(text=str(number), tree=f"t{number}", writes=(write,))

    return answer


def _same(_call: ToolCall) -> Result:
    return Result()


def _failing(_call: ToolCall) -> Result:
    return Result(error="E: no such module")


@pytest.mark.parametrize(
    ("answer", "ask", "code"),
    [
        (_same, lambda _number: call("run_command", "ls"), "loop_detected"),
        (_failing, lambda number: call("run_command", f"pytest {number}"), "same_error"),
        (_rewritten(), lambda number: call("write_file", f"a={number}"), "thrashing"),
    ],
    ids=["repetition", "same error", "thrash"],
)
def test_what_a_dead_worker_repeated_is_not_its_successors_repetition(
    answer: Callable[[ToolCall], Result], ask: Callable[[int], ToolCall], code: str
) -> None:
    """One call before the limit the process dies: the successor has the whole limit before it, and it holds."""
    alone = choke(answer=answer, limits=LIMITS).run([[ask(n)] for n in range(30)])
    assert alone.code == code

    run = choke(answer=answer, limits=LIMITS).run([[ask(n)] for n in range(alone.executed - 1)])
    assert run.code is None
    run.judge(RESUMED)
    run.run([[ask(n)] for n in range(alone.executed - 1)])

    assert run.code is None
    assert run.run([[ask(99)]] * 9).code == code


def test_a_successor_is_not_taken_for_stalled() -> None:
    """The same batch, asked for by the dead worker and by its successor, stands once."""
    run = choke(limits=LIMITS).run([[call("read_file", "a")], [call("read_file", "a")]])
    assert run.guard_set.counters.stall_count == 2
    run.judge(RESUMED)
    assert run.guard_set.counters.stall_count == 0
    run.run([[call("read_file", "a")]])
    assert (run.guard_set.counters.stall_count, run.statuses[-1]) == (1, "ok")


def test_what_was_used_stays_used() -> None:
    """Calls, and calls without progress, of every predecessor count; the rebuilt set is the live one."""
    run: Choke = choke(5, limits=LIMITS)
    for number in range(2):
        run.run([[call("read_file", (number, n))] for n in range(2)])
        run.judge(RESUMED)
    assert (run.guard_set.calls_executed, run.guard_set.budget) == (4, 5)
    assert replay(choke(5, limits=LIMITS).guard_set, run.events) == run.guard_set
    run.run([[call("read_file", ("last", n))] for n in range(5)])
    assert (run.code, run.executed) == ("budget_exhausted", 5)
