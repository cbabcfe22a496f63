"""What the scripted servers share: the script, the log of requests, faults, and the trap for everything else.

A script is {"turns": [TURN, ...], "fault": FAULT}; which turn answers is told by how many model turns the request
already carries, and the last one repeats. TURN is {"text", "tools": [{"name", "input"}], "usage": {"in", "out"},
"stop", "fault", "delay"}. FAULT is one of

  {"kind": "status", "status": 529, "etype": "overloaded_error", "msg": "...", "headers": {...}}
  {"kind": "cut", "after": K}         K events, then the socket is closed
  {"kind": "stall", "after": K}       K events, then nothing
  {"kind": "reset"}                   the socket is closed before any byte
  {"kind": "sse_error", "after": K}   K events, then an error event

with "times": N for the first N requests only.
"""

import gzip
import json
import socket
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, ClassVar, Self

Script = dict[str, Any]


class Scripted(ThreadingHTTPServer):
    """A server on a free loopback port, in threads of this process; a context manager.

    `requests`: the bodies of the model requests so far. `egress`: hosts that something asked for as through a proxy.
    """

    daemon_threads = True
    request_queue_size = 64
    handler: ClassVar[type["Handler"]]

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), self.handler)
        self.lock = threading.Lock()
        self.ending = threading.Event()
        self.egress: list[str] = []
        self.play({})

    def play(self, script: Script) -> None:
        """From now on answer by this script; the log of requests begins anew."""
        with self.lock:
            self.script = script
            self.requests: list[Any] = []
            self.failed: dict[str, int] = {}

    @property
    def url(self) -> str:
        """Where it is."""
        return f"http://127.0.0.1:{self.server_address[1]}"

    def said(self) -> str:
        """All that the CLI has sent to the model, as one text."""
        with self.lock:
            return json.dumps(self.requests)

    def handle_error(self, request: Any, client_address: Any) -> None:
        """A client that went away is none of the server's business."""

    def __enter__(self) -> Self:
        threading.Thread(target=self.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True).start()
        return self

    def __exit__(self, *_: object) -> None:
        self.ending.set()
        self.shutdown()
        self.server_close()


class Handler(BaseHTTPRequestHandler):
    """One connection of a CLI."""

    protocol_version = "HTTP/1.1"
    server: Scripted

    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002  # the library's name
        """Say nothing."""

    def do_CONNECT(self) -> None:  # the library's name, as below
        """Something wants to leave loopback."""
        self.server.egress.append(self.path)
        self.answer(403, {"error": "offline"})
        self.drop()

    def do_HEAD(self) -> None:
        """Alive."""
        self.send_response(200)
        self.send_header("content-length", "0")
        self.end_headers()

    def do_GET(self) -> None:
        """Lists of models are empty; a whole URL is a proxy's."""
        if self.path.startswith("http"):
            self.server.egress.append(self.path)
        self.answer(200 if "/models" in self.path else 404, {"data": [], "models": [], "object": "list"})

    def body(self) -> Any:
        """The JSON body of a request."""
        if "chunked" in (self.headers.get("transfer-encoding") or ""):
            data = b""
            while size := int(self.rfile.readline().strip() or b"0", 16):
                data += self.rfile.read(size)
                self.rfile.readline()
            self.rfile.readline()
        else:
            data = self.rfile.read(int(self.headers.get("content-length") or 0))
        if self.headers.get("content-encoding") == "gzip":
            data = gzip.decompress(data)
        return json.loads(data) if data else {}

    def turn(self, body: Any, number: int) -> tuple[int, dict[str, Any], dict[str, Any]]:
        """The turn that answers a request, its number, and the fault that it meets, if any (else an empty one)."""
        server = self.server
        with server.lock:
            server.requests.append(body)
            turns = server.script.get("turns") or [{"text": "ok"}]
            number = min(number, len(turns) - 1)
            turn = turns[number]
            for key, fault in (("all", server.script.get("fault")), (str(number), turn.get("fault"))):
                if fault:
                    count = server.failed[key] = server.failed.get(key, 0) + 1
                    if count <= fault.get("times", count):
                        return number, turn, fault
        return number, turn, {}

    def answer(self, status: int, document: Any, headers: dict[str, str] | None = None) -> None:
        """A whole JSON answer."""
        data = json.dumps(document).encode()
        self.send_response(status)
        for name, value in {"content-type": "application/json", **(headers or {})}.items():
            self.send_header(name, value)
        self.send_header("content-length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def stream(self, events: list[str], fault: dict[str, Any], error: str) -> None:
        """Events as they come, up to the fault; `error` is what `sse_error` says."""
        kind, after = fault.get("kind"), fault.get("after", 0)
        if kind == "stall" and not after:
            self.stall()
            return
        self.send_response(200)
        self.send_header("content-type", "text/event-stream")
        self.send_header("transfer-encoding", "chunked")
        self.end_headers()
        for number, event in enumerate(events):
            if kind in {"cut", "stall", "sse_error"} and number >= after:
                if kind == "sse_error":
                    self.chunk(error)
                    break
                if kind == "stall":
                    self.stall()
                self.drop()
                return
            self.chunk(event)
        self.wfile.write(b"0\r\n\r\n")
        self.wfile.flush()

    def chunk(self, event: str) -> None:
        """A piece of the stream."""
        data = event.encode()
        self.wfile.write(b"%x\r\n%s\r\n" % (len(data), data))
        self.wfile.flush()

    def stall(self) -> None:
        """Say nothing any more, until the server ends."""
        self.server.ending.wait(600)

    def drop(self) -> None:
        """Close the socket."""
        self.close_connection = True
        try:
            self.connection.shutdown(socket.SHUT_RDWR)
        except OSError:
            return


def event(kind: str, **fields: Any) -> str:
    """A server-sent event with its type in it."""
    return f"event: {kind}\ndata: {json.dumps({'type': kind, **fields})}\n\n"


def counts(turn: dict[str, Any]) -> tuple[int, int]:
    """Input and output tokens of a turn."""
    usage = turn.get("usage", {})
    return usage.get("in", 1000), usage.get("out", 50)
