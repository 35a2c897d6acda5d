"""Every number of convergence, with its default. The settings carry this model as `[convergence]`."""

from __future__ import annotations

from typing import Self

from pydantic import BaseModel, ConfigDict, Field, model_validator

_SECTION = ConfigDict(frozen=True, extra="forbid", use_attribute_docstrings=True, allow_inf_nan=False)


class StageLimits(BaseModel):
    """What an attempt of one stage may change (`[[convergence.stages]]`)."""

    model_config = _SECTION

    stage: int = Field(default=2, ge=2)
    """Which stage; one that is not listed takes over from the nearest below it."""
    diff_share: float = Field(default=0.5, gt=0, le=1)
    """The share of the task's diff budget that one attempt may change, beside what it began with."""
    touched_only: bool = True
    """Whether it may change only files that the task declares or that its earlier attempts have changed."""


class ConvergenceLimits(BaseModel):
    """When a task whose attempts come no nearer to their end is held closer, and when it is ended."""

    model_config = _SECTION

    enabled: bool = True
    """Whether check passes are compared at all; without it a task ends by max_attempts and max_stopped_attempts
    alone."""
    stall_threshold: int = Field(default=2, ge=1)
    """Check passes in a row with the same failures, or over unchanged work, that raise the stage."""
    no_net_progress_after: int = Field(default=3, ge=2)
    """Check passes in a row through which a failure stays, none of them better than what was before, that count as such
    a one."""
    max_stage: int = Field(default=3, ge=1)
    """The stage whose reaching ends the task."""
    progress_falls_after: int = Field(default=2, ge=1)
    """Check passes in a row, each with a part of the failures of the one before it, that lower the stage by one."""
    fail_on_max_stage: bool = True
    """Whether reaching max_stage ends the task; else it stays at that stage until max_attempts."""
    stages: tuple[StageLimits, ...] = ()
    """What attempts of the stages from 2 on may change, where that is not half of the diff budget in touched files."""

    @model_validator(mode="after")
    def _stages_fit(self) -> Self:
        numbers = [each.stage for each in self.stages]
        for number in numbers:
            if number > self.max_stage:
                raise ValueError(f"has a stages entry for stage {number}, above its max_stage = {self.max_stage}")
            if numbers.count(number) > 1:
                raise ValueError(f"has two stages entries for stage {number}")
        return self

    def at(self, stage: int) -> StageLimits | None:
        """What an attempt of this stage may change beside its task's own bounds; None at stage 1."""
        if stage < 2:
            return None
        below = (each for each in self.stages if each.stage <= stage)
        return max(below, key=lambda each: each.stage, default=StageLimits())
