"""An actor in Python: fetches the given pages together and answers what they are."""

import asyncio
import json

from componentize_py_types import Err
from wit_world import exports
from wit_world.imports import dom, extraction, http, pages, requests, types
from wit_world.imports.log import Level, log


async def title(page: pages.Page) -> str | None:
    """The page's title as the `metadata` role finds it; None where this actor may not ask."""
    try:
        return json.loads(await extraction.extract("metadata", page, "{}"))["title"]
    except Err as error:
        if error.value.code == "not-granted":
            return None
        raise


def heading(page: pages.Page) -> str | None:
    """The text of the page's first heading; None where there is none."""
    return next((dom.text(page, element) for element in dom.select(page, "h1", 1)), None)


async def visit(url: str) -> dict:
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
    # A page is the host's: `with` gives it back instead of waiting for the garbage collector.
    with await http.fetch(request) as page:
        return {
            "url": url,
            "status": page.status(),
            "bytes": page.size(),
            "title": await title(page),
            "heading": heading(page),
        }


class Acting(exports.Acting):
    async def run(self, input: str) -> str:
        try:
            visits = map(visit, json.loads(input)["urls"])
            # All of them end before this does: returning while the host still works for
            # this actor is a trap.
            items = await asyncio.gather(*visits, return_exceptions=True)
            for failure in items:
                if isinstance(failure, BaseException):
                    raise failure
        except Err:
            raise
        except Exception as error:
            # Without this, an actor's own fault would be a trap that says nothing.
            raise Err(types.Error("failed", repr(error), None, None)) from error
        log(Level.INFO, f"{len(items)} pages fetched")
        return json.dumps({"items": items})
