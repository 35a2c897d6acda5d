"""Headers in the settings: a name, and the name of a variable."""

from __future__ import annotations

from pathlib import Path

import pytest

from orchestrator.config.file import read_settings_file
from orchestrator.config.load import load_settings
from orchestrator.config.trust import TrustStore
from orchestrator.domain.errors import UserError


@pytest.mark.parametrize(
    ("line", "says"),
    [
        ('headers = { api-key = "sk-very-secret" }', "the name of the environment variable that holds its value"),
        ('headers = { "bad name" = "VARIABLE" }', "must be a header's name"),
        ('headers = { "X-A: b\\r\\nX-B" = "VARIABLE" }', "must be a header's name"),
        ('headers = "api-key"', "must be an object"),
        ('api_version = "1&key=2"', "must be a version such as 2024-10-21"),
        ('extra = { headers = { api_key = "sk-very-secret" } }', "is a secret"),
    ],
)
def test_headers_name_variables_and_hold_no_value(tmp_path: Path, line: str, says: str) -> None:
    """What stands there by mistake is not repeated."""
    (tmp_path / "orchestrate.toml").write_text(f"[models.worker]\n{line}\n")
    with pytest.raises(UserError) as caught:
        load_settings(tmp_path, {})
    assert says in str(caught.value) and "very-secret" not in str(caught.value)


def test_a_header_may_be_called_as_a_secret_is(tmp_path: Path) -> None:
    """What stands behind it is a name, also one with our prefix."""
    (tmp_path / "orchestrate.toml").write_text('[models]\nname = "m"\nheaders = { api-key = "ORCHESTRATE_MY_KEY" }\n')
    environ = {"ORCHESTRATE_MY_KEY": "secret", "HOME": str(tmp_path)}
    TrustStore.of(environ).add(read_settings_file(tmp_path))
    assert load_settings(tmp_path, environ).models.worker.headers == {"api-key": "ORCHESTRATE_MY_KEY"}
