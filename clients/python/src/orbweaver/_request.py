"""What both clients share: requests, answers, and when to try again."""

from __future__ import annotations

import os
import random
import re
import uuid
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import quote

import httpx

from .errors import OrbweaverError

#: Seconds that one try may take: longer than the service works on a request (300 by default), so
#: that its answer comes before the client gives up.
TIMEOUT = 310.0
#: Statuses that pass: a cap or a rate, and a server that starts or stops.
PASSING = (429, 503)
#: What certainly began no work: a cap or a rate.
REFUSING = (429,)
#: Seconds to wait at most before a further try; a cap that lasts longer is the caller's matter.
LONGEST_WAIT = 60.0
#: Seconds at most between two looks at the work of an earlier try.
LONGEST_LOOK = 5.0
#: POSTs that ignore an Idempotency-Key and do something new each time.
WITHOUT_KEY = re.compile(
    r"/v1/(crawls/[^/]+/export|keys/rotate|plugins/[^/]+/rollback|signup)"
)
#: Statuses of a run that has ended.
ENDED = ("done", "failed", "cancelled")


@dataclass
class Request:
    """A request to the API."""

    method: str
    path: str
    query: dict[str, Any] = field(default_factory=dict)
    body: Any = None


def settings(base_url: str | None, key: str | None) -> tuple[str, dict[str, str]]:
    """Address and headers, from arguments or the environment."""
    base_url = base_url or os.environ.get("ORBWEAVER_URL", "http://127.0.0.1:8080")
    key = key or os.environ.get("ORBWEAVER_KEY")
    if not key:
        raise ValueError("key: is required, or the environment variable ORBWEAVER_KEY")
    return base_url.rstrip("/"), {"Authorization": f"Bearer {key}"}


def query(request: Request) -> dict[str, Any]:
    """Parameters as the API reads them."""
    words = {True: "true", False: "false"}
    return {
        name: words[value] if isinstance(value, bool) else value
        for name, value in request.query.items()
        if value is not None
    }


def params(request: Request) -> httpx.QueryParams | None:
    """The query of a request: its path's own, in which the parameters replace those of their names.

    None leaves the path as it is; an empty one would remove its query.
    """
    given = query(request)
    return httpx.URL(request.path).params.merge(given) if given else None


def segment(value: Any) -> str:
    """A value as one segment of a path."""
    return quote(str(value), safe="")


def body(url: str | None, fields: dict[str, Any]) -> dict[str, Any]:
    """A JSON body; fields that are None are left out."""
    given = {} if url is None else {"url": url}
    return given | {name: value for name, value in fields.items() if value is not None}


def failure(response: httpx.Response) -> OrbweaverError:
    """The error of an answer."""
    try:
        content = response.json()
    except ValueError:
        content = None
    return OrbweaverError.of(
        response.status_code, content, response.headers.get("x-request-id")
    )


class Tries:
    """The tries of one request: whether there is a further one, and when.

    ``patience`` are the seconds for which the work of an earlier try is waited for.
    """

    def __init__(self, request: Request, retries: int, patience: float) -> None:
        is_post = request.method == "POST"
        is_repeatable = not (is_post and WITHOUT_KEY.fullmatch(request.path.partition("?")[0]))
        #: Headers of all tries: with one key, a POST is done and billed once.
        self.headers = {"Idempotency-Key": str(uuid.uuid4())} if is_post and is_repeatable else {}
        self._is_repeatable = is_repeatable
        self._is_delete = request.method == "DELETE"
        self._may_be_done = False
        self._retries = retries
        self._patience = patience
        self._again = 0
        self._looks = 0

    def pause(self, response: httpx.Response | None) -> float | None:
        """Seconds before a further try; None where it makes no sense.

        What the server says, else one second, doubled with each try, with a part by chance.
        """
        if response is None or response.status_code not in REFUSING:
            self._may_be_done = True
        if response is not None and self._again > 0 and is_held(response):
            return self._look()
        if self._again >= self._retries:
            return None
        wait = doubled(self._again, LONGEST_WAIT)
        if response is None:
            # Nobody knows whether it was done.
            if not self._is_repeatable:
                return None
        else:
            if response.status_code not in (PASSING if self._is_repeatable else REFUSING):
                return None
            told = response.headers.get("retry-after", "")
            if told.isdigit():
                wait = float(told)
                if wait > LONGEST_WAIT:
                    return None
        self._again += 1
        return wait

    def has_removed(self, response: httpx.Response) -> bool:
        """Whether what is to be removed is not there because an earlier try, whose answer was lost,
        removed it."""
        return self._is_delete and self._may_be_done and response.status_code == 404

    def _look(self) -> float | None:
        """The same for a try that broke off and is worked on: its answer is waited for, which is no
        further try, since nothing is done again."""
        if self._patience <= 0:
            return None
        wait = min(doubled(self._looks, LONGEST_LOOK), self._patience)
        self._patience -= wait
        self._looks += 1
        return wait


def doubled(count: int, most: float) -> float:
    """One second, doubled so many times, with a part by chance."""
    return min(2.0 ** min(count, 10) * random.uniform(0.5, 1.0), most)


def is_held(response: httpx.Response) -> bool:
    """Whether the first request with this key is still under way."""
    return response.status_code == 409 and "still being worked on" in failure(response).message


def content(response: httpx.Response) -> Any:
    """The JSON of an answer, its text where it is none, the bytes of a file."""
    if response.status_code == 204 or not response.content:
        return None
    kind = response.headers.get("content-type", "").partition(";")[0].strip().lower()
    if kind == "application/json":
        return response.json()
    # A picture or an archive read as text would be damaged.
    if not kind or kind.startswith("text/") or kind == "application/x-ndjson":
        return response.text
    return response.content
