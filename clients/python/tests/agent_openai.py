"""An agent of the OpenAI Agents SDK that can send letters. clients_test.go runs it."""

import asyncio
import json
import os
import sys

from agents import Agent, OpenAIChatCompletionsModel, Runner, function_tool, set_tracing_disabled
from openai import AsyncOpenAI

from vedette_gate import Gate
from vedette_gate.openai_agents import needs_approval, tool_guardrails

prompt = sys.argv[1]
gate = Gate(conversation=os.environ["CONVERSATION"], approval_time=float(os.environ["APPROVAL_TIME"]))
before, after = tool_guardrails(gate, request=prompt)
interrupts = os.environ.get("INTERRUPTS") == "1"


@function_tool(
    tool_input_guardrails=[before],
    tool_output_guardrails=[after],
    needs_approval=needs_approval(gate, "send_email", request=prompt) if interrupts else False,
)
def send_email(to: str, body: str) -> str:
    """Send a letter."""
    with open(os.environ["RUNS"], "a", encoding="utf-8") as runs:
        print(json.dumps({"to": to, "body": body}), file=runs)
    return "sent to " + to


async def main() -> None:
    set_tracing_disabled(True)
    client = AsyncOpenAI(base_url=os.environ["MODEL_URL"], api_key="none", max_retries=0)
    agent = Agent(name="mailer", tools=[send_email], model=OpenAIChatCompletionsModel(model="m", openai_client=client))
    result = await Runner.run(agent, prompt)
    while result.interruptions:
        print("interrupted", flush=True)
        sys.stdin.readline()  # until the person has answered
        state = result.to_state()
        for item in result.interruptions:
            state.approve(item)
        result = await Runner.run(agent, state)
    print(result.final_output)


asyncio.run(main())
