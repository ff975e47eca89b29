"""The openai package against the door for chat interfaces. door_test.go runs it."""

import json
import os
import sys

import openai

base = os.environ["VEDETTE_URL"] + "/assistants/v1"
client = openai.OpenAI(base_url=base, api_key=os.environ["CHAT_TOKEN"], max_retries=0, timeout=120)
question = {"model": "vedette", "messages": [{"role": "user", "content": sys.argv[1]}]}
whole = client.chat.completions.create(**question)
chunks = list(client.chat.completions.create(**question, stream=True, stream_options={"include_usage": True}))


def refused(key: str = os.environ["CHAT_TOKEN"], **changes: object) -> str:
    try:
        openai.OpenAI(base_url=base, api_key=key, max_retries=0).chat.completions.create(**{**question, **changes})
    except openai.APIStatusError as error:
        return type(error).__name__
    return "taken"


print(
    json.dumps(
        {
            "models": [m.id for m in client.models.list()],
            "whole": whole.choices[0].message.content,
            "finish": whole.choices[0].finish_reason,
            "stream": "".join(c.choices[0].delta.content or "" for c in chunks if c.choices),
            "stream_finish": [c.choices[0].finish_reason for c in chunks if c.choices][-1],
            "wrong_key": refused(key="vdt_" + "a" * 43),
            "wrong_model": refused(model="no-such-assistant"),
            "wrong_request": refused(messages=[]),
        }
    )
)
