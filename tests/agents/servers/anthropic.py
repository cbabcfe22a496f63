"""A scripted Messages API, for claude."""

import json
from typing import Any

from tests.agents.servers.base import Handler, Scripted, counts, event

ERRORS = {
    400: "invalid_request_error",
    401: "authentication_error",
    403: "permission_error",
    404: "not_found_error",
    413: "request_too_large",
    429: "rate_limit_error",
    529: "overloaded_error",
}


class MessagesHandler(Handler):
    """One connection of claude."""

    def do_POST(self) -> None:  # noqa: N802  # the name that the library calls
        """Answer a message by the script."""
        body, path = self.body(), self.path.partition("?")[0]
        if path.endswith("/count_tokens"):
            self.answer(200, {"input_tokens": 1234})
            return
        if not path.endswith("/messages"):
            self.server.egress.append(self.path)
            self.answer(404, {"type": "error", "error": {"type": "not_found_error", "message": "no"}})
            return
        done = sum(message.get("role") == "assistant" for message in body.get("messages", []))
        number, turn, fault = self.turn(body, done)
        if fault.get("kind") == "reset":
            self.drop()
        elif fault.get("kind") == "status":
            status = fault["status"]
            kind = fault.get("etype") or ERRORS.get(status, "api_error")
            error = {"type": kind, "message": fault.get("msg", f"scripted {kind}")}
            self.answer(status, {"type": "error", "error": error, "request_id": "req"}, fault.get("headers"))
        else:
            self._message(body, number, turn, fault)

    def _message(self, body: Any, number: int, turn: dict[str, Any], fault: dict[str, Any]) -> None:
        tools = turn.get("tools", [])
        content: list[dict[str, Any]] = [{"type": "text", "text": turn["text"]}] if turn.get("text") else []
        content += [
            {"type": "tool_use", "id": f"toolu_{number}_{index}", "name": tool["name"], "input": tool["input"]}
            for index, tool in enumerate(tools)
        ]
        input_, output = counts(turn)
        usage = {"input_tokens": input_, "output_tokens": output}
        stop = turn.get("stop") or ("tool_use" if tools else "end_turn")
        message = {
            "id": f"msg_{len(self.server.requests)}",
            "type": "message",
            "role": "assistant",
            "model": body.get("model", "m"),
            "content": content,
            "stop_reason": stop,
            "stop_sequence": None,
            "usage": usage,
        }
        if not body.get("stream"):
            if fault:
                self.drop()
            else:
                self.answer(200, message)
            return
        opening = message | {"content": [], "stop_reason": None, "usage": usage | {"output_tokens": 1}}
        events = [event("message_start", message=opening), event("ping")]
        for index, block in enumerate(content):
            if block["type"] == "text":
                empty, delta = {"type": "text", "text": ""}, {"type": "text_delta", "text": block["text"]}
            else:
                empty = block | {"input": {}}
                delta = {"type": "input_json_delta", "partial_json": json.dumps(block["input"])}
            events.append(event("content_block_start", index=index, content_block=empty))
            events.append(event("content_block_delta", index=index, delta=delta))
            events.append(event("content_block_stop", index=index))
        events.append(event("message_delta", delta={"stop_reason": stop, "stop_sequence": None}, usage=usage))
        events.append(event("message_stop"))
        kind = fault.get("etype", "overloaded_error")
        self.stream(events, fault, event("error", error={"type": kind, "message": "scripted"}))


class AnthropicServer(Scripted):
    """Speaks to claude."""

    handler = MessagesHandler
