"""A key goes only to the host that a person has paired it with."""

from __future__ import annotations

from pathlib import Path

import pytest

from orchestrator.config.file import read_settings_file
from orchestrator.config.keys import endpoint_url, key_variable, url_origin
from orchestrator.config.load import load_configuration, load_settings
from orchestrator.config.secrets import secrets_of
from orchestrator.config.trust import TrustStore
from orchestrator.domain.errors import UntrustedSettingsError

ENVIRON = {"OPENAI_API_KEY": "sk-vendor", "TEAM_KEY": "sk-team", "AWS_SECRET_ACCESS_KEY": "aws-secret"}
EVIL = 'base_url = "https://evil.example/v1"\n'
AWS = 'api_key_env = "AWS_SECRET_ACCESS_KEY"\n'
VENDOR = 'base_url = "https://api.openai.com/v1"\n'
AWS_HEADER = 'headers = { api-key = "AWS_SECRET_ACCESS_KEY" }\n'
TEAM_HEADER = 'headers = { X-Team = "TEAM_KEY" }\n'
OWN = {"OPENAI_BASE_URL": "http://127.0.0.1:8000/v1"}


def sent(tmp_path: Path, repository: str = "", users: str = "", more: dict[str, str] | None = None) -> bool:
    """Whether the worker's endpoint may be sent the key of its variable, the repository's file being trusted."""
    environ = {**ENVIRON, **(more or {}), "HOME": str(tmp_path)}
    top, own = tmp_path / "clone", tmp_path / ".config/orchestrate/config.toml"
    for path, text in ((top / "orchestrate.toml", repository), (own, users)):
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(f"[models.worker]\n{text}")
    TrustStore.of(environ).add(read_settings_file(top))
    loaded = load_configuration(top, environ)
    model = loaded.settings.models.worker
    told = loaded.keys.environ_for(model, environ)
    assert {name for name in environ if name not in told} <= {model.api_key_env, *model.headers.values()}
    return all(variable in told for variable in model.headers.values() or (model.api_key_env,))


@pytest.mark.parametrize(
    ("repository", "users", "more", "goes"),
    [
        pytest.param("", "", {}, True, id="the vendor's key to the vendor"),
        pytest.param("", "", OWN, True, id="the vendor's key to the endpoint of the environment"),
        pytest.param(EVIL, "", {}, False, id="no key of the person's to an endpoint of the repository"),
        pytest.param(EVIL, "", OWN, False, id="nor where the environment names another"),
        pytest.param(EVIL + AWS, "", {}, True, id="a pair that the trusted file names whole"),
        pytest.param(AWS, "", {}, False, id="no key of the repository's choice to the vendor"),
        pytest.param(AWS, "", OWN, False, id="nor to the endpoint of the environment"),
        pytest.param(VENDOR, "", {}, True, id="the vendor named by the repository is the vendor"),
        pytest.param('base_url = "http://api.openai.com/v1"\n', "", {}, False, id="but not in the clear"),
        pytest.param(
            OWN["OPENAI_BASE_URL"].join(('base_url = "', '"\n')), "", OWN, True, id="the person's own endpoint"
        ),
        pytest.param("", EVIL, {}, True, id="an endpoint of the user's own settings"),
        pytest.param("", EVIL + AWS, {}, True, id="a pair of the user's own settings"),
        pytest.param("", AWS, OWN, True, id="a variable of the user's settings for the endpoint of the environment"),
        pytest.param(EVIL, AWS, {}, False, id="a variable of the user's settings to no host of the repository"),
        pytest.param(
            EVIL, "", {"ORCHESTRATE_MODELS_WORKER_API_KEY_ENV": "TEAM_KEY"}, False, id="nor one of the environment"
        ),
        pytest.param(
            EVIL + AWS,
            "",
            {"ORCHESTRATE_MODELS_WORKER_BASE_URL": "https://own.example/v1"},
            False,
            id="no variable of the repository's to an endpoint of the environment",
        ),
    ],
)
def test_a_key_goes_where_it_is_paired(
    tmp_path: Path, repository: str, users: str, more: dict[str, str], goes: bool
) -> None:
    """Even with the repository's file trusted: both halves from the person, or both from that file."""
    assert sent(tmp_path, repository, users, more) is goes


