"""What a plan file declares that its commands need."""

from __future__ import annotations

import pytest

from orchestrator.planning.formats import dump_plan, read_plan
from orchestrator.planning.plan_file import DeclaredCheck, PlanFile
from orchestrator.planning.preflight import network_refusals
from orchestrator.planning.validate import PlanFileError, examine_submission

PLAN = """goal: Better
verification:
  - pytest -q
  - {command: pytest db, services: [postgres on 5432], network: true}
full_verification:
  - command: make slow
    heavy: true
checks:
  - {command: pytest -q, services: [redis]}
tasks:
  - key: a
    prompt: Do a.
    files_written: [a.py]
    verification_commands: [{command: curl -f http://example.org, network: true}]
"""


def test_a_declaration_stands_in_its_commands_place_or_beside() -> None:
    """The command is one like any other, and what it needs is the plan's; written out and read again it is the same."""
    plan = read_plan(PLAN.encode(), ".yaml").ready()

    assert plan.verification == ("pytest -q", "pytest db")
    assert (plan.full_verification, plan.tasks[0].verification) == (("make slow",), ("curl -f http://example.org",))
    assert plan.checks == (
        DeclaredCheck(command="pytest -q", services=("redis",)),
        DeclaredCheck(command="pytest db", services=("postgres on 5432",), network=True),
        DeclaredCheck(command="make slow", heavy=True),
        DeclaredCheck(command="curl -f http://example.org", network=True),
    )
    assert read_plan(dump_plan(plan).encode(), ".yaml").ready() == plan
    assert [told.split(" is declared")[0] for told in network_refusals(plan.checks)] == [
        "'pytest db'",
        "'curl -f http://example.org'",
    ]


@pytest.mark.parametrize(
    ("old", "new", "told"),
    [
        ("network: true}\nfull", "netwrok: true}\nfull", "verification[1].netwrok, line 4: is no field of a check; "),
        ("heavy: true", "heavy: 1", "full_verification[0].heavy, line 7: "),
        (
            "{command: pytest -q, s",
            "{command: pytest -x, s",
            "checks[0].command, line 9: 'pytest -x' is no command of ",
        ),
        ("[redis]", "redis", "checks[0].services, line 9: must be a list"),
        (
            "[{command: curl -f http://example.org, ",
            "[{",
            "a, verification_commands[0], line 14: must be a text, is a mapping",
        ),
        ("{command: pytest db", "{command: ''", "verification[1].command, line 4: is empty"),
    ],
)
def test_a_defect_of_a_declaration_is_told_where_it_stands(old: str, new: str, told: str) -> None:
    """With the line and the place where the person wrote it."""
    with pytest.raises(PlanFileError) as refused:
        read_plan(PLAN.replace(old, new).encode(), ".yaml").ready()
    assert told in str(refused.value)


def test_the_pm_declares_nothing() -> None:
    """It sets no bound, and starts nothing that a person has not asked for."""
    task = {"key": "a", "prompt": "Do a.", "files_written": ["a.py"]}
    entry = {"command": "pytest", "network": True}
    for more in ({"checks": [entry]}, {"verification": [entry]}):
        examined = examine_submission({"goal": "Better", "tasks": [task], "verification": ["pytest"], **more}, ())
        assert examined.plan is None
    assert PlanFile.model_fields["checks"].default == ()
