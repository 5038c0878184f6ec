"""Counts the images of a page, and those without alternative text."""

import json

from orbweaver.errors import guarded
from wit_world import exports
from wit_world.imports import dom, pages


def count(page: pages.Page, css: str) -> int:
    """Number of elements that a CSS selector matches."""
    return len(dom.select(page, css, 100_000))


class Extracting(exports.Extracting):
    @guarded
    def extract(self, role: str, page: pages.Page, options: str) -> str:
        """`{"images": n, "without_alt": n}`. `options` is the caller's JSON object; `{}` without any."""
        answer = {
            "images": count(page, "img"),
            "without_alt": count(page, "img:not([alt])"),
        }
        return json.dumps(answer)
