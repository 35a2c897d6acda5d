"""Thrash, checkpoints and scope."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import count, pairwise

from hypothesis import given
from hypothesis import strategies as st

from orchestrator.domain.events import FileWrite, ProgressReported, ScopeDecided
from orchestrator.domain.verdict import Refuse
from orchestrator.guards.limits import GuardLimits
from orchestrator.guards.thrash import ThrashGuard
from tests.support.guard_scripts import START, Choke, Result, call, choke


def _write(number: int, *, path: str = "a.py", rewritten: int = 1, substantive: bool = True) -> FileWrite:
    return FileWrite(path=path, added=3, removed=0, blob=f"blob {number}", substantive=substantive, rewritten=rewritten)


def _writing(writes: Iterator[FileWrite] | list[FileWrite], tool: str = "edit_file") -> Choke:
    """Each write by a call of its own, the tree following the content."""
    held = iter(writes)

    def answer(_: object) -> Result:
        write = next(held)
        return Result(tree=f"{write.path} {write.blob}", writes=(write,))

    run, number = choke(answer=answer), 0
    while run.guard_set.stopped is None and number < 60:
        try:
            run.turn([call(tool, f"a.py={number}")])
        except StopIteration:
            break
        number += 1
    return run


def test_the_tenth_rewriting_of_own_lines_warns_and_the_fifteenth_stops() -> None:
    """Taking away what the attempt itself had written to a file is what counts."""
    run = _writing(_write(n) for n in count())
    assert run.warned("thrash") == [10]
    assert (run.code, run.executed) == ("thrashing", 15)
    assert run.guard_set.stopped is not None
    assert run.guard_set.stopped.evidence["file"] == "a.py"


def test_writing_into_one_file_piece_by_piece_is_work() -> None:
    """Thirty-nine hunks of one file that take away nothing of the attempt's own are told nothing; the fortieth stops,
    because nobody needs so many."""
    run = _writing(_write(n, rewritten=0) for n in count())
    assert run.warned("thrash") == []
    assert (run.code, run.executed) == ("thrashing", 40)


@given(st.lists(st.booleans(), min_size=40, max_size=40))
def test_rewritings_are_counted_wherever_they_come(rewriting: list[bool]) -> None:
    """However they are mixed with writes that only add, the fifteenth stops and no earlier one does."""
    run = _writing([_write(n, rewritten=int(own)) for n, own in enumerate(rewriting)])
    fifteenth = [n for n, own in enumerate(rewriting, 1) if own][14:15]
    assert run.executed == (fifteenth[0] if fifteenth else 40)


def test_whitespace_and_no_op_writes_do_not_count() -> None:
    """Pure formatting and writing the same content again are no rewriting."""
    assert _writing([_write(n, substantive=False) for n in range(40)]).code is None
    assert _writing([_write(1) for _ in range(3)]).warned("thrash") == []


def test_other_spellings_of_a_path_are_the_same_file() -> None:
    """`./a.py`, `b/../a.py` and `a.py` are one file."""
    spellings = ["a.py", "./a.py", "b/../a.py", "b//../a.py"]
    run = _writing([_write(n, path=spellings[n % 4]) for n in range(40)])
    assert (run.code, run.executed) == ("thrashing", 15)


def test_writes_made_by_commands_count() -> None:
    """What a shell command changed is seen through the tree."""
    run = _writing((_write(n) for n in count()), tool="run_command")
    assert run.code == "thrashing"


def test_a_file_back_at_an_earlier_content_warns_at_2_and_stops_at_3() -> None:
    """Alternating between two contents: a step that was made before is told at its second time and stopped at its
    third."""
    run = _writing(_write(n % 2, rewritten=0) for n in count())
    assert run.warned("thrash") == [2]
    assert (run.code, run.executed) == ("thrashing", 6)


def test_the_content_before_the_first_write_is_an_earlier_one() -> None:
    """A, original, A, original: the original is known by the blob before the first write."""
    blobs = ["O", *["A", "O"] * 10]
    run = _writing([FileWrite(path="a.py", added=1, removed=1, blob=b, before=a) for a, b in pairwise(blobs)])
    assert run.warned("thrash") == [2]
    assert (run.code, run.executed) == ("thrashing", 5)


def test_debug_prints_may_be_put_in_and_taken_out() -> None:
    """Each time another print, and back to the same content each time: no step is made twice."""
    blobs = [blob for n in range(12) for blob in ("clean", f"print {n}")]
    run = _writing([FileWrite(path="a.py", added=1, removed=1, blob=b, before=a) for a, b in pairwise(blobs)])
    assert (run.warned("thrash"), run.code) == ([], None)


def test_a_new_file_has_no_content_before_its_first_write() -> None:
    """Thrash: a file that did not exist has nothing to return to."""
    run = _writing([FileWrite(path="a.py", added=1, removed=1, blob=blob) for blob in ("v0", "v1", "v0")])
    assert run.warned("thrash") == []


def test_a_scratch_file_may_come_and_go() -> None:
    """Thrash: a deletion is no earlier content."""
    blobs = [blob for _ in range(12) for blob in ("v", "")]
    run = _writing([FileWrite(path="t.py", added=1, removed=1, blob=b, before=a) for a, b in pairwise(["", *blobs])])
    assert run.warned("thrash") == []


def test_many_files_are_remembered_within_bounds() -> None:
    """A command that rewrites ten thousand files leaves a bounded memory."""
    writes = tuple(FileWrite(path=f"f{n}", added=1, removed=0, blob=f"b{n}") for n in range(10_000))
    run = choke(answer=lambda _: Result(tree="t", writes=writes)).run([[call("run_command", "codegen")]])
    (thrash,) = (guard for guard in run.guard_set.guards if isinstance(guard, ThrashGuard))
    assert len(thrash.files) <= 256


# --- checkpoint -------------------------------------------------------------------------------------------------------


def _work(run: Choke, calls: int, start: int = 0) -> None:
    run.run([[call("read_file", f"w{start + n}")] for n in range(calls)])


def _report(run: Choke, text: str, tree: str, findings: str = "f") -> None:
    run.judge(
        ProgressReported(
            seq=run.seq + 1000,
            at=START,
            call_seq=0,
            at_tool_call=0,
            description=text,
            tree_after=tree,
            findings_hash=findings,
        )
    )


def test_without_a_report_50_calls_warn_and_100_stop() -> None:
    """Asked for at 25, warned at 50, stopped before call 101; never at call 0."""
    run = choke()
    _work(run, 24)
    asked = [run.guard_set.progress_due]
    _work(run, 1, 24)
    asked.append(run.guard_set.progress_due)
    assert asked == [False, True]
    assert run.warned("checkpoint") == []
    _work(run, 200, 25)
    assert run.warned("checkpoint") == [50]
    assert (run.code, run.executed) == ("no_progress", 100)


def test_a_worker_without_reports_may_finish_at_call_100() -> None:
    """The stop comes before a further call is executed, not before finish_task."""
    run = choke()
    _work(run, 100)
    run.turn([call("finish_task")])
    assert run.code is None


def test_a_report_with_news_starts_the_count_again() -> None:
    """A new text with a changed tree is progress."""
    writes = (FileWrite(path="a", added=1, removed=0, blob="b"),)
    run = choke(answer=lambda each: Result(tree=each.signature, writes=writes if each.mutating else ()))
    for n in range(5):
        run.turn([call("run_command", f"codegen {n}")])
        _work(run, 40, n * 40)
        _report(run, f"step {n}", f"run_command(codegen {n})")
    assert (run.code, run.warned("checkpoint")) == (None, [])


def test_a_first_report_of_reading_alone_is_no_progress() -> None:
    """With nothing changed since the attempt began the first report gains nothing: call 101 is not executed."""
    run = choke()
    _work(run, 99)
    _report(run, "I have read it all", "t0")
    _work(run, 99, 99)
    assert (run.code, run.executed) == ("no_progress", 100)
    assert run.warned("checkpoint") == [50, 99]


def test_a_first_report_after_commands_that_changed_nothing_is_no_progress() -> None:
    """The attempt's first tree is the one that a command left without writing."""
    run = choke(answer=lambda _: Result(tree="t0"))
    run.run([[call("run_command", n)] for n in range(99)])
    _report(run, "I have looked at it all", "t0")
    run.run([[call("run_command", n)] for n in range(100, 199)])
    assert (run.code, run.executed) == ("no_progress", 100)


