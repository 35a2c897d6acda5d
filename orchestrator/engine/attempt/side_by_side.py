"""Checks at once: a checkout for each that runs, so that none finds what another one makes."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, closing, contextmanager
from queue import SimpleQueue

from orchestrator.domain.attempt import Check
from orchestrator.domain.ports import Workspace


class IdleWorkspaces:
    """Workspaces of one content that no command is running in."""

    def __init__(self, workspaces: Sequence[Workspace]) -> None:
        self._at_once = len(workspaces)
        self._idle: SimpleQueue[Workspace] = SimpleQueue()
        for workspace in workspaces:
            self._idle.put(workspace)

    @contextmanager
    def one(self) -> Iterator[Workspace]:
        """One of them, to be had by nobody else meanwhile."""
        workspace = self._idle.get()
        try:
            yield workspace
        finally:
            self._idle.put(workspace)

    def in_order(self, check_of: Callable[[int, str], Check], commands: Sequence[str]) -> tuple[Check, ...]:
        """The checks of the commands, numbered from 1, in their order whichever ends first. What one of them raises is
        raised once those that run have ended; none is begun after it."""
        numbers = range(1, len(commands) + 1)
        if self._at_once == 1:
            return tuple(map(check_of, numbers, commands))
        with ThreadPoolExecutor(self._at_once, "check") as pool:
            return tuple(pool.map(check_of, numbers, commands))


@contextmanager
def side_by_side(workspace: Workspace, at_once: int) -> Iterator[IdleWorkspaces]:
    """So many workspaces of one content, of which `workspace` is the first. What commands leave in the build caches of
    the others goes with them."""
    with ExitStack() as opened:
        others = [opened.enter_context(closing(workspace.beside(number))) for number in range(2, at_once + 1)]
        yield IdleWorkspaces((workspace, *others))
