"""The DAG's arithmetic: what may start together, what a task needs before it, what a run can use at most.

networkx is a sixth of the program's start, so it is imported where a graph is built: most commands need none.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from orchestrator.domain.errors import UserError
from orchestrator.domain.task import Task
from orchestrator.domain.text import nearest

if TYPE_CHECKING:
    import networkx as nx


@dataclass(frozen=True, slots=True)
class WorstCase:
    """What a run that is not interrupted can use at worst: calls that workers `asked` for, as the budget guard counts
    them, `tool_calls` of them that were executed, and those that reviews executed."""

    tasks: int
    attempts: int
    tool_calls: int
    asked: int
    review_calls: int


def graph_of(depends_on: Mapping[str, Iterable[str]]) -> nx.DiGraph[str]:
    """Edges lead from a task to what waits for it; nodes keep the mapping's order."""
    import networkx as nx

    graph: nx.DiGraph[str] = nx.DiGraph()
    graph.add_nodes_from(depends_on)
    graph.add_edges_from((before, key) for key, others in depends_on.items() for before in others)
    return graph


def generations(tasks: Sequence[Task]) -> tuple[tuple[str, ...], ...]:
    """Keys by the earliest round in which they can start; within a round in plan order."""
    import networkx as nx

    place = {task.key: index for index, task in enumerate(tasks)}
    rounds = nx.topological_generations(_graph(tasks))
    return tuple(tuple(sorted(keys, key=place.__getitem__)) for keys in rounds)


def with_dependencies(tasks: Sequence[Task], keys: Collection[str]) -> tuple[Task, ...]:
    """The named tasks and all that they depend on, in plan order. Raises UserError for an unknown key."""
    import networkx as nx

    graph = _graph(tasks)
    known = [task.key for task in tasks]
    for key in keys:
        if key not in graph:
            listed = f"Its tasks are: {', '.join(known[:20])}{', ...' if len(known) > 20 else ''}."
            raise UserError(f"The plan has no task {key!r}{nearest(key, known)}.", next_step=listed)
    wanted = set(keys).union(*(nx.ancestors(graph, key) for key in keys))
    return tuple(task for task in tasks if task.key in wanted)


def with_dependents(tasks: Sequence[Task], keys: Collection[str]) -> set[str]:
    """The keys of the named tasks and of all that wait for them."""
    if not keys:
        return set()
    import networkx as nx

    graph = _graph(tasks)
    return set(keys).union(*(nx.descendants(graph, key) for key in keys))


def worst_case(
    tasks: Sequence[Task], *, request_factor: int, review_budget: int, reviews: int, uncounted: int
) -> WorstCase:
    """At worst every task uses all its attempts, each its whole budget with the one grant that it may get, and asks
    `request_factor` times for that many, refused and duplicate calls among them, before the call that ends it. Stops
    only lower that, since a rejected attempt may use as much as a stopped one. What is cut off counts for no attempt,
    but its successor goes on with what is left of its budget: of those `uncounted` ones only reviews come on top, of
    which each attempt has `reviews` at most, with `review_budget` calls each."""
    attempts = sum(task.max_attempts for task in tasks)
    calls = sum(task.max_attempts * (task.tool_call_budget + task.most_granted_calls) for task in tasks)
    return WorstCase(
        tasks=len(tasks),
        attempts=attempts,
        tool_calls=calls,
        asked=calls * request_factor + attempts,
        review_calls=(attempts + uncounted * len(tasks)) * reviews * review_budget,
    )


def _graph(tasks: Sequence[Task]) -> nx.DiGraph[str]:
    present = {task.key for task in tasks}
    return graph_of({task.key: [key for key in task.depends_on if key in present] for task in tasks})
