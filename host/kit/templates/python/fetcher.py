"""Returns the posts of a site, from the JSON that the site publishes."""

import json

from orbweaver.errors import failure, guarded
from orbweaver.web import get
from wit_world import exports


class Fetching(exports.Fetching):
    @guarded
    async def fetch(self, domain: str, path: str, params: str) -> list[str]:
        """One call: one item per post. The host has checked `params` against the manifest's input schema."""
        if path != "posts":
            raise failure("invalid-input", f"path: `{path}` is unknown; use `posts`")
        with await get(f"https://{domain}/posts.json") as page:
            if page.status() != 200:
                raise failure("bad-response", f"{domain} responded with status {page.status()}")
            posts = json.loads(page.html())
        limit = json.loads(params).get("limit", 30)
        return [json.dumps({"id": post["id"], "title": post["title"]}) for post in posts[:limit]]