def test_a_first_report_after_a_write_is_progress() -> None:
    """A file changed since the attempt began."""
    writes = (FileWrite(path="a", added=1, removed=0, blob="b"),)
    run = choke(
        answer=lambda each: Result(tree="t1" if each.mutating else None, writes=writes if each.mutating else ())
    )
    run.turn([call("write_file", "a=1")])
    _work(run, 60)
    _report(run, "one file is written", "t1")
    _work(run, 99, 60)
    assert (run.code, run.warned("checkpoint")) == (None, [50, 50])


def test_a_report_is_asked_for_again_25_calls_after_the_last_one() -> None:
    """A report that is no progress is not asked for again in the very next turn."""
    run = choke()
    _work(run, 25)
    _report(run, "reading", "t0")
    asked = [run.guard_set.progress_due]
    _work(run, 25, 25)
    assert [*asked, run.guard_set.progress_due] == [False, True]


def test_the_same_text_or_unchanged_facts_are_no_progress() -> None:
    """A text given before, or no change of tree and findings, does not count, and is told once."""
    run = choke()
    _report(run, "halfway", "t1")
    _work(run, 60)
    _report(run, "halfway  ", "t2")
    _report(run, "nearly", "t2")
    assert run.warned("checkpoint") == [50, 60]
    _work(run, 60, 60)
    assert run.code == "no_progress"


