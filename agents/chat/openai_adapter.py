"""The chat port over any endpoint that speaks the OpenAI chat completions API."""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

from tenacity import RetryCallState, Retrying, retry_if_exception_type, stop_after_attempt

from agents.chat.context_length import told_context_length
from agents.chat.endpoint import model_endpoint
from agents.chat.estimate import Estimator, text_tokens
from agents.chat.failures import RetryableError, UnsupportedFieldError
from agents.chat.json_tools import as_text_request, tool_calls_in_text, tools_text
from agents.chat.limiter import SHARED, RateLimits, TokenBucket
from agents.chat.port import ChatRequest, Message, ToolSchema, uncounted
from agents.chat.prices import cost_usd, price_of
from agents.chat.stream import STREAMING
from agents.chat.wire import Wire
from orchestrator.config.keys import DEFAULT_BASE_URL
from orchestrator.config.settings import LEAST_CONTEXT_WINDOW, ModelSettings
from orchestrator.domain.errors import ModelUnavailableError, ReplyLostError
from orchestrator.domain.model_io import ModelReply
from orchestrator.domain.ports import Clock

FIRST_BACKOFF_S = 2.0
MAX_BACKOFF_S = 64.0


@dataclass(slots=True)
class _Waited:
    """Since when a request is under way (after a lost reply: the next try's), what it has waited for rate limits and
    backoff since then, in seconds, and how often it was tried again in all."""

    since: float
    seconds: float = 0.0
    retries: int = 0


