"""docs/models.md: each of its settings loads, and speaks to its endpoint as the page says."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from agents.chat.endpoint import model_endpoint
from agents.chat.wires import likely_wires
from orchestrator.config.load import load_configuration
from orchestrator.config.settings import Settings

PAGE = Path(__file__).parents[1].joinpath("docs/models.md").read_text("utf-8")
SNIPPETS = re.findall(r"^### (.+?)\n(.*?)(?=^##|\Z)", PAGE, re.MULTILINE | re.DOTALL)
BLOCKS = [(name, block) for name, text in SNIPPETS for block in re.findall(r"```toml\n(.*?)```", text, re.DOTALL)]
FIRST_WIRE = {"OpenAI": "responses", "Anthropic": "messages"}


def test_every_endpoint_of_the_page_has_its_settings() -> None:
    """Nine of them, Azure with two addresses."""
    names = [
        "OpenAI",
        "Azure",
        "Azure",
        "Anthropic",
        "Gemini",
        "OpenRouter",
        "vLLM",
        "llama.cpp",
        "Ollama",
        "LM Studio",
    ]
    assert [name for name, _ in BLOCKS] == names


@pytest.mark.parametrize(("name", "block"), BLOCKS, ids=[f"{name}-{at}" for at, (name, _) in enumerate(BLOCKS)])
def test_each_can_be_pasted_into_the_users_file(tmp_path: Path, name: str, block: str) -> None:
    """It is valid, every variable that it names may go to its host, and the wire is the one of the table."""
    path = tmp_path / ".config/orchestrate/config.toml"
    path.parent.mkdir(parents=True)
    path.write_text(block)
    variables = dict.fromkeys(re.findall(r"[A-Z]+(?:_[A-Z]+)+", block), "a-secret-value")
    environ = {"OPENAI_API_KEY": "k", **variables, "HOME": str(tmp_path)}
    loaded = load_configuration(tmp_path, environ)
    model = loaded.settings.models.worker
    endpoint = model_endpoint(model, loaded.keys.environ_for(model, environ))
    assert set(endpoint.headers) == set(model.headers)
    azure = name == "Azure" and "api_version" not in block
    assert likely_wires(model.api, endpoint)[0] == FIRST_WIRE.get(name, "responses" if azure else "chat")


def test_it_names_every_wire_and_no_setting_that_does_not_exist() -> None:
    """As the settings have them."""
    wires = set(re.findall(r"^\| `(\w+)` \| `/", PAGE, re.MULTILINE))
    assert wires == {"chat", "responses", "messages"}
    assert {"api", "headers", "api_version"} <= Settings().models.worker.__class__.model_fields.keys()
