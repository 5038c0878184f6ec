"""Requests through the host. Part of the template: change it as you like."""

from wit_world.imports import http, pages, requests


async def get(url: str, **options) -> pages.Page:
    """Fetches a URL; `options` are fields of the interface's `request`. A page of any status is an answer.

    Several run at the same time under `asyncio.gather`. A page is the host's: receive it by `with`, which
    gives it back.
    """
    request = requests.Request(
        method="GET",
        url=url,
        headers=[],
        body=None,
        follow_redirects=True,
        respect_robots=True,
        timeout_ms=None,
        proxy=None,
        secrets=[],
    )
    for name, value in options.items():
        setattr(request, name, value)
    return await http.fetch(request)
