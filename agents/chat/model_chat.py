"""The chat port over any endpoint, by one of the wires."""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

from tenacity import RetryCallState, Retrying, retry_if_exception_type, stop_after_attempt

from agents.chat.client import EndpointClient
from agents.chat.context_length import told_context_length
from agents.chat.dialect import Dialect, Spoken
from agents.chat.endpoint import model_endpoint
from agents.chat.estimate import Estimator, text_tokens
from agents.chat.failures import NoSuchWireError, RetryableError, UnsupportedFieldError
from agents.chat.json_tools import as_text_request, tool_calls_in_text, tools_text
from agents.chat.limiter import SHARED, RateLimits, TokenBucket
from agents.chat.port import ChatRequest, Message, ToolSchema, to_nobody
from agents.chat.prices import PriceList, cost_usd, most_cost_usd
from agents.chat.truncation import PromptWatch
from agents.chat.wire import RequestOptions, Wire, WireName
from agents.chat.wires import likely_wires, open_wire
from orchestrator.config.settings import LEAST_CONTEXT_WINDOW, ModelSettings
from orchestrator.domain.errors import ModelUnavailableError, ReplyLostError
from orchestrator.domain.model_io import ModelReply
from orchestrator.domain.ports import Clock

FIRST_BACKOFF_S = 2.0
MAX_BACKOFF_S = 64.0
BEYOND_BELIEF = 4
"""No tokenizer counts so many times what we estimate."""


@dataclass(slots=True)
class _Waited:
    """Since when a request is under way (after a lost reply: the next try's), what it has waited for rate limits and
    backoff since then, in seconds, and how often it was tried again in all."""

    since: float
    seconds: float = 0.0
    retries: int = 0


