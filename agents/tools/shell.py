"""run_command: a shell command in the workspace's sandbox."""

from __future__ import annotations

import re

from pydantic import Field

from agents.tools.port import Arguments, ToolEnv, ToolOutput
from orchestrator.domain.ansi import plain
from orchestrator.domain.workspace import CommandResult

_ENDED = {
    "timeout": "stopped: it ran longer than its time limit",
    "idle": "stopped: no output for too long; it may wait for input, which nobody gives",
    "memory": "stopped: it used more memory than allowed",
    "output": "stopped: it wrote more output than allowed",
    "signal": "killed by a signal",
    "not_started": "could not be started",
}
_NOT_FOUND = (126, 127)  # the shell's exit codes for what is no program here
_GIT_WRITES = re.compile(r"\.lock': (Read-only file system|Permission denied)")
_GIT_READS = (
    "[git only reads here, and nothing needs to be committed: the workspace is recorded as it is. To take a change "
    "back, edit the file, or write what was there: git show HEAD:path > path]\n"
)


class RunCommand(Arguments):
    """Run a shell command at the repository's top level, in a sandbox: no network unless the settings allow it, nobody
    to answer prompts, every process ends with the command. git only reads: to take a change back, edit the file, or
    `git show HEAD:path > path`. Says the exit code last."""

    command: str = Field(min_length=1)
    """As for sh -c."""
    timeout_s: float | None = Field(default=None, gt=0)
    """Seconds after which it is stopped; the default is generous."""


def run_command(env: ToolEnv, arguments: RunCommand) -> ToolOutput:
    """What it printed as plain text, then how it ended. Anything but exit code 0 is a failed call; the text holds no
    duration, so that two equal runs have equal outcomes. A failure whose output holds no word is the command's own:
    searches that find nothing are no error made twice, commands that fail with the same words are. That a program is
    missing, or that git only reads, is a lesson, and no error of the work: four ways to learn it are none either."""
    done = env.workspace.run(
        arguments.command, timeout_s=arguments.timeout_s, within_s=env.within_s, read_only=env.read_only
    )
    said = plain(done.output)
    output = said if not said or said.endswith("\n") else said + "\n"
    refused = done.exit_code not in (0, None) and _GIT_WRITES.search(said) is not None
    return ToolOutput(
        text=f"{output}{_GIT_READS if refused else ''}[{_status(done, env.within_s)}]",
        ok=done.ended == "exited" and done.exit_code == 0,
        error_of="" if any(map(str.isalpha, said)) else arguments.command,
        infrastructure=done.ended == "not_started",
        says=bool(said.strip()),
        lesson=refused or done.exit_code in _NOT_FOUND,
    )


def _status(done: CommandResult, within_s: float | None) -> str:
    if done.ended == "exited":
        return f"exit code {done.exit_code}"
    if done.ended == "timeout" and within_s is not None and done.duration_ms >= within_s * 1000:
        return "stopped: the deadline of the work is reached"
    return f"{_ENDED[done.ended]}{': ' if done.detail else ''}{done.detail}"
