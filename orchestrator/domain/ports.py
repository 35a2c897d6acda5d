"""The ports through which rooms that must not import each other meet. app.py joins them.

What the engine needs of agents (Session and the three roles), of the workspace, and of the world (Clock, Ids); what it
needs of the graph is in graph_ports.py. Every port has one real implementation and one contract suite.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from contextlib import AbstractContextManager
from datetime import datetime
from typing import Protocol

from orchestrator.domain.assignment import Assignment, FailureBrief, GrantRequest, PlanningAssignment, ReviewAssignment
from orchestrator.domain.attempt import Check
from orchestrator.domain.model_io import ModelReply, ModelRequest, ToolCall, ToolResult, TurnNotice
from orchestrator.domain.workspace import AbsentFile, CommandResult, FileChange, MergeCommit


class Clock(Protocol):
    """Time as the engine sees it; tests fix it."""

    def now(self) -> datetime:
        """The current instant, aware and UTC."""

    def monotonic(self) -> float:
        """Seconds that never go backwards, for durations."""

    def sleep(self, seconds: float) -> None:
        """Wait."""


class Ids(Protocol):
    """Where new ids come from; tests make them predictable."""

    def new(self, prefix: str) -> str:
        """A fresh id such as `p7k2m9qx4a` for the prefix `p`: lower case letters and digits, no punctuation."""


class Workspace(Protocol):
    """One git worktree of the Shadow, and the sandbox over it. Every path argument may be relative to the git top
    level, or absolute at or under the repository's own path; everything else is a PathRefusedError."""

    @property
    def shown_root(self) -> str:
        """The absolute path under which the worker knows the workspace: the repository's own."""

    @property
    def seen_root(self) -> str:
        """The absolute path under which commands find it: the same, unless there is no sandbox that can show it there.
        It stands in what they print."""

    @property
    def surroundings(self) -> tuple[str, ...]:
        """What commands find around them, in sentences: system, sandbox, network, Python, installed folders."""

    def relative(self, path: str) -> str:
        """The canonical path from the top level ("." for the top itself)."""

    def read(self, path: str) -> bytes:
        """The file's bytes. Raises ToolError when it is missing, a folder, or not a regular file."""

    def exists(self, path: str) -> bool:
        """Whether anything stands at the path itself, whatever it is and holds: a symlink counts, not what it points
        to. Nothing stands outside the workspace, nor behind a symlink."""

    def write(self, path: str, content: bytes) -> None:
        """Create or replace a file atomically, with its parent folders; never through a symlink."""

    def delete(self, path: str) -> None:
        """Remove a file."""

    def files(self, path: str = ".", glob: str | None = None) -> tuple[str, ...]:
        """Tracked and untracked but not ignored files under `path`, sorted, from the top level; a folder that is
        itself untracked counts with its files."""

    def search(self, pattern: str, path: str = ".", glob: str | None = None) -> tuple[str, ...]:
        """`path:line:text` of the lines that match the regular expression, in text files, time-bounded."""

    def run(
        self,
        command: str,
        *,
        timeout_s: float | None = None,
        within_s: float | None = None,
        read_only: bool = False,
        reports: bool = False,
    ) -> CommandResult:
        """Run a sandboxed shell command at the top level, for `timeout_s` (else the settings'), `within_s` at most.
        With `reports` test tools that can are asked for one, and what the command leaves for us is in the result."""

    def beside(self, number: int) -> Workspace:
        """Another workspace with the content that this one was opened with, to be closed by itself. Raises
        WorkspaceError."""

    def restore(self) -> None:
        """Make it again what it was opened as: what commands have changed is put back, and what they added is gone,
        also where git ignores it. Build caches stay. What file tools did is undone as well: for checks alone."""

    def snapshot(self, touched: Sequence[str] | None = None) -> str:
        """The workspace as a git tree id, anchored in the Shadow when the workspace closes at the latest. `touched`
        names the only paths that can have changed since the last snapshot; None looks everywhere, and anchors at once.
        Raises ToolError naming a nested `.git`."""

    def changes(self, before: str, after: str, since: str = "") -> tuple[FileChange, ...]:
        """What differs between two trees."""

    def diff(self, before: str, after: str) -> str:
        """The unified diff between two trees, without renames."""

    def keep_caches(self) -> None:
        """Make what commands left in build caches the plan's: for the checks of an accepted tree alone."""

    def close(self) -> None:
        """Remove the worktree; its snapshots stay. Safe to call twice."""


class Measured(Protocol):
    """What commands showed over trees in an environment like this one, whoever ran them."""

    def alone(self, tree: str) -> AbstractContextManager[None]:
        """Be the only one, of all processes, who measures this tree."""

    def of(self, tree: str, command: str) -> Check | None:
        """What the command showed over the tree; None where nobody knows."""

    def keep(self, check: Check) -> None:
        """Remember an answer."""


