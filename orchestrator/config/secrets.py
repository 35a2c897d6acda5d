"""Secrets: which values must never be stored, logged or shown to a model, and what takes them out."""

from __future__ import annotations

import json
import re
from collections import defaultdict
from collections.abc import Iterable, Mapping
from urllib.parse import quote, quote_plus, unquote, urlsplit

from orchestrator.config.keys import sent_variables
from orchestrator.config.settings import Settings

MIN_LENGTH = 6
"""Shorter values are no secrets worth the name, and replacing them would maim ordinary text."""
MASK = "***"
_LINE = 16

_SECRET_NAME = re.compile(
    r"(?:^|_)(?:API_?KEY|KEY|TOKEN|PASS(?:WORD|WD|PHRASE)?|PAT|SECRET|CREDENTIALS?|AUTH(?:ORIZATION)?|COOKIES?)$|_PWD$",
    re.IGNORECASE,
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


class Redactor:
    """Replaces each secret by `***`, in one pass, also where it stands escaped as JSON or in a URL."""

    def __init__(self, secrets: Iterable[str]) -> None:
        self._forms = {form for secret in secrets for form in _forms(secret)}
        self._pattern = re.compile("|".join(re.escape(form) for form in sorted(self._forms, key=len, reverse=True)))
        self._begin_with: defaultdict[str, list[str]] = defaultdict(list)
        for form in self._forms:
            self._begin_with[form[0]].append(form)
        self._longest = max(map(len, self._forms), default=0)

    def __call__(self, text: str) -> str:
        """The text without secrets."""
        # nearly every text is clean, and looking for each form is a hundred times faster than the alternation
        return self._pattern.sub(MASK, text) if any(form in text for form in self._forms) else text

    def settled(self, text: str) -> int:
        """How many characters of a text that is still coming can be redacted and shown: what follows them may turn out
        to be the beginning of a secret. Redacted so, portion by portion, it is what it is redacted as a whole."""
        begun = range(max(len(text) - self._longest + 1, 0), len(text))
        end = next((at for at in begun if self._may_begin(text, at)), len(text))
        if end == len(text):
            return end
        spans = (found.span() for found in self._pattern.finditer(text))
        return next((start for start, stop in spans if start < end < stop), end)

    def _may_begin(self, text: str, at: int) -> bool:
        forms = self._begin_with.get(text[at], ())
        return any(len(form) > len(text) - at and form.startswith(text[at:]) for form in forms)


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