class ModelChat:
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
        self.settings = settings
        self._clock, self._on_wait, self._jitter = clock, on_wait, jitter
        wires = likely_wires(settings.api, self.endpoint)
        self._dialect = Dialect(wires, self._connected, on_wait, named=settings.api != "auto")
        limited = settings.rate_limit > 0 and not self.endpoint.loopback
        self._bucket: TokenBucket | None = limits.bucket(self.endpoint, settings.rate_limit) if limited else None
        self._estimator = Estimator()
        self._prices = PriceList(self.endpoint, settings.price)
        self._watch, self.cuts_prompts = PromptWatch(), False

    def _connected(self, wire_name: WireName) -> EndpointClient:
        wire, sdk = open_wire(wire_name, self.endpoint)
        idle_s, total_s = self.settings.idle_timeout_s, self.settings.timeout_s
        return EndpointClient(self.endpoint, wire, sdk, idle_s=idle_s, total_s=total_s, clock=self._clock)

    def close(self) -> None:
        """Close the kept connections."""
        self._dialect.close()

    @property
    def wire(self) -> Wire:
        """The wire that is spoken."""
        return self._dialect.now.client.wire

    @property
    def learnt(self) -> frozenset[str]:
        """The fields that the endpoint refused, sent otherwise since."""
        return self._dialect.now.learnt

    @cached_property
    def told_context_length(self) -> int | None:
        """The tokens that the endpoint says it holds, asked for once; None where it does not say."""
        return told_context_length(self._look, self.endpoint.base_url, self.model)

    @cached_property
    def context_window(self) -> int:
        """What the settings say; where they say nothing, no more than the model is known to hold, or the endpoint says
        of an unknown one."""
        window = self.settings.context_window
        if "context_window" in self.settings.model_fields_set:
            return window
        known = self._prices.context_window or self.told_context_length or window
        return max(min(window, known), LEAST_CONTEXT_WINDOW)

    @cached_property
    def max_output_tokens(self) -> int:
        """What the settings say; where they say nothing, no more than half of the window."""
        most = self.settings.max_output_tokens
        return most if "max_output_tokens" in self.settings.model_fields_set else min(most, self.context_window // 2)

    @property
    def is_listed(self) -> bool:
        """Whether it is the address of a provider that the price list knows."""
        return self._prices.by_address

    @property
    def streams(self) -> bool:
        """Whether replies are asked for as streams."""
        return self._dialect.now.streams

    def _look(self, path: str) -> Mapping[str, Any]:
        try:
            return self._dialect.now.client.look(path)
        except (UnsupportedFieldError, NoSuchWireError) as error:
            raise error.refusal from None
        except RetryableError as error:
            raise self._unavailable(error, tries=1) from None

    def estimate(self, messages: Sequence[Message], tools: Sequence[ToolSchema] = ()) -> int:
        """Prompt tokens, on the high side, in time linear in the messages that are new. Messages must not change."""
        written = text_tokens(tools_text(())) if tools and self.settings.tools == "json" else 0
        return self._estimator.request(messages, tools) + written

    def price(self, prompt_tokens: int, completion_tokens: int) -> float | None:
        """US dollars at most, or None when the model's price is unknown."""
        tariff = self._prices.tariff(self._clock.now())
        return None if tariff is None else most_cost_usd(tariff, prompt_tokens, completion_tokens)

    def said(self, reply: ModelReply) -> Message:
        """A reply's message as it stands in later requests (port Chat)."""
        return self.wire.said(reply)

    def complete(
        self,
        request: ChatRequest,
        on_lost: Callable[[str], None] = to_nobody,
        on_text: Callable[[str], None] = to_nobody,
    ) -> ModelReply:
        """The model's reply. 429, 5xx, connection errors, timeouts and replies that are no completions are tried
        again up to `retries` times. Raises ModelRefusedError, ModelUnavailableError, ContextLengthError."""
        waited = _Waited(self._clock.monotonic())
        retrying = Retrying(
            retry=retry_if_exception_type(RetryableError),
            stop=stop_after_attempt(self.settings.retries + 1),
            wait=self._backoff,
            sleep=self._clock.sleep,
            before_sleep=lambda state: self._announce(state, waited, on_lost),
            reraise=True,
        )
        try:
            answer = retrying(self._try, request, waited, on_text)
        except RetryableError as error:
            raise self._unavailable(error, tries=self.settings.retries + 1) from None
        return self._reply(request, answer, waited)

    def _try(self, request: ChatRequest, waited: _Waited, on_text: Callable[[str], None]) -> ModelReply:
        """One try, over the wire and with the fields that the endpoint takes."""
        settings = self.settings
        shown = as_text_request(request) if settings.tools == "json" else request

        def body(spoken: Spoken) -> dict[str, Any]:
            waited.seconds += self._await_turn()
            options = self._options(spoken, json_object=shown is not request and bool(request.tools))
            return {**spoken.client.wire.body(shown, options), **settings.extra}

        return self._dialect.ask(body, on_text)

    def _options(self, spoken: Spoken, *, json_object: bool) -> RequestOptions:
        settings = self.settings
        return RequestOptions(
            model=settings.name,
            max_output_tokens=self.max_output_tokens,
            temperature=settings.temperature,
            effort=settings.effort,
            reasoning_tokens=settings.reasoning_tokens,
            streams=spoken.streams,
            json_object=json_object,
            learnt=spoken.learnt,
        )

    def _await_turn(self) -> float:
        """Wait for the rate limit; returns the seconds."""
        seconds = self._bucket.reserve(self._clock.monotonic()) if self._bucket else 0.0
        if seconds > 0:
            limit = self.settings.rate_limit
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
        tries = self.settings.retries + 1
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
        in_text = self.settings.tools == "json" and request.tools and not answer.calls
        if in_text and (written := tool_calls_in_text(answer.text)):
            answer = replace(answer, calls=written, message={})
        answer = self._counted(request, answer)
        tariff = self._prices.tariff(self._clock.now())
        return replace(
            answer,
            cost_usd=None if tariff is None else cost_usd(tariff, answer),
            latency_ms=(self._clock.monotonic() - waited.since) * 1000,
            wait_ms=waited.seconds * 1000,
            retries=waited.retries,
            model=answer.model or self.model,
        )

    def _counted(self, request: ChatRequest, answer: ModelReply) -> ModelReply:
        """The answer with usage: the endpoint's own, or ours where it tells none or what cannot be."""
        prompt = self.estimate(request.messages, request.tools)
        written = text_tokens(answer.text) + sum(text_tokens(c.tool + c.arguments_json) for c in answer.calls)
        if answer.estimated or not self._can_be(answer, prompt, written):
            ours: dict[str, Any] = dict.fromkeys(("cached_tokens", "cache_write_tokens", "reasoning_tokens"), 0)
            return replace(answer, prompt_tokens=prompt, completion_tokens=written, estimated=True, **ours)
        if not self.cuts_prompts and self._watch.was_cut(request.messages, prompt, answer.prompt_tokens):
            self.cuts_prompts = True
            self._on_wait(
                f"{self.endpoint.host} counts {answer.prompt_tokens:,} prompt tokens of about {prompt:,} that it was "
                f"sent: it cuts what is too long for it and says nothing. Set context_window in [models.<role>] to "
                "what it holds, or let it hold more (Ollama: num_ctx, OLLAMA_CONTEXT_LENGTH)."
            )
        return answer

    def _can_be(self, answer: ModelReply, prompt: int, written: int) -> bool:
        """Whether usage is possible: every request has a prompt, and no count is larger than the window, unless the
        window is what is wrong."""
        most = [max(self.settings.context_window, BEYOND_BELIEF * ours) for ours in (prompt, written)]
        return 0 < answer.prompt_tokens <= most[0] and answer.completion_tokens <= most[1]


def _failure(state: RetryCallState) -> RetryableError:
    error = state.outcome.exception() if state.outcome else None
    assert isinstance(error, RetryableError)  # noqa: S101 - nothing else is tried again
    return error
