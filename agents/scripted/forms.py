"""The APIs that the scripted model speaks, told apart by a request's path."""

from __future__ import annotations

from urllib.parse import urlsplit

from agents.scripted.chat_form import ChatForm
from agents.scripted.form import ScriptedForm
from agents.scripted.messages_form import MessagesForm
from agents.scripted.responses_form import ResponsesForm
from agents.scripted.script import Script

FORMS: tuple[ScriptedForm, ...] = (ChatForm(), ResponsesForm(), MessagesForm())


def spoken_form(script: Script, path: str) -> ScriptedForm | None:
    """The form that a request to this path (with or without a query) is in, None where the script speaks none such."""
    asked = urlsplit(path).path
    return next((form for form in FORMS if asked.endswith(form.path) and form.api in script.apis), None)


def spoken_paths(script: Script) -> str:
    """The paths that are answered, in words."""
    return ", ".join(f"/v1{form.path}" for form in FORMS if form.api in script.apis)