class OpenAIChat:
    """One model at one endpoint (the port Chat). Thread-safe: roles and parallel attempts may share it.

    `env` holds the key and OPENAI_BASE_URL. `on_wait` is told in a sentence of every wait before it begins; it and
    `clock.sleep` may raise to give up waiting. Raises UserError for a setting that cannot work."""

    def __init__(
        self,
        settings: ModelSettings,
        *,
        clock: Clock,
        env: Mapping[str, str],
        on_wait: Callable[[str], None] = lambda _message: None,
        limits: RateLimits = SHARED,
        jitter: Callable[[], float] = random.random,
    ) -> None:
        self.endpoint = model_endpoint(settings, env)
        self.model = settings.name
        self.learnt: frozenset[str] = frozenset()  # the fields that the endpoint refused, sent otherwise since
        self._settings, self._clock, self._on_wait, self._jitter = settings, clock, on_wait, jitter
        self._wire = Wire(self.endpoint, idle_s=settings.idle_timeout_s, total_s=settings.timeout_s, clock=clock)
        limited = settings.rate_limit > 0 and not self.endpoint.loopback
        self._bucket: TokenBucket | None = limits.bucket(self.endpoint, settings.rate_limit) if limited else None
        self._estimator = Estimator()
        self._price = price_of(settings.name, settings.price)

    def close(self) -> None:
        """Close the kept connections."""
        self._wire.close()

    @cached_property
    def told_context_length(self) -> int | None:
        """The tokens that the endpoint says it holds, asked for once; None where it does not say."""
        return told_context_length(self._look, self.endpoint.base_url, self.model)

    @cached_property
    def context_window(self) -> int:
        """What the settings say; where they say nothing, no more than the endpoint tells."""
        window = self._settings.context_window
        if "context_window" in self._settings.model_fields_set or self.endpoint.base_url == DEFAULT_BASE_URL:
            return window  # OpenAI's own list tells nothing
        return max(min(window, self.told_context_length or window), LEAST_CONTEXT_WINDOW)

    @cached_property
    def max_output_tokens(self) -> int:
        """What the settings say; where they say nothing, no more than half of the window."""
        most = self._settings.max_output_tokens
        return most if "max_output_tokens" in self._settings.model_fields_set else min(most, self.context_window // 2)

    @property
    def streams(self) -> bool:
        """Whether replies are asked for as streams: until the endpoint refuses that, or answers whole all the same."""
        return self._wire.streams and not STREAMING.keys() & self.learnt

    def _look(self, path: str) -> Mapping[str, Any]:
        try:
            return self._wire.look(path)
        except UnsupportedFieldError as error:
            raise error.refusal from None
        except RetryableError as error:
            raise self._unavailable(error, tries=1) from None

    def estimate(self, messages: Sequence[Message], tools: Sequence[ToolSchema] = ()) -> int:
        """Prompt tokens, on the high side, in time linear in the messages that are new. Messages must not change."""
        written = text_tokens(tools_text(())) if tools and self._settings.tools == "json" else 0
        return self._estimator.request(messages, tools) + written

    def price(self, prompt_tokens: int, cached_tokens: int, completion_tokens: int) -> float | None:
        """US dollars, or None when the model's price is unknown."""
        if self._price is None:
            return None
        return cost_usd(self._price, prompt_tokens, cached_tokens, completion_tokens)

    def complete(self, request: ChatRequest, on_lost: Callable[[str], None] = uncounted) -> ModelReply:
        """The model's reply. 429, 5xx, connection errors, timeouts and replies that are no completions are tried
        again up to `retries` times. Raises ModelRefusedError, ModelUnavailableError, ContextLengthError."""
        waited = _Waited(self._clock.monotonic())
        retrying = Retrying(
            retry=retry_if_exception_type(RetryableError),
            stop=stop_after_attempt(self._settings.retries + 1),
            wait=self._backoff,
            sleep=self._clock.sleep,
            before_sleep=lambda state: self._announce(state, waited, on_lost),
            reraise=True,
        )
        try:
            answer = retrying(self._try, request, waited)
        except RetryableError as error:
            raise self._unavailable(error, tries=self._settings.retries + 1) from None
        return self._reply(request, answer, waited)

    def _try(self, request: ChatRequest, waited: _Waited) -> ModelReply:
        """One try. A field that the endpoint does not take is sent otherwise from then on, and the request again."""
        while True:
            waited.seconds += self._await_turn()
            before, body = self.learnt, self._body(request)
            try:
                return self._wire.chat(body)
            except UnsupportedFieldError as error:
                if error.name in before or error.name not in body:
                    raise error.refusal from None
                self.learnt |= {error.name}

    def _body(self, request: ChatRequest) -> dict[str, Any]:
        settings, learnt = self._settings, self.learnt
        shown = as_text_request(request) if settings.tools == "json" else request
        body: dict[str, Any] = {"model": settings.name, "messages": shown.messages}
        if shown.tools:
            body["tools"] = shown.tools
            body["tool_choice"] = _tool_choice(shown.tool_choice, plain="tool_choice" in learnt)
        if settings.temperature is not None and "temperature" not in learnt:
            body["temperature"] = settings.temperature
        if not {"max_tokens", "max_completion_tokens"} <= learnt:
            body["max_completion_tokens" if "max_tokens" in learnt else "max_tokens"] = self.max_output_tokens
        if settings.tools == "json" and request.tools and "response_format" not in learnt:
            body["response_format"] = {"type": "json_object"}
        if self.streams:
            body |= STREAMING
        return body | settings.extra

    def _await_turn(self) -> float:
        """Wait for the rate limit; returns the seconds."""
        seconds = self._bucket.reserve(self._clock.monotonic()) if self._bucket else 0.0
        if seconds > 0:
            limit = self._settings.rate_limit
            self._on_wait(f"Waiting {seconds:.1f} s for the rate limit of {limit:g} requests an hour.")
            self._clock.sleep(seconds)
        return seconds

    def _backoff(self, state: RetryCallState) -> float:
        """2, 4, 8, 16 s and up to a quarter more, or what Retry-After asks for."""
        error = _failure(state)
        if error.retry_after:
            return error.retry_after
        base = min(MAX_BACKOFF_S, FIRST_BACKOFF_S * 2.0 ** (state.attempt_number - 1))
        return base * (1 + 0.25 * self._jitter())

    def _announce(self, state: RetryCallState, waited: _Waited, on_lost: Callable[[str], None]) -> None:
        if _failure(state).accepted:
            on_lost(_failure(state).reason)
            waited.since, waited.seconds = self._clock.monotonic(), 0.0
        waited.seconds += state.upcoming_sleep
        waited.retries += 1
        tries = self._settings.retries + 1
        self._on_wait(
            f"Waiting {state.upcoming_sleep:.1f} s before try {state.attempt_number + 1} of {tries}: {_failure(state)}"
        )

    def _unavailable(self, error: RetryableError, tries: int) -> ModelUnavailableError:
        times = "once" if tries == 1 else f"{tries} times"
        told = f"The model {self.model} gave no usable reply (tried {times}): {error.reason.rstrip('.')}."
        again = "then repeat the command; an open run goes on where it was."
        if error.accepted:
            longer = (
                "Give it longer, with timeout_s in [models.<role>] for a whole reply and idle_timeout_s for a pause"
            )
            return ReplyLostError(told, next_step=f"{longer} in one, or see what ends its replies, {again}")
        check = f"Check that the endpoint at {self.endpoint.host} is up (OPENAI_BASE_URL)"
        return ModelUnavailableError(told, next_step=f"{check}, {again}")

    def _reply(self, request: ChatRequest, answer: ModelReply, waited: _Waited) -> ModelReply:
        """The answer with what only we know of it."""
        if self._settings.tools == "json" and request.tools and not answer.calls:
            answer = replace(answer, calls=tool_calls_in_text(answer.text))
        if answer.estimated:
            written = text_tokens(answer.text) + sum(text_tokens(c.tool + c.arguments_json) for c in answer.calls)
            prompt = self.estimate(request.messages, request.tools)
            answer = replace(answer, prompt_tokens=prompt, completion_tokens=written)
        return replace(
            answer,
            cost_usd=self.price(answer.prompt_tokens, answer.cached_tokens, answer.completion_tokens),
            latency_ms=(self._clock.monotonic() - waited.since) * 1000,
            wait_ms=waited.seconds * 1000,
            retries=waited.retries,
            model=answer.model or self.model,
        )


def _failure(state: RetryCallState) -> RetryableError:
    error = state.outcome.exception() if state.outcome else None
    assert isinstance(error, RetryableError)  # noqa: S101 - nothing else is tried again
    return error


def _tool_choice(choice: str, *, plain: bool) -> str | dict[str, Any]:
    """The choice as the API has it; `plain` for endpoints that know no more than auto and none."""
    if choice in ("auto", "none"):
        return choice
    if plain:
        return "auto"
    return choice if choice == "required" else {"type": "function", "function": {"name": choice}}
