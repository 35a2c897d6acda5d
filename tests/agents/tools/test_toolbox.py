"""Calls read and checked: signatures, defects, schemas."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from agents.chat.json_tools import asked_call
from agents.tools import catalogue
from agents.tools.toolbox import Toolbox, canonical, signature, wire_arguments, wire_name
from orchestrator.domain.ports import Workspace
from tests.agents.tools.conftest import Do, Parse

SCALARS = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text()
JSON = st.recursive(
    SCALARS, lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4), max_leaves=12
)


def _spelt(value: Any, integral: bool) -> Any:
    """The same value spelt otherwise: keys in the other order, integers as floats where that loses nothing."""
    if isinstance(value, dict):
        return {name: _spelt(inner, integral) for name, inner in reversed(value.items())}
    if isinstance(value, list):
        return [_spelt(inner, integral) for inner in value]
    if integral and isinstance(value, int) and not isinstance(value, bool) and abs(value) < 2**53:
        return float(value)
    return value


@given(JSON)
def test_a_signature_does_not_depend_on_spelling(value: Any) -> None:
    """Key order and 1 against 1.0 make no difference."""
    assert signature("t", canonical(value)) == signature("t", canonical(_spelt(value, integral=True)))


def _typed(value: Any) -> Any:
    """A value in which what must stay apart is unequal in Python too: True and 1, "1" and 1."""
    if isinstance(value, dict):
        return {name: _typed(inner) for name, inner in value.items()}
    if isinstance(value, list):
        return [_typed(inner) for inner in value]
    kind = "number" if isinstance(value, int | float) and not isinstance(value, bool) else type(value).__name__
    return (kind, value)


@given(JSON, JSON)
def test_different_values_have_different_signatures(one: Any, other: Any) -> None:
    """Two calls have one signature only if their values are equal in type and value."""
    same = signature("t", canonical(one)) == signature("t", canonical(other))
    assert same == (_typed(one) == _typed(other))


def test_values_that_look_alike_stay_apart() -> None:
    """ "13" is not 13 and True is not 1; 13.0 is 13."""
    signatures = {signature("pct", canonical({"p": value})) for value in ("13", 13, 13.0, True, 1, 88)}
    assert len(signatures) == 5


def test_defaults_paths_and_cosmetic_arguments_do_not_make_a_call_another(parse: Parse, workspace: Workspace) -> None:
    """Defaults are filled in, paths have one spelling, and a justification is no part of what is asked."""
    assert parse("list_files").signature == parse("list_files", path=".", glob=None).signature
    assert parse("list_files", path="").signature == parse("list_files", path=".").signature
    spellings = ("app/main.py", "./app//main.py", f"{workspace.shown_root}/app/main.py")
    assert len({parse("read_file", path=path).signature for path in spellings}) == 1
    asks = (parse("request_budget", additional=5, justification=why).signature for why in ("a", "b"))
    assert len(set(asks)) == 1
    assert parse("request_budget", additional=6, justification="a").signature not in asks
    assert parse("read_file", path="a").signature != parse("delete_file", path="a").signature
    assert parse("report_progress", description="a").signature != parse("report_progress", description="b").signature


DEFECTS = [
    ("read_file", "", "path: Field required"),
    ("read_file", "{", "no JSON object"),
    ("read_file", "[1]", "it is a list"),
    ("read_file", '"x"', "it is a str"),
    ("read_file", '{"path": 3}', "path: Input should be a valid string"),
    ("read_file", '{"path": ""}', "at least 1 character"),
    ("read_file", '{"path": "a", "view_range": ["1", 2]}', "view_range.0: Input should be a valid integer"),
    ("read_file", '{"path": "a", "view_range": [true, 2]}', "view_range.0"),
    ("read_file", '{"path": "a", "extra": 1}', "extra: Extra inputs are not permitted. It takes: path, view_range"),
    ("read_file", '{"path": NaN}', "NaN is no JSON value"),
    ("read_file", '{"path": "\\ud800"}', "surrogates not allowed"),
    ("read_file", "[" * 100_000, "no JSON object"),
    ("read_file", '{"path":' * 500 + "1" + "}" * 500, "nested more than 64"),
    ("read_file", '{"path": {"$ref": "#"}}', "path: Input should be a valid string"),
    ("read_file", '{"path": 1' + "0" * 5_000 + "}", "no JSON object"),
    ("readfile", '{"path": "a"}', "Did you mean read_file?"),
    ("submit_review", "{}", "there is no tool 'submit_review'"),
    ("request_budget", '{"additional": 0, "justification": "x"}', "greater than or equal to 1"),
    ("request_scope", '{"paths": ["../x"], "justification": "x"}', "leads out of the repository"),
    ("request_scope", '{"paths": [], "justification": "x"}', "at least 1 item"),
    ("run_command", '{"command": "true", "timeout_s": -1}', "greater than 0"),
]


@pytest.mark.parametrize(("tool", "arguments", "says"), DEFECTS)
def test_a_call_that_cannot_be_executed_says_why(toolbox: Toolbox, tool: str, arguments: str, says: str) -> None:
    """Unknown tools and arguments that do not parse or validate are defects with the way out, never exceptions
    ."""
    call = toolbox.parse(asked_call("x", tool, arguments))
    assert call.defect is not None
    assert says in call.defect
    assert call.arguments == {}
    assert len(call.defect) < 1_500
    assert isinstance(json.loads(wire_arguments(call)), dict)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=200)
@given(st.sampled_from([tool.name for tool in catalogue.WORKER]), JSON.map(json.dumps) | st.text())
def test_no_arguments_raise(toolbox: Toolbox, tool: str, arguments: str) -> None:
    """Whatever the arguments are, there is a call with a signature, and its wire form is an object."""
    call = toolbox.parse(asked_call("x", tool, arguments))
    assert len(call.signature) == 16
    assert isinstance(json.loads(wire_arguments(call)), dict)


def test_a_call_cut_off_at_the_output_limit_says_so(toolbox: Toolbox) -> None:
    """Arguments that end in the middle because the reply did are told apart from broken ones."""
    call = toolbox.parse(asked_call("x", "write_file", '{"path": "a", "file_text": "b'), cut_off=True)
    assert "ended at the output limit" in (call.defect or "")


def test_names_go_back_as_endpoints_accept_them() -> None:
    """A junk tool name becomes one of letters, digits, _ and -, at most 64 characters."""
    assert wire_name("run command; rm -rf /\n" + "x" * 99) == ("run_command_rm_-rf_" + "x" * 99)[:64]
    assert wire_name("") == "unnamed"


def test_integral_floats_are_integers(do: Do) -> None:
    """A view_range of 1.0 to 2.0 is one of 1 to 2."""
    assert do("read_file", path="README.md", view_range=[1.0, 2.0]).text.startswith("README.md, lines 1 to 2")


def test_flags_of_the_tools(parse: Parse) -> None:
    """Each tool is pure, mutating or control as the guards count it."""
    pure = {tool.name for tool in catalogue.WORKER if tool.pure}
    mutating = {tool.name for tool in catalogue.WORKER if tool.touches != "nothing"}
    control = {tool.name for tool in catalogue.WORKER if tool.run is None}
    assert pure == {"read_file", "list_files", "search", "read_output"}
    assert mutating == {"write_file", "edit_file", "delete_file", "run_command"}
    assert control == {"finish_task", "give_up", "report_progress", "request_budget", "request_scope"}
    call = parse("finish_task", summary="done")
    assert (call.control, call.arguments) == (True, {"summary": "done", "artefacts": []})


def _objects(schema: Any) -> list[dict[str, Any]]:
    if isinstance(schema, list):
        return [found for inner in schema for found in _objects(inner)]
    if not isinstance(schema, dict):
        return []
    here = [schema] if "properties" in schema else []
    return here + [found for inner in schema.values() for found in _objects(inner)]


@pytest.mark.parametrize(
    "tool",
    [*catalogue.WORKER, *catalogue.VERIFIER[-2:], *catalogue.PLANNER[-1:], *catalogue.DECIDER, *catalogue.REPORTER],
    ids=lambda t: t.name,
)
def test_schemas_are_closed_described_and_plain(tool: Any) -> None:
    """Every object of a tool's schema refuses further properties, describes its own, and needs no references."""
    schema = tool.schema["function"]["parameters"]
    text = json.dumps(schema)
    assert "$ref" not in text
    assert '"title": "' not in text.replace('"title": {"', "")
    for found in _objects(schema):
        if "type" in found:
            assert found["additionalProperties"] is False
            assert all("description" in inner or "type" in inner for inner in found["properties"].values())


