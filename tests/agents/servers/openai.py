"""A scripted Responses API, for codex. A tool with "raw" instead of "input" is a custom one (apply_patch)."""

import json
import re
from typing import Any

from tests.agents.servers.base import Handler, Scripted, counts, event


class ResponsesHandler(Handler):
    """One connection of codex."""

    def do_POST(self) -> None:  # noqa: N802  # the name that the library calls
        """Answer a request for a response by the script."""
        body = self.body()
        if not self.path.partition("?")[0].endswith("/responses"):
            self.server.egress.append(self.path)
            self.answer(404, {"error": {"message": "no"}})
            return
        calls = [int(call) for call in re.findall(r"call_scripted_(\d+)_", json.dumps(body.get("input") or []))]
        number, turn, fault = self.turn(body, max(calls, default=-1) + 1)
        if fault.get("kind") == "reset":
            self.drop()
        elif fault.get("kind") == "status":
            status = fault["status"]
            error = {"message": fault.get("msg", f"scripted {status}"), "type": fault.get("etype", "scripted")}
            self.answer(status, {"error": error | {"code": fault.get("code")}}, fault.get("headers"))
        else:
            self._respond(body, number, turn, fault)

    def _respond(self, body: Any, number: int, turn: dict[str, Any], fault: dict[str, Any]) -> None:
        items: list[dict[str, Any]] = []
        if turn.get("text"):
            content = [{"type": "output_text", "text": turn["text"], "annotations": []}]
            items.append({"type": "message", "id": f"msg_{number}", "role": "assistant", "content": content})
        for index, tool in enumerate(turn.get("tools", [])):
            call = f"call_scripted_{number}_{index}"
            shared = {"id": f"fc_{call}", "call_id": call, "name": tool["name"]}
            if "raw" in tool:
                items.append({"type": "custom_tool_call", **shared, "input": tool["raw"]})
            else:
                items.append({"type": "function_call", **shared, "arguments": json.dumps(tool["input"])})
        input_, output = counts(turn)
        usage = {
            "input_tokens": input_,
            "input_tokens_details": {"cached_tokens": 0},
            "output_tokens": output,
            "output_tokens_details": {"reasoning_tokens": 0},
            "total_tokens": input_ + output,
        }
        response = {"id": f"resp_{len(self.server.requests)}", "object": "response", "created_at": 1}
        response |= {"model": body.get("model"), "status": "in_progress", "output": []}
        events = [event("response.created", response=response)]
        for index, item in enumerate(items):
            whole = item | {"status": "completed"}
            events.append(event("response.output_item.added", output_index=index, item=item))
            events.append(event("response.output_item.done", output_index=index, item=whole))
        final = response | {"status": "completed", "output": items, "usage": usage}
        events.append(event("response.completed", response=final))
        error = {"code": fault.get("etype", "server_error"), "message": "scripted"}
        failed = response | {"status": "failed", "error": error}
        self.stream(events, fault, event("response.failed", response=failed))


class OpenAIServer(Scripted):
    """Speaks to codex."""

    handler = ResponsesHandler
