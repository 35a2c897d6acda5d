"""Every number of the guards, with its default. The settings carry this model as `[guards]`."""

from __future__ import annotations

from pydantic import BaseModel, ConfigDict, Field, field_validator


class GuardLimits(BaseModel):
    """The limits under which attempts run; stored with each attempt as limitsJson, so that a replay can vary them."""

    model_config = ConfigDict(frozen=True, extra="forbid", use_attribute_docstrings=True)

    budget_warnings: tuple[float, ...] = Field(default=(0.8, 0.95))
    """Shares of the tool call budget, and of the turns, at which the worker is warned once: above 0, at most 1,
    ascending."""
    request_factor: int = Field(default=3, ge=1)
    """Requested calls (duplicates and control tools counted) may be this many times the budget."""
    max_turns: int | None = Field(default=None, ge=2)
    """Turns of one attempt, the last of them only to finish in. None: 1.2 times its tool call budget, and at least ten
    more than that, which always holds for reviews and planning rounds."""
    repetition_warn: int = Field(default=3, ge=2)
    """Same call, outcome and tree this many times in a row: warning."""
    repetition_stop: int = Field(default=5, ge=2)
    """Same call, outcome and tree this many times in a row: stop."""
    cycle_longest: int = Field(default=24, ge=2)
    """Cycles of calls up to this period are looked for."""
    cycle_rounds: int = Field(default=3, ge=2)
    """Full rounds of a cycle that stop the attempt."""
    same_error_warn: int = Field(default=3, ge=1)
    """The same tool failing with the same error this many times: warning."""
    same_error_stop: int = Field(default=4, ge=1)
    """The same tool failing with the same error this many times: stop."""
    stall_batches: int = Field(default=3, ge=2)
    """Identical batches of calls in a row that count as a stall; the next one withholds the tools."""
    no_action_turns: int = Field(default=3, ge=1)
    """Turns in a row without a tool call that stop the attempt."""
    same_failure_warn: int = Field(default=5, ge=1)
    """The same call failing with the same error this many times and never otherwise, whatever was edited: warning."""
    same_failure_stop: int = Field(default=8, ge=1)
    """The same call failing with the same error this many times and never otherwise, whatever was edited: stop."""
    figures_warn: int = Field(default=6, ge=2)
    """The same call this many times in a row with outcomes that differ in figures alone: warning."""
    figures_stop: int = Field(default=12, ge=2)
    """The same call this many times in a row with outcomes that differ in figures alone: stop."""
    figures_rounds: int = Field(default=5, ge=2)
    """Full rounds of a cycle whose outcomes differ in figures alone: stop."""
    no_news_window: int = Field(default=16, ge=1)
    """The last turns that said something and wrote nothing, of which no_news_stop must have brought nothing new."""
    no_news_stop: int = Field(default=12, ge=1)
    """Turns within no_news_window that brought only outcomes seen before, over unchanged files: stop."""
    no_news_warn_window: int = Field(default=12, ge=1)
    """The same for no_news_warn."""
    no_news_warn: int = Field(default=8, ge=1)
    """Turns within no_news_warn_window that brought only outcomes seen before: warning."""
    thrash_warn: int = Field(default=10, ge=1)
    """Writes to one file that took away lines which this attempt had put there: warning."""
    thrash_stop: int = Field(default=15, ge=1)
    """Writes to one file that took away lines which this attempt had put there: stop."""
    writes_stop: int = Field(default=40, ge=1)
    """Substantive writes to one file, also if it only grows: stop."""
    revert_warn: int = Field(default=2, ge=1)
    """Times that a file is taken back to an earlier content by a step that was made before: warning."""
    revert_stop: int = Field(default=3, ge=1)
    """Times that a file is taken back to an earlier content by a step that was made before: stop."""
    progress_every: int = Field(default=25, ge=1)
    """A progress report is asked for every so many calls."""
    progress_warn: int = Field(default=50, ge=1)
    """Calls without progress: warning."""
    progress_stop: int = Field(default=100, ge=1)
    """Calls without progress: stop."""
    malformed_replies: int = Field(default=3, ge=1)
    """Replies in a row whose tool arguments do not parse or validate: stop."""
    compactions_without_headroom: int = Field(default=3, ge=1)
    """Compactions in a row that gain no headroom: stop."""
    repeated_failures: int = Field(default=3, ge=1)
    """Executions of one call that may fail before it is refused as repeated_failure."""
    max_tokens: int | None = Field(default=None, ge=1)
    """Prompt and completion tokens of one attempt; None is unbounded."""
    max_cost_usd: float | None = Field(default=None, gt=0)
    """US dollars of one attempt; None is unbounded."""
    deadline_s: float | None = Field(default=3600.0, gt=0)
    """Seconds from the first turn to the end of an attempt; None is unbounded."""
    working_time_s: float | None = Field(default=None, gt=0)
    """The same without the time spent waiting for rate limits; None is unbounded."""

    @field_validator("budget_warnings")
    @classmethod
    def _are_shares(cls, shares: tuple[float, ...]) -> tuple[float, ...]:
        if not all(0 < share <= 1 for share in shares) or list(shares) != sorted(set(shares)):
            raise ValueError("each share must be above 0 and at most 1, and greater than the one before it")
        return shares
