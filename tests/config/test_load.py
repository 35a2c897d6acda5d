"""Settings from file, environment and command line."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from orchestrator.config.file import read_settings_file
from orchestrator.config.load import NO_SETTINGS, load_settings, settings_tree
from orchestrator.config.settings import Settings
from orchestrator.config.trust import TrustStore
from orchestrator.domain.errors import UserError


def refused(top: Path, environ: dict[str, str] | None = None, flags: dict[str, object] | None = None) -> str:
    with pytest.raises(UserError) as raised:
        load_settings(top, environ or {}, flags)
    assert raised.value.exit_code == 2
    return str(raised.value)


def trusted(top: Path) -> dict[str, str]:
    """An environment in which the repository's settings file is trusted as it is now."""
    environ = {"XDG_DATA_HOME": str(top / "data")}
    TrustStore.of(environ).add(read_settings_file(top))
    return environ


def write(top: Path, text: str, name: str = "orchestrate.toml") -> Path:
    (top / name).write_text(text, encoding="utf-8")
    return top


def test_nothing_set_is_the_defaults(tmp_path: Path) -> None:
    """Without file, variable and flag the defaults hold."""
    assert load_settings(tmp_path, {}) == Settings()


def test_environment_over_file_and_flags_over_environment(tmp_path: Path) -> None:
    """Each layer rules over the one below, key by key."""
    write(tmp_path, "[run]\nparallel = 2\nlease_s = 20\nmax_stopped_attempts = 1\n")
    environ = {"ORCHESTRATE_RUN_PARALLEL": "4", "ORCHESTRATE_RUN_LEASE_S": "30.5"}
    run = load_settings(tmp_path, environ, {"run.parallel": 8, "run.max_tokens": None}).run
    assert (run.parallel, run.lease_s, run.max_stopped_attempts, run.max_tokens) == (8, 30.5, 1, None)


def test_pyproject_is_the_other_place(tmp_path: Path) -> None:
    """[tool.orchestrate] is read, beside whatever else the file holds."""
    write(tmp_path, "[project]\nname = 'x'\n[tool.orchestrate.guards]\nrepetition_stop = 3\n", "pyproject.toml")
    assert load_settings(tmp_path, {}).guards.repetition_stop == 3
    assert "pyproject.toml, line 4: guards.repetition_stop" in refused(
        write(tmp_path, "[project]\nname = 'x'\n[tool.orchestrate.guards]\nrepetition_stop = 1\n", "pyproject.toml")
    )


def test_two_files_with_settings_are_refused(tmp_path: Path) -> None:
    """Which of two files rules is nothing to guess; an empty one is no rival."""
    write(tmp_path, "[tool.orchestrate.run]\nparallel = 2\n", "pyproject.toml")
    assert load_settings(write(tmp_path, "# nothing yet\n"), {}).run.parallel == 2
    assert "Both orchestrate.toml and [tool.orchestrate]" in refused(write(tmp_path, "[run]\nparallel = 3\n"))


def test_foreign_pyproject_is_not_judged(tmp_path: Path) -> None:
    """A pyproject.toml that says nothing of orchestrate may be as broken as it likes."""
    assert load_settings(write(tmp_path, "[broken\n", "pyproject.toml"), {}) == Settings()