def test_a_fall_of_findings_is_progress_without_a_change_of_files() -> None:
    """Findings count as well as files."""
    run = choke()
    _report(run, "one", "t", "a")
    _work(run, 90)
    _report(run, "two", "t", "b")
    _work(run, 90, 90)
    assert run.code is None


# --- scope ------------------------------------------------------------------------------------------------------------


def test_a_write_outside_the_allowed_paths_is_refused_with_them_in_the_feedback() -> None:
    """Scope: refused before it happens, and the worker is told where it may write."""
    run = choke(allowed=("app/**", "tests/"))
    run.turn([call("write_file", "app/a.py"), call("write_file", "setup.py"), call("read_file", "setup.py")])
    assert run.statuses == ["ok", "refused", "ok"]
    refusal = next(v for v in run.verdicts if isinstance(v, Refuse))
    assert "setup.py" in refusal.message
    assert "app/**, tests/" in refusal.message


def test_granted_paths_are_allowed_from_then_on() -> None:
    """Scope: request_scope widens the allowed paths when it is granted, and only then."""
    run = choke(allowed=("app/**",))
    for granted in (False, True):
        run.judge(
            ScopeDecided(
                seq=1,
                at=START,
                call_seq=0,
                paths=("setup.py",),
                justification="",
                granted=granted,
                decided_by="pm",
                reason="",
            )
        )
        run.turn([call("write_file", f"setup.py={granted}")])
    assert run.statuses == ["refused", "ok"]


def test_writes_out_of_scope_for_ever_end() -> None:
    """Scope: a worker that only asks for what is refused is bounded by its requests, or by its turns."""
    for batch, code in ((3, "request_limit"), (1, "turn_limit")):
        asked = [[call("write_file", f"x{n} {m}") for m in range(batch)] for n in range(100)]
        run = choke(5, allowed=(), limits=GuardLimits()).run(asked)
        assert (run.code, run.executed) == (code, 0)
