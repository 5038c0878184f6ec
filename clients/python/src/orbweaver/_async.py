"""The asynchronous client."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from typing import Any, cast

import httpx

from . import _request
from ._request import Request, segment
from ._types import (
    ActorAnswer,
    BulkItem,
    Crawl,
    CrawlReference,
    Link,
    Page,
    ScanResult,
    SearchResult,
)


class AsyncOrbweaver:
    """The asynchronous client.

    ``retries`` is how often a request is tried again that was refused for a moment; ``timeout``
    the seconds that one try may take.
    """

    def __init__(
        self,
        base_url: str | None = None,
        key: str | None = None,
        *,
        retries: int = 3,
        timeout: float = 120.0,
    ) -> None:
        address, headers = _request.settings(base_url, key)
        self._retries = retries
        self._http = httpx.AsyncClient(base_url=address, headers=headers, timeout=timeout)

    async def __aenter__(self) -> AsyncOrbweaver:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    async def close(self) -> None:
        """Closes the connections."""
        await self._http.aclose()

    async def request(
        self, method: str, path: str, *, query: dict[str, Any] | None = None, body: Any = None
    ) -> Any:
        """Any request to the API: its JSON, its text where it is none, None without a body."""
        return await self._send(Request(method, path, query or {}, body))

    async def scan(self, url: str, **fields: Any) -> ScanResult:
        """One page with all that is extracted from it; fields as in ``POST /v1/scan``."""
        body = _request.body(url, fields)
        return cast(ScanResult, await self._send(Request("POST", "/v1/scan", body=body)))

    async def scan_bulk(self, urls: list[str], **fields: Any) -> list[BulkItem]:
        """Up to a hundred pages, in order; one that fails has ``ok`` false and ``error``."""
        body = _request.body(None, {"urls": urls, **fields})
        answer = await self._send(Request("POST", "/v1/scan/bulk", body=body))
        return cast(list[BulkItem], answer["items"])

    async def search(self, query: str, **fields: Any) -> list[SearchResult]:
        """Results, best first; fields as in ``POST /v1/cloud/search``."""
        body = _request.body(None, {"query": query, **fields})
        answer = await self._send(Request("POST", "/v1/cloud/search", body=body))
        return cast(list[SearchResult], answer["results"])

    async def map(self, url: str, **fields: Any) -> list[str]:
        """The URLs of a site, without crawling it; fields as in ``POST /v1/map``."""
        body = _request.body(url, fields)
        answer = await self._send(Request("POST", "/v1/map", body=body))
        return [item["url"] for item in answer["urls"]]

    async def start_batch(self, urls: list[str], **fields: Any) -> CrawlReference:
        """Starts a run over up to 100,000 URLs; it is read like a crawl."""
        body = _request.body(None, {"urls": urls, **fields})
        return cast(CrawlReference, await self._send(Request("POST", "/v1/batch", body=body)))

    async def actor(self, name: str, **fields: Any) -> ActorAnswer:
        """What an actor finds; fields by its input schema."""
        path = f"/v1/actors/{segment(name)}"
        body = _request.body(None, fields)
        return cast(ActorAnswer, await self._send(Request("POST", path, body=body)))

    async def start_crawl(self, url: str, **fields: Any) -> CrawlReference:
        """Starts a crawl; fields as in ``POST /v1/crawls``."""
        body = _request.body(url, fields)
        return cast(CrawlReference, await self._send(Request("POST", "/v1/crawls", body=body)))

    async def crawl(
        self, url: str, *, poll_seconds: float = 2.0, wait_seconds: float = 3600.0, **fields: Any
    ) -> Crawl:
        """Starts a crawl and waits for its end."""
        run = await self.start_crawl(url, **fields)
        return await self.wait(run["id"], poll_seconds=poll_seconds, wait_seconds=wait_seconds)

    async def wait(
        self, crawl_id: int, *, poll_seconds: float = 2.0, wait_seconds: float = 3600.0
    ) -> Crawl:
        """Waits for a crawl's end; ``TimeoutError`` where it takes longer."""
        left = wait_seconds
        while True:
            run = await self.get_crawl(crawl_id)
            if run["status"] in _request.ENDED:
                return run
            if left <= 0:
                raise TimeoutError(f"crawl {crawl_id} is still {run['status']}")
            pause = min(poll_seconds, left)
            await asyncio.sleep(pause)
            left -= pause

    async def get_crawl(self, crawl_id: int) -> Crawl:
        """A crawl's status and counts."""
        path = f"/v1/crawls/{segment(crawl_id)}"
        return cast(Crawl, await self._send(Request("GET", path)))

    async def delete_crawl(self, crawl_id: int) -> None:
        """Cancels a crawl if it is running, and removes it with its pages."""
        await self._send(Request("DELETE", f"/v1/crawls/{segment(crawl_id)}"))

    async def pages(
        self, crawl_id: int, *, status: int | None = None, page_size: int = 1000
    ) -> AsyncIterator[Page]:
        """All pages of a crawl, read as they are needed."""
        path = f"/v1/crawls/{segment(crawl_id)}/pages"
        async for item in self._items(path, {"status": status}, page_size):
            yield cast(Page, item)

    async def export(
        self,
        crawl_id: int,
        include: tuple[str, ...] = ("title", "markdown"),
        *,
        only_main_content: bool = False,
        page_size: int = 100,
    ) -> AsyncIterator[dict[str, Any]]:
        """All pages of a crawl with their content, read as they are needed; ``include`` as in
        ``GET /v1/crawls/{id}/export``."""
        path = f"/v1/crawls/{segment(crawl_id)}/pages"
        query = {"include": ",".join(include), "only_main_content": only_main_content}
        async for item in self._items(path, query, page_size):
            yield item

    async def links(self, crawl_id: int, *, page_size: int = 1000) -> AsyncIterator[Link]:
        """All links on a crawl's pages, read as they are needed."""
        path = f"/v1/crawls/{segment(crawl_id)}/links"
        async for item in self._items(path, {}, page_size):
            yield cast(Link, item)

    async def page(self, page_id: int, format: str = "markdown") -> dict[str, Any]:
        """A stored page: html, markdown, article, both, full or signals."""
        path = f"/v1/pages/{segment(page_id)}"
        answer = await self._send(Request("GET", path, {"format": format}))
        return cast(dict[str, Any], answer)

    async def diff(self, old_id: int, new_id: int, *, text: bool = False) -> dict[str, Any]:
        """What changed between two crawls of a site."""
        path = f"/v1/crawls/{segment(old_id)}/diff/{segment(new_id)}"
        return cast(dict[str, Any], await self._send(Request("GET", path, {"text": text})))

    async def usage(self) -> dict[str, Any]:
        """What the project used, and its caps."""
        return cast(dict[str, Any], await self._send(Request("GET", "/v1/usage")))

    async def webhook_secret(self) -> str:
        """The secret that signs the project's webhooks, for ``orbweaver.verify``."""
        answer = await self._send(Request("GET", "/v1/webhook/secret"))
        return cast(str, answer["secret_hex"])

    async def _items(
        self, path: str, query: dict[str, Any], page_size: int
    ) -> AsyncIterator[dict[str, Any]]:
        offset: int | None = 0
        while offset is not None:
            part = await self._send(
                Request("GET", path, {**query, "limit": page_size, "offset": offset})
            )
            for item in part["items"]:
                yield item
            offset = part["next_offset"]

    async def _send(self, request: Request) -> Any:
        headers = _request.headers(request)
        attempt = 0
        while True:
            response: httpx.Response | None = None
            broken: httpx.TransportError | None = None
            try:
                response = await self._http.request(
                    request.method,
                    request.path,
                    params=_request.query(request),
                    json=request.body,
                    headers=headers,
                )
                if response.is_success:
                    return _request.content(response)
            except httpx.TransportError as error:
                broken = error
            wait = _request.pause(response, attempt)
            if wait is None or attempt >= self._retries:
                if response is not None:
                    raise _request.failure(response)
                assert broken is not None
                raise broken
            await asyncio.sleep(wait)
            attempt += 1
