"""What schemathesis looks for besides its own checks: nothing of the server's inside in a body. fuzz_test.go uses it."""

import re
from urllib.parse import urlencode

import schemathesis

INSIDE = re.compile(r"goroutine \d|runtime error|\.go:\d|panic:|SQLITE|no such table|constraint failed|/home/|/root/|/tmp/|vedette\.db|\b0xc0[0-9a-f]{8}")


@schemathesis.check
def no_internals(ctx: object, response: schemathesis.Response, case: schemathesis.Case) -> None:
    found = INSIDE.search(response.text or "")
    if found:
        raise AssertionError(f"the body shows the server's inside: {found.group()}")


@schemathesis.hook
def filter_case(ctx: object, case: schemathesis.Case) -> bool:
    """A longer request line is answered 431 before it is read whole, which a client may see as a reset."""
    return len(urlencode(case.query or {}, doseq=True)) < 16_000
