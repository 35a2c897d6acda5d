"""The providers' own clients, for their connections, headers and errors alone: bodies pass them as bytes, since their
typed transform of 400 messages takes 50 ms and changes nothing. The only module that touches them."""

from __future__ import annotations

import json
import ssl
from collections.abc import Iterator
from contextlib import AbstractContextManager, closing, contextmanager
from typing import TYPE_CHECKING, Any, Protocol
from urllib.parse import urlsplit, urlunsplit

import httpx2
import openai

from agents.chat.endpoint import ModelEndpoint
from agents.chat.exchange import Line
from agents.chat.wire import Json
from orchestrator.domain.errors import ModelRefusedError, UserError

if TYPE_CHECKING:
    import anthropic

LATER_S = 1.0  # a client's own timeout comes behind ours, which knows what to say


class Sdk(Protocol):
    """One provider's client library, towards one endpoint."""

    @property
    def status_error(self) -> type[Any]:
        """What it raises for a reply of status 400 and above."""

    @property
    def connection_error(self) -> type[Exception]:
        """What it raises where no reply comes."""

    def connect(self, line: Line, idle_s: float, total_s: float) -> Any:
        """A client with a connection pool of its own, whose connections the line knows."""

    def post(self, client: Any, path: str, body: Json) -> AbstractContextManager[httpx2.Response]:
        """Send a body and open the response, unread."""

    def get(self, client: Any, path: str) -> AbstractContextManager[httpx2.Response]:
        """Open what stands at a path, or at an address, unread."""


class OpenAISdk:
    """The openai client: chat completions and Responses."""

    status_error = openai.APIStatusError
    connection_error = openai.APIConnectionError

    def __init__(self, endpoint: ModelEndpoint) -> None:
        self._endpoint = endpoint
        self._headers = headers_of(endpoint, "Authorization", openai.Omit())

    def connect(self, line: Line, idle_s: float, total_s: float) -> openai.OpenAI:
        """A client that does not retry by itself."""
        timeout = openai.Timeout(total_s + LATER_S, connect=idle_s)
        # A proxy of the environment never stands between us and a loopback endpoint. No redirect is followed: what we
        # send, headers that hold a key among it, goes to the host that it was paired with and to no other.
        http = openai.DefaultHttpxClient(
            verify=certificates(self._endpoint),
            trust_env=not self._endpoint.loopback,
            timeout=timeout,
            event_hooks={"request": [line.watch]},
            follow_redirects=False,
        )
        return openai.OpenAI(
            api_key=self._endpoint.key or "none",  # without a key the header is left out
            base_url=self._endpoint.base_url,
            max_retries=0,
            timeout=timeout,
            http_client=http,
            default_query=query_of(self._endpoint),
        )

    def post(self, client: openai.OpenAI, path: str, body: Json) -> AbstractContextManager[httpx2.Response]:
        """Send a body and open the response, unread."""
        return posted(client, path, body, headers=self._headers, stream_cls=openai.Stream[Any])

    def get(self, client: openai.OpenAI, path: str) -> AbstractContextManager[httpx2.Response]:
        """Open what stands at a path, or at an address, unread."""
        return got(client, path, headers=self._headers, stream_cls=openai.Stream[Any])


