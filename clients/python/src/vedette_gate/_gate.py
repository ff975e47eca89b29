"""The client: two questions over HTTP, from the standard library alone."""

from __future__ import annotations

import http.client
import json
import logging
import os
import ssl
import threading
import time
import urllib.parse
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from ._names import skill_name

_MAX_ANSWER = 4 << 20
_MAX_RESULT = 1 << 20
_MAX_OUTCOME = 2_000_000  # of a whole report, below the server's bound
_CUT_RESULT = 256 << 10  # of a result that is all escapes: six bytes each
_WAIT = 25  # seconds that one question waits for a person, below what proxies cut off


_log = logging.getLogger("vedette_gate")


class GateError(Exception):
    """The server gave no decision. Nothing may run."""

    def __init__(self, message: str, status: int = 0, code: str = "") -> None:
        super().__init__(message)
        self.status = status
        self.code = code


class RefusedError(Exception):
    """A call may not run. Its text is for the model that proposed the call."""

    def __init__(self, answer: "Answer") -> None:
        super().__init__(answer.text)
        self.answer = answer


@dataclass(frozen=True)
class Answer:
    """Where a call stands."""

    id: str
    state: str
    arguments: dict[str, Any] = field(default_factory=dict)
    approval: str = ""
    link: str = ""
    note: str = ""
    refusal: Mapping[str, Any] = field(default_factory=dict)
    expires: str = ""
    _warrant: str = field(default="", repr=False)

    @property
    def may_run(self) -> bool:
        """Whether the tool may run now, once, with `arguments`."""
        return self.state == "allowed" and self._warrant != ""

    @property
    def is_pending(self) -> bool:
        """Whether a person is asked. Ask again under the same id."""
        return self.state == "pending"

    @property
    def warrant(self) -> str:
        """The proof that the call was allowed, for a receiver that verifies it."""
        return self._warrant

    @property
    def text(self) -> str:
        """Why the call may not run, in words for a model. It holds no argument."""
        if self.may_run:
            return ""
        if self.is_pending:
            where = f" at {self.link}" if self.link else ""
            return f"The call was not run: it waits for a person's approval {self.approval}{where}."
        if self.state == "allowed":
            return "The call was not run: it was allowed before, and its warrant was given then."
        reason = self.refusal.get("why") or "it was not allowed"
        advice = self.refusal.get("do") or ""
        return f"The call was not run ({self.state}): {reason}. {advice}".strip()


