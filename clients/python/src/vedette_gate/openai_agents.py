"""Vedette before the tools of the OpenAI Agents SDK.

    gate = Gate(conversation="c-17")
    before, after = tool_guardrails(gate, request="Mail Bob the figures.")

    @function_tool(tool_input_guardrails=[before], tool_output_guardrails=[after])
    def send_email(to: str) -> str: ...

`before` asks the server; a call that may not run is answered with a text for the model. `after`
reports what came back. A guardrail can't change arguments, so a call whose arguments a rule changed
does not run. With `needs_approval=needs_approval(gate)` on a tool, a call that waits for a person
interrupts the run: resume it, with the interruption approved, once the person has answered Vedette.
The interruption's own approval lets nothing run.

What not to do: don't put one of the two guardrails on a tool without the other.
"""

from __future__ import annotations

import asyncio
import json
from typing import Any

from agents import (
    ToolGuardrailFunctionOutput,
    ToolInputGuardrail,
    ToolInputGuardrailData,
    ToolOutputGuardrail,
    ToolOutputGuardrailData,
)

from ._gate import Answer, Gate, GateError


_SETTLE = 10  # seconds


def tool_guardrails(gate: Gate, *, request: str | None = None, turn: str = "") -> tuple[ToolInputGuardrail[Any], ToolOutputGuardrail[Any]]:
    """Return the guardrail that asks before a tool runs, and the one that reports afterwards."""
    running: dict[str, Answer] = {}

    async def ask(data: ToolInputGuardrailData) -> ToolGuardrailFunctionOutput:
        c = data.context
        # A yes takes a moment until it counts: where the run was interrupted for it, it is waited for.
        patience = _SETTLE if c.is_tool_approved(c.tool_name, c.tool_call_id) else None
        try:
            answer = await asyncio.to_thread(
                gate.ask, c.tool_name, c.tool_arguments, c.tool_call_id, request=request, turn=turn, approval_time=patience
            )
        except (GateError, ValueError) as trouble:
            return ToolGuardrailFunctionOutput.reject_content(f"The call was not run: {trouble}.")
        if not answer.may_run:
            return ToolGuardrailFunctionOutput.reject_content(answer.text, {"state": answer.state, "id": answer.id})
        if not _alike(answer.arguments, json.loads(c.tool_arguments or "{}")):
            await _report(gate, answer, False, "the arguments were changed by a rule, and could not be")
            return ToolGuardrailFunctionOutput.reject_content(f"The call was not run: a rule changes its arguments. {answer.note}")
        running[c.tool_call_id] = answer
        return ToolGuardrailFunctionOutput.allow({"id": answer.id})

    async def report(data: ToolOutputGuardrailData) -> ToolGuardrailFunctionOutput:
        answer = running.pop(data.context.tool_call_id, None)
        if answer is not None:
            await _report(gate, answer, True, data.output)
        return ToolGuardrailFunctionOutput.allow()

    return ToolInputGuardrail(ask, name="vedette"), ToolOutputGuardrail(report, name="vedette")


def needs_approval(gate: Gate, tool: str, *, request: str | None = None, turn: str = "") -> Any:
    """Return a function for `function_tool(needs_approval=…)`: whether a person is asked about a call."""

    async def is_pending(_context: Any, params: dict[str, Any], call_id: str) -> bool:
        try:
            answer = await asyncio.to_thread(gate.ask, tool, params, call_id, request=request, turn=turn, hold=True)
        except (GateError, ValueError):
            return False  # the guardrail asks again, and denies
        return answer.is_pending

    return is_pending


async def _report(gate: Gate, answer: Answer, ok: bool, result: Any) -> None:
    await asyncio.to_thread(gate.report_quietly, answer, ok=ok, result=result)


def _alike(a: Any, b: Any) -> bool:
    """Whether two values are the same JSON. In Python true equals 1, in JSON it doesn't."""
    if isinstance(a, bool) or isinstance(b, bool):
        return a is b
    if isinstance(a, dict) and isinstance(b, dict):
        return a.keys() == b.keys() and all(_alike(a[key], b[key]) for key in a)
    if isinstance(a, list) and isinstance(b, list):
        return len(a) == len(b) and all(_alike(x, y) for x, y in zip(a, b))
    return bool(a == b)
