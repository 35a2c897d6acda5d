"""The one taxonomy of ends: every code of guards.md with its sentence, what to do next, what may follow (X6, R1.15).

`{observed}` and `{limit}` are the figures the bound was judged by; guards take their messages from here, so that
prompt, log, error and enforcement name the same number.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

from orchestrator.domain.verdict import Evidence

Ending = Literal["bound", "gate", "error", "ended"]
Level = Literal["attempt", "task"]


@dataclass(frozen=True, slots=True)
class StopReason:
    """Why an attempt or a task ended. `ending`: a bound of ours, a gate or review that found something, an error of
    ours or of the world, or a plain end. `retry_unchanged`: whether the same task may be tried again as it is (R3.12).
    `counts`: whether the attempt counts against max_attempts."""

    code: str
    level: Level
    ending: Ending
    sentence: str
    next_step: str
    retry_unchanged: bool = False
    counts: bool = True

    @property
    def bound(self) -> bool:
        """Whether a bound stopped it, so that a retry needs a changed task, strategy or budget (R3.12)."""
        return self.ending == "bound"


_SPLIT = "Split the task, reduce its scope or approve a larger budget; it is not retried unchanged."
_STRATEGY = "Change the strategy or split the task; it is not retried unchanged."

_REASONS = (
    # --- bounds of an attempt -----------------------------------------------------------------------------------
    StopReason(
        "budget_exhausted",
        "attempt",
        "bound",
        "A further tool call was asked for after {observed} of {limit} were used and the finishing turn was over.",
        f"{_SPLIT} The budget is the task's tool_call_budget.",
    ),
    StopReason(
        "request_limit",
        "attempt",
        "bound",
        "{observed} calls were asked for, duplicates and control tools counted; the limit is {limit}.",
        f"{_SPLIT} The limit is guards.request_factor times tool_call_budget.",
    ),
    StopReason(
        "token_limit",
        "attempt",
        "bound",
        "The next turn could bring the tokens to {observed}; the limit is {limit}.",
        "Raise max_tokens, or split the task; it is not retried unchanged.",
    ),
    StopReason(
        "cost_limit",
        "attempt",
        "bound",
        "The next turn could bring the cost to {observed} US dollars; the limit is {limit}.",
        "Raise max_cost_usd, set the model's price, choose a cheaper model, or split the task.",
    ),
    StopReason(
        "deadline",
        "attempt",
        "bound",
        "A further step would stand at {observed} seconds; the limit is {limit}.",
        "Raise deadline_s or working_time_s, or split the task; it is not retried unchanged.",
    ),
    StopReason(
        "loop_detected",
        "attempt",
        "bound",
        "The same calls with the same results and files were repeated {observed} times; the limit is {limit}.",
        _STRATEGY,
    ),
    StopReason(
        "same_error",
        "attempt",
        "bound",
        "One tool failed {observed} times with the same error; the limit is {limit}.",
        f"Look at the error in the evidence first: it may be the task's or the environment's. {_STRATEGY}",
    ),
    StopReason(
        "stalled",
        "attempt",
        "bound",
        "The same batch of calls was asked for {observed} times without a new result, also when told to finish; "
        "the limit is {limit}.",
        _STRATEGY,
    ),
    StopReason(
        "no_action",
        "attempt",
        "bound",
        "{observed} replies in a row asked for no tool; the limit is {limit}.",
        "See whether the model can call tools (`orchestrate doctor --model`), or make the task's prompt concrete.",
    ),
    StopReason(
        "thrashing",
        "attempt",
        "bound",
        "One file was rewritten over and over: {observed} times; the limit is {limit}.",
        f"Say in the prompt what the file must hold at the end. {_STRATEGY}",
    ),
    StopReason(
        "no_progress",
        "attempt",
        "bound",
        "{observed} tool calls passed without reported progress; the limit is {limit}.",
        _SPLIT,
    ),
    StopReason(
        "out_of_scope",
        "attempt",
        "bound",
        "{observed} changes lie outside the allowed paths; {limit} are allowed.",
        "Widen allowed_paths if the change is right, else say in the prompt where the work belongs.",
    ),
    StopReason(
        "malformed_calls",
        "attempt",
        "bound",
        "{observed} replies in a row held no call that could be parsed and validated; the limit is {limit}.",
        'Use a model that can call tools, or set tools = "json" for this model.',
    ),
    StopReason(
        "context_exhausted",
        "attempt",
        "bound",
        "{observed} compactions in a row gained no headroom; the limit is {limit}.",
        "Split the task, or use a model with a larger context_window.",
    ),
    StopReason(
        "guard_failed",
        "attempt",
        "error",
        "A guard failed to judge an event, so the attempt was stopped to be safe.",
        "This is a defect of orchestrate: please report it with the attempt's log.",
    ),
    # --- other ends of an attempt -------------------------------------------------------------------------------
    StopReason("accepted", "attempt", "ended", "Gates and review found nothing that blocks.", "Nothing to do."),
    StopReason(
        "gate_failed",
        "attempt",
        "gate",
        "A gate found {observed} blocking findings; {limit} are allowed.",
        "The next attempt gets the findings; `orchestrate show` lists them.",
        retry_unchanged=True,
    ),
    StopReason(
        "review_failed",
        "attempt",
        "gate",
        "The review did not pass: score {observed}, threshold {limit}.",
        "The next attempt gets the required fixes; `orchestrate show` lists them.",
        retry_unchanged=True,
    ),
    StopReason(
        "review_error",
        "attempt",
        "error",
        "The review gave no usable answer in {observed} tries; {limit} are made.",
        "Check the verifier's model (`orchestrate doctor --model`), then retry the task.",
        retry_unchanged=True,
    ),
    StopReason(
        "check_infrastructure",
        "attempt",
        "error",
        "A verification command could not give an answer {observed} times in a row; the limit is {limit}.",
        "Make the command run here by hand: a missing program, a timeout or a signal is no finding about the work.",
        retry_unchanged=True,
    ),
    StopReason(
        "baseline_unavailable",
        "attempt",
        "error",
        "The verification commands could not be measured at the start commit.",
        "Make the plan's verification run on a clean checkout, then retry.",
        retry_unchanged=True,
    ),
    StopReason(
        "gave_up",
        "attempt",
        "ended",
        "The worker gave up and said why.",
        "Read its reason: answer it in the prompt, or split the task.",
    ),
    StopReason(
        "model_error",
        "attempt",
        "error",
        "The model endpoint failed beyond its retries.",
        "Check endpoint, key and quota (`orchestrate doctor --model`), then `orchestrate execute --resume`.",
        retry_unchanged=True,
    ),
    StopReason(
        "workspace_error",
        "attempt",
        "error",
        "git or the file system failed under the attempt.",
        "Check disk space and permissions (`orchestrate doctor`), then `orchestrate execute --resume`.",
        retry_unchanged=True,
    ),
    StopReason(
        "lease_lost",
        "attempt",
        "ended",
        "Another worker has taken the task over.",
        "Nothing to do: the other one carries on.",
        retry_unchanged=True,
        counts=False,
    ),
    StopReason(
        "interrupted",
        "attempt",
        "ended",
        "The attempt was cut off: by its process's end, the user, or whatever else its detail names.",
        "`orchestrate execute --resume` carries on; nothing is lost or paid twice.",
        retry_unchanged=True,
        counts=False,
    ),
    StopReason(
        "cancelled",
        "attempt",
        "ended",
        "It was cancelled.",
        "`orchestrate retry` makes it pending again.",
        counts=False,
    ),
    # --- ends of a task -----------------------------------------------------------------------------------------
    StopReason("completed", "task", "ended", "The work was accepted and merged.", "Nothing to do."),
    StopReason(
        "attempts_exhausted",
        "task",
        "gate",
        "{observed} attempts were not accepted; max_attempts is {limit}.",
        "`orchestrate show` has the open findings; split the task, or retry it with a note or another model.",
    ),
    StopReason(
        "stops_exhausted",
        "task",
        "bound",
        "{observed} attempts were stopped by a bound; {limit} are allowed.",
        "Split the task, or `orchestrate retry` it with a larger budget or another model.",
    ),
    StopReason(
        "not_converging",
        "task",
        "gate",
        "The same failures stood after {observed} checks; the limit is {limit}.",
        "Read the recurring failures in `orchestrate show`; change the task, or split it.",
    ),
    StopReason(
        "dependency_failed",
        "task",
        "ended",
        "A task that it depends on was not completed.",
        "Repair or split that task: this one is released when it is retried or replaced.",
        retry_unchanged=True,
        counts=False,
    ),
    StopReason(
        "split",
        "task",
        "ended",
        "It was replaced by its subtasks.",
        "Follow the subtasks.",
        counts=False,
    ),
)

ATTEMPT_STOPS: Mapping[str, StopReason] = {r.code: r for r in _REASONS if r.level == "attempt"}
"""Every code that an attempt can end with."""

TASK_STOPS: Mapping[str, StopReason] = {r.code: r for r in _REASONS if r.level == "task"} | {
    "cancelled": StopReason(
        "cancelled", "task", "ended", "It was cancelled.", "`orchestrate retry` makes it pending again.", counts=False
    )
}
"""Every code that a task can end with."""


def reason(code: str) -> StopReason:
    """The taxonomy's entry of a code, an attempt's before a task's. Raises KeyError for a code that is in neither."""
    return ATTEMPT_STOPS[code] if code in ATTEMPT_STOPS else TASK_STOPS[code]


def next_step(code: str) -> str:
    """What can be done after an end with this code. Raises KeyError for an unknown code."""
    return reason(code).next_step


def explain(code: str, observed: float, limit: float, evidence: Evidence | None = None) -> str:
    """One sentence for a person, what was seen, and what can be done next. Raises KeyError for an unknown code."""
    entry = reason(code)
    sentence = entry.sentence.format(observed=_figure(observed), limit=_figure(limit))
    return " ".join(part for part in (sentence, _seen(evidence or {}), entry.next_step) if part)


def _figure(number: float) -> str:
    return str(int(number)) if abs(number) < 1e15 and number == int(number) else f"{number:.4g}"


def _seen(evidence: Evidence) -> str:
    shown = [f"{key} {_value(value)}" for key, value in evidence.items() if value not in (None, "", [])]
    return f"Seen: {'; '.join(shown).removesuffix('.')}." if shown else ""


def _value(value: object) -> str:
    text = ", ".join(map(str, value)) if isinstance(value, list) else str(value)
    return text if len(text) <= 200 else text[:199] + "…"
