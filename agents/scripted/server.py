"""The scripted model: an HTTP server on loopback that speaks the APIs of agents.scripted.forms and answers by a script.

The demo and the tests talk to it through the same adapter and the same wire as to any endpoint.
`python -m agents.scripted.server SCRIPT [--port N]` serves one until it is interrupted.
"""

from __future__ import annotations

import argparse
import json
import select
import socket
import sys
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

from agents.scripted.conversations import Conversations, ScriptedAnswer
from agents.scripted.events import event_stream
from agents.scripted.form import ScriptedForm
from agents.scripted.forms import FORMS, spoken_form, spoken_paths
from agents.scripted.script import Script, ScriptedFault, load_script
from orchestrator.domain.errors import UserError


class ScriptedModel:
    """A running scripted model. `base_url` is what OPENAI_BASE_URL takes; `requests` are what it was sent, in order,
    `bodies` the same as bytes, `paths` where to, `headers` what came along and `authorizations` one of them."""

    def __init__(self, script: Script, *, port: int = 0, keep_requests: bool = True) -> None:
        self.script = script
        self.requests: list[Mapping[str, Any]] = []
        self.bodies: list[bytes] = []
        self.paths: list[str] = []
        self.headers: list[Mapping[str, str]] = []
        self.authorizations: list[str] = []
        self.stopping = threading.Event()
        self.keep_requests = keep_requests
        self.conversations = Conversations(script)
        self._server = _Server(("127.0.0.1", port), self)
        self.base_url = f"http://127.0.0.1:{self._server.server_port}/v1"

    @property
    def open_exchanges(self) -> int:
        """Connections that are open now."""
        return len(self._server.connections)

    def serve_forever(self) -> None:
        """Answer requests until `stop`."""
        self._server.serve_forever(poll_interval=0.05)

    def stop(self) -> None:
        """End the server, and with it every reply that still hangs or drips."""
        self.stopping.set()
        self._server.shutdown()
        self._server.end_connections()
        self._server.server_close()


@contextmanager
def serve(script: Script | Path | Mapping[str, Any]) -> Iterator[ScriptedModel]:
    """A scripted model for the duration of a `with` block."""
    model = ScriptedModel(script if isinstance(script, Script) else load_script(script))
    thread = threading.Thread(target=model.serve_forever, name="scripted-model", daemon=True)
    thread.start()
    try:
        yield model
    finally:
        model.stop()
        thread.join()


class _Server(ThreadingHTTPServer):
    request_queue_size = 128
    daemon_threads = True

    def __init__(self, address: tuple[str, int], model: ScriptedModel) -> None:
        super().__init__(address, _Connection)
        self.model = model
        self.connections: set[socket.socket] = set()

    def end_connections(self) -> None:
        for connection in tuple(self.connections):
            _shutdown(connection)

    def handle_error(self, request: Any, client_address: Any) -> None:
        """A client that went away is not worth a traceback; everything else is."""
        if not isinstance(sys.exc_info()[1], OSError):
            super().handle_error(request, client_address)


