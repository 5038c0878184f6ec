"""What a request may fail with."""

from __future__ import annotations

from typing import Any


class OrbweaverError(Exception):
    """An error of the API.

    ``code`` is for programs (``INVALID_INPUT``, ``RATE_LIMITED``, …), ``message`` for people,
    ``retry_after`` the seconds after which it makes sense to ask again, ``request_id`` finds the
    request in the server's log.
    """

    def __init__(
        self,
        status: int,
        code: str,
        message: str,
        retry_after: int | None = None,
        crawl_id: int | None = None,
        request_id: str | None = None,
    ) -> None:
        super().__init__(f"{status} {code}: {message}")
        self.status = status
        self.code = code
        self.message = message
        self.retry_after = retry_after
        self.crawl_id = crawl_id
        self.request_id = request_id

    @classmethod
    def of(cls, status: int, body: Any, request_id: str | None) -> OrbweaverError:
        """Of an answer's status and body, which has the envelope unless a proxy answered."""
        error = body.get("error") if isinstance(body, dict) else None
        error = error if isinstance(error, dict) else {}
        return cls(
            status,
            str(error.get("code", "UNKNOWN")),
            str(error.get("message", "the answer has no error's envelope")),
            error.get("retry_after_seconds"),
            error.get("crawl_id"),
            request_id,
        )
