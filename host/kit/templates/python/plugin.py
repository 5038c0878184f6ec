"""Fetches a page through the host and gets its title from the `metadata` plugin."""

import json

from componentize_py_types import Err
from wit_world import exports
from wit_world.imports import extraction, http, requests, types
from wit_world.imports.log import Level, log


async def run(url: str) -> dict:
    """One call. The host has checked the input against the manifest's schema."""
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
        title = json.loads(await extraction.extract("metadata", page, "{}"))["title"]
        log(Level.INFO, f"{url} has the title {title!r}")
        return {"status": page.status(), "title": title}


class Acting(exports.Acting):
    async def run(self, input: str) -> str:
        try:
            return json.dumps(await run(**json.loads(input)))
        except Err:
            raise
        except Exception as error:
            # Without this, a fault of the plugin's own would be a trap that says nothing.
            raise Err(types.Error("failed", repr(error), None, None)) from error
