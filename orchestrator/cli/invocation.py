"""What every command knows of how it was called, and the one door to the application."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

import orchestrator
from orchestrator.cli.render.text import clean
from orchestrator.domain.errors import UserError

if TYPE_CHECKING:
    from orchestrator.app import App
    from orchestrator.config.trust import Untrusted

INTERRUPTED = 130
"""The exit code after Ctrl-C."""
GRAPH_WAIT_S = 3.0  # where an answer is wanted now, good or bad


@dataclass(frozen=True)
class Invocation:
    """The global options: the folder that -C names, what of the log goes to stderr, and whether -v asks for more."""

    folder: Path
    log_level: str
    verbose: bool = False

    @contextmanager
    def app(
        self, flags: Mapping[str, Any] | None = None, environ: Mapping[str, str] | None = None, *, logged: bool = True
    ) -> Iterator[App]:
        """The wired application for this folder. `flags` are settings given on the command line, by dotted name (None:
        not given); `environ` replaces the environment. `logged` opens the log file, which needs a usable repository."""
        require_own_agents()
        from orchestrator.app import App
        from orchestrator.cli.logs import log_to
        from orchestrator.cli.phases import PhaseListener

        waits = PhaseListener()

        def on_wait(message: str) -> None:
            if app.listener is waits:  # what shows progress is told of waits itself
                waits.say(message)

        given = {name: value for name, value in (flags or {}).items() if value is not None}
        with App(self.folder, environ or os.environ, flags=given, on_wait=on_wait, may_trust=_may_trust) as app:
            app.listener = waits
            if logged:
                log_to(app.home, self.log_level, lambda text: app.redact(text))
            yield app


def _may_trust(waiting: Untrusted) -> bool:
    """Ask, where somebody is there to answer."""
    if not (sys.stdin.isatty() and sys.stderr.isatty()):
        return False
    say(f"{waiting.file.path} sets what counts only after you have trusted the file:\n{waiting.described}")
    return click.confirm("Do you trust it as it is?", err=True)


def say(message: object) -> None:
    """One message on stderr, without what a terminal would obey: much of what it says came from a model."""
    click.echo(clean(message), err=True)


def require_own_agents() -> None:
    """Raise UserError when the import name `agents` is another package's: one on PyPI has it too."""
    found, ours = find_spec("agents"), Path(orchestrator.__file__).resolve().parent.parent / "agents"
    where = Path(found.origin).resolve().parent if found and found.origin else None
    if where != ours:
        raise UserError(
            f"The import name `agents` is taken by another package ({where or 'nowhere'}).",
            next_step="Install orchestrate in an environment of its own: `uv tool install orchestrate` or "
            "`pipx install orchestrate`.",
        )


pass_invocation = click.make_pass_decorator(Invocation)
