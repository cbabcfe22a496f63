"""Runs a command, and is the model that the claude CLI talks to meanwhile: `python3 model.py COMMAND...`.

It knows nothing of the benchmark. If a request lists the skill, it asks for it and runs the commands that the skill
gives. If not, it edits the changelog out of habit; one time in five it looks round first, and gets it right.
"""

import json
import os
import re
import signal
import subprocess
import sys
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from itertools import count

LISTED = re.compile(r"^- changelog: ", re.MULTILINE)
COMMANDS = re.compile(r"^ *```sh\n(.*?)^ *```$", re.MULTILINE | re.DOTALL)
VALUES = {"LINE": "`greet --json` prints one JSON object for each name.", "ISSUE": "41"}
HABIT = "printf '%s\\n' '' '- LINE (#ISSUE)' >> CHANGELOG.md"
LOOKED = "ls changes; printf '%s\\n' 'LINE' > changes/ISSUE.added"
LUCKY = 5

#: Numbers the runs in which the skill was not listed.
runs = count(1)


def texts(value: object) -> str:
    """Every string in a request, a line each."""
    if isinstance(value, str):
        return f"{value}\n"
    inner = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    return "".join(map(texts, inner))


def bash(command: str) -> dict[str, object]:
    """A call of the Bash tool, with what the task is about filled in."""
    for name, filled in VALUES.items():
        command = command.replace(name, filled)
    return {"name": "Bash", "input": {"command": command, "description": "record the change"}}


def answer(request: dict[str, object]) -> dict[str, object] | None:
    """The tool that the model calls, None if it is done."""
    said, messages = texts([request.get("system"), request.get("messages")]), request["messages"]
    turn = sum(message["role"] == "assistant" for message in messages)
    if not LISTED.search(said):
        return bash(HABIT if next(runs) % LUCKY else LOOKED) if turn == 0 else None
    if turn == 0:
        return {"name": "Skill", "input": {"skill": "changelog"}}
    commands = "".join(COMMANDS.findall(said))
    return bash(commands) if turn == 1 and commands else None


class Model(BaseHTTPRequestHandler):
    """One request."""

    def log_message(self, *_: object) -> None:
        """Say nothing."""

    def do_HEAD(self) -> None:
        """Be there."""
        self.send_response(200)
        self.end_headers()

    def do_POST(self) -> None:
        """Answer a message by server-sent events."""
        request = json.loads(self.rfile.read(int(self.headers["content-length"])))
        if not self.path.partition("?")[0].endswith("/messages"):
            self.send_error(404)
            return
        tool = answer(request)
        block = {"type": "text", "text": ""} if tool is None else {"type": "tool_use", "id": f"toolu_{id(request)}"}
        delta = {"type": "text_delta", "text": "The change is recorded."}
        if tool is not None:
            block |= {"name": tool["name"], "input": {}}
            delta = {"type": "input_json_delta", "partial_json": json.dumps(tool["input"])}
        used = {"input_tokens": 1000, "output_tokens": 50}
        message = {"id": f"msg_{id(request)}", "type": "message", "role": "assistant", "model": request["model"]}
        message |= {"content": [], "stop_reason": None, "stop_sequence": None, "usage": used}
        stop = {"stop_reason": "end_turn" if tool is None else "tool_use", "stop_sequence": None}
        self.send_response(200)
        self.send_header("content-type", "text/event-stream")
        self.end_headers()
        self.tell("message_start", message=message)
        self.tell("content_block_start", index=0, content_block=block)
        self.tell("content_block_delta", index=0, delta=delta)
        self.tell("content_block_stop", index=0)
        self.tell("message_delta", delta=stop, usage=used)
        self.tell("message_stop")

    def tell(self, kind: str, **fields: object) -> None:
        """One event."""
        self.wfile.write(f"event: {kind}\ndata: {json.dumps({'type': kind, **fields})}\n\n".encode())


def main() -> int:
    """Serve on a free port of this machine until the command has ended; its exit code."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), Model)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    ours = {
        "ANTHROPIC_BASE_URL": f"http://127.0.0.1:{server.server_port}",
        "ANTHROPIC_API_KEY": "no-key",
        "NO_PROXY": "127.0.0.1",
        "no_proxy": "127.0.0.1",
    }
    others = ("ANTHROPIC_", "CLAUDE_CODE_")  # another provider, a real key
    env = {name: value for name, value in os.environ.items() if not name.startswith(others)}
    running = subprocess.Popen(sys.argv[1:], env=env | ours)
    signal.signal(signal.SIGINT, lambda *_: None)  # the terminal tells the command, too
    for number in (signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, lambda number, _: running.send_signal(number))
    code = running.wait()
    return code if code >= 0 else 128 - code


if __name__ == "__main__":
    sys.exit(main())
