"""What commands leave for us beside their output: asked for without a trace, read without trust."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from orchestrator.workspace import reports
from orchestrator.workspace.reports import MOST_REPORTS, read_reports
from orchestrator.workspace.worktree import Worktree

PYTEST = f"{sys.executable} -m pytest -p no:cacheprovider -p no:xdist"
TESTS = b"def test_sold():\n    assert 1 == 2\n\n\ndef test_kept():\n    pass\n"


def test_pytest_is_asked_for_a_report_and_nobody_sees_it(confined: Worktree) -> None:
    """The report names the tests, the exit code is pytest's own, and the output says nothing of it. Whoever wants one
    himself, or none, is left alone."""
    confined.write("tests/test_shop.py", TESTS)
    asked = confined.run(f"{PYTEST} tests", reports=True)
    assert (asked.ended, asked.exit_code) == ("exited", 1)
    [report] = asked.reports.values()
    assert b'file="tests/test_shop.py"' in report
    assert "generated xml file" not in asked.output
    assert "=\nFAILED tests/test_shop.py::test_sold - assert 1 == 2\n=" in asked.output
    assert not confined.run(f"{PYTEST} tests").reports
    assert not confined.run(f"{PYTEST} --junitxml=/tmp/mine.xml tests", reports=True).reports
    confined.write("pytest.ini", b"[pytest]\naddopts = -p no:junitxml\n")
    assert confined.run(f"{PYTEST} tests/test_shop.py::test_kept", reports=True).exit_code == 0


def test_a_command_leaves_reports_in_a_folder_of_its_own(confined: Worktree) -> None:
    """It is told where; the next command finds nothing there, and nothing of it is in the workspace."""
    left = confined.run('echo "<a/>" > "$ORCHESTRATE_REPORTS/mine.xml"; echo told', reports=True)
    assert (dict(left.reports), left.output) == ({"mine.xml": b"<a/>\n"}, "told\n")
    assert not confined.run('ls "$ORCHESTRATE_REPORTS"', reports=True).output
    assert not confined.run('echo x > "$ORCHESTRATE_REPORTS/mine.xml"').reports


def test_hostile_reports_are_left_where_they_are(confined: Worktree) -> None:
    """A symlink, a pipe that nobody writes to, a gigabyte, a folder and a device are no reports; what is one is read
    beside them."""
    made = (
        'cd "$ORCHESTRATE_REPORTS" && ln -s /etc/passwd a.xml && mkfifo b.xml && truncate -s 1G c.xml && mkdir d.xml '
        "&& ln -s /dev/zero e.xml && touch f.xml && ln f.xml g.xml && printf '\\377' > $'h\\n.xml' && chmod 0 . "
    )
    assert dict(confined.run(made, reports=True).reports) in ({"h\n.xml": b"\xff"}, {})  # root needs no right


def test_reports_are_bounded_in_number_and_size(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of very many the first ones by name are read, and together no more than the bound."""
    for number in range(2 * MOST_REPORTS):
        (tmp_path / f"{number:03}.xml").write_bytes(b"12345")
    assert sorted(read_reports(tmp_path)) == [f"{number:03}.xml" for number in range(MOST_REPORTS)]
    monkeypatch.setattr(reports, "MOST_BYTES", 12)
    assert read_reports(tmp_path) == {"000.xml": b"12345", "001.xml": b"12345"}
    assert read_reports(tmp_path / "gone") == {}
