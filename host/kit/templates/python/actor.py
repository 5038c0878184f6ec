"""Fetches a page through the host and gets its title from the `metadata` plugin."""

import json

from orbweaver.errors import guarded
from orbweaver.web import get
from wit_world import exports
from wit_world.imports import extraction


class Acting(exports.Acting):
    @guarded
    async def run(self, input: str) -> str:
        """One call. The host has checked the input against the manifest's schema."""
        with await get(json.loads(input)["url"]) as page:
            metadata = json.loads(await extraction.extract("metadata", page, "{}"))
            return json.dumps({"status": page.status(), "title": metadata["title"]})
