"""The packages of PyPI against the proxy: each scenario, streamed and whole, as the package's own helper ends it.

proxy_test.go runs it: argv names a client, SCENARIOS what the provider shall answer.
"""

import json
import os
import sys
import time

import anthropic
import openai

TOKEN = os.environ["VEDETTE_TOKEN"]
OPENAI = os.environ["VEDETTE_URL"] + "/proxy/openai/v1"
ANTHROPIC = os.environ["VEDETTE_URL"] + "/proxy/anthropic"
SCHEMA = {"type": "object", "properties": {"command": {"type": "string"}}, "required": ["command"], "additionalProperties": False}


def show(name: str, args: object) -> str:
    return f"{name} {args if isinstance(args, str) else json.dumps(args, separators=(',', ':'))}"


def chat(words: str, streamed: bool, headers: dict[str, str]) -> dict[str, object]:
    client = openai.OpenAI(base_url=OPENAI, api_key=TOKEN, max_retries=0, default_headers=headers)
    tools = [{"type": "function", "function": {"name": "run", "parameters": SCHEMA}}]
    question = {"model": "m", "messages": [{"role": "user", "content": words}], "tools": tools}
    if streamed:
        with client.chat.completions.stream(**question) as stream:
            end = stream.get_final_completion()
    else:
        end = client.chat.completions.create(**question)
    choice = end.choices[0]
    calls = [show(c.function.name, c.function.arguments) for c in choice.message.tool_calls or []]
    return {"text": choice.message.content or "", "calls": calls, "finish": choice.finish_reason}


def responses(words: str, streamed: bool, headers: dict[str, str]) -> dict[str, object]:
    client = openai.OpenAI(base_url=OPENAI, api_key=TOKEN, max_retries=0, default_headers=headers)
    tools = [{"type": "function", "name": "run", "parameters": SCHEMA, "strict": False}]
    question = {"model": "m", "input": words, "tools": tools}
    if streamed:
        with client.responses.stream(**question) as stream:
            end = stream.get_final_response()
    else:
        end = client.responses.create(**question)
    calls = [show(item.name, item.arguments) for item in end.output if item.type == "function_call"]
    return {"text": end.output_text, "calls": calls, "finish": end.status}


def messages(words: str, streamed: bool, headers: dict[str, str]) -> dict[str, object]:
    client = anthropic.Anthropic(base_url=ANTHROPIC, api_key=TOKEN, max_retries=0, default_headers=headers)
    question = {
        "model": "m",
        "max_tokens": 100,
        "messages": [{"role": "user", "content": words}],
        "tools": [{"name": "run", "input_schema": SCHEMA}],
    }
    if streamed:
        with client.messages.stream(**question) as stream:
            end = stream.get_final_message()
    else:
        end = client.messages.create(**question)
    text = "".join(block.text for block in end.content if block.type == "text")
    calls = [show(block.name, block.input) for block in end.content if block.type == "tool_use"]
    return {"text": text, "calls": calls, "finish": end.stop_reason}


CLIENT = sys.argv[1]
RUN = {"openai-chat": chat, "openai-responses": responses, "anthropic": messages}[CLIENT]


def end(scenario: str, streamed: bool) -> dict[str, object]:
    name = "-".join([os.environ["CONVERSATION"], CLIENT, scenario, "streamed" if streamed else "whole"])
    try:
        return {"error": "", **RUN("Do it. scenario: " + scenario, streamed, {"X-Vedette-Conversation": name})}
    except Exception as error:  # whatever the package raises is what its user gets
        return {"text": "", "calls": [], "finish": None, "error": f"{type(error).__name__}: {error}"}


for scenario in os.environ["SCENARIOS"].split(","):
    for streamed in (True, False):
        got = end(scenario, streamed)
        print(json.dumps({"scenario": scenario, "streamed": streamed, **got}))
        if scenario != "ask" or streamed:
            continue
        # A whole answer doesn't wait for a person: the same request is sent again until the approved call passes.
        for _ in range(1000):
            if got["calls"]:
                break
            time.sleep(0.2)
            got = end(scenario, streamed)
        print(json.dumps({"scenario": "ask_again", "streamed": streamed, **got}))
