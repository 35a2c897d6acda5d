"""What every command knows of how it was called, and the one door to the application."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

if TYPE_CHECKING:
    from orchestrator.app import App

INTERRUPTED = 130
"""The exit code after Ctrl-C."""
GRAPH_WAIT_S = 3.0  # where an answer is wanted now, good or bad


@dataclass(frozen=True)
class Invocation:
    """The global options: the folder that -C names, and what of the log goes to stderr."""

    folder: Path
    log_level: str

    @contextmanager
    def app(
        self,
        flags: Mapping[str, Any] | None = None,
        environ: Mapping[str, str] | None = None,
        *,
        logged: bool = True,
    ) -> Iterator[App]:
        """The wired application for this folder. `flags` are settings given on the command line, by dotted name (None:
        not given); `environ` replaces the environment. `logged` opens the log file, which needs a usable repository."""
        import os

        from orchestrator.cli.logs import log_to
        from orchestrator.cli.packages import require_own_agents
        from orchestrator.domain.progress import silent

        require_own_agents()
        from orchestrator.app import App

        def on_wait(message: str) -> None:
            if app.listener is silent:  # a listener is told of waits itself
                say(message)

        given = {name: value for name, value in (flags or {}).items() if value is not None}
        with App(self.folder, environ or os.environ, flags=given, on_wait=on_wait) as app:
            if logged:
                log_to(app.home, self.log_level, lambda text: app.redact(text))
            yield app


def say(message: object) -> None:
    """One message on stderr, without what a terminal would obey: much of what it says came from a model."""
    from orchestrator.cli.render.text import clean

    click.echo(clean(message), err=True)


pass_invocation = click.make_pass_decorator(Invocation)