class AnthropicSdk:
    """The anthropic client: Messages. Raises UserError where the extra is not installed."""

    def __init__(self, endpoint: ModelEndpoint) -> None:
        try:
            import anthropic
        except ImportError:
            raise UserError(
                'api = "messages" needs the anthropic package.',
                next_step="Install the extra (`pip install 'orchestrate[anthropic]'`), or set another api in "
                "[models.<role>].",
            ) from None
        self._library = anthropic
        self._endpoint = endpoint
        self._headers = headers_of(endpoint, "Authorization", anthropic.Omit())
        self.status_error = anthropic.APIStatusError
        self.connection_error = anthropic.APIConnectionError

    def connect(self, line: Line, idle_s: float, total_s: float) -> anthropic.Anthropic:
        """A client that does not retry by itself, and that takes no credentials, headers or tracing from the
        environment: what goes to an endpoint is what was paired with it."""
        library, timeout = self._library, self._library.Timeout(total_s + LATER_S, connect=idle_s)
        http = library.DefaultHttpxClient(
            verify=certificates(self._endpoint),
            trust_env=not self._endpoint.loopback,
            timeout=timeout,
            event_hooks={"request": [line.watch]},
            follow_redirects=False,
        )
        client: anthropic.Anthropic = library.Anthropic(
            api_key=self._endpoint.key or "none",
            base_url=messages_base_url(self._endpoint.base_url),
            max_retries=0,
            timeout=timeout,
            open_telemetry=False,
            http_client=http,
            default_query=query_of(self._endpoint),
        )
        client._custom_headers = {}  # those of ANTHROPIC_CUSTOM_HEADERS
        return client

    def post(self, client: anthropic.Anthropic, path: str, body: Json) -> AbstractContextManager[httpx2.Response]:
        """Send a body and open the response, unread."""
        return posted(client, path, body, headers=self._headers, stream_cls=self._library.Stream[Any])

    def get(self, client: anthropic.Anthropic, path: str) -> AbstractContextManager[httpx2.Response]:
        """Open what stands at a path, or at an address, unread."""
        return got(client, path, headers=self._headers, stream_cls=self._library.Stream[Any])


def certificates(endpoint: ModelEndpoint) -> ssl.SSLContext | bool:
    """Whom a connection trusts: True for the certificates of this machine. To read them takes 40 ms, so that where no
    connection is encrypted, to plain HTTP on this machine, which no proxy stands before, nobody is trusted."""
    plain = endpoint.loopback and urlsplit(endpoint.base_url).scheme == "http"
    return ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT) if plain else True


def messages_base_url(base_url: str) -> str:
    """The address below which `/messages` stands: some write it with `/v1`, as for other libraries, some without."""
    parts = urlsplit(base_url)
    path = parts.path.rstrip("/")
    return urlunsplit(parts._replace(path=path if path.endswith("/v1") else f"{path}/v1"))


def headers_of(endpoint: ModelEndpoint, of_key: str, omit: Any) -> dict[str, Any]:
    """The endpoint's own headers; that of the key is left out where there is no key."""
    own = {of_key if name.lower() == of_key.lower() else name: value for name, value in endpoint.headers.items()}
    return own if endpoint.key else {of_key: omit, **own}


def query_of(endpoint: ModelEndpoint) -> dict[str, object]:
    """What is added to every address."""
    return {"api-version": endpoint.api_version} if endpoint.api_version else {}


@contextmanager
def posted(client: Any, path: str, body: Json, *, headers: Any, stream_cls: Any) -> Iterator[httpx2.Response]:
    """POST by a client of either library, which were generated alike: with this cast_to the response itself is given,
    whatever their signatures say."""
    more: Any = {"cast_to": httpx2.Response, "options": {"headers": headers}, "stream": True, "stream_cls": stream_cls}
    with closing(client.post(path, content=written(body), **more)) as response:
        yield response


def written(body: Json) -> bytes:
    """A body as JSON: by us, since one of the libraries copies it piece by piece first, which takes longer than all
    else. Raises ModelRefusedError for one that nobody can write."""
    try:
        return _dumped(body)
    except ValueError:  # a lone surrogate in a message, which no UTF-8 can hold, or a number that no JSON can
        clean = json.dumps(body, ensure_ascii=False).encode("utf-8", "replace")
        return _dumped(json.loads(clean, parse_constant=lambda _name: None))
    except RecursionError:
        raise ModelRefusedError(
            "A reply of the model is nested too deep to be sent back.", next_step="Ask another model or endpoint."
        ) from None


def _dumped(body: Json) -> bytes:
    return json.dumps(body, ensure_ascii=False, separators=(",", ":"), allow_nan=False).encode()


def got(client: Any, path: str, *, headers: Any, stream_cls: Any) -> AbstractContextManager[httpx2.Response]:
    """GET likewise."""
    answer: Any = client.get(
        path, cast_to=httpx2.Response, options={"headers": headers}, stream=True, stream_cls=stream_cls
    )
    return closing(answer)
