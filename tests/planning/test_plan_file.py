"""The plan file's fields, and its defects named all at once."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from orchestrator.planning.plan_file import MAX_TASKS, PlanFile
from orchestrator.planning.source import PlanSource
from orchestrator.planning.validate import Examined, PlanFileError, examine


def task(key: str = "a", **fields: Any) -> dict[str, Any]:
    return {"key": key, "prompt": "Do it.", **fields}


def plan(*tasks: Any, **fields: Any) -> Examined:
    return examine(PlanSource({"goal": "A goal", "tasks": list(tasks), **fields}))


def only(examined: Examined) -> str:
    (defect,) = examined.defects
    return str(defect)


def test_minimal_plan_takes_the_documented_defaults() -> None:
    """A task needs a key and a prompt; the rest has the documented defaults."""
    first = plan(task()).ready().tasks[0]
    assert (first.max_attempts, first.max_changed_files, first.max_changed_lines) == (6, 10, 400)
    absent = (first.kind, first.tool_call_budget, first.allowed_paths, first.model, first.override)
    assert absent == (None,) * 5


def test_verification_commands_is_another_name_of_verification() -> None:
    """The alias is taken, alone; together with the field it is a defect."""
    assert plan(task(verification_commands=["make"])).ready().tasks[0].verification == ("make",)
    both = plan(task(verification=["make"], verification_commands=["make test"]))
    assert "keep one" in only(both)


def test_null_is_absence() -> None:
    """A field with nothing behind it takes its default, unless it is required or unknown."""
    names = ("edge_cases", "max_attempts", "verification", "verification_criteria")
    empty: dict[str, Any] = dict.fromkeys(names)
    assert plan(task(**empty)).ready() == plan(task()).ready()
    assert "zzz" in only(plan(task(zzz=None)))


@pytest.mark.parametrize(
    ("fields", "said"),
    [
        ({"dependsOn": []}, "did you mean 'depends_on'"),
        ({"acceptence_criteria": []}, "did you mean 'acceptance_criteria'"),
        ({"zzz": 1}, "zzz: is no field of a task"),
        ({"prompt": " \n"}, "prompt: is empty"),
        ({"prompt": None}, "prompt: must be a text, is empty"),
        ({"prompt": "a\0"}, "NUL"),
        ({"prompt": "\ud800"}, "half a character"),
        ({"prompt": "x" * 100_001}, "at most 100000 characters long, is 100001"),
        ({"title": 3}, "must be a text, is 3: put it in quotes"),
        ({"verification": "pytest -q"}, "must be a list, is 'pytest -q'"),
        ({"verification": [{"GET /": "200"}]}, "verification[0]: must be a text, is a mapping: put it in quotes"),
        ({"max_attempts": True}, "must be a whole number, is true"),
        ({"max_attempts": 1.5}, "must be a whole number, is 1.5"),
        ({"max_attempts": 0}, "must be at least 1, is 0"),
        ({"max_attempts": 10**30}, "must be at most 100"),
        ({"tool_call_budget": 0}, "must be at least 1"),
        ({"kind": "huge"}, "'simple', 'moderate', 'complex' or 'research'"),
        ({"kind": "complex"}, "needs a justification in `override`"),
        ({"kind": "research", "override": ""}, "needs a justification in `override`"),
        ({"files_written": ["/etc/passwd"]}, "is absolute"),
        ({"files_written": ["C:\\x"]}, "is absolute"),
        ({"files_written": ["c:/x"]}, "is absolute"),
        ({"files_written": ["\\\\host\\x"]}, "is absolute"),
        ({"files_written": ["a/../../x"]}, "leads out of the repository"),
        ({"files_written": ["~/x"]}, "home folder"),
        ({"files_written": [".git/hooks/pre-commit"]}, "is in .git"),
        ({"files_written": ["sub/.GIT/config"]}, "is in .git"),
        ({"files_written": ["src/"]}, "no single file"),
        ({"files_written": ["src/*.py"]}, "no single file"),
        ({"files_written": ["src\\a.py"]}, "backslash"),
        ({"files_read": ["../x"]}, "leads out of the repository"),
        ({"allowed_paths": ["/**"]}, "is absolute"),
        ({"allowed_paths": ["+../*"]}, "leads out of the repository"),
        ({"verification_criteria": {"secruity": []}}, "did you mean 'security'"),
        ({"verification_criteria": []}, "must be a mapping of fields"),
        ({"depends_on": ["b"]}, "there is no task 'b'"),
        ({"depends_on": ["a"]}, "a cycle of dependencies: a -> a"),
    ],
)
def test_defect_names_value_and_way_out(fields: dict[str, Any], said: str) -> None:
    """Each defect of a field is one message with the task, the field and what is wrong."""
    found = [str(defect) for defect in plan(task(**fields)).defects]
    assert any(said in message and message.startswith("a, ") for message in found), found


@pytest.mark.parametrize("key", ["", "UPPER", "a b", "-a", "a/b", "é", "a" * 81, 1.2, None, ["a"]])
def test_key_has_its_alphabet(key: Any) -> None:
    """A key is lower case letters, digits, dots and dashes."""
    assert plan(task(key)).defects


def test_paths_have_one_spelling() -> None:
    """`./a//b` and `a/b` are one path, named once."""
    first = plan(task(files_written=["./a//b", "a/b", "a/./c"], files_read=["docs/", "."])).ready().tasks[0]
    assert first.files_written == ("a/b", "a/c")
    assert first.files_read == ("docs/", ".")


def test_names_that_look_like_ways_out_are_none() -> None:
    """Dots, tildes and `.git` within a name are ordinary."""
    paths = [".github/workflows/ci.yml", ".gitignore", "a..b", "x~", "app/[id].tsx", "a/~b", "é ü.txt"]
    assert plan(task(files_written=paths)).ready().tasks[0].files_written == tuple(paths)


@pytest.mark.parametrize("document", [None, [], "text", 3, True])
def test_document_that_is_no_mapping(document: Any) -> None:
    """A list or a text instead of a plan is one clear defect."""
    assert "a plan is a mapping" in only(examine(PlanSource(document)))


def test_plan_without_tasks() -> None:
    """No tasks, missing or empty, is a defect; tasks that are all wrong are not reported as missing too."""
    assert "tasks: is required" in only(examine(PlanSource({"goal": "x"})))
    assert "at least 1 entry" in only(plan())
    assert [defect.field for defect in plan(3).defects] == [""]
    assert "at most" in only(plan(*(task(f"t{n}") for n in range(MAX_TASKS + 1))))


def test_all_defects_are_reported_at_once() -> None:
    """A wrong type in one task hides no cycle in three others, and refused commands are told along."""
    examined = plan(
        task("a", depends_on=["c"], max_attempts="x"),
        task("b", depends_on=["a"], nonsense=1),
        task("c", depends_on=["b"]),
        task("c", verification=["Manual test"]),
        7,
        goal="",
    )
    with pytest.raises(PlanFileError) as raised:
        examined.ready()
    text = str(raised.value)
    for said in ("goal: is empty", "max_attempts", "nonsense", "a -> c -> b -> a", "already", "task 5", "Manual test"):
        assert said in text
    assert len(raised.value.defects) == 7
    assert raised.value.exit_code == 3


def test_cycle_is_named_from_its_first_task() -> None:
    """A cycle is named in full, once, and what merely leads into it is left out."""
    examined = plan(task("z", depends_on=["a"]), task("a", depends_on=["b"]), task("b", depends_on=["a"]))
    assert only(examined) == "a, depends_on: a cycle of dependencies: a -> b -> a"


def test_two_cycles_are_two_defects() -> None:
    """Each knot of dependencies is reported by itself."""
    examined = plan(*(task(k, depends_on=[d]) for k, d in ("ab", "ba", "cd", "dc")))
    assert len(examined.defects) == 2


def test_long_chain_and_long_cycle_are_judged() -> None:
    """Thousands of tasks in a row exhaust no stack; a cycle through all of them is named in short."""
    chain = [task(f"t{n}", depends_on=[f"t{n - 1}"] if n else []) for n in range(3_000)]
    assert plan(*chain).plan is not None
    chain[0]["depends_on"] = ["t2999"]
    assert "..." in only(plan(*chain))


def test_refused_commands_leave_the_plan_readable() -> None:
    """Verification that nobody can execute is a refusal of pre-flight, with its place, not an unreadable file."""
    examined = plan(task(verification=["make", "Postman"]), verification=["Manual check"])
    assert examined.plan is not None
    assert [(refused.task, refused.field) for refused in examined.refusals] == [
        (None, "verification[0]"),
        ("a", "verification[1]"),
    ]


def test_schema_is_closed_and_described() -> None:
    """The schema that submit_plan takes knows every field, describes each, and takes no other."""
    schema = PlanFile.model_json_schema()
    fields = schema["$defs"]["TaskFile"]
    assert schema["additionalProperties"] is False
    assert fields["additionalProperties"] is False
    assert all(field.get("description") for field in fields["properties"].values())
    assert {"verification", "qc_role", "allowed_paths", "override"} <= fields["properties"].keys()
    assert set(schema["required"]) == {"goal", "tasks"}


values: st.SearchStrategy[Any] = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=8,
)
names = st.sampled_from([*PlanFile.model_fields, "key", "prompt", "depends_on", "kind", "verification_criteria"])


@given(st.dictionaries(names, values, max_size=4), st.lists(st.dictionaries(names, values, max_size=5), max_size=3))
def test_any_document_is_a_plan_or_has_defects(document: dict[str, Any], tasks: list[dict[str, Any]]) -> None:
    """Whatever a parser or a model hands over, the answer is a plan or defects, never a failure of ours."""
    examined = examine(PlanSource({**document, "tasks": tasks}))
    assert (examined.plan is None) == bool(examined.defects)