def test_all_defects_at_once_with_their_places(tmp_path: Path) -> None:
    """Unknown keys with neighbour, wrong types, limits: each names file and line, variable or flag."""
    write(
        tmp_path,
        '[guards]\nrepitition_stop = 3\nrepetition_stop = "x"\n[runn]\na = 1\n[run]\nparallel = true\n'
        'deadline_s = "90s"\nlease_s = inf\n[complexity]\nmoderate_from = 200\n[models.worker.price]\ninput = 1\n',
    )
    message = refused(tmp_path, {"ORCHESTRATE_RUN_MAX_STOPPED_ATTEMPTS": "many"}, {"run.max_tokens": 0})
    for said in (
        "orchestrate.toml, line 2: guards.repitition_stop is no setting; did you mean 'repetition_stop'?",
        'orchestrate.toml, line 3: guards.repetition_stop must be a valid integer, is "x"',
        "orchestrate.toml, line 4: runn is no setting; did you mean 'run'?",
        "orchestrate.toml, line 7: run.parallel must be a valid integer, is true",
        'orchestrate.toml, line 8: run.deadline_s must be a valid number, is "90s"',
        "orchestrate.toml, line 9: run.lease_s must be a finite number",
        "orchestrate.toml, line 11: complexity needs a moderate_from of at most refused_above",
        "orchestrate.toml, line 12: models.worker.price.output is required",
        'ORCHESTRATE_RUN_MAX_STOPPED_ATTEMPTS: run.max_stopped_attempts must be a valid integer, is "many"',
        "on the command line: run.max_tokens must be greater than or equal to 1, is 0",
    ):
        assert said in message


def test_a_name_of_then_is_refused_with_the_name_of_now(tmp_path: Path) -> None:
    """File, variable and flag alike say what a renamed setting is called today, all at once with their places."""
    write(tmp_path, "[run]\nstops = 3\n[models.worker]\ntimeout = 5\nidel_timeout = 1\n[guards]\nname_window = 9\n")
    message = refused(tmp_path, {"ORCHESTRATE_SANDBOX_IDLE_TIMEOUT": "9"}, {"complexity.many_criteria": 4})
    for said in (
        "The settings have 6 defects:",
        "orchestrate.toml, line 2: run.stops is now run.max_stopped_attempts.",
        "orchestrate.toml, line 4: models.worker.timeout is now models.worker.timeout_s.",
        "orchestrate.toml, line 5: models.worker.idel_timeout is no setting; did you mean 'idle_timeout_s'?",
        "ORCHESTRATE_SANDBOX_IDLE_TIMEOUT: sandbox.idle_timeout is now sandbox.idle_timeout_s.",
        "orchestrate.toml, line 7: guards.name_window only set a warning that nobody was told, and is gone",
        "on the command line: complexity.many_criteria is now complexity.max_criteria.",
    ):
        assert said in message


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("[run\n", "orchestrate.toml is no TOML"),
        ("run = 3\n", "orchestrate.toml, line 1: run must be"),
        ("[run]\nparallel = 1\nparallel = 2\n", "no TOML"),
        ("models = []\n", "models must be"),
        ("[models.worker.api_key_env]\na = 1\n", "models.worker.api_key_env must be a valid string"),
        ("a = " + "[" * 5_000, "no TOML"),
        ("[convergence]\nstall_threshold = 1.5\n", "line 2: convergence.stall_threshold must be a valid integer"),
        ('[[fixers]]\nchek = "ruff"\ncommand = "x"\n', "fixers.0.chek is no setting; did you mean 'check'?"),
        ('[[fixers]]\ncommand = "x"\n', "fixers.0 needs either a code or a check that it is for"),
        ("[convergence]\nmax_stages = 3\n", "convergence.max_stages is no setting; did you mean 'max_stage'?"),
        ("[[convergence.stages]]\nstage = 9\n", "convergence has a stages entry for stage 9, above its max_stage = 3"),
    ],
)
def test_unreadable_file_is_one_clear_error(tmp_path: Path, text: str, said: str) -> None:
    """Broken TOML and sections of the wrong shape are told by file and place."""
    assert said in refused(write(tmp_path, text), {"ORCHESTRATE_RUN_PARALLEL": "2", "ORCHESTRATE_MODEL": "m"})


def test_file_that_is_no_text_is_refused(tmp_path: Path) -> None:
    """A folder, other encodings and a file of megabytes are refused by name."""
    path = tmp_path / "orchestrate.toml"
    path.write_bytes(b"\xff\xfe")
    assert "not UTF-8" in refused(tmp_path)
    path.write_bytes(b"#" * 1_000_001)
    assert "larger than the 1,000,000 bytes" in refused(tmp_path)
    path.unlink()
    path.mkdir()
    assert "cannot be read" in refused(tmp_path)


