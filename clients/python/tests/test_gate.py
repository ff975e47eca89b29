"""What the client does with answers of a server that is hostile, broken, or not there."""

import json
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest

from vedette_gate import Gate, GateError, RefusedError, skill_name

GOOD = {"id": "call-1", "state": "allowed", "warrant": "w", "arguments": {"to": "x"}}


class Server(ThreadingHTTPServer):
    """Gives each question the next answer, the last one for good."""

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.answers: list[tuple[int, bytes, dict[str, str]]] = []
        self.asked: list[tuple[str, bytes]] = []


class Handler(BaseHTTPRequestHandler):
    server: Server

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["Content-Length"]))
        self.server.asked.append((self.path, body))
        answers = self.server.answers
        status, text, headers = answers.pop(0) if len(answers) > 1 else answers[0]
        self.send_response(status)
        for key, value in {"Content-Length": str(len(text)), **headers}.items():
            self.send_header(key, value)
        self.end_headers()
        self.wfile.write(text)

    def log_message(self, *_: object) -> None:
        pass


@pytest.fixture
def server() -> Iterator[Server]:
    with Server() as made:
        thread = threading.Thread(target=made.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        yield made
        made.shutdown()
        thread.join()


def gate(server: Server) -> Gate:
    return Gate(conversation="c", url=f"http://127.0.0.1:{server.server_port}", token="CANARY", timeout=10)


def answer(server: Server, body: object, status: int = 200, **headers: str) -> None:
    text = body if isinstance(body, bytes) else json.dumps(body).encode()
    server.answers.append((status, text, headers))


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"null",
        b"[]",
        b"[" * 100_000,
        b"\xff",
        b'{"id": "call-1", "state": "allowed", "warrant": "w", "argum',
        {"id": 1, "state": "allowed", "warrant": "w", "arguments": {}},
        {**GOOD, "id": ""},
        {**GOOD, "state": ["allowed"]},
        {**GOOD, "warrant": True},
        {**GOOD, "arguments": [1]},
        {**GOOD, "arguments": None},
        {**GOOD, "refusal": ["why"]},
        {**GOOD, "link": {"a": 1}},
        {"id": "call-1", "warrant": "w", "arguments": {}},
    ],
)
def test_what_is_no_answer_denies(server: Server, body: object) -> None:
    answer(server, body)
    with pytest.raises(GateError):
        gate(server).ask("t", {}, "1")


@pytest.mark.parametrize("state", ["allowed", "Allowed", "ok", "denied", "pending", "deferred", "", "yes"])
def test_what_grants_nothing_runs_nothing(server: Server, state: str) -> None:
    answer(server, {"id": "call-1", "state": state, "warrant": "" if state == "allowed" else "w", "arguments": {}})
    ran: list[int] = []
    with pytest.raises(RefusedError) as refused:
        gate(server).run("t", {}, "1", lambda: ran.append(1))
    assert not ran and str(refused.value)


@pytest.mark.parametrize("status", [201, 202, 204, 301, 302, 307, 400, 401, 409, 429, 500, 503])
def test_only_200_is_a_decision(server: Server, status: int) -> None:
    answer(server, GOOD, status, Location=f"http://127.0.0.1:{server.server_port}/elsewhere")
    with pytest.raises(GateError) as trouble:
        gate(server).ask("t", {}, "1")
    assert trouble.value.status == status and "CANARY" not in str(trouble.value)
    assert [path for path, _ in server.asked] == ["/v1/calls"]


def test_an_answer_that_breaks_off_denies(server: Server) -> None:
    answer(server, GOOD, **{"Content-Length": "10000", "Connection": "close"})
    with pytest.raises(GateError):
        gate(server).ask("t", {}, "1")


@pytest.mark.parametrize("arguments", ["[]", "1", '{"a": 1}, "skill_name": "x"', "{", "{}{}"])
def test_arguments_that_are_no_object_ask_nothing(server: Server, arguments: str) -> None:
    answer(server, GOOD)
    with pytest.raises(GateError):
        gate(server).ask("t", arguments, "1")
    assert not server.asked


def test_a_warrant_that_is_held_is_used_once(server: Server) -> None:
    answer(server, GOOD)
    answer(server, {"id": "call-1", "state": "allowed"})
    g = gate(server)
    assert g.ask("t", {}, "1", hold=True).may_run
    assert g.ask("t", {}, "1").may_run
    assert not g.ask("t", {}, "1").may_run


@pytest.mark.parametrize("result", ["\x01" * (2 << 20), "é" * (1 << 20), "\ud800", {"a": {1, 2}}, {(1, 2): 3}, None])
def test_every_result_can_be_reported(server: Server, result: object) -> None:
    answer(server, GOOD)
    g = gate(server)
    g.run("t", {}, "1", lambda **_: result)
    path, body = server.asked[-1]
    assert path == "/v1/calls/call-1/outcome" and len(body) <= 2 << 20
    assert json.loads(body)["outcome"] == "ok"


def test_a_report_that_fails_is_no_refusal(server: Server, caplog: pytest.LogCaptureFixture) -> None:
    answer(server, GOOD)
    answer(server, {"code": "not_kept"}, 503)
    assert gate(server).run("t", {}, "1", lambda **_: "sent") == "sent"
    assert len(server.asked) == 3, "it is sent once more"
    assert "was not reported" in caplog.text


def test_a_tool_that_fails_is_reported(server: Server) -> None:
    answer(server, GOOD)

    def fail(**_: object) -> None:
        raise ValueError("no route")

    with pytest.raises(ValueError, match="no route"):
        gate(server).run("t", {}, "1", fail)
    assert json.loads(server.asked[-1][1]) == {"outcome": "failed", "result": "ValueError: no route"}


@pytest.mark.parametrize("url", ["http://example.com", "ftp://127.0.0.1", "//127.0.0.1", "http://127.0.0.1.example.com"])
def test_a_token_never_goes_out_in_the_open(url: str) -> None:
    with pytest.raises(ValueError, match="https"):
        Gate(conversation="c", url=url, token="CANARY")


def test_names_are_those_of_the_server() -> None:
    assert skill_name("Bash") == "tool.b-uash"
    assert skill_name("mcp__git__push") == "tool.mcp__git__push"
    assert skill_name("a-b.c") == "tool.a-hb-dc"
    assert skill_name("1") == "tool.n-n1"
    assert skill_name("é") == "tool.n-n-xc3-xa9"
    for name in ("", "x" * 200):
        with pytest.raises(ValueError):
            skill_name(name)