class Gate:
    """Asks one Vedette server about the calls of one conversation. It is safe for several threads.

    `url` and `token` come from VEDETTE_URL and VEDETTE_TOKEN where they are not given. `skills` maps
    tools to skills: a mapping, or a function. `approval_time` is how many seconds `ask` waits for a
    person in all; afterwards the answer is pending. `context` is for https with a certificate of
    one's own.
    """

    def __init__(
        self,
        *,
        conversation: str,
        url: str | None = None,
        token: str | None = None,
        skills: Mapping[str, str] | Callable[[str], str] | None = None,
        agent: str = "",
        approval_time: float = 0,
        timeout: float = 30,
        context: ssl.SSLContext | None = None,
    ) -> None:
        self._url = urllib.parse.urlsplit(url or os.environ.get("VEDETTE_URL", "http://127.0.0.1:8420"))
        self._token = token or os.environ.get("VEDETTE_TOKEN", "")
        loopback = self._url.hostname in ("localhost", "127.0.0.1", "::1")
        if self._url.scheme != "https" and not (self._url.scheme == "http" and loopback):
            raise ValueError("VEDETTE_URL must be https, or http to this machine")
        if not self._token:
            raise ValueError("VEDETTE_TOKEN is missing; create one with: vedette token create --scope call")
        if not conversation:
            raise ValueError("a conversation needs an id: taint and limits are kept by it")
        self._conversation, self._agent = conversation, agent
        self._skills, self._approval_time = skills, approval_time
        self._timeout, self._context = timeout, context
        self._lock = threading.Lock()
        self._held: dict[str, Answer] = {}  # warrants that the next ask of the same call gets

    def skill_of(self, tool: str) -> str:
        """Return the skill of a tool."""
        if callable(self._skills):
            return self._skills(tool)
        if self._skills and tool in self._skills:
            return self._skills[tool]
        return skill_name(tool)

    def ask(
        self,
        tool: str,
        arguments: Mapping[str, Any] | str,
        call_id: str,
        *,
        request: str | None = None,
        turn: str = "",
        mission: str = "",
        approval_time: float | None = None,
        hold: bool = False,
    ) -> Answer:
        """Ask whether a tool may run. `arguments` is a mapping, or JSON as the model wrote it.

        It waits for a person up to `approval_time` seconds. GateError: there is no decision. A
        warrant is given once: with `hold` it is kept for the next `ask` of the same call.
        """
        answer = self._ask(tool, arguments, call_id, request, turn, mission, approval_time)
        with self._lock:
            if answer.state == "allowed" and not answer.may_run:
                kept = self._held.get(answer.id)
                answer = kept if kept is not None and kept.id == answer.id else answer
            if hold and answer.may_run:
                self._held[answer.id] = answer
            else:
                self._held.pop(answer.id, None)
        return answer

    def _ask(
        self,
        tool: str,
        arguments: Mapping[str, Any] | str,
        call_id: str,
        request: str | None,
        turn: str,
        mission: str,
        approval_time: float | None,
    ) -> Answer:
        body = self._proposal(tool, arguments, call_id, request, turn, mission)
        patience = self._approval_time if approval_time is None else approval_time
        end = time.monotonic() + patience
        while True:
            left = end - time.monotonic()
            wait = max(0, min(_WAIT, int(left)))
            answer = self._read(self._post("/v1/calls", self._with_wait(body, wait), wait))
            if not answer.is_pending or left <= 0:
                return answer
            if wait == 0:
                time.sleep(min(left, 0.2))

    def report(self, answer: Answer, *, ok: bool, result: Any = "") -> None:
        """Report what became of a call that ran. The result taints the conversation as its skill says.

        It is sent once more where the server gave no answer. GateError: it was not taken; the call
        is unknown to the server after its expiry, and `answer` must not run again.
        """
        path = f"/v1/calls/{urllib.parse.quote(answer.id, safe='')}/outcome"
        body = _outcome("ok" if ok else "failed", _text_of(result))
        try:
            self._post(path, body, 0)
        except GateError as trouble:
            if trouble.status not in (0, 429, 503):
                raise
            self._post(path, body, 0)  # the same report twice is one report

    def report_quietly(self, answer: Answer, *, ok: bool, result: Any = "") -> None:
        """Report, and log where that fails: what ran has run, and its result still counts."""
        try:
            self.report(answer, ok=ok, result=result)
        except GateError as trouble:
            _log.warning("the outcome of call %s was not reported, so the server will take it for unknown: %s", answer.id, trouble)

    def run(self, tool: str, arguments: Mapping[str, Any], call_id: str, execute: Callable[..., Any], **more: Any) -> Any:
        """Ask, run `execute(**arguments)` where it may run, and report. RefusedError: it may not.

        A report that fails is logged, since the call ran.
        """
        answer = self.ask(tool, arguments, call_id, **more)
        if not answer.may_run:
            raise RefusedError(answer)
        try:
            result = execute(**answer.arguments)
        except BaseException as failure:
            self.report_quietly(answer, ok=False, result=f"{type(failure).__name__}: {failure}")
            raise
        self.report_quietly(answer, ok=True, result=result)
        return result

    def _proposal(
        self, tool: str, arguments: Mapping[str, Any] | str, call_id: str, request: str | None, turn: str, mission: str
    ) -> str:
        """Return the body but for its last key. Arguments that are JSON already go along byte by byte."""
        head: dict[str, Any] = {"conversation": self._conversation, "call_id": call_id, "skill_name": self.skill_of(tool)}
        for key, value in (("agent_id", self._agent), ("original_request", request), ("turn", turn), ("agent_mission", mission)):
            if value:
                head[key] = value
        raw = arguments if isinstance(arguments, str) else json.dumps(arguments, ensure_ascii=False, allow_nan=False)
        if isinstance(arguments, str):
            _require_object(raw)
        return json.dumps(head, ensure_ascii=False)[:-1] + ', "arguments": ' + (raw.strip() or "{}")

    @staticmethod
    def _with_wait(body: str, wait: int) -> str:
        return f'{body}, "wait_seconds": {wait}}}'

    def _post(self, path: str, body: str, wait: int) -> bytes:
        """Post JSON and return the body of a 200. Anything else is a GateError."""
        connect = http.client.HTTPSConnection if self._url.scheme == "https" else http.client.HTTPConnection
        more = {"context": self._context} if self._url.scheme == "https" and self._context else {}
        conn = connect(self._url.hostname or "", self._url.port, timeout=self._timeout + wait, **more)
        try:
            conn.request(
                "POST",
                self._url.path.rstrip("/") + path,
                body.encode("utf-8"),
                {"Authorization": "Bearer " + self._token, "Content-Type": "application/json"},
            )
            response = conn.getresponse()
            data = response.read(_MAX_ANSWER + 1)
            if response.length and len(data) <= _MAX_ANSWER:
                raise http.client.IncompleteRead(data, response.length)
        except (OSError, http.client.HTTPException, UnicodeError) as failure:
            raise GateError(f"Vedette can't be asked ({type(failure).__name__}); nothing may run") from None
        finally:
            conn.close()
        if response.status != 200 or len(data) > _MAX_ANSWER:
            raise _problem(response.status, data)
        return data

    @staticmethod
    def _read(data: bytes) -> Answer:
        """Read an answer. What can't be read grants nothing."""
        try:
            body = json.loads(data)
            words = {key: body.get(key) or "" for key in ("approval", "link", "note", "expires")}
            warrant, refusal = body.get("warrant") or "", body.get("refusal") or {}
            arguments = body.get("arguments")
            texts = (body["id"], body["state"], warrant, *words.values())
            if not all(isinstance(text, str) for text in texts) or not isinstance(refusal, dict) or not body["id"]:
                raise TypeError
            if warrant and not isinstance(arguments, dict):
                raise TypeError
            return Answer(
                id=body["id"],
                state=body["state"],
                arguments=arguments if isinstance(arguments, dict) else {},
                refusal=refusal,
                _warrant=warrant,
                **words,
            )
        except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
            raise GateError("Vedette's answer can't be read; nothing may run") from None


