"""Grants: a model's yes never opens more than was asked, and a crash gives no second one."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime

import pytest

from orchestrator.config.settings import ScopeGrants, Settings
from orchestrator.domain.attempt import Owner
from orchestrator.domain.events import Event, ScopeDecided
from orchestrator.domain.model_io import ToolCall
from orchestrator.engine.loop.control_tools import Grant, GrantPolicy, WorkerControls, within
from orchestrator.engine.loop.journal import Journal
from orchestrator.guards.guard_set import GuardSet
from tests.support.samples import new_task

T0 = datetime(2026, 1, 1, tzinfo=UTC)


class FixedClock:
    """One instant for ever."""

    def now(self) -> datetime:
        """It."""
        return T0

    def monotonic(self) -> float:
        """Nothing passes."""
        return 0.0

    def sleep(self, seconds: float) -> None:
        """No wait."""


class Kept:
    """A recorder in memory."""

    def __init__(self) -> None:
        self.events: list[Event] = []

    def record(self, _owner: Owner, events: Sequence[Event]) -> None:
        """Keep them."""
        self.events += events


def ask(
    tool: str, grant: Grant, inherited: Sequence[Event] = (), scope_grants: ScopeGrants = "files", **arguments: object
) -> tuple[str, Event]:
    """What the worker is told, and what is recorded, when a policy answers so."""
    task = new_task("p1", 0, ())
    policy: GrantPolicy = lambda _request: grant  # noqa: E731
    controls = WorkerControls(
        task=task,
        findings=(),
        policy=policy,
        clock=FixedClock(),
        changed=lambda _tree: ("calc.py",),
        scope_grants=scope_grants,
        inherited=inherited,
    )
    kept = Kept()
    journal = Journal(kept, Owner("Attempt", "a1", "a1", 1), GuardSet.begin(Settings().guards, 20, ()))
    call = ToolCall(
        call_id="c1",
        tool=tool,
        arguments_json="{}",
        arguments={"justification": "because", **arguments},
        signature="s",
        mutating=False,
        pure=False,
        control=True,
    )
    outcome = controls.apply(call, journal, "tree", ("read_file calc.py [ok]",))
    journal.flush()
    return outcome.text, kept.events[0]


def yes(amount: int = 0, *paths: str) -> Grant:
    """A generous answer."""
    return Grant(granted=True, amount=amount, paths=paths, reason="Fine.", decided_by="pm")


@pytest.mark.parametrize(
    ("granted", "asked", "left"),
    [
        (("**",), ("docs/**",), ()),
        (("docs/**", "src/x.py"), ("docs/**",), ("docs/**",)),
        (("docs/a.md",), ("docs/**",), ("docs/a.md",)),
        (("docs/",), ("docs/**",), ()),
        (("docs/*",), ("docs/**",), ()),
        (("/etc/passwd", "../x", ".git/config", "", "\0"), ("**",), ()),
        (("**",), ("**",), ("**",)),
        (("src/x.py",), ("+src/x.py",), ()),
    ],
)
def test_granted_paths_are_among_those_asked_for(
    granted: tuple[str, ...], asked: tuple[str, ...], left: tuple[str, ...]
) -> None:
    """The PM's answer is cut to the question; what lies outside the repository is no path."""
    assert within(granted, asked) == left


def test_a_scope_grant_beyond_the_question_is_a_refusal() -> None:
    """`**` for a request of docs opens nothing, in the record as in the guard."""
    text, event = ask("request_scope", yes(0, "**"), scope_grants="any", paths=["docs/**"])
    assert text.startswith("Refused")
    assert isinstance(event, ScopeDecided)
    assert not event.granted


@pytest.mark.parametrize(
    ("grants", "asked", "answer", "granted"),
    [
        ("files", ["**"], ["**"], None),
        ("files", ["src/", "+docs/x"], ["src/"], None),
        ("files", ["src/x.py", "docs/**"], ["src/x.py", "docs/**"], ("src/x.py",)),
        ("any", ["docs/**"], ["docs/**"], ("docs/**",)),
        ("none", ["src/x.py"], ["src/x.py"], None),
    ],
)
def test_a_model_grants_single_files_unless_a_person_lets_it_do_more(
    grants: ScopeGrants, asked: list[str], answer: list[str], granted: tuple[str, ...] | None
) -> None:
    """PM and worker are often one model, which would grant itself everything."""
    text, event = ask("request_scope", yes(0, *answer), scope_grants=grants, paths=asked)
    assert isinstance(event, ScopeDecided)
    assert (event.granted, event.paths if event.granted else None) == (granted is not None, granted)
    assert granted is not None or "run.scope_grants" in text


def test_a_refusal_grants_no_calls_whatever_amount_it_names() -> None:
    """granted false with an amount is 0 calls in the graph."""
    _, event = ask("request_budget", Grant(granted=False, amount=50, reason="No.", decided_by="pm"), additional=50)
    assert (getattr(event, "granted", None), getattr(event, "granted_calls", None)) == (False, 0)


def test_a_continued_attempt_gets_no_second_grant() -> None:
    """What the attempt that died was granted counts in its successor: a crash refills nothing."""
    earlier = ScopeDecided(
        seq=1,
        at=T0,
        call_seq=1,
        paths=("docs/**",),
        justification="because",
        granted=True,
        decided_by="pm",
        reason="Fine.",
    )
    text, _ = ask("request_scope", yes(0, "src/x.py"), [earlier], paths=["src/x.py"])
    assert text.startswith("Refused: Only one grant")
    text, _ = ask("request_budget", yes(5), [earlier], additional=5)
    assert text.startswith("Granted: 5 more")