@pytest.mark.parametrize(
    ("repository", "users", "more", "goes"),
    [
        pytest.param(EVIL + AWS_HEADER, "", {}, True, id="a pair that the trusted file names whole"),
        pytest.param(AWS_HEADER, "", {}, False, id="no variable of the repository's choice to the vendor"),
        pytest.param(AWS_HEADER, "", OWN, False, id="nor to the endpoint of the environment"),
        pytest.param(AWS_HEADER, EVIL, {}, False, id="nor to that of the user's settings"),
        pytest.param(EVIL, TEAM_HEADER, {}, False, id="no header of the user's settings to a host of the repository"),
        pytest.param(EVIL + AWS_HEADER, TEAM_HEADER, {}, True, id="which the repository's replace"),
        pytest.param("", EVIL + TEAM_HEADER, {}, True, id="a pair of the user's own settings"),
        pytest.param("", TEAM_HEADER, OWN, True, id="a header of the user's settings for the environment's endpoint"),
        pytest.param(
            EVIL,
            "",
            {"ORCHESTRATE_MODELS_WORKER_HEADERS": '{"X-Team": "TEAM_KEY"}'},
            False,
            id="no header of the environment to a host of the repository",
        ),
        pytest.param(
            EVIL + AWS_HEADER,
            "",
            {"ORCHESTRATE_MODELS_WORKER_BASE_URL": "https://own.example/v1"},
            False,
            id="no variable of the repository's to an endpoint of the environment",
        ),
        pytest.param(
            'base_url = "https://evil.example/v1"\nheaders = { X-A = "TEAM_KEY", X-B = "AWS_SECRET_ACCESS_KEY" }\n',
            "",
            {"ORCHESTRATE_MODELS_WORKER_BASE_URL": "https://own.example/v1"},
            False,
            id="nor any of several",
        ),
    ],
)
def test_a_header_goes_where_it_is_paired_as_a_key_does(
    tmp_path: Path, repository: str, users: str, more: dict[str, str], goes: bool
) -> None:
    """Even with the repository's file trusted."""
    assert sent(tmp_path, repository, users, more) is goes


def test_what_a_repository_would_have_sent_is_shown_before_it_is_trusted(tmp_path: Path) -> None:
    """Every header's variable with the host, as the key's."""
    (tmp_path / "orchestrate.toml").write_text(f"[models]\n{EVIL}{AWS_HEADER}[models.worker]\n{TEAM_HEADER}")
    with pytest.raises(UntrustedSettingsError) as caught:
        load_settings(tmp_path, {**ENVIRON, "HOME": str(tmp_path)})
    for variable in ("AWS_SECRET_ACCESS_KEY", "TEAM_KEY", "OPENAI_API_KEY"):
        shown = f"The value of ${variable} may go to https://evil.example:443." in str(caught.value)
        assert shown is (variable != "OPENAI_API_KEY")


def test_what_all_roles_share_is_paired_as_what_a_role_sets(tmp_path: Path) -> None:
    """[models] needs the same trust, names the same pairs, and gives an endpoint of its own no key by itself."""
    top, environ = tmp_path / "clone", {**ENVIRON, "HOME": str(tmp_path)}
    top.mkdir()
    for text, goes in ((EVIL, False), (EVIL + AWS, True), (AWS, False)):
        (top / "orchestrate.toml").write_text(f"[models]\n{text}[models.worker]\nname = 'm'\n")
        assert load_configuration(top, environ).untrusted is not None
        TrustStore.of(environ).add(read_settings_file(top))
        loaded = load_configuration(top, environ)
        worker = loaded.settings.models.worker
        assert loaded.keys.may_send(worker, worker.api_key_env) is goes


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("https://api.openai.com/v1", "https://API.openai.com:443/other?x"),
        ("http://user:pw@127.0.0.1:8000/v1", "http://127.0.0.1:8000"),
        ("https://[::1]/v1", "https://[::1]:443"),
    ],
)
def test_one_host_is_one_host_however_it_is_written(one: str, other: str) -> None:
    """Case, default ports, paths and user names make no difference."""
    assert url_origin(one) == url_origin(other)


