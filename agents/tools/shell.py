"""run_command: a shell command in the workspace's sandbox."""

from __future__ import annotations

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


class RunCommand(Arguments):
    """Run a shell command at the repository's top level, in a sandbox: no network unless the settings allow it, nobody
    to answer prompts, every process ends with the command. Says the exit code last."""

    command: str = Field(min_length=1)
    """As for sh -c."""
    timeout_s: float | None = Field(default=None, gt=0)
    """Seconds after which it is stopped; the default is generous."""


def run_command(env: ToolEnv, arguments: RunCommand) -> ToolOutput:
    """What it printed as plain text, then how it ended. Anything but exit code 0 is a failed call; the text holds no
    duration, so that two equal runs have equal outcomes. A failure whose output holds no word is the command's own:
    searches that find nothing are no error made twice, commands that fail with the same words are."""
    done = env.workspace.run(
        arguments.command, timeout_s=arguments.timeout_s, within_s=env.within_s, read_only=env.read_only
    )
    said = plain(done.output)
    output = said if not said or said.endswith("\n") else said + "\n"
    return ToolOutput(
        text=f"{output}[{_status(done, env.within_s)}]",
        ok=done.ended == "exited" and done.exit_code == 0,
        error_of="" if any(map(str.isalpha, said)) else arguments.command,
        infrastructure=done.ended == "not_started",
        says=bool(said.strip()),
    )


def _status(done: CommandResult, within_s: float | None) -> str:
    if done.ended == "exited":
        return f"exit code {done.exit_code}"
    if done.ended == "timeout" and within_s is not None and done.duration_ms >= within_s * 1000:
        return "stopped: the deadline of the work is reached"
    return f"{_ENDED[done.ended]}{': ' if done.detail else ''}{done.detail}"
