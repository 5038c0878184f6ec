"""Leaves out links by their text, and makes a record of every page."""

import json

from orbweaver.errors import guarded
from wit_world.exports.hooking import (
    Discovery,
    FoundLink,
    LinkVerdict_Follow,
    LinkVerdict_Skip,
    RecordVerdict_Emit,
    RoleOutput,
    Visit,
)
from wit_world.imports import dom
from wit_world.imports.pages import Page


def judge(link: FoundLink, skip: list[str]):
    if link.anchor in skip:
        return LinkVerdict_Skip(f"its text is {json.dumps(link.anchor)}")
    return LinkVerdict_Follow(0)


# The manifest lists the functions that the host calls. The base class `exports.Hooking` would want all four.
class Hooking:
    @guarded
    def discover(self, config: str, visit: Visit, page: Page, links: list[FoundLink]) -> Discovery:
        """Judges the new links of a page. The host has checked `config` against the manifest's input schema."""
        skip = json.loads(config).get("skip", [])
        return Discovery([judge(link, skip) for link in links], added=[])

    @guarded
    def record(self, config: str, visit: Visit, page: Page, outputs: list[RoleOutput], records: list[str]):
        """Says what is stored of a page: here, a record besides it."""
        title = next((dom.text(page, element) for element in dom.select(page, "title", 1)), None)
        return RecordVerdict_Emit([json.dumps({"url": visit.url, "title": title})])
