"""When a request is tried again, and how, against a server that fails."""

from __future__ import annotations

import http.server
import json
import time
from collections.abc import Callable, Iterator

import httpx
import pytest
from conftest import KEY, serve

from orbweaver import Orbweaver, OrbweaverError

HELD = "Idempotency-Key: the first request with this key is still being worked on"
OTHER = "Idempotency-Key: this key was used with another body within 24 hours"


class Failing(http.server.BaseHTTPRequestHandler):
    """Answers as the test says, or breaks off; keeps what it was asked."""

    #: Of the number of the try: a status and a message; None breaks off.
    answer: Callable[[int], tuple[int, str] | None]
    asked: list[tuple[str, str | None]] = []

    def do_POST(self) -> None:
        self.rfile.read(int(self.headers["Content-Length"] or 0))
        self.do_GET()

    def do_DELETE(self) -> None:
        self.do_GET()

    def do_GET(self) -> None:
        self.asked.append((self.path, self.headers["Idempotency-Key"]))
        said = type(self).answer(len(self.asked))
        if said is None:
            return
        status, message = said
        body = {"url": "u"} if status < 400 else {"error": {"code": "C", "message": message}}
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.end_headers()
        self.wfile.write(json.dumps(body).encode())

    def log_message(self, *_: object) -> None:
        pass


@pytest.fixture
def failing() -> Iterator[str]:
    Failing.asked = []
    server, address = serve(Failing)
    yield address
    server.shutdown()


@pytest.fixture
def pauses(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """The pauses of the client, which take no time."""
    made: list[float] = []
    monkeypatch.setattr(time, "sleep", made.append)
    return made


def test_the_answer_to_a_try_that_broke_off_is_waited_for(
    failing: str, pauses: list[float]
) -> None:
    def answer(count: int) -> tuple[int, str] | None:
        if count == 1:
            return None
        return (409, HELD) if count < 20 else (200, "")

    Failing.answer = answer
    with Orbweaver(failing, KEY, retries=1) as web:
        assert web.scan("https://example.com/") == {"url": "u"}
    assert len(Failing.asked) == 20
    assert len({key for _, key in Failing.asked}) == 1 and Failing.asked[0][1]
    assert max(pauses) <= 5


def test_the_answer_is_waited_for_about_as_long_as_a_try_may_take(
    failing: str, pauses: list[float]
) -> None:
    Failing.answer = lambda count: None if count == 1 else (409, HELD)
    with Orbweaver(failing, KEY, retries=1, timeout=20) as web:
        with pytest.raises(OrbweaverError) as failed:
            web.scan("https://example.com/")
    assert failed.value.status == 409
    assert 20 <= sum(pauses) <= 21


def test_another_conflict_is_not_tried_again(failing: str, pauses: list[float]) -> None:
    Failing.answer = lambda count: None if count == 1 else (409, OTHER)
    with Orbweaver(failing, KEY) as web, pytest.raises(OrbweaverError) as failed:
        web.scan("https://example.com/")
    assert (failed.value.status, len(Failing.asked)) == (409, 2)


@pytest.mark.parametrize(
    "path",
    ["/v1/keys/rotate", "/v1/crawls/7/export", "/v1/plugins/extract-a/rollback", "/v1/signup"],
)
def test_what_ignores_the_key_is_not_done_twice(
    failing: str, pauses: list[float], path: str
) -> None:
    Failing.answer = lambda _: None
    with Orbweaver(failing, KEY) as web:
        with pytest.raises(httpx.TransportError):
            web.request("POST", path, body={})
        assert Failing.asked == [(path, None)]
        # A cap refuses before anything is done.
        Failing.asked = []
        Failing.answer = lambda count: (429, "m") if count == 1 else (200, "")
        assert web.request("POST", path, body={}) == {"url": "u"}


def test_what_a_try_that_broke_off_has_removed_is_removed(
    failing: str, pauses: list[float]
) -> None:
    Failing.answer = lambda count: None if count == 1 else (404, "m")
    with Orbweaver(failing, KEY) as web:
        web.delete_crawl(7)
        assert len(Failing.asked) == 2
        Failing.asked = []
        with pytest.raises(OrbweaverError):
            web.get_crawl(7)


@pytest.mark.parametrize("first", [404, 429])
def test_what_was_never_there_cannot_be_removed(
    failing: str, pauses: list[float], first: int
) -> None:
    Failing.answer = lambda count: (first if count == 1 else 404, "m")
    with Orbweaver(failing, KEY) as web, pytest.raises(OrbweaverError) as failed:
        web.delete_crawl(7)
    assert failed.value.status == 404


def test_the_query_of_a_path_is_kept_and_merged(failing: str) -> None:
    Failing.answer = lambda _: (200, "")
    with Orbweaver(failing, KEY) as web:
        web.request("GET", "/v1/usage?days=7")
        web.request("GET", "/v1/usage?days=7&x=%20a", query={"days": 8, "text": True, "no": None})
        web.request("GET", "/v1/usage", query={"days": 9})
    assert [httpx.URL(path).params for path, _ in Failing.asked] == [
        httpx.QueryParams({"days": 7}),
        httpx.QueryParams({"days": 8, "x": " a", "text": "true"}),
        httpx.QueryParams({"days": 9}),
    ]