@pytest.mark.parametrize("device", ["/dev/zero", "pipe"])
def test_a_link_to_what_never_ends_is_refused(tmp_path: Path, device: str) -> None:
    """git carries links: one to a device or a pipe is named, and neither read nor waited for."""
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "orchestrate.toml").symlink_to(device)
    assert "orchestrate.toml cannot be read: it is no regular file." in refused(tmp_path)


@pytest.mark.parametrize(
    "text", ["[" + "a." * 10_000 + "a]\n", "x = " + "9" * 5_000 + "\n", "a" + ".a" * 3_000 + " = 1\n", "=1\n", "[]\n"]
)
def test_a_file_that_wants_to_exhaust_its_reader_is_refused(tmp_path: Path, text: str) -> None:
    """Tables without end, numbers without end and keys without names are the file's defects, not ours."""
    assert "orchestrate.toml" in refused(write(tmp_path, text))


def test_model_variables(tmp_path: Path) -> None:
    """One model for all, one by role over it, the full name over both; OPENAI_BASE_URL where none is set."""
    write(tmp_path, '[models.verifier]\nname = "file"\nbase_url = "http://localhost:1/v1"\n')
    environ = {
        "ORCHESTRATE_MODEL": "all",
        "ORCHESTRATE_WORKER_MODEL": "worker",
        "ORCHESTRATE_MODELS_PLANNER_NAME": "planner",
        "OPENAI_BASE_URL": "https://example.org/v1",
    }
    environ |= trusted(tmp_path)
    models = load_settings(tmp_path, environ).models
    assert (models.planner.name, models.worker.name, models.verifier.name) == ("planner", "worker", "all")
    assert (models.worker.base_url, models.verifier.base_url) == ("https://example.org/v1", "http://localhost:1/v1")
    empty = {"ORCHESTRATE_MODEL": " ", "OPENAI_BASE_URL": ""}
    assert load_settings(tmp_path, trusted(tmp_path) | empty).models.verifier.name == "file"


def test_what_models_itself_sets_is_the_default_of_every_role(tmp_path: Path) -> None:
    """A role's own value rules over it, OPENAI_BASE_URL does not, and a wrong value is told once, where it stands."""
    lines = '[models]\nname = "all"\nbase_url = "http://localhost:1/v1"\napi_key_env = "ORCHESTRATE_MY_KEY"\n'
    write(tmp_path, f'{lines}[models.price]\ninput = 1\noutput = 2\n[models.worker]\nname = "worker"\nretries = 0\n')
    environ = {
        "OPENAI_BASE_URL": "https://example.org/v1",
        "ORCHESTRATE_MODELS_RETRIES": "9",
        "ORCHESTRATE_MY_KEY": "k",
        **trusted(tmp_path),
    }
    models = load_settings(tmp_path, environ).models
    assert (models.planner.name, models.worker.name, models.verifier.name) == ("all", "worker", "all")
    assert (models.planner.retries, models.worker.retries) == (9, 0)
    assert {role.base_url for role in (models.planner, models.worker)} == {"http://localhost:1/v1"}
    assert {role.api_key_env for role in (models.planner, models.worker)} == {"ORCHESTRATE_MY_KEY"}
    assert models.verifier.price is not None
    write(tmp_path, "[models]\ntimeout_s = 0\n")
    assert refused(tmp_path).count("timeout_s") == 1


