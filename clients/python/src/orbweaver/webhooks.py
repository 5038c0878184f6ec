"""Webhooks: whether the server sent them."""

from __future__ import annotations

import hashlib
import hmac


def verify(body: bytes, signature: str, secret_hex: str) -> bool:
    """Whether ``signature`` (the header ``X-Crawler-Signature``) is that of this body.

    ``body`` is the request's body as it was received, ``secret_hex`` the project's secret of
    ``GET /v1/webhook/secret``.
    """
    try:
        secret = bytes.fromhex(secret_hex)
    except ValueError:
        return False
    digest = hmac.new(secret, body, hashlib.sha256).hexdigest()
    return hmac.compare_digest(f"sha256={digest}".encode(), signature.encode())
