"""A scripted generateContent API, for gemini."""

import json
from typing import Any

from tests.agents.servers.base import Handler, Scripted, counts

ERRORS = {
    400: "INVALID_ARGUMENT",
    401: "UNAUTHENTICATED",
    403: "PERMISSION_DENIED",
    404: "NOT_FOUND",
    429: "RESOURCE_EXHAUSTED",
    500: "INTERNAL",
    503: "UNAVAILABLE",
}


class ContentHandler(Handler):
    """One connection of gemini."""

    def do_POST(self) -> None:  # noqa: N802  # the name that the library calls
        """Answer a request for content by the script."""
        body, path = self.body(), self.path.partition("?")[0]
        if path.endswith(":countTokens"):
            self.answer(200, {"totalTokens": 1234})
            return
        if "enerateContent" not in path:
            self.server.egress.append(self.path)
            self.answer(404, {"error": {"code": 404, "message": "no", "status": "NOT_FOUND"}})
            return
        done = sum(content.get("role") == "model" for content in body.get("contents", []))
        number, turn, fault = self.turn(body, done)
        if fault.get("kind") == "reset":
            self.drop()
        elif fault.get("kind") == "status":
            status = fault["status"]
            name = ERRORS.get(status, "UNKNOWN")
            error = {"code": status, "message": fault.get("msg", f"scripted {name}"), "status": name}
            self.answer(status, {"error": error}, fault.get("headers"))
        else:
            self._content(number, turn, fault, streams="streamGenerateContent" in path)

    def _content(self, number: int, turn: dict[str, Any], fault: dict[str, Any], *, streams: bool) -> None:
        input_, output = counts(turn)
        usage = {"promptTokenCount": input_, "candidatesTokenCount": output, "totalTokenCount": input_ + output}
        parts: list[dict[str, Any]] = [{"text": turn["text"]}] if turn.get("text") else []
        for index, tool in enumerate(turn.get("tools", [])):
            call = {"id": f"call_{number}_{index}", "name": tool["name"], "args": tool["input"]}
            parts.append({"functionCall": call})

        def answer(parts: list[dict[str, Any]], finish: str | None = None) -> dict[str, Any]:
            candidate: dict[str, Any] = {"content": {"role": "model", "parts": parts}, "index": 0}
            if finish:
                candidate["finishReason"] = finish
            return {"candidates": [candidate], "usageMetadata": usage, "modelVersion": "scripted"}

        stop = turn.get("stop", "STOP")
        if not streams:
            self.answer(200, answer(parts, stop))
            return
        answers = [answer([part]) for part in parts] + [answer([{"text": ""}], stop)]
        error = {"error": {"code": 503, "message": "scripted", "status": "UNAVAILABLE"}}
        self.stream([_data(each) for each in answers], fault, _data(error))


def _data(document: dict[str, Any]) -> str:
    return f"data: {json.dumps(document)}\n\n"


class GeminiServer(Scripted):
    """Speaks to gemini."""

    handler = ContentHandler
