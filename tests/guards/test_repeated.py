"""What an attempt did over and over, as the next worker is told it."""

from __future__ import annotations

from orchestrator.domain.assignment import RepeatedCall
from orchestrator.domain.events import FileWrite
from orchestrator.guards.repeated import repeated_calls
from tests.support.samples import call, finished


def test_calls_are_alike_by_what_they_wrote_how_they_failed_or_what_they_asked() -> None:
    """The most frequent first, each with its newest arguments and the first line of its own result; a call that was
    made once, and control tools, are no repetition."""
    writes = [
        finished(
            call(n, "write_file", arguments_json=f'{{"text":"{n}"}}', signature=f"w{n}"),
            text=f"written {n}\nmore",
            writes=(FileWrite(path="a.py", added=1, removed=0, blob=str(n)),),
        )
        for n in range(4)
    ]
    fails = [
        finished(call(n, "run_command", signature=f"r{n}"), status="error", text="E: no", error_hash="e")
        for n in range(10, 13)
    ]
    reads = [
        finished(call(20, "read_file", signature="f", arguments_json='{"path": "b"}'), text="b, 1 line:\n1\tx"),
        finished(
            call(21, "read_file", signature="f", arguments_json='{"path": "b"}'), status="duplicate", text="again"
        ),
    ]
    others = [finished(call(30, signature="once"))]
    others += [finished(call(n, "report_progress", control=True, signature="c")) for n in (31, 32)]

    assert repeated_calls([*reads, *fails, *writes, *others]) == (
        RepeatedCall(tool="write_file", arguments='{"text":"3"}', result="written 3", times=4),
        RepeatedCall(tool="run_command", arguments='{"path":"shop/m.py"}', result="E: no", times=3),
        RepeatedCall(tool="read_file", arguments='{"path": "b"}', result="b, 1 line:", times=2),
    )


def test_what_was_asked_in_other_words_is_told_by_what_it_brought() -> None:
    """Commands that differ each time and bring one answer are one repetition; those that say nothing are none."""
    asked = [finished(call(n, "run_command", signature=f"ls #{n}"), text="a\nb", outcome_hash="ab") for n in range(3)]
    silent = [finished(call(n, signature=f"touch {n}"), text="", outcome_hash="", says=False) for n in range(10, 13)]
    assert [(each.times, each.result) for each in repeated_calls([*asked, *silent])] == [(3, "a")]
