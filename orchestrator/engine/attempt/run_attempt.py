"""One attempt, from claim to result: the walk that a task takes.

A happy attempt goes through all six steps. A rejected one ends in verify, ask_verifier or merge; a stopped one, one
that gave up and one that was interrupted end in do_work (or in ask_verifier, by a bound that QC reaches); a lost one,
whose task another process has taken over, ends at its next write. docs/architecture.md tells each of them along these
lines.
"""

from __future__ import annotations

from orchestrator.domain.attempt import AttemptResult
from orchestrator.domain.plan import Plan
from orchestrator.domain.run import Claim
from orchestrator.engine.attempt.assignment import do_work
from orchestrator.engine.attempt.baseline import measure_baseline
from orchestrator.engine.attempt.checked_work import (
    describe_protection,
    fresh_checkout,
    held_work,
    protect,
    with_memory,
)
from orchestrator.engine.attempt.fixers import mend
from orchestrator.engine.attempt.merge import merge
from orchestrator.engine.attempt.record import AttemptRecord, Deadlines
from orchestrator.engine.attempt.resume import find_start, take_over
from orchestrator.engine.attempt.review import Reviewing, ask_verifier, work_as_checked
from orchestrator.engine.attempt.review_log import ClaimedReviews
from orchestrator.engine.attempt.verification import verify
from orchestrator.engine.loop.metering import Meter
from orchestrator.engine.services import Services


def run_attempt(services: Services, plan: Plan, claim: Claim, meter: Meter | None) -> AttemptResult | None:
    """Resume, measure, work (of fixers, of a worker), verify, review, merge. Whatever ends it raises AttemptEnded; the
    record closes the node.

    None when another process has taken the task over. Raises the error that ends the whole run once the attempt is
    closed, and GraphError kinds: the graph is away, nothing more may happen, and the next process closes the attempt.
    """
    with AttemptRecord(services, claim, meter) as record:
        start = record.start = find_start(services, claim)
        baseline = record.baseline = measure_baseline(services, plan, claim, start.base, Deadlines(None, meter))
        describe_protection(services, plan, claim, start)
        work = take_over(start, record)
        if work is None:
            start, work = mend(services, plan, claim, start, baseline, record.deadlines, record)
        work = work or do_work(services, plan, claim, start, baseline, meter, record)
        work = with_memory(services, plan, claim, start, held_work(services, claim, start, work))
        deadlines = record.deadlines
        checked = protect(services, plan, claim, start, work)
        with fresh_checkout(services, claim, start, checked) as checkout:
            verified = verify(services, plan, claim, start, work, checked, baseline, checkout, deadlines)
            asking = Reviewing(
                services=services,
                plan=plan,
                claim=claim,
                worker_output=work.output,
                meter=meter,
                deadlines=deadlines,
                log=ClaimedReviews(services.writer, claim),
            )
            review = ask_verifier(asking, work_as_checked(claim, start, verified, checkout))
            merge(asking, start, baseline, verified, review, checkout, record)
    return record.result
