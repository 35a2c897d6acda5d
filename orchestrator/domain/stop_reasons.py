"""The one taxonomy of ends: every code with its words, its sentence, what to do next, whose fault it was.

`{observed}` and `{limit}` are the figures that the bound was judged by: whoever tells them names the same numbers.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

Fault = Literal["work", "infrastructure", "outage"]


@dataclass(frozen=True, slots=True)
class StopReason:
    """Why an attempt or a task ended. `words` are what screens show in place of the code, which is for programs. Whose
    `fault` an attempt's end was decides what may follow: the work's counts against max_attempts; of infrastructure (a
    check, the review or git failed under it) few are borne; an outage (the run ends with it, or another process goes
    on) never ends a task."""

    code: str
    words: str
    sentence: str
    next_step: str
    fault: Fault = "work"


_SPLIT = "Split the task, reduce its scope or approve a larger budget; it is not retried unchanged."
_STRATEGY = "Change the strategy or split the task; it is not retried unchanged."

_ATTEMPT = (
    # --- bounds of an attempt -----------------------------------------------------------------------------------
    StopReason(
        "budget_exhausted",
        "out of tool calls",
        "A further tool call was asked for after {observed} of {limit} were used and the finishing turn was over.",
        f"{_SPLIT} The budget is the task's tool_call_budget.",
    ),
    StopReason(
        "request_limit",
        "asked for too many calls",
        "{observed} calls were asked for, duplicates and control tools counted; the limit is {limit}.",
        f"{_SPLIT} The limit is guards.request_factor times tool_call_budget.",
    ),
    StopReason(
        "turn_limit",
        "out of turns",
        "A further turn was needed after {observed} of {limit}, the last of them only to finish in.",
        f"{_SPLIT} The limit is guards.max_turns, or goes with tool_call_budget.",
    ),
    StopReason(
        "token_limit",
        "token limit reached",
        "The next turn could bring the tokens to {observed}; the limit is {limit}.",
        "Raise max_tokens, or split the task; it is not retried unchanged.",
    ),
    StopReason(
        "cost_limit",
        "cost limit reached",
        "The next turn could bring the cost to {observed} US dollars; the limit is {limit}.",
        "Raise max_cost_usd, set the model's price, choose a cheaper model, or split the task.",
    ),
    StopReason(
        "deadline",
        "out of time",
        "A further step would stand at {observed} seconds; the limit is {limit}.",
        "Raise deadline_s or working_time_s, or split the task; it is not retried unchanged.",
    ),
    StopReason(
        "loop_detected",
        "went in circles",
        "The same was asked {observed} times over unchanged files, and nothing new came of it; the limit is {limit}.",
        _STRATEGY,
    ),
    StopReason(
        "same_error",
        "the same error over and over",
        "The same error came {observed} times; the limit is {limit}.",
        f"Look at the error in the evidence first: it may be the task's or the environment's. {_STRATEGY}",
    ),
    StopReason(
        "stalled",
        "got no new result",
        "The same batch of calls was asked for {observed} times without a new result; the limit is {limit}.",
        _STRATEGY,
    ),
    StopReason(
        "no_action",
        "called no tool",
        "{observed} replies in a row asked for no tool; the limit is {limit}.",
        "Raise max_output_tokens if replies were cut off at it; else see whether the model can call tools "
        "(`orchestrate doctor --model`), or make the task's prompt concrete.",
    ),
    StopReason(
        "thrashing",
        "rewrote one file over and over",
        "One file was rewritten over and over: {observed} times; the limit is {limit}.",
        f"Say in the prompt what the file must hold at the end. {_STRATEGY}",
    ),
    StopReason(
        "no_progress",
        "reported no progress",
        "{observed} tool calls passed without reported progress; the limit is {limit}.",
        _SPLIT,
    ),
    StopReason(
        "out_of_scope",
        "changed files outside its task",
        "{observed} changes lie outside the allowed paths; {limit} are allowed.",
        "Widen allowed_paths if the change is right, else say in the prompt where the work belongs.",
    ),
    StopReason(
        "malformed_calls",
        "its tool calls could not be read",
        "{observed} replies in a row held no call that could be parsed and validated; the limit is {limit}.",
        "Raise max_output_tokens if replies were cut off at it; else use a model that can call tools, or set tools = "
        '"json" for this model.',
    ),
    StopReason(
        "context_exhausted",
        "its context window was full",
        "{observed} compactions in a row gained no headroom; the limit is {limit}.",
        "Split the task, or use a model with a larger context_window.",
    ),
    # The work's, not the endpoint's: the task's words or files led there, and only a person can change these or the
    # model. A fresh conversation may fare better once; as with every bound it is not many.
    StopReason(
        "model_declined",
        "the model declined",
        "The model declined to reply, or a filter of its endpoint took the reply.",
        "Reword the task's prompt, or give it another model; a new run does not try it unchanged.",
    ),
    StopReason(
        "guard_failed",
        "a guard failed to judge",
        "A guard failed to judge an event, so the attempt was stopped to be safe.",
        "This is a defect of orchestrate: please report it with the attempt's log.",
    ),
    # --- other ends of an attempt -------------------------------------------------------------------------------
    StopReason("accepted", "accepted", "Gates and review found nothing that blocks.", "Nothing to do."),
    StopReason(
        "gate_failed",
        "checks failed",
        "A gate found {observed} blocking findings; {limit} are allowed.",
        "The next attempt gets the findings; `orchestrate show` lists them.",
    ),
    StopReason(
        "review_failed",
        "review not passed",
        "The review did not pass: score {observed}, threshold {limit}.",
        "The next attempt gets the required fixes; `orchestrate show` lists them.",
    ),
    StopReason(
        "review_error",
        "the review gave no answer",
        "The review gave no usable answer in {observed} tries; {limit} are made.",
        "Check the verifier's model (`orchestrate doctor --model`), then retry the task.",
        fault="infrastructure",
    ),
    StopReason(
        "check_infrastructure",
        "a check could not be run",
        "A verification command could not give an answer {observed} times in a row; the limit is {limit}.",
        "Make the command run here by hand: a missing program, a timeout or a signal is no finding about the work.",
        fault="infrastructure",
    ),
    StopReason(
        "baseline_unavailable",
        "no baseline",
        "A verification command gives no answer before any work, so nobody could tell what the work changes.",
        "Make it run in a clean checkout, or take it out of verification; then `orchestrate execute --resume`.",
        fault="outage",
    ),
    StopReason(
        "gave_up",
        "the worker gave up",
        "The worker gave up and said why.",
        "Read its reason: answer it in the prompt, or split the task.",
    ),
    StopReason(
        "model_error",
        "the model's endpoint failed",
        "The model endpoint failed beyond its retries.",
        "Check endpoint, key and quota (`orchestrate doctor --model`), then `orchestrate execute --resume`.",
        fault="outage",
    ),
    StopReason(
        "workspace_error",
        "git or the disk failed",
        "git or the file system failed under the attempt.",
        "Check disk space and permissions (`orchestrate doctor`), then `orchestrate execute --resume`.",
        fault="infrastructure",
    ),
    StopReason(
        "interrupted",
        "interrupted",
        "The attempt was cut off: by its process's end, the user, or whatever else its detail names.",
        "`orchestrate execute --resume` carries on; nothing is lost or paid twice.",
        fault="outage",
    ),
    StopReason(
        "cancelled",
        "cancelled",
        "It was cancelled.",
        "Retry the task if it is wanted after all; where a newer run of the plan has it, there is nothing to do.",
        fault="outage",
    ),
)

_TASK = (
    StopReason("completed", "completed", "The work was accepted and merged.", "Nothing to do."),
    StopReason(
        "attempts_exhausted",
        "no attempt is left",
        "Attempts that ended without accepted work: {observed}; allowed: {limit}.",
        "`orchestrate show` has the open findings; split the task, or retry it with a note or another model.",
    ),
    StopReason(
        "stops_exhausted",
        "stopped {times}, no {next} try",
        "Attempts that a bound stopped: {observed}; allowed: {limit}.",
        "Split the task, or retry it with a larger budget, a note or another model.",
    ),
    StopReason(
        "not_converging",
        "its attempts came no nearer",
        "Check passes that came no nearer to an end: {observed}. The same failures stayed or came back, up to stage "
        "{limit}, the last.",
        "`orchestrate show` has what stays open and how often; split the task, or retry it with a note, another model "
        "or a larger budget. It is not tried again unchanged.",
    ),
    StopReason(
        "review_not_converging",
        "QC rejects it over and over",
        "QC has rejected {observed} attempts for the same, or for nothing that has a place; {limit} end a task.",
        "Read the reviews with `orchestrate show`. Where QC is right, retry it with a note that says what is wanted; "
        "where it is not, give it another model (models.verifier). It is not tried again unchanged.",
    ),
    StopReason(
        "dependency_failed",
        "a task before it was not completed",
        "A task that it depends on was not completed.",
        "Repair or split that task: this one is released when it is retried or replaced.",
    ),
    StopReason(
        "cancelled",
        "cancelled",
        "It was cancelled.",
        "Retry it if it is wanted after all; a new run of the plan does.",
    ),
)

ATTEMPT_STOPS: Mapping[str, StopReason] = {reason.code: reason for reason in _ATTEMPT}
"""Every code that an attempt can end with."""

TASK_STOPS: Mapping[str, StopReason] = {reason.code: reason for reason in _TASK}
"""Every code that a task can end with."""


_TIMES = {1: ("once", "second"), 2: ("twice", "third")}


def reason(code: str) -> StopReason:
    """The taxonomy's entry of a code, an attempt's before a task's. Raises KeyError for a code that is in neither."""
    return ATTEMPT_STOPS[code] if code in ATTEMPT_STOPS else TASK_STOPS[code]


def next_step(code: str) -> str:
    """What can be done after an end with this code. Raises KeyError for an unknown code."""
    return reason(code).next_step


def in_words(code: str, stops: int | None = None) -> str:
    """The end in a few words that need no glossary, such as "stopped twice, no third try" where `stops` is how many
    attempts a bound may stop. A code outside the taxonomy, as another release's graph may have, is its own words."""
    if code not in ATTEMPT_STOPS and code not in TASK_STOPS:
        return code
    times, following = _TIMES.get(stops or 0, (f"{stops} times" if stops else "too often", "further"))
    return reason(code).words.format(times=times, next=following)


def sentence(code: str, observed: float, limit: float) -> str:
    """The end and its figures, in one sentence for a person. Raises KeyError for an unknown code."""
    return reason(code).sentence.format(observed=_figure(observed), limit=_figure(limit))


def _figure(number: float) -> str:
    return str(int(number)) if abs(number) < 1e15 and number == int(number) else f"{number:.4g}"
