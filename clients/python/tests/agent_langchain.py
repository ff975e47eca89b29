"""An agent of LangChain that can send letters. clients_test.go runs it."""

import asyncio
import json
import os
import sys

from langchain.agents import create_agent
from langchain_core.tools import tool
from langchain_openai import ChatOpenAI

from vedette_gate import Gate
from vedette_gate.langchain import VedetteMiddleware


@tool
def send_email(to: str, body: str) -> str:
    """Send a letter."""
    with open(os.environ["RUNS"], "a", encoding="utf-8") as runs:
        print(json.dumps({"to": to, "body": body}), file=runs)
    return "sent to " + to


gate = Gate(conversation=os.environ["CONVERSATION"], approval_time=float(os.environ["APPROVAL_TIME"]))
model = ChatOpenAI(model="m", base_url=os.environ["MODEL_URL"], api_key="none", max_retries=0)
agent = create_agent(model, [send_email], middleware=[VedetteMiddleware(gate)])
question = {"messages": [("user", sys.argv[1])]}
state = asyncio.run(agent.ainvoke(question)) if os.environ.get("ASYNC") == "1" else agent.invoke(question)
print(state["messages"][-1].content)
