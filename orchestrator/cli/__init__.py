"""The command line. This module stays light: a command's own module, and all it needs, is imported when it is called.

`orchestrate --help` must answer in the time that Python takes to import click, so nothing here imports more than click
and the errors.
"""

from __future__ import annotations

import errno
import os
import sys
from importlib import import_module
from pathlib import Path

import click

from orchestrator import __version__
from orchestrator.cli.invocation import INTERRUPTED, Invocation, say
from orchestrator.domain.errors import OrchestrateError

# name -> (module, short help); the order is that of a first day with the program.
COMMANDS: dict[str, tuple[str, str]] = {
    "demo": ("demo", "Run the whole pipeline on a sample repository, without a key."),
    "doctor": ("doctor", "Check graph, git, sandbox, disk and model; say what to do."),
    "init": ("init", "Find out what verifies a change here, write orchestrate.toml."),
    "plan": ("plan", "Turn a goal into a plan, or load one from a file."),
    "execute": ("execute", "Execute the newest ready plan, or the one named."),
    "status": ("status", "Show on one screen how a plan stands and what it cost."),
    "show": ("show", "Tell the story of a plan, task, run, attempt or review."),
    "list": ("listing", "List plans or runs."),
    "report": ("report", "Write what became of a run, as Markdown."),
    "diff": ("diff", "Print what a run or a task has changed."),
    "retry": ("retry", "Have a task that has ended tried again."),
    "review": ("review", "Have QC look again at what was accepted."),
    "cancel": ("cancel", "Cancel a run or a task, from any shell."),
    "query": ("query", "Ask the graph in Cypher, or by a saved query."),
    "calibrate": ("calibrate", "Replay past attempts under other limits."),
    "graph": ("graph", "Start, stop or look at the graph server."),
    "settings": ("settings", "Show each setting with where it comes from."),
    "trust": ("trust", "Let this repository's settings file count."),
    "completion": ("completion", "Print the script for a shell's completion."),
}
BROKEN_PIPE = 141  # 128 + SIGPIPE: what a shell sees of a program that `head` cut off


class LazyGroup(click.Group):
    """A group that knows its commands by name and imports one when it is called."""

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002 - click's signature
        """The commands in the order in which help lists them."""
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:  # noqa: ARG002
        """Import the command's module and return its `command`."""
        if cmd_name not in COMMANDS:
            return None
        command: click.Command = import_module(f"orchestrator.cli.{COMMANDS[cmd_name][0]}").command
        return command

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """As click does, and name the nearest command for one that there is not."""
        if args and not ctx.resilient_parsing and args[0] not in COMMANDS and not args[0].startswith("-"):
            from orchestrator.domain.text import nearest

            ctx.fail(f"No such command {args[0]!r}{nearest(args[0], COMMANDS) or '.'}")
        return super().resolve_command(ctx, args)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:  # noqa: ARG002
        """List the commands from the table, importing none."""
        with formatter.section("Commands"):
            formatter.write_dl([(name, short) for name, (_, short) in COMMANDS.items()])


@click.command(cls=LazyGroup, context_settings={"help_option_names": ["-h", "--help"]})
@click.option(
    "-C",
    "folder",
    type=click.Path(exists=True, file_okay=False, path_type=Path),
    default=Path(),
    metavar="DIR",
    help="The repository, or a folder in it (default: the current folder).",
)
@click.option("-v", "--verbose", count=True, help="Say more, on stderr too, and show stop codes; twice for everything.")
@click.option(
    "--log-level",
    type=click.Choice(["debug", "info", "warning", "error"]),
    help="What of the log also goes to stderr (default: warning).",
)
@click.version_option(__version__, prog_name="orchestrate")
@click.pass_context
def cli(ctx: click.Context, folder: Path, verbose: int, log_level: str | None) -> None:
    """Plan a goal into a graph of tasks, execute them inside hard bounds, and ask the graph why."""
    ctx.obj = Invocation(folder.resolve(), log_level or ("warning", "info", "debug")[min(verbose, 2)], verbose > 0)


def main() -> None:
    """The console script: run, and leave with the exit code of what happened."""
    raise SystemExit(run(sys.argv[1:]))


def run(arguments: list[str]) -> int:
    """Run one command and return its exit code. The one place where errors become messages."""
    try:
        code = cli.main(arguments, prog_name="orchestrate", standalone_mode=False)
        sys.stdout.flush()
    except click.ClickException as error:
        error.show()
        return 2
    except OrchestrateError as error:
        say(f"Error: {error}")
        return error.exit_code
    except (KeyboardInterrupt, click.Abort):
        click.echo("Interrupted. What was done until then is in the graph.", err=True)
        return INTERRUPTED
    except BrokenPipeError:
        return _reader_left()
    except SystemExit as leaving:  # click leaves by itself after completion, and when a reader of stdout has left
        return int(leaving.code or 0) if "_ORCHESTRATE_COMPLETE" in os.environ else BROKEN_PIPE
    except OSError as error:
        if error.errno not in (errno.ENOSPC, errno.EDQUOT):
            return _defect(error, arguments)
        say(f"Error: No space left on the disk: {error.filename or error}. Free some and repeat the command.")
        return 1
    except Exception as error:  # the last resort: a defect of ours must not end as a traceback on the screen
        return _defect(error, arguments)
    return code if isinstance(code, int) else 0


def _defect(error: Exception, arguments: list[str]) -> int:
    from orchestrator.cli.logs import record_crash, redacted

    log = record_crash(error, arguments)
    say(redacted(f"Error: a defect of orchestrate: {type(error).__name__}: {error}. The details are in {log}."))
    return OrchestrateError.exit_code


def _reader_left() -> int:
    # Python flushes stdout once more at exit; a closed pipe must not make that a second error.
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    return BROKEN_PIPE
