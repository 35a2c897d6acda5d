"""What an attempt is held to at stage 2."""

from __future__ import annotations

from dataclasses import replace

from orchestrator.domain.workspace import ChangeStatus, FileChange
from orchestrator.gates.convergence_limits import StageLimits
from orchestrator.gates.stage import judge_own_size, most_changed, outside, put_back, stage_paths
from tests.support.samples import new_task

LIMITS = StageLimits()
TASK = replace(new_task("p", 0, ()), allowed_paths=("src/**", "+docs/*"), files_written=("src/a.py",))


def change(path: str, status: ChangeStatus = "modified", lines: int = 1) -> FileChange:
    """One changed file."""
    return FileChange(path=path, status=status, added=lines, removed=0, blob="b", kind="file", substantive=True)


def test_only_files_that_are_known_may_be_changed() -> None:
    """Declared ones, what was granted, and what earlier attempts changed within what was allowed, by its very name."""
    allowed = (*TASK.allowed_paths, "granted.txt")
    earlier = [change("src/[b].py"), change("docs/new.md", "added"), change("docs/old.md"), change("elsewhere.py")]
    paths = stage_paths(TASK, allowed, earlier, LIMITS)
    assert paths == ("src/a.py", "granted.txt", "src/\\[b].py", "docs/new.md")
    own = [change("src/[b].py"), change("src/c.py", "added"), change("granted.txt")]
    assert outside(own, paths) == ("src/c.py",)


def test_nothing_is_narrowed_where_nothing_is_known() -> None:
    """At stage 1, where the settings say so, and where a task declares and has touched nothing."""
    undeclared = replace(TASK, files_written=())
    assert stage_paths(TASK, TASK.allowed_paths, [], None) == TASK.allowed_paths
    assert stage_paths(TASK, TASK.allowed_paths, [], StageLimits(touched_only=False)) == TASK.allowed_paths
    assert stage_paths(undeclared, TASK.allowed_paths, [], LIMITS) == TASK.allowed_paths


def test_what_is_put_back_is_told_and_rejects_nothing() -> None:
    """A warning with the paths, some of many; none where nothing was."""
    (told,) = put_back([f"f{number}.txt" for number in range(12)])
    assert (told.code, told.blocking) == ("put_back", False)
    assert told.message.count(".txt") == 10
    assert put_back([]) == ()


def test_one_attempt_may_use_up_its_share_of_the_diff_budget() -> None:
    """Half of the files and lines by default, at least one of each; more is a finding that blocks."""
    few = replace(TASK, max_changed_files=3, max_changed_lines=9)
    assert most_changed(few, LIMITS) == (1, 4)
    assert most_changed(few, StageLimits(diff_share=0.01)) == (1, 1)
    assert judge_own_size([change("a", lines=4)], few, LIMITS, 2) == ()
    files, lines = judge_own_size([change("a", lines=4), change("b")], few, LIMITS, 2)
    assert files.message == "At stage 2 this attempt changed 2 files, limit 1."
    assert lines.message == "At stage 2 this attempt changed 5 lines, limit 4."
    assert files.blocking and files.fingerprint != lines.fingerprint
