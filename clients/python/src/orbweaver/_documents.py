"""Pages as documents of a framework: a text and its metadata."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Literal

from ._sync import Orbweaver

Mode = Literal["scan", "crawl", "run"]

#: Fields of pages that become metadata.
FIELDS = ("title", "final_url", "depth", "content_type", "markdown")


def documents(
    web: Orbweaver, source: str | int, mode: Mode, fields: dict[str, Any]
) -> Iterator[tuple[str, dict[str, Any]]]:
    """Text and metadata of one page (``scan``), of a site's pages (``crawl``), or of a finished
    run's (``run``: ``source`` is its id). Pages without text are left out."""
    if mode == "scan":
        page = web.scan(str(source), **{"only_main_content": True, **fields})
        if page.get("markdown"):
            metadata = {"source": page["final_url"], "status": page["status"]}
            yield str(page["markdown"]), metadata | _told(page.get("metadata") or {})
        return
    if mode == "crawl":
        run = web.crawl(str(source), **fields)
        if run["status"] != "done":
            raise RuntimeError(f"crawl {run['id']}: {run.get('error_message') or run['status']}")
        source = run["id"]
    elif mode != "run":
        raise ValueError("mode: must be scan, crawl or run")
    for page in web.export(int(source), FIELDS, only_main_content=True):
        if page.get("markdown") and page["status"] < 400:
            metadata = {"source": page["final_url"], "status": page["status"]}
            metadata |= {"id": page["id"], "depth": page["depth"], "title": page["title"]}
            yield page["markdown"], {name: one for name, one in metadata.items() if one is not None}


def _told(metadata: Any) -> dict[str, Any]:
    told = {name: metadata.get(name) for name in ("title", "description")}
    return {name: value for name, value in told.items() if value}
