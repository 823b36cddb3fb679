"""AnswerCache kept by question: an equal one of the same run gets the same bytes at once."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable
from typing import Any

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from cerec.serve.gate import Gate
from cerec.serve.problems import busy

Question = tuple[str, str, bytes, bytes]
Kept = tuple[Any, Message, Message]
"""The route, for the counts, and both parts of the answer."""


class AnswerCache:
    """In front of the app: answers what was answered before, and refuses at once when it is full.

    `now` gives what identifies the run that answers; with another one all answers go.
    """

    def __init__(self, app: ASGIApp, gate: Gate, now: Callable[[], Any], most: int) -> None:
        self._app, self._gate, self._now, self._most = app, gate, now, most
        self._of: Any = None
        self._kept: OrderedDict[Question, Kept] = OrderedDict()
        self._size = 0

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer, or pass on."""
        if scope["type"] != "http" or not scope["path"].startswith("/v1/"):
            await self._app(scope, receive, send)
            return
        run = self._now()
        if run is not self._of:
            self._of, self._size = run, 0
            self._kept.clear()
        body = scope.get("cerec.body", b"")
        question = scope["method"], scope["path"], scope["query_string"], body
        if found := self._kept.get(question):
            self._kept.move_to_end(question)
            scope["route"], *messages = found
            for message in messages:
                await send({**message})
        elif self._gate.full:
            self._gate.refused += 1
            await busy()(scope, receive, send)
        else:
            await self._ask(question, scope, receive, send)

    async def _ask(self, question: Question, scope: Scope, receive: Receive, send: Send) -> None:
        run, messages = self._of, list[Message]()

        async def noted(message: Message) -> None:
            messages.append({**message})
            await send(message)

        await self._app(scope, receive, noted)
        whole = len(messages) == 2 and not messages[1].get("more_body", False)
        if whole and messages[0]["status"] == 200 and run is self._of and run is self._now():
            self._keep(question, (scope.get("route"), messages[0], messages[1]))

    def _keep(self, question: Question, answer: Kept) -> None:
        size = _size(question, answer)
        if question in self._kept or size > self._most:
            return
        self._kept[question] = answer
        self._size += size
        while self._size > self._most:
            self._size -= _size(*self._kept.popitem(last=False))


def _size(question: Question, answer: Kept) -> int:
    return 1024 + sum(map(len, question)) + len(answer[2].get("body", b""))
