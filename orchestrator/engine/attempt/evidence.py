"""What QC cites for a pass, looked up over the very work that it saw: commands run again, lines found."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from orchestrator.domain.attempt import Check
from orchestrator.domain.errors import ToolError
from orchestrator.domain.ports import Workspace
from orchestrator.domain.review import Proof
from orchestrator.domain.run import Claim
from orchestrator.engine.attempt.command_check import AskedCheck, run_check
from orchestrator.engine.attempt.record import Deadlines
from orchestrator.engine.attempt.review_log import ReviewLog
from orchestrator.engine.attempt.verification import end_at_deadline, tell_check, tell_check_start
from orchestrator.engine.services import Services
from orchestrator.gates.evidence import against_command, against_lines
from orchestrator.planning.exit_status import always_succeeds


@dataclass(frozen=True, slots=True, kw_only=True)
class EvidenceSearch:
    """Where the proofs of the review `review_id` are looked up: in a checkout of `tree`, which commands cannot change.
    What is among the `known` checks was run over this tree already."""

    services: Services
    claim: Claim
    checkout: Workspace
    deadlines: Deadlines
    log: ReviewLog
    review_id: str
    tree: str
    known: tuple[Check, ...]

    def against(self, proofs: Sequence[Proof | None]) -> Iterator[str | None]:
        """Of each why it does not hold: empty where it does, None where nothing is to be looked up. Records what was
        run. Raises AttemptEnded at a deadline of attempt, task or run, and when everything is cut short."""
        ran = {check.command: check for check in self.known if check.tree == self.tree}
        for number, proof in enumerate(proofs, start=1):
            if proof is None or proof.kind == "text":
                yield None
            elif proof.kind == "lines":
                yield against_lines(proof, self._content(proof.path))
            else:
                if proof.command not in ran:
                    ran[proof.command] = self._run(proof.command, number, len(proofs))
                check = ran[proof.command]
                yield against_command(proof, check, always_succeeds=always_succeeds(proof.command))

    def _content(self, path: str) -> bytes | None:
        try:
            return self.checkout.read(path)
        except ToolError:
            return None

    def _run(self, command: str, number: int, total: int) -> Check:
        """What it shows is no failure of the work's: a command may be cited because it fails."""
        services = self.services
        end_at_deadline(services, self.deadlines)
        tell_check_start(services, self.claim, command, phase="review", number=number, total=total)
        asked = AskedCheck(
            id=f"{self.review_id}:check{number}",
            command=command,
            phase="review",
            pass_id=self.review_id,
            tree=self.tree,
        )
        check = run_check(services, self.checkout, asked, None, self.deadlines)
        self.log.check(replace(check, failures=()))
        tell_check(services, self.claim, check)
        if check.outcome == "infrastructure":
            end_at_deadline(services, self.deadlines)
        return check
