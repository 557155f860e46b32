"""A local HTTP server that returns prepared responses and records the requests."""

from __future__ import annotations

import json
import threading
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import TracebackType
from typing import Any


@dataclass
class Answer:
    """A response. `is_cut`: the connection is closed instead. `hold`: wait for this event first.

    `drip`: send a space before the body again and again, after each such wait in seconds, until this event.
    """

    status: int = 200
    data: Any = None
    error: Any = None
    headers: dict[str, str] = field(default_factory=dict)
    raw: bytes | None = None
    is_cut: bool = False
    hold: threading.Event | None = None
    drip: tuple[float, threading.Event] | None = None


@dataclass
class Received:
    method: str
    path: str
    headers: dict[str, str]
    body: Any


def failure(status: int, code: str, **headers: str) -> Answer:
    """Returns an error as the API returns it."""
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    error = {
        "code": code,
        "message": f"{code} for a test",
        "details": None,
        "doc_url": f"/guide/errors#{code}",
    }
    return Answer(status, error=error, headers={"X-Request-Id": "req_test", **named})


class ScriptedServer:
    """Gives the answers in their order, and repeats the last one."""

    def __init__(self, *answers: Answer) -> None:
        self.answers = list(answers)
        self.received: list[Received] = []
        self.in_flight = self.most_in_flight = 0
        self._arrival = threading.Condition()
        script = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def handle_request(self) -> None:
                length = int(self.headers.get("content-length") or 0)
                text = self.rfile.read(length)
                headers = {name.lower(): value for name, value in self.headers.items()}
                body = json.loads(text) if text else None
                script._respond(self, Received(self.command, self.path, headers, body))

            do_GET = do_POST = do_PATCH = do_DELETE = handle_request

            def log_message(self, *_: Any) -> None:
                pass

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._server.daemon_threads = True
        self._thread = threading.Thread(target=self._server.serve_forever, kwargs={"poll_interval": 0.01})
        self.url = f"http://127.0.0.1:{self._server.server_address[1]}"

    def wait_for(self, count: int) -> int:
        """Returns the number of requests, after `count` have arrived. A client that gives up can be ahead of them."""
        with self._arrival:
            self._arrival.wait_for(lambda: len(self.received) >= count, timeout=30)
            return len(self.received)

    def _respond(self, handler: BaseHTTPRequestHandler, request: Received) -> None:
        with self._arrival:
            self.received.append(request)
            self.in_flight += 1
            self.most_in_flight = max(self.most_in_flight, self.in_flight)
            self._arrival.notify_all()
            answer = self.answers.pop(0) if len(self.answers) > 1 else self.answers[0]
        if answer.hold is not None:
            answer.hold.wait(30)
        with self._arrival:
            self.in_flight -= 1
        if answer.is_cut:
            handler.close_connection = True
            return
        envelope = {
            "request_id": "req_test",
            "success": answer.error is None,
            "data": answer.data,
            "error": answer.error,
        }
        content = json.dumps(envelope).encode() if answer.raw is None else answer.raw
        handler.send_response(answer.status)
        for name, value in {"content-type": "application/json", **answer.headers}.items():
            handler.send_header(name, value)
        if answer.drip is None:
            handler.send_header("content-length", str(len(content)))
        else:
            handler.send_header("connection", "close")
            handler.close_connection = True
        handler.end_headers()
        try:
            if answer.drip is not None:
                seconds, end = answer.drip
                while not end.wait(seconds):
                    handler.wfile.write(b" ")
            handler.wfile.write(content)
        except OSError:
            pass  # The client has cancelled the request.

    def __enter__(self) -> ScriptedServer:
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()