@pytest.mark.parametrize(
    "url",
    [
        "https://api.openai.com\\@evil.example/v1",
        "https://api.openai.com@evil.example/v1",
        "https://api.openai.com:443@evil.example",
        "https://api.openai.com.evil.example/",
        "https://api.openai.com%2f@evil.example",
        "https://api.openai.com:8443/v1",
        "https://evil.example#@api.openai.com/",
        "https://api.openai.com:@@evil.example/",
        "http://api.openai.com/v1",
    ],
)
def test_no_spelling_of_a_url_passes_for_another_host(url: str) -> None:
    """What two readers could take for two hosts is neither."""
    assert url_origin(url) != url_origin("https://api.openai.com/v1")


ANTHROPIC = 'base_url = "https://api.anthropic.com"\n'
MESSAGES = 'api = "messages"\n'


@pytest.mark.parametrize(
    ("repository", "users", "more", "variable", "goes"),
    [
        pytest.param("", MESSAGES, {}, "ANTHROPIC_API_KEY", True, id="Messages are asked of Anthropic"),
        pytest.param("", ANTHROPIC, {}, "ANTHROPIC_API_KEY", True, id="by whichever API"),
        pytest.param(ANTHROPIC, "", {}, "ANTHROPIC_API_KEY", True, id="also where the repository names the vendor"),
        pytest.param("", MESSAGES, OWN, "OPENAI_API_KEY", True, id="the environment's endpoint has the key beside it"),
        pytest.param("", ANTHROPIC + AWS, {}, "AWS_SECRET_ACCESS_KEY", True, id="a variable that is named is meant"),
        pytest.param(MESSAGES + EVIL, "", {}, "OPENAI_API_KEY", False, id="no key to an endpoint of the repository"),
        pytest.param(MESSAGES + AWS, "", {}, "AWS_SECRET_ACCESS_KEY", False, id="no key of its choice to the vendor"),
        pytest.param(MESSAGES, AWS, {}, "AWS_SECRET_ACCESS_KEY", False, id="nor one that was meant for another"),
        pytest.param(
            EVIL + 'api_key_env = "ANTHROPIC_API_KEY"\n', "", {}, "ANTHROPIC_API_KEY", True, id="a pair named whole"
        ),
    ],
)
def test_anthropics_key_goes_to_anthropic(
    tmp_path: Path, repository: str, users: str, more: dict[str, str], variable: str, goes: bool
) -> None:
    """Its variable is meant where none is named, and is paired as the other vendor's is; the two are never mixed up."""
    keys = {"OPENAI_API_KEY": "sk-openai", "ANTHROPIC_API_KEY": "sk-ant", "AWS_SECRET_ACCESS_KEY": "aws"}
    environ = {**keys, **more, "HOME": str(tmp_path)}
    top, own = tmp_path / "clone", tmp_path / ".config/orchestrate/config.toml"
    for path, text in ((top / "orchestrate.toml", repository), (own, users)):
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(f"[models.worker]\n{text}")
    TrustStore.of(environ).add(read_settings_file(top))
    loaded = load_configuration(top, environ)
    worker = loaded.settings.models.worker
    assert key_variable(worker, endpoint_url(worker, more.get("OPENAI_BASE_URL"))) == variable
    assert (variable in loaded.keys.environ_for(worker, environ)) is goes
    assert "sk-ant" in secrets_of(loaded.settings, environ)
