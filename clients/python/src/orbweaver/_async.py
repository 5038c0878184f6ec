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
    ActorRun,
    BucketExport,
    BulkItem,
    Crawl,
    CrawlReference,
    Link,
    Monitor,
    Page,
    ScanResult,
    SearchResult,
)


class AsyncOrbweaver:
    """The asynchronous client.

    ``retries`` is how often a request is tried again that was refused for a moment or broke off;
    ``timeout`` the seconds that one try may take, and for which the answer to one that broke off is
    waited for.
    """

    def __init__(
        self,
        base_url: str | None = None,
        key: str | None = None,
        *,
        retries: int = 3,
        timeout: float = _request.TIMEOUT,
    ) -> None:
        address, headers = _request.settings(base_url, key)
        self._retries = retries
        self._timeout = timeout
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
        """Any request to the API: its JSON, its text where it is none, the bytes of a file (a picture, an
        archive), None without a body."""
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

    async def actor(self, name: str, /, **fields: Any) -> ActorAnswer:
        """What an actor finds; fields by its input schema."""
        path = f"/v1/actors/{segment(name)}"
        body = _request.body(None, fields)
        return cast(ActorAnswer, await self._send(Request("POST", path, body=body)))

    async def run_actor(
        self,
        name: str,
        /,
        *,
        poll_seconds: float = 2.0,
        wait_seconds: float = 3600.0,
        **fields: Any,
    ) -> ActorRun:
        """Runs an actor in the background and waits for its end: for work that takes longer than a
        request may."""
        path = f"/v1/actors/{segment(name)}/runs"
        body = _request.body(None, fields)
        run = await self._send(Request("POST", path, body=body))
        what = f"run {run['id']} of {name}"
        ended = await self._ended(f"{path}/{run['id']}", what, poll_seconds, wait_seconds)
        return cast(ActorRun, ended)

    async def actor_items(
        self, name: str, run_id: int, *, page_size: int = 1000
    ) -> AsyncIterator[Any]:
        """What a run of an actor emitted, read as it is needed."""
        path = f"/v1/actors/{segment(name)}/runs/{segment(run_id)}/items"
        async for item in self._items(path, {}, page_size):
            yield item

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
        path = f"/v1/crawls/{segment(crawl_id)}"
        ended = await self._ended(path, f"crawl {crawl_id}", poll_seconds, wait_seconds)
        return cast(Crawl, ended)

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

    async def export_to_bucket(
        self,
        crawl_id: int,
        to: str,
        *,
        access_key_id: str,
        secret_access_key: str,
        session_token: str | None = None,
        poll_seconds: float = 2.0,
        wait_seconds: float = 3600.0,
        **fields: Any,
    ) -> BucketExport:
        """Writes the pages of a crawl to a bucket and waits for the end; ``to`` and the other fields
        as in ``POST /v1/crawls/{id}/export``. The keys are names of secrets: see ``set_secret``."""
        credentials = {"access_key_id": access_key_id, "secret_access_key": secret_access_key}
        if session_token is not None:
            credentials["session_token"] = session_token
        path = f"/v1/crawls/{segment(crawl_id)}/export"
        body = _request.body(None, {"to": to, "credentials": credentials, **fields})
        export = await self._send(Request("POST", path, body=body))
        what = f"export {export['id']} of crawl {crawl_id}"
        ended = await self._ended(f"{path}s/{export['id']}", what, poll_seconds, wait_seconds)
        return cast(BucketExport, ended)

    async def set_secret(self, name: str, value: str, *, hosts: list[str]) -> None:
        """Stores a secret, which nobody can read again; ``hosts`` are the origins that may receive
        it, such as ``https://s3.example.com``."""
        body = {"value": value, "hosts": hosts}
        await self._send(Request("PUT", f"/v1/secrets/{segment(name)}", body=body))

    async def monitor(self, url: str, cron: str, **fields: Any) -> Monitor:
        """Crawls a site by a schedule of five fields, UTC; fields as in ``POST /v1/crawls``."""
        body = _request.body(url, {"cron": cron, **fields})
        made = await self._send(Request("POST", "/v1/crawls", body=body))
        path = f"/v1/crons/{segment(made['monitor_id'])}"
        return cast(Monitor, await self._send(Request("GET", path)))

    async def monitors(self) -> list[Monitor]:
        """The project's monitors."""
        answer = await self._send(Request("GET", "/v1/crons"))
        return cast(list[Monitor], answer["items"])

    async def delete_monitor(self, monitor_id: int) -> None:
        """Ends a monitor; its runs stay."""
        await self._send(Request("DELETE", f"/v1/crons/{segment(monitor_id)}"))

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

    async def _ended(
        self, path: str, what: str, poll_seconds: float, wait_seconds: float
    ) -> dict[str, Any]:
        left = wait_seconds
        while True:
            run = await self._send(Request("GET", path))
            if run["status"] in _request.ENDED:
                return cast(dict[str, Any], run)
            if left <= 0:
                raise TimeoutError(f"{what} is still {run['status']}")
            pause = min(poll_seconds, left)
            await asyncio.sleep(pause)
            left -= pause

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
        tries = _request.Tries(request, self._retries, self._timeout)
        while True:
            response: httpx.Response | None = None
            broken: httpx.TransportError | None = None
            try:
                response = await self._http.request(
                    request.method,
                    request.path,
                    params=_request.params(request),
                    json=request.body,
                    headers=tries.headers,
                )
                if response.is_success:
                    return _request.content(response)
                if tries.has_removed(response):
                    return None
            except httpx.TransportError as error:
                broken = error
            wait = tries.pause(response)
            if wait is None:
                if response is not None:
                    raise _request.failure(response)
                assert broken is not None
                raise broken
            await asyncio.sleep(wait)
