"""Errors, named for who must act. Each says what happened, the value and the limit, and what to do next.

The exit codes: 2 usage and configuration, 3 plan refused, 4 graph or model unreachable, 70 ours.
"""

from __future__ import annotations


class OrchestrateError(Exception):
    """A failure that is reported as one message, without a traceback. `next_step` says the way out."""

    exit_code = 70

    def __init__(self, message: str, *, next_step: str = "") -> None:
        super().__init__(message)
        self.message = message
        self.next_step = next_step

    def __str__(self) -> str:
        return f"{self.message} {self.next_step}".strip()


class UserError(OrchestrateError):
    """The user must act: wrong usage, configuration, unknown ID, missing key, unusable repository."""

    exit_code = 2


class UntrustedSettingsError(UserError):
    """A repository's settings file asks for what the user has not trusted."""


class QueryError(UserError):
    """Cypher that the graph refuses: syntax, an unknown parameter, a write without --write."""


class PlanError(OrchestrateError):
    """The plan must change before it can be executed."""

    exit_code = 3

    @property
    def found(self) -> tuple[str, ...]:
        """What must change, one by one."""
        return (str(self),)


class GraphError(OrchestrateError):
    """The graph cannot be reached or refuses us."""

    exit_code = 4


class StaleFenceError(GraphError):
    """Another process has taken over the task: this attempt may write nothing more."""


class ModelError(OrchestrateError):
    """The model endpoint failed. `retryable` errors were already retried when this is raised."""

    exit_code = 4


class ModelRefusedError(ModelError):
    """401, 402, 403, 404 or a 400 of our making: no retry can help."""


class ModelUnavailableError(ModelError):
    """Connection refused, timeouts, 429 and 5xx beyond the retries, or replies that are no completions."""


class ReplyLostError(ModelUnavailableError):
    """The endpoint had accepted the last try, and was working at it when its reply was given up or broke off: what that
    cost nobody has told."""


class ContextLengthError(ModelError):
    """The request exceeds the model's context window; the window must shrink."""


class WorkspaceError(OrchestrateError):
    """git or the file system failed under us: disk full, a corrupt repository, a read-only home."""


class DiskFullError(WorkspaceError):
    """No space left under ORCHESTRATE_HOME: no task can go on, and none is to blame."""

    exit_code = 1

    def __init__(self, message: str) -> None:
        super().__init__(message, next_step="Free some, then go on with `orchestrate execute --resume`.")


class SandboxError(UserError):
    """No sandbox of the asked level can be had here."""


class RunBoundError(OrchestrateError):
    """A run has used what it may cost, in dollars, tokens or time; the rest can be resumed under a higher bound."""

    exit_code = 1


class ToolError(Exception):
    """A tool call that failed in a way the worker can react to; the message is its result."""


class PathRefusedError(ToolError):
    """A path outside the workspace, through a symlink, or into .git."""
