"""Asks Vedette before a tool of an agent runs, and reports what became of it.

    gate = Gate(conversation="c-17")            # VEDETTE_URL and VEDETTE_TOKEN
    answer = gate.ask("email.send", {"to": "bob@example.com"}, call_id="call_1", request="Mail Bob.")
    if answer.may_run:
        result = send(**answer.arguments)       # these arguments, since a rule may have changed them
        gate.report(answer, ok=True, result=result)

Any trouble denies. Without an answer of the server, with one that can't be read, or with one that
grants nothing, `ask` raises GateError or returns an Answer whose `may_run` is False. A warrant is
given once for each call id: a repeated question is answered without one, and `may_run` is False then.

What not to do: don't run a tool whose answer has no warrant, and don't give two calls one id. Don't
catch GateError in order to run the tool all the same.
"""

from ._gate import Answer, Gate, GateError, RefusedError
from ._names import skill_name

__all__ = ["Answer", "Gate", "GateError", "RefusedError", "skill_name"]