def test_a_review_is_read_tolerantly(workspace: Workspace) -> None:
    """None lists are empty, unknown fields are ignored, and a missing score stays None for the gate to judge."""
    box = Toolbox(catalogue.VERIFIER, None)
    given_ = {
        "passed": True, "feedback": None, "criteria": None, "extra": 1,
        "findings": [{"message": "m", "severity": None}],
    }  # fmt: skip
    call = box.parse(asked_call("x", "submit_review", json.dumps(given_)))
    assert call.defect is None
    assert call.arguments["score"] is None
    assert (call.arguments["passed"], call.arguments["criteria"], call.arguments["feedback"]) == (True, [], "")
    assert call.arguments["findings"][0]["severity"] == "error"


def test_zero_false_and_null_stay_three_values() -> None:
    """A criterion's tri-state and a score of 0 survive reading."""
    box = Toolbox(catalogue.VERIFIER, None)
    criteria = [{"text": "a", "passed": value} for value in (True, False, None)]
    review = {"passed": False, "score": 0, "criteria": criteria}
    call = box.parse(asked_call("x", "submit_review", json.dumps(review)))
    assert [item["passed"] for item in call.arguments["criteria"]] == [True, False, None]
    assert (call.arguments["score"], call.arguments["passed"]) == (0, False)


def test_a_plan_goes_to_the_engine_as_it_was_sent() -> None:
    """submit_plan takes any object: all its defects are judged at once by pre-flight, not here."""
    box = Toolbox(catalogue.PLANNER, None)
    plan = {"tasks": [{"key": "A B", "surprise": 1}]}
    call = box.parse(asked_call("x", "submit_plan", json.dumps(plan)))
    assert (call.defect, call.arguments) == (None, plan)
