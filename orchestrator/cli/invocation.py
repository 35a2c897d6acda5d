"""What every command knows of how it was called, and the one door to the wiring."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

if TYPE_CHECKING:
    from orchestrator.wiring import App


@dataclass(frozen=True)
class Invocation:
    """The global options: the folder that -C names, and what of the log goes to stderr."""

    folder: Path
    log_level: str

    @contextmanager
    def app(self, **flags: Any) -> Iterator[App]:
        """The wired application for this folder; `flags` are settings given on the command line (None: not given)."""
        import os

        from orchestrator.cli.logs import log_to
        from orchestrator.wiring import open_app

        given: Mapping[str, Any] = {name: value for name, value in flags.items() if value is not None}
        with open_app(self.folder, os.environ, flags=given, on_wait=say) as app:
            log_to(app.home, self.log_level)
            yield app


def say(message: str) -> None:
    """One line of progress on stderr."""
    click.echo(message, err=True)


pass_invocation = click.make_pass_decorator(Invocation)
