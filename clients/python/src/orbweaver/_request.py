"""What both clients share: requests, answers, and when to try again."""

from __future__ import annotations

import os
import random
import uuid
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import quote

import httpx

from .errors import OrbweaverError

#: Statuses that pass: a cap or a rate, and a server that starts or stops.
PASSING = (429, 503)
#: Seconds to wait at most before a further try; a cap that lasts longer is the caller's matter.
LONGEST_WAIT = 60.0
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


def headers(request: Request) -> dict[str, str]:
    """Headers of all tries of a request: with one key, a POST is done and billed once."""
    return {"Idempotency-Key": str(uuid.uuid4())} if request.method == "POST" else {}


def query(request: Request) -> dict[str, Any]:
    """Parameters as the API reads them."""
    words = {True: "true", False: "false"}
    return {
        name: words[value] if isinstance(value, bool) else value
        for name, value in request.query.items()
        if value is not None
    }


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


def pause(response: httpx.Response | None, attempt: int) -> float | None:
    """Seconds before a further try; None where it makes no sense.

    What the server says, else one second, doubled with each try, with a part by chance.
    """
    if response is not None:
        # After a try that broke off, its work may still be under way.
        is_held = response.status_code == 409 and attempt > 0
        if response.status_code not in PASSING and not is_held:
            return None
        told = response.headers.get("retry-after", "")
        if told.isdigit():
            return float(told) if float(told) <= LONGEST_WAIT else None
    return min(2.0**attempt * random.uniform(0.5, 1.0), LONGEST_WAIT)


def content(response: httpx.Response) -> Any:
    """The JSON of an answer, its text where it is none."""
    if response.status_code == 204 or not response.content:
        return None
    if response.headers.get("content-type", "").startswith("application/json"):
        return response.json()
    return response.text
