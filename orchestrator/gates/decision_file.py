"""Checks that judge instead of testing: a command that holds `{check_id}` says what it decided in a file.

The file is `decision.json` in the folder of ORCHESTRATE_REPORTS, which is new for each run of a command, so nobody can
have written it before: `{"decision": "complete" or "incomplete", "check_id": …, "reasons": […], "fingerprints": […]}`.
Where there is none, a line of its output may say it. What cannot be read and what is not said is no verdict about the
work; what contradicts itself is no pass.
"""

from __future__ import annotations

import json
import re
import shlex
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

from orchestrator.domain.failure import Failure, ShownFailure
from orchestrator.domain.normalise import fingerprint_text

DECISION_FILE = "decision.json"
CHECK_ID = "ORCHESTRATE_CHECK_ID"
_PLACEHOLDER = "{check_id}"
_MOST_BYTES = 100_000
_MOST_REASONS = 50
_REASON_CHARS = 500
_MOST_FINGERPRINTS = 500
_FINGERPRINT_CHARS = 200
_WORDS = "COMPLETE|INCOMPLETE|PASS|FAILED|FAIL"
_GAP = r"[ \t\r]{0,20}"
_MARKER = re.compile(
    rf"^{_GAP}(?P<alone>{_WORDS}){_GAP}$|\b(?:VERDICT|DECISION):{_GAP}(?P<named>{_WORDS}){_GAP}$", re.MULTILINE
)
_COMPLETE = frozenset({"COMPLETE", "PASS"})

DecisionSaid = Literal["complete", "incomplete", "nothing"]


@dataclass(frozen=True, slots=True)
class JudgedDecision:
    """What a decision command said. `nothing` is no verdict, for the reason of `detail`."""

    said: DecisionSaid
    detail: str = ""
    reasons: tuple[str, ...] = ()
    fingerprints: tuple[str, ...] = ()


def is_decision_command(command: str) -> bool:
    """Whether what the command decides is asked for by an id, and its exit code is not all that it says."""
    return _PLACEHOLDER in command


def asked_command(command: str, check_id: str) -> str:
    """The command as the shell gets it: with the id in its text and in its environment."""
    return f"export {CHECK_ID}={shlex.quote(check_id)}\n{command.replace(_PLACEHOLDER, shlex.quote(check_id))}"


def judge_decision(check_id: str, exit_code: int | None, output: str, reports: Mapping[str, bytes]) -> JudgedDecision:
    """What a decision command that ended by itself said: by its file, else by lines of its output. Exit code 1 is
    incomplete in any case, and more says that the command itself failed."""
    if exit_code not in (0, 1):
        return JudgedDecision("nothing", f"it exited with {exit_code}; 0 is complete, 1 incomplete")
    content = reports.get(DECISION_FILE)
    told = _by_output(output, exit_code) if content is None else _by_file(content, check_id)
    if told.said == "complete" and (exit_code == 1 or told.fingerprints):
        why = "it exited with 1" if exit_code == 1 else "it names failures"
        reasons = (f"contradictory_decision: complete, but {why}", *told.reasons)
        return JudgedDecision("incomplete", reasons=reasons, fingerprints=told.fingerprints)
    return told


def shown_by(command: str, judgement: JudgedDecision) -> tuple[ShownFailure, ...]:
    """The failures of an incomplete decision: one for each fingerprint that it names, else one by its reasons."""
    reasons = "\n".join(judgement.reasons)
    names = judgement.fingerprints or ("",)
    signature = "incomplete" if judgement.fingerprints else f"incomplete: {fingerprint_text(reasons)}"
    return tuple(
        ShownFailure(Failure.of(command, test_name=name, signature=signature), excerpt=reasons) for name in names
    )


def _by_output(output: str, exit_code: int) -> JudgedDecision:
    words = {found["alone"] or found["named"] for found in _MARKER.finditer(output)}
    if not words:
        silent = JudgedDecision(
            "nothing", f"it left no {DECISION_FILE}, and no line of its output says what it decided"
        )
        return JudgedDecision("incomplete") if exit_code else silent
    return JudgedDecision("complete" if words <= _COMPLETE else "incomplete")


def _by_file(content: bytes, check_id: str) -> JudgedDecision:
    if len(content) > _MOST_BYTES:
        return JudgedDecision("nothing", f"{DECISION_FILE} has {len(content)} bytes; {_MOST_BYTES} are allowed")
    try:
        told = json.loads(content.decode("utf-8"))
    except UnicodeDecodeError:
        return JudgedDecision("nothing", f"{DECISION_FILE} is no UTF-8")
    except (ValueError, RecursionError):
        return JudgedDecision("nothing", f"{DECISION_FILE} is no JSON")
    if not isinstance(told, dict):
        return JudgedDecision("nothing", f"{DECISION_FILE} holds no object")
    if told.get("check_id") != check_id:
        return JudgedDecision(
            "nothing", f"{DECISION_FILE} is not about this check: its check_id is another, or missing"
        )
    decision = told.get("decision")
    if decision not in ("complete", "incomplete"):
        return JudgedDecision("nothing", f"{DECISION_FILE} decides neither complete nor incomplete")
    fingerprints = sorted({text[:_FINGERPRINT_CHARS] for text in _texts(told.get("fingerprints"))})
    reasons = tuple(text[:_REASON_CHARS] for text in _texts(told.get("reasons"))[:_MOST_REASONS])
    said: DecisionSaid = "complete" if decision == "complete" else "incomplete"
    return JudgedDecision(said, reasons=reasons, fingerprints=tuple(fingerprints[:_MOST_FINGERPRINTS]))


def _texts(told: Any) -> list[str]:
    """The texts of a list, one of them where it is none; blank entries and others do no harm."""
    entries = told if isinstance(told, list) else [told]
    return [entry.strip() for entry in entries if isinstance(entry, str) and entry.strip()]
