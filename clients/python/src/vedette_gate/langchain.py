"""Vedette before the tools of a LangChain agent.

    agent = create_agent(model, tools, middleware=[VedetteMiddleware(Gate(conversation="c-17", approval_time=300))])

The middleware asks before each tool runs, runs it with the arguments that were allowed, and reports
what became of it. The request is the newest HumanMessage, unless `request` says otherwise; a summary
that a middleware of LangChain wrote is none. A call that may not run becomes a ToolMessage of status
"error" that the model reads.

What not to do: don't add tools beside the middleware that call out on their own, and don't put other
middleware between it and the tools that changes arguments. Where a program puts words of a model into
a HumanMessage, give `request`: they would count as the user's.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

from langchain.agents.middleware import AgentMiddleware
from langchain_core.messages import HumanMessage, ToolMessage

from ._gate import Answer, Gate, GateError


class VedetteMiddleware(AgentMiddleware):
    """Asks a Gate before each tool call."""

    def __init__(self, gate: Gate, *, request: str | None = None) -> None:
        super().__init__()
        self._gate, self._request = gate, request

    def wrap_tool_call(self, request: Any, handler: Callable[[Any], Any]) -> Any:
        """Ask, run and report."""
        answer, refused = self._ask(request)
        if refused is not None:
            return refused
        try:
            result = handler(self._allowed(request, answer))
        except BaseException as failure:
            self._gate.report_quietly(answer, ok=False, result=f"{type(failure).__name__}: {failure}")
            raise
        self._gate.report_quietly(answer, ok=_succeeded(result), result=_text_of(result))
        return result

    async def awrap_tool_call(self, request: Any, handler: Callable[[Any], Awaitable[Any]]) -> Any:
        """Ask, run and report, without blocking other tasks."""
        answer, refused = await asyncio.to_thread(self._ask, request)
        if refused is not None:
            return refused
        try:
            result = await handler(self._allowed(request, answer))
        except BaseException as failure:
            await asyncio.to_thread(self._gate.report_quietly, answer, ok=False, result=f"{type(failure).__name__}: {failure}")
            raise
        await asyncio.to_thread(self._gate.report_quietly, answer, ok=_succeeded(result), result=_text_of(result))
        return result

    def _ask(self, request: Any) -> tuple[Answer, None] | tuple[None, ToolMessage]:
        call = request.tool_call
        try:
            words = self._request or _newest_words(request.state)
            answer = self._gate.ask(call["name"], call["args"], call["id"] or "", request=words)
        except (GateError, ValueError, TypeError) as trouble:
            return None, _refusal(call, f"The call was not run: {trouble}.")
        if not answer.may_run:
            return None, _refusal(call, answer.text)
        return answer, None

    @staticmethod
    def _allowed(request: Any, answer: Answer | None) -> Any:
        arguments = answer.arguments if answer else {}
        return request.override(tool_call={**request.tool_call, "args": arguments})


def _refusal(call: Any, text: str) -> ToolMessage:
    return ToolMessage(content=text, tool_call_id=call["id"] or "", name=call["name"], status="error")


def _newest_words(state: Any) -> str | None:
    messages = state.get("messages", []) if isinstance(state, dict) else getattr(state, "messages", [])
    for message in reversed(messages):
        if isinstance(message, HumanMessage) and "lc_source" not in message.additional_kwargs:
            return str(message.text) or None  # where it is no text, an older message is not its request
    return None


def _succeeded(result: Any) -> bool:
    return getattr(result, "status", "success") != "error"


def _text_of(result: Any) -> str:
    content = getattr(result, "content", result)
    return content if isinstance(content, str) else str(content)
