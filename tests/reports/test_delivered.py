"""What is said of work that was accepted, before somebody merges it."""

from __future__ import annotations

from dataclasses import replace

from orchestrator.gates.finding import make_finding
from orchestrator.reports.delivered import accepted_with
from tests.support.samples import attempt_summary

WARNING = make_finding("check", "flaky", "a", "It is flaky.", "", severity="warning")
TOLD = make_finding("baseline", "pre_existing", "a", "It failed before.", "", severity="info")
ACCEPTED = replace(attempt_summary(number=1, findings=(WARNING, TOLD, WARNING)), status="accepted")


def test_warnings_are_those_of_the_newest_attempt_where_it_was_accepted() -> None:
    """Each once, and nothing of work that was taken up again since: it is not what will be merged."""
    assert accepted_with([attempt_summary(number=0), ACCEPTED]) == ("It is flaky.",)
    assert accepted_with([ACCEPTED, replace(ACCEPTED, number=2, status="rejected")]) == ()
    assert accepted_with([]) == ()
