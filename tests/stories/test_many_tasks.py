"""What a task costs does not grow with the plan that it is in, nor with the attempts that its run has made."""

from __future__ import annotations

import re
from collections import Counter
from itertools import pairwise
from typing import Any

import pytest

from orchestrator.store.connection import Row, Transaction, statement
from tests.stories.conftest import Serve
from tests.support.scripts import call, finish, plan_of, review, script, task, worker
from tests.support.story import Story

THROUGH_ALL = re.compile(r"-\[\w*:(MADE|HAS_TASK)\]->")
"""A pattern that begins at a run or a plan: the embedded server follows it through every attempt or task of it."""


def test_claiming_finishing_and_reporting_a_task_asks_the_graph_the_same_each_time(
    story: Story, model: Serve, monkeypatch: pytest.MonkeyPatch
) -> None:
    """From claim to claim the same statements, as often; and none of them goes through all that the run has done."""
    keys = [f"t{n}" for n in range(5)]
    model(script(*(worker(k, call("write_file", path=f"{k}.txt", file_text=k), finish()) for k in keys), review()))
    story.plan(plan_of(*(task(k, writes=[f"{k}.txt"]) for k in keys), verification="true"))
    asked: list[str] = []
    run = Transaction.run

    def heard(self: Transaction, name: str, /, **parameters: Any) -> list[Row]:
        asked.append(name)
        return run(self, name, **parameters)

    monkeypatch.setattr(Transaction, "run", heard)
    story.ok("execute")

    claims = [at for at, name in enumerate(asked) if name == "claim_run"]
    each = [Counter(asked[one:next_]) - Counter(["leases_renew"]) for one, next_ in pairwise(claims)]
    assert len(each) == len(keys) and each[-1] == each[0]
    assert not [name for name in each[-1] if THROUGH_ALL.search(statement(name))]