class _Connection(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True
    server: _Server

    def setup(self) -> None:
        super().setup()
        self.server.connections.add(self.connection)

    def finish(self) -> None:
        self.server.connections.discard(self.connection)
        super().finish()

    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002 - the base class's name
        """Nothing: the requests are kept instead."""

    def do_GET(self) -> None:
        script = self.server.model.script
        if self.path.rstrip("/").endswith("/models"):
            self._send(200, {"object": "list", "data": [_listed(script)]})
        elif self.path == "/props" and script.llama_cpp:
            self._send(200, {"default_generation_settings": {"n_ctx": script.context_length}, "total_slots": 1})
        else:
            self._absent()

    def do_POST(self) -> None:
        raw = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        model = self.server.model
        form = spoken_form(model.script, self.path)
        if form is None:
            return self._absent()
        try:
            body = json.loads(raw)
        except ValueError as error:
            return self._send(400, form.error(f"The request is no JSON: {error}", kind="scripted"))
        if model.keep_requests:
            model.requests.append(body)
            model.bodies.append(raw)
            model.paths.append(self.path)
            model.headers.append(dict(self.headers))
            model.authorizations.append(self.headers.get("Authorization", ""))
        return self._deliver(form, model.conversations.answer(form, body))

    def _absent(self) -> None:
        paths = spoken_paths(self.server.model.script)
        self._send(404, FORMS[0].error(f"There is no {self.path} here; try {paths}.", kind="scripted"))

    def _deliver(self, form: ScriptedForm, answer: ScriptedAnswer) -> None:
        if answer.latency_s and self.server.model.stopping.wait(answer.latency_s):
            return self._drop()
        if self._client_is_gone():
            answer.take_back()
            return self._drop()
        if answer.fault and answer.fault.instead:
            return self._instead(form, answer.fault)
        response = _streamed(answer) if answer.events else _response(answer.status, answer.body)
        return self._badly(response, answer.fault) if answer.fault else self._write(response)

    def _instead(self, form: ScriptedForm, fault: ScriptedFault) -> None:
        if fault.hang_s:
            self.server.model.stopping.wait(fault.hang_s)
            return self._drop()
        if fault.close:
            return self._drop()
        if fault.html:
            page = b"<html><head><title>502 Bad Gateway</title></head><body>nginx</body></html>"
            return self._write(_head(fault.status or 200, len(page), "text/html") + page)
        body = form.error(fault.body, kind="scripted") if isinstance(fault.body, str) else fault.body
        return self._send(fault.status or 200, body, fault.retry_after)

    def _badly(self, response: bytes, fault: ScriptedFault) -> None:
        if fault.drip:
            return self._drip(response, 1 / fault.drip)
        if fault.cut or fault.stall_s:
            start = response.index(b"\r\n\r\n") + 4
            self._write(response[: start + (len(response) - start) // 2])
            self.server.model.stopping.wait(fault.stall_s)
            return self._drop()
        return self._write(response)

    def _drip(self, response: bytes, pause_s: float) -> None:
        for byte in response:
            self.wfile.write(bytes((byte,)))
            if self.server.model.stopping.wait(pause_s):
                return self._drop()
        return None

    def _client_is_gone(self) -> bool:
        readable, _, _ = select.select([self.connection], [], [], 0)
        return bool(readable) and self.connection.recv(1, socket.MSG_PEEK) == b""

    def _send(self, status: int, body: Mapping[str, Any], retry_after: float | str | None = None) -> None:
        self._write(_response(status, body, retry_after))

    def _write(self, response: bytes) -> None:
        """In one piece: a head sent apart from its body costs 40 ms of delayed acknowledgement."""
        self.wfile.write(response)

    def _drop(self) -> None:
        self.close_connection = True
        _shutdown(self.connection)


def _streamed(answer: ScriptedAnswer) -> bytes:
    head = b"HTTP/1.1 200 Scripted\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n"
    return head + event_stream(answer.events)


def _response(status: int, body: Mapping[str, Any], retry_after: float | str | None = None) -> bytes:
    content = json.dumps(body).encode()
    wait = None if retry_after is None else f"{retry_after:g}" if isinstance(retry_after, float) else retry_after
    return _head(status, len(content), "application/json", wait) + content


def _head(status: int, length: int, content_type: str, retry_after: str | None = None) -> bytes:
    wait = f"Retry-After: {retry_after}\r\n" if retry_after is not None else ""
    head = f"HTTP/1.1 {status} Scripted\r\nContent-Type: {content_type}\r\nContent-Length: {length}\r\n{wait}\r\n"
    return head.encode("latin-1")


def _listed(script: Script) -> dict[str, Any]:
    model = {"id": script.model, "object": "model", "owned_by": "llamacpp" if script.llama_cpp else "orchestrate"}
    if script.llama_cpp:
        return model | {"meta": {"n_ctx_train": 131_072}}
    return model if script.context_length is None else model | {"max_model_len": script.context_length}


def _shutdown(connection: socket.socket) -> None:
    try:
        connection.shutdown(socket.SHUT_RDWR)
    except OSError:
        return  # already gone


def serve_from_command_line(arguments: list[str] | None = None) -> int:
    """Serve a script until interrupted. The first line of the output is the base URL."""
    parser = argparse.ArgumentParser(
        prog="python -m agents.scripted.server", description="A scripted model on loopback."
    )
    parser.add_argument("script", type=Path, help="the script, YAML or JSON")
    parser.add_argument("--port", type=int, default=0, help="the port (default: a free one)")
    options = parser.parse_args(arguments)
    try:
        model = ScriptedModel(load_script(options.script), port=options.port, keep_requests=False)
    except (UserError, OSError) as error:
        sys.stderr.write(f"{error}\n")
        return 2
    sys.stdout.write(f"{model.base_url}\n")
    sys.stdout.flush()
    try:
        model.serve_forever()
    except KeyboardInterrupt:
        return 130
    return 0


if __name__ == "__main__":
    sys.exit(serve_from_command_line())