def _text_of(result: Any) -> str:
    """Return a result as text: JSON, or what Python prints of what can't be JSON."""
    if isinstance(result, str):
        return result
    try:
        return json.dumps(result, ensure_ascii=False, default=str)
    except (TypeError, ValueError, RecursionError):
        return str(result)


def _outcome(outcome: str, text: str) -> str:
    """Return the body of a report that the server's bounds let through. Its result may be cut."""
    data = text.encode("utf-8", "replace")
    body = ""
    for most in (_MAX_RESULT, _CUT_RESULT):
        result = data[:most].decode("utf-8", "ignore")
        body = json.dumps({"outcome": outcome, "result": result}, ensure_ascii=False)
        if len(body.encode("utf-8")) <= _MAX_OUTCOME:
            break
    return body


def _require_object(raw: str) -> None:
    """Raise GateError where a text is not one JSON object: it would change the body around it."""
    try:
        if not isinstance(json.loads(raw or "{}"), dict):
            raise ValueError
    except (ValueError, RecursionError):
        raise GateError("the arguments are not one JSON object; nothing may run") from None


def _problem(status: int, data: bytes) -> GateError:
    """Return the error of an answer that is no 200 (RFC 9457)."""
    code = detail = ""
    try:
        body = json.loads(data)
        code, detail = str(body.get("code") or ""), str(body.get("detail") or body.get("title") or "")
    except (ValueError, AttributeError, RecursionError):
        pass
    words = f": {detail}" if detail else ""
    return GateError(f"Vedette answered {status}{words}; nothing may run", status, code)