class Workspaces(Protocol):
    """The Shadow of one repository."""

    @property
    def measured(self) -> Measured:
        """What commands showed over its trees."""

    @property
    def sandbox_level(self) -> str:
        """bubblewrap, landlock or none: what commands run in here."""

    def absent_files(self) -> tuple[AbsentFile, ...]:
        """What tracked files need and git ignores, so that no workspace has it."""

    def resolve(self, revision: str) -> str:
        """The full commit id of a revision, brought into the Shadow."""

    def open(self, attempt_id: str, start: str, *, head: str, plan_id: str = "") -> Workspace:
        """A worktree with the content of `start` (commit or tree), HEAD at the commit `head`, and the plan's caches."""

    def merge(self, *, head: str, base: str, tree: str, message: str, trailers: Mapping[str, str]) -> MergeCommit:
        """Build (and anchor) one commit on `head` with what changed from the commit `base` to `tree`; moves no ref."""

    def files_of(self, commit: str) -> tuple[str, ...]:
        """The paths of a commit's files."""

    def tree_of(self, commit: str) -> str:
        """A commit's tree id."""

    def changes(self, before: str, after: str) -> tuple[FileChange, ...]:
        """What differs between two trees."""

    def content(self, blob: str) -> bytes | None:
        """A file's bytes by its blob id; None for one above a megabyte."""

    def restored(self, tree: str, start: str, paths: Collection[str]) -> str:
        """The tree with these paths, as changes() names them, as they are in the tree `start`: removed where it has
        none."""

    def secrets_in(self, changes: Iterable[FileChange]) -> tuple[str, ...]:
        """The paths of those changes whose new content holds the value of a secret of this environment."""

    def imported(self, tree: str, names: Collection[str]) -> frozenset[str]:
        """Which of these modules the Python files of a tree import by their bare name."""

    def deliver(self, branch: str, commit: str) -> None:
        """Make the branch in the Shadow and in the user's repository equal to the graph's head. Idempotent; refuses to
        move a branch that the user has checked out or committed to."""

    def sweep(self) -> None:
        """Remove the workspaces that no living process has open."""


class Session(Protocol):
    """One role's conversation with one model. The engine drives it and is the only one to act on what it returns:
    compose, record, send, record, and per call record, execute, record, answer."""

    @property
    def model(self) -> str:
        """The model's name."""

    @property
    def control_tools(self) -> frozenset[str]:
        """The tools whose effect is the engine's (finish_task, submit_review, …); execute() is not asked for them."""

    def compose(self, notice: TurnNotice, *, shrink: int = 0) -> ModelRequest:
        """The next request: the window over the transcript with the notice last. `shrink` 1 to 4 cuts the original
        to 80, 60, 40, 20 % after a ContextLengthError. Sends nothing, changes nothing."""

    def send(self, request: ModelRequest, on_lost: Callable[[str], None], on_text: Callable[[str], None]) -> ModelReply:
        """Send it; the reply joins the transcript, without calls where the model declined. Raises ModelError kinds,
        ContextLengthError among them, after the retries that the error allows. Before a retry `on_lost` is told of a
        try that the endpoint was working at, and why its reply was lost; it may raise to give up. `on_text` is told a
        streamed reply's text piece by piece, on another thread."""

    def execute(self, call: ToolCall, *, within_s: float | None = None) -> ToolResult:
        """Run a valid call's tool; a command is ended after `within_s` seconds, when the work's deadline is reached.
        Never raises for what the model did."""

    def answer(self, call: ToolCall, text: str) -> None:
        """Give the call its result in the transcript. Every call of a reply gets exactly one."""

    def remind(self, warnings: str = "") -> None:
        """After a reply without a tool call: say that text alone changes nothing, or that it was cut at its greatest
        length, with the warnings behind it. Not after one that paused, which goes on as soon as it is sent back."""


class Worker(Protocol):
    """The worker role."""

    def begin(self, assignment: Assignment, workspace: Workspace) -> Session:
        """Open an attempt's conversation. Control tools: finish_task {summary, artefacts?}, give_up {reason},
        report_progress {description}, request_budget, request_scope."""


class Verifier(Protocol):
    """The QC role."""

    @property
    def preamble_hash(self) -> str:
        """One hash over the standing texts by which QC is instructed: a verdict is bound to them."""

    def begin(self, assignment: ReviewAssignment, workspace: Workspace) -> Session:
        """Open a review's conversation, the workspace read-only. Control tool: submit_review."""

    def report(self, brief: FailureBrief) -> Session:
        """Open the one turn about a task that ran out. Control tool: submit_report {summary, actions}."""


class Planner(Protocol):
    """The PM role."""

    def begin(self, assignment: PlanningAssignment, workspace: Workspace) -> Session:
        """Open a planning round. Control tool: submit_plan, whose arguments are the plan file's object."""

    def decide(self, request: GrantRequest) -> Session:
        """Open a one-turn decision. Control tool: submit_decision {granted, amount, paths, reason}."""