@pytest.mark.parametrize(
    ("variable", "text", "section", "field", "value"),
    [
        ("ORCHESTRATE_SANDBOX_LEVEL", "none", "sandbox", "level", "none"),
        ("ORCHESTRATE_SANDBOX_NETWORK", "yes", "sandbox", "network", True),
        ("ORCHESTRATE_SANDBOX_NETWORK", "0", "sandbox", "network", False),
        ("ORCHESTRATE_WORKSPACE_PREPARE", '["npm ci"]', "workspace", "prepare", ("npm ci",)),
        ("ORCHESTRATE_WORKSPACE_ENV", '{"CI": "1"}', "workspace", "env", {"CI": "1"}),
        ("ORCHESTRATE_GUARDS_BUDGET_WARNINGS", "[0.5]", "guards", "budget_warnings", (0.5,)),
        ("ORCHESTRATE_GUARDS_DEADLINE_S", "none", "guards", "deadline_s", None),
        ("ORCHESTRATE_RUN_MAX_COST_USD", "2", "run", "max_cost_usd", 2.0),
    ],
)
def test_variables_are_read_by_type(
    tmp_path: Path, variable: str, text: str, section: str, field: str, value: object
) -> None:
    """Texts as they are, truth by its usual words, numbers, lists and tables as JSON, none for no limit."""
    assert getattr(getattr(load_settings(tmp_path, {variable: text}), section), field) == value


def test_none_switches_off_in_the_file_too(tmp_path: Path) -> None:
    """TOML has no null, so the text none is it; where a setting cannot be absent it is a wrong value."""
    write(tmp_path, '[guards]\ndeadline_s = "none"\n')
    assert load_settings(tmp_path, trusted(tmp_path)).guards.deadline_s is None
    assert "guards.cycle_rounds must be" in refused(write(tmp_path, '[guards]\ncycle_rounds = "none"\n'))


def test_unknown_variable_is_an_error_with_its_neighbour(tmp_path: Path) -> None:
    """A misspelt variable is no silent default; those that others read pass, and so do the keys' variables."""
    message = refused(tmp_path, {"ORCHESTRATE_GUARD_REPETITION_STOP": "7"})
    assert "did you mean 'ORCHESTRATE_GUARDS_REPETITION_STOP'" in message
    assert "7" not in message.split("setting")[0].removeprefix("The settings have 1 defect")
    write(tmp_path, '[models.worker]\napi_key_env = "ORCHESTRATE_LOCAL_KEY"\n')
    environ = trusted(tmp_path)
    load_settings(tmp_path, environ | {"ORCHESTRATE_LOCAL_KEY": "sk-123456", "_ORCHESTRATE_COMPLETE": "bash_source"})
    load_settings(tmp_path, environ | dict.fromkeys(NO_SETTINGS, "/somewhere"))


@pytest.mark.parametrize(
    "line",
    [
        'api_key = "sk-very-secret"',
        'password = "sk-very-secret"',
        'auth_token = "sk-very-secret"',
        'extra = {extra_headers = {Authorization = "sk-very-secret"}}',
        'base_url = "https://user:sk-very-secret@example.org/v1"',
        'api_key_env = "sk-very-secret"',
    ],
)
def test_secret_in_a_file_is_refused_unshown(tmp_path: Path, line: str) -> None:
    """Secrets come from the environment alone; the message says how, and does not repeat the secret."""
    message = refused(write(tmp_path, f"[models.worker]\n{line}\n"))
    assert "environment" in message
    assert "line 2" in message
    assert "very-secret" not in message


def test_endpoint_must_be_a_url(tmp_path: Path) -> None:
    """A base_url without a scheme is refused by name of where it came from."""
    assert "OPENAI_BASE_URL: models.planner.base_url must be a URL" in refused(
        tmp_path, {"OPENAI_BASE_URL": "localhost"}
    )


settable = st.dictionaries(
    st.sampled_from([setting.variable for setting in settings_tree()]),
    st.text(st.characters(exclude_categories=["Cs"]), max_size=12) | st.sampled_from(["1", "[]", "{}", "null", "true"]),
    max_size=3,
)


@given(settable)
def test_any_environment_is_read_or_refused(environ: dict[str, str]) -> None:
    """No value of a variable makes the reader itself fail."""
    try:
        load_settings(Path(os.devnull), environ)
    except UserError as error:
        assert any(name in str(error) for name in environ)
