"""What a worker's command can leave behind to break the engine that looks at it."""

from __future__ import annotations

import pytest

from orchestrator.domain.errors import ToolError
from orchestrator.workspace.worktree import Worktree

DEEP = "python3 -c \"import os\nfor _ in range(2500): os.mkdir('deep'); os.chdir('deep')\""


@pytest.mark.parametrize(
    ("command", "named", "mended"),
    [
        ("rm README.md; mkfifo README.md", "README.md", "rm README.md; git show HEAD:README.md > README.md"),
        (f"mkdir app/x; cd app/x; {DEEP}", "app", "rm -rf app/x"),
    ],
    ids=["a FIFO in a file's place", "folders without end"],
)
def test_what_cannot_be_kept_is_told_to_the_worker(workspace: Worktree, command: str, named: str, mended: str) -> None:
    """It is a tool error that names the path, neither a defect of ours nor the end of the attempt; removed, all is well
    again."""
    before = workspace.snapshot()
    workspace.run(command)
    with pytest.raises(ToolError, match=named):
        workspace.snapshot()
    workspace.run(mended)
    assert workspace.snapshot() == before


def test_names_that_are_no_text_are_seen(workspace: Worktree) -> None:
    """A file name of bytes that are no UTF-8 is a change like any other."""
    before = workspace.snapshot()
    workspace.run("python3 -c \"open(b'app/\\xff.txt', 'w').write('x')\"")
    after = workspace.snapshot()
    assert [change.status for change in workspace.changes(before, after)] == ["added"]
    assert "+x" in workspace.diff(before, after)
