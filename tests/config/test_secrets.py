"""Secrets are known and taken out of everything."""

from __future__ import annotations

import json
from urllib.parse import quote, quote_plus

from hypothesis import given
from hypothesis import strategies as st

from orchestrator.config.secrets import MIN_LENGTH, Redactor, secrets_of
from orchestrator.config.settings import Settings


def test_secrets_are_known_by_setting_and_by_name() -> None:
    """The api_key_env variable whatever its name, and all whose names say it; ordinary ones are none."""
    settings = Settings.model_validate({"models": {"worker": {"api_key_env": "MY_ENDPOINT"}}})
    environ = {
        "MY_ENDPOINT": "worker-key",
        "OPENAI_API_KEY": "sk-openai",
        "NEO4J_PASSWORD": "graph-password",
        "GITHUB_TOKEN": "ghp_token",
        "AWS_SECRET_ACCESS_KEY": "aws-key",
        "client_secret": "lower-case",
        "DATABASE_URL": "postgres://app:db%20pass@localhost/x",
        "PATH": "/usr/local/bin",
        "APP_PASS": "app-pass",
        "MYSQL_PWD": "mysql-pwd",
        "GH_PAT": "gh-pat",
        "NPM_CONFIG__AUTH": "npm-auth",
        "SESSION_COOKIE": "session-cookie",
        "PWD": "/home/ada/shop",
        "OLDPWD": "/home/ada/other",
        "SSH_AUTH_SOCK": "/run/agent.1",
        "KEYBOARD": "qwertz-layout",
        "MAX_TOKENS": "100000000",
        "SHORT_KEY": "x" * (MIN_LENGTH - 1),
        "EMPTY_KEY": "",
    }
    assert set(secrets_of(settings, environ)) == {
        "worker-key",
        "sk-openai",
        "graph-password",
        "ghp_token",
        "aws-key",
        "lower-case",
        "app-pass",
        "mysql-pwd",
        "gh-pat",
        "npm-auth",
        "session-cookie",
        "db%20pass",
        "db pass",
    }


def test_longer_secret_wins_over_its_part() -> None:
    """Where one secret begins like another, no rest of the longer one stays."""
    redact = Redactor(["secret", "secret-longer"])
    assert redact("a secret-longer and a secret") == "a *** and a ***"


def test_nothing_secret_changes_nothing() -> None:
    """Without secrets the text comes back as it was."""
    assert Redactor([])("sk-anything") == "sk-anything"


def test_key_of_several_lines_is_found_line_by_line() -> None:
    """A private key that a tool prints indented is taken out all the same; its public header may stay."""
    key = "-----BEGIN KEY-----\nMIIEvQIBADANBgkqhkiG\nkSAoIBAQC7VJTUt9Us8c\n-----END KEY-----\n"
    shown = Redactor([key])("  MIIEvQIBADANBgkqhkiG\n  kSAoIBAQC7VJTUt9Us8c\n")
    assert shown == "  ***\n  ***\n"


def test_mask_is_not_redacted_again() -> None:
    """One pass: what replaces a secret is not looked at again."""
    assert Redactor(["secret", "******"])("secret") == "***"


secrets = st.text(st.characters(exclude_categories=["Cs"]), min_size=MIN_LENGTH, max_size=20).filter(
    lambda text: len(text.strip()) >= MIN_LENGTH and set(text.strip()) != {"*"}
)


@given(secrets, st.text(max_size=10), st.text(max_size=10))
def test_no_form_of_a_secret_stays(secret: str, before: str, after: str) -> None:
    """As it is, escaped in JSON once or twice, and in a URL: it is gone."""
    redact = Redactor([secret])
    once = json.dumps({"k": secret})
    forms = [secret, secret.strip(), once, json.dumps(once), json.dumps(secret, ensure_ascii=False)]
    for form in [*forms, quote(secret, safe=""), quote_plus(secret)]:
        assert "***" in redact(before + form + after)
        assert secret not in redact(form)


@given(st.lists(secrets, max_size=4), st.text(max_size=50))
def test_redacted_text_holds_no_secret_of_its_own(several: list[str], text: str) -> None:
    """Redacting again finds only what the mask itself could have made."""
    redact = Redactor(several)
    assert all(secret not in redact(secret) for secret in several)
    assert redact(text) == text or "***" in redact(text)


def test_secrets_of_commands_are_known_too() -> None:
    """What workspace.env gives to commands under a secret's name reaches neither graph nor log (a Run stores its
    settings)."""
    env = {"DB_PASSWORD": "for-commands", "CACHE_URL": "redis://:in-url@localhost", "MODE": "test-mode"}
    settings = Settings.model_validate({"workspace": {"env": env}})
    assert {"for-commands", "in-url"} <= set(secrets_of(settings, {}))
    assert "test-mode" not in secrets_of(settings, {})
