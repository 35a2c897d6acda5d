"""How many tokens an endpoint holds, where it tells."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from orchestrator.domain.errors import ModelError

Look = Callable[[str], Mapping[str, Any]]
"""What an endpoint tells at a path below its address, or at an address. Raises ModelError."""

# What vLLM, OpenRouter, Groq, Mistral and LM Studio call it in their list of models.
_LISTED = ("max_model_len", "context_length", "context_window", "max_context_length", "loaded_context_length")
_LLAMA_CPP = "llamacpp"


def told_context_length(look: Look, base_url: str, model: str) -> int | None:
    """Tokens of prompt and reply together; None where the endpoint does not tell. llama.cpp tells it among its
    properties, beside the API, for one of the slots into which it divides what it was started with."""
    try:
        entry = _entry(look("/models"), model)
        if entry.get("owned_by") != _LLAMA_CPP:
            return min((size for name in _LISTED if (size := _tokens(entry.get(name)))), default=None)
        slot = look(f"{base_url.rstrip('/').removesuffix('/v1')}/props").get("default_generation_settings")
        return _tokens(slot.get("n_ctx")) if isinstance(slot, dict) else None
    except ModelError:
        return None


def _tokens(value: Any) -> int | None:
    return value if isinstance(value, int) and value > 1 else None


def _entry(models: Mapping[str, Any], name: str) -> Mapping[str, Any]:
    """The model's entry in the list; llama.cpp serves the one that it has under any name."""
    listed = models.get("data")
    entries = [entry for entry in listed if isinstance(entry, dict)] if isinstance(listed, list) else []
    own = [entry for entry in entries if entry.get("id") == name]
    return next(iter(own), entries[0] if len(entries) == 1 and entries[0].get("owned_by") == _LLAMA_CPP else {})
