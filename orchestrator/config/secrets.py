"""Secrets: which values must never be stored, logged or shown to a model, and what takes them out."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Mapping
from urllib.parse import quote, quote_plus, unquote, urlsplit

from orchestrator.config.keys import sent_variables
from orchestrator.config.settings import Settings

MIN_LENGTH = 6
"""Shorter values are no secrets worth the name, and replacing them would maim ordinary text."""
MASK = "***"
_LINE = 16

_SECRET_NAME = re.compile(
    r"(?:^|_)(?:API_?KEY|KEY|TOKEN|PASS(?:WORD|WD|PHRASE)|SECRET|CREDENTIALS?|AUTHORIZATION)$", re.IGNORECASE
)
_URL_NAME = re.compile(r"(?:_|^)(?:URL|URI|DSN)$", re.IGNORECASE)


def secrets_of(settings: Settings, environ: Mapping[str, str]) -> tuple[str, ...]:
    """The values to keep secret, longest first: those of the api_key_env and headers variables, of every variable,
    workspace.env's too, whose name says that it is one (`*_KEY`, `*_TOKEN`, `*_PASSWORD`, `*_SECRET` and the like), and
    passwords within URLs."""
    models = (settings.models.planner, settings.models.worker, settings.models.verifier)
    named = {name for model in models for name in sent_variables(model)}
    variables = (*environ.items(), *settings.workspace.env.items())
    found = {value for name, value in variables if name in named or _SECRET_NAME.search(name)}
    urls = [value for name, value in variables if _URL_NAME.search(name)]
    for url in (*urls, *(model.base_url for model in models if model.base_url)):
        found.update(_url_passwords(url))
    return tuple(sorted((value for value in found if len(value.strip()) >= MIN_LENGTH), key=lambda v: (-len(v), v)))


def redactor(secrets: Iterable[str]) -> Callable[[str], str]:
    """A function that replaces each secret by `***`, in one pass, also where it stands escaped as JSON or in a URL."""
    forms = {form for secret in secrets for form in _forms(secret)}
    if not forms:
        return lambda text: text
    pattern = re.compile("|".join(re.escape(form) for form in sorted(forms, key=len, reverse=True)))

    def redact(text: str) -> str:
        # nearly every text is clean, and looking for each form is a hundred times faster than the alternation
        return pattern.sub(MASK, text) if any(form in text for form in forms) else text

    return redact


def is_secret_name(name: str) -> bool:
    """Whether a key's or variable's name says that its value is a secret."""
    return bool(_SECRET_NAME.search(name.replace("-", "_")))


def url_holds_password(url: str) -> bool:
    """Whether credentials stand in the URL itself."""
    return bool(_url_passwords(url))


def _url_passwords(url: str) -> set[str]:
    try:
        password = urlsplit(url).password
    except ValueError:
        return set()
    return {password, unquote(password)} if password else set()


def _forms(secret: str) -> Iterable[str]:
    # a key of several lines is often shown line by line, indented
    lines = {line.strip() for line in secret.splitlines() if len(line.strip()) >= _LINE and "-----" not in line}
    for value in {secret, secret.strip(), *lines} - {""}:
        escaped = {json.dumps(value)[1:-1], json.dumps(value, ensure_ascii=False)[1:-1]}
        twice = {json.dumps(once)[1:-1] for once in escaped}
        # surrogates come from undecodable bytes of the environment, which no URL holds
        plain = value.encode("utf-8", "replace").decode()
        yield from {value, *escaped, *twice, quote(plain, safe=""), quote(plain), quote_plus(plain)}
