"""Plan files as text: YAML, JSON and Markdown in, YAML out, and what is refused."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from orchestrator.planning.formats import MAX_PLAN_BYTES, dump_plan, read_plan
from orchestrator.planning.plan_file import PlanFile
from orchestrator.planning.validate import PlanFileError

EXAMPLE = """\
goal: Add a health endpoint
verification: ["python -m pytest -q"]
full_verification: []
tasks:
  - key: health-route
    title: Serve GET /health
    kind: moderate
    role: Backend engineer
    qc_role: API reviewer
    prompt: |
      Add the route.
      Answer with JSON.
    depends_on: []
    files_read: ["app/main.py"]
    files_written: ["app/health.py", "tests/test_health.py"]
    allowed_paths: ["app/**", "tests/**"]
    acceptance_criteria: ["GET /health returns 200 and {\\"ok\\": true}"]
    edge_cases: []
    verification: ["python -m pytest -q tests/test_health.py"]
    verification_criteria: {security: [], functionality: [], code_quality: []}
    tool_call_budget: 50
    max_attempts: 6
    max_changed_files: 10
    max_changed_lines: 400
    model: null
    override: null
"""


def refused(content: bytes | str, suffix: str = ".yaml") -> str:
    raw = content if isinstance(content, bytes) else content.encode()
    with pytest.raises(PlanFileError) as raised:
        read_plan(raw, suffix).ready()
    return str(raised.value)


def test_example_of_the_design_loads() -> None:
    """The plan file is read field by field."""
    (first,) = read_plan(EXAMPLE.encode(), ".yaml").ready().tasks
    assert first.prompt == "Add the route.\nAnswer with JSON.\n"
    assert first.acceptance_criteria == ('GET /health returns 200 and {"ok": true}',)
    assert (first.kind, first.tool_call_budget, first.override) == ("moderate", 50, None)


@pytest.mark.parametrize("suffix", [".json", "", ".txt"])
def test_json_is_the_same_plan(suffix: str) -> None:
    """The same plan as JSON, by its suffix or told by its content, with tabs and escapes that YAML would not take."""
    plan = read_plan(EXAMPLE.encode(), ".yaml").ready()
    text = json.dumps(plan.model_dump(mode="json"), indent="\t").replace("/", "\\/")
    assert read_plan(text.encode(), suffix).ready() == plan


def test_windows_text_is_the_same_plan() -> None:
    """A byte order mark and CRLF change nothing."""
    plan = read_plan(EXAMPLE.encode(), ".yaml").ready()
    assert read_plan(b"\xef\xbb\xbf" + EXAMPLE.replace("\n", "\r\n").encode(), ".yml").ready() == plan


def test_defects_have_their_lines() -> None:
    """Each defect of a YAML file names task, field and line."""
    text = EXAMPLE.replace("depends_on: []", "depends_on: [helth-route]").replace("max_attempts: 6", "max_atempts: 6")
    message = refused(text.replace("app/main.py", "/etc/passwd"))
    assert (
        "health-route, depends_on[0], line 13: there is no task 'helth-route'; did you mean 'health-route'?" in message
    )
    assert "health-route, files_read[0], line 14: '/etc/passwd' is absolute" in message
    assert "health-route, max_atempts, line 22: is no field of a task; did you mean 'max_attempts'?" in message
    assert message.index("line 13") < message.index("line 14") < message.index("line 22")


def test_json_defects_have_their_lines() -> None:
    """The same in JSON, list entries and keys given twice included."""
    task = '{"key": "a", "prompt": "p",\n  "files_read": [\n   "ok",\n   "../x"]}'
    text = '{\n"goal": "x",\n"goal": "y",\n"tasks": [\n ' + task + "\n]}"
    message = refused(text, ".json")
    assert "goal, line 3: is given twice" in message
    assert "a, files_read[1], line 8: '../x' leads out" in message


def test_alias_field_has_its_line() -> None:
    """A defect under verification_commands is found where it stands."""
    text = "goal: x\ntasks:\n- key: a\n  prompt: p\n  verification_commands:\n  - make\n  - 3\n"
    assert "line 7: must be a text, is 3" in refused(text)


YAML_REFUSED = [
    (b"", "is empty"),
    (b" \n\t\n", "is empty"),
    (b"# only a comment\n", "a plan is a mapping"),
    (b"- a\n- b\n", "this is a list"),
    (b"just text", "this is 'just text'"),
    (b"goal: x\ntasks:\n\t- key: a\n", "line 3: cannot be read as YAML: found character"),
    (b"goal: x\ntasks:\n\t- key: a\n", "holds a tab"),
    (b"goal: x\ngoal: y\ntasks: [{key: a, prompt: p}]\n", "goal, line 2: is given twice"),
    (b"goal: [\n", "cannot be read as YAML"),
    (b"goal: x\n---\ngoal: y\n", "more than one document"),
    (b"goal: \xff\xfe\n", "line 1: is not UTF-8: byte 0xff"),
    ("goal: x".encode("utf-16"), "is not UTF-8"),
    (b"goal: a\0b\n", "NUL"),
    (b"goal: a\x01b\n", "cannot be read as YAML"),
    (b"goal: !!python/object/apply:os.system [true]\n", "goal, line 1: must be a text, is a list"),
    (b"goal: !!python/name:os.system x\n", "is not supported"),
    (b"goal: &a [*a]\n", "refers to itself"),
    (b"goal: *a\n", "not defined"),
    (b"? [a, b]\n: c\n", "must be a text"),
    (b"a: " + b"[" * 1_000, "nested deeper than 20"),
    (b"x" * (MAX_PLAN_BYTES + 1), "at most 4,000,000"),
]


@pytest.mark.parametrize(("content", "said"), YAML_REFUSED)
def test_unreadable_yaml_is_one_clear_error(content: bytes, said: str) -> None:
    """Whatever is no plan at all is refused with what it is and where."""
    assert said in refused(content)


JSON_REFUSED = [
    (b'{"goal": "x",}', "cannot be read as JSON"),
    (b'{"goal": "x"', "line 1"),
    (b"[1, 2]", "this is a list"),
    (b'{"goal": NaN}', "NaN is no JSON value"),
    (b'{"goal": ' + b"9" * 5_000 + b"}", "a number of 5,000 digits"),
    (b"[" * 100_000, "nested deeper than 20"),
    (b'{"goal": "\\ud800", "tasks": [{"key": "a", "prompt": "\\u0000"}]}', "half a character"),
    (b"{}", "goal: is required"),
]


@pytest.mark.parametrize(("content", "said"), JSON_REFUSED)
def test_unreadable_json_is_one_clear_error(content: bytes, said: str) -> None:
    """The same for JSON."""
    assert said in refused(content, ".json")


def test_alias_bomb_is_refused_before_it_expands() -> None:
    """A small file that expands to billions of values is refused at the line that goes too far."""
    lines = ["a: &a [x, x, x, x, x, x, x, x, x, x]"]
    for name, before in zip("bcdefghij", "abcdefghi", strict=True):
        lines.append(f"{name}: &{name} [{', '.join([f'*{before}'] * 10)}]")
    assert "expands to more than 300,000 values" in refused("\n".join(lines))


def test_honest_alias_is_read() -> None:
    """Two tasks may share their verification by an anchor."""
    text = "goal: x\ntasks:\n- {key: a, prompt: p, verification: &v [make]}\n- {key: b, prompt: p, verification: *v}\n"
    assert read_plan(text.encode(), ".yaml").ready().tasks[1].verification == ("make",)


def test_scalars_are_read_as_people_mean_them() -> None:
    """`yes`, times and dates are texts; a number where a text belongs is told to be quoted."""
    text = "goal: 2026-01-01\ntasks:\n- {key: a, prompt: yes, edge_cases: [12:30, 0x1f, 1_000, on]}\n"
    plan = read_plan(text.encode(), ".yaml").ready()
    assert plan.goal == "2026-01-01"
    assert plan.tasks[0].edge_cases == ("12:30", "0x1f", "1_000", "on")
    assert "put it in quotes" in refused("goal: 1.2\ntasks: [{key: a, prompt: p}]")


def test_large_plan_is_read() -> None:
    """A plan of a thousand tasks is read and written."""
    tasks = [{"key": f"t{n}", "prompt": "Do it.\nAll of it.", "verification": ["make"]} for n in range(1_000)]
    plan = PlanFile.model_validate({"goal": "x", "tasks": tasks})
    assert read_plan(dump_plan(plan).encode(), ".yaml").ready() == plan


def test_output_reads_like_written_by_hand() -> None:
    """--out leaves defaults out and writes a prompt of several lines as a block."""
    text = dump_plan(read_plan(EXAMPLE.encode(), ".yaml").ready())
    assert text.startswith("goal: Add a health endpoint\n")
    assert "  prompt: |\n    Add the route.\n    Answer with JSON.\n" in text
    assert "null" not in text
    assert "max_attempts" not in text


texts = st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=60)


@st.composite
def plans(draw: st.DrawFn) -> PlanFile:
    """Plans with hostile texts in every kind of field."""
    lists = st.lists(texts, max_size=2)
    tasks = [
        {
            "key": f"t{n}",
            "prompt": draw(texts),
            "title": draw(st.none() | texts),
            "edge_cases": draw(lists),
            "verification": draw(lists),
            "verification_criteria": {"security": draw(lists)},
            "tool_call_budget": draw(st.none() | st.integers(1, 100)),
            "files_read": draw(lists),
        }
        for n in range(draw(st.integers(1, 2)))
    ]
    try:
        return PlanFile.model_validate({"goal": draw(texts), "tasks": tasks})
    except ValidationError:
        return PlanFile.model_validate({"goal": "x", "tasks": [{"key": "a", "prompt": "p"}]})


@given(plans())
def test_written_plan_reads_back_equal(plan: PlanFile) -> None:
    """--out and --file are inverse, whatever the texts hold."""
    assert read_plan(dump_plan(plan).encode(), ".yaml").ready() == plan


@given(st.binary(max_size=300), st.sampled_from([".yaml", ".json", ".md", ""]))
def test_any_bytes_are_read_or_refused(content: bytes, suffix: str) -> None:
    """No file makes the reader itself fail."""
    read_or_refused(content, suffix)


def read_or_refused(content: bytes, suffix: str) -> None:
    try:
        read_plan(content, suffix)
    except PlanFileError as error:
        assert error.defects


@given(st.text("-:?[]{}&*!|>'\"%@`#,\n ab\t", max_size=60), st.sampled_from([".yaml", ".json", ".md", ""]))
def test_any_markup_is_read_or_refused(content: str, suffix: str) -> None:
    """The same for texts full of the formats' own marks."""
    read_or_refused(content.encode(), suffix)
