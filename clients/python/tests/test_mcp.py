"""The official Python SDK of the Model Context Protocol: over HTTP, and over ``orbweaver mcp``."""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from pathlib import Path

import httpx2
import pytest
from conftest import KEY, binary
from mcp import Client, MCPError, StdioServerParameters
from mcp.client.streamable_http import streamable_http_client


Connect = Callable[[str, Path], AbstractAsyncContextManager[Client]]


@asynccontextmanager
async def over_http(service: str, folder: Path) -> AsyncIterator[Client]:
    headers = {"Authorization": f"Bearer {KEY}"}
    async with httpx2.AsyncClient(headers=headers, timeout=60) as http:
        transport = streamable_http_client(f"{service}/mcp", http_client=http)
        async with Client(transport) as client:
            yield client


@asynccontextmanager
async def over_stdio(service: str, folder: Path) -> AsyncIterator[Client]:
    environment = {**os.environ, "ORBWEAVER_KEY": KEY, "XDG_CONFIG_HOME": str(folder)}
    arguments = ["mcp", "--server", service]
    server = StdioServerParameters(command=binary(), args=arguments, env=environment)
    async with Client(server) as client:
        yield client


async def use(client: Client, site: str) -> None:
    tools = {tool.name for tool in (await client.list_tools()).tools}
    assert {"scan", "crawl", "search", "diff", "actor_audit-onpage"} <= tools

    scan = await client.call_tool("scan", {"url": f"{site}/"})
    assert not scan.is_error and scan.structured_content is not None
    assert scan.structured_content["metadata"]["title"] == "Home"

    told: list[float] = []

    async def progress(done: float, total: float | None, message: str | None) -> None:
        told.append(done)

    arguments = {"url": f"{site}/", "delay_ms": 0, "wait_seconds": 60}
    crawl = await client.call_tool("crawl", arguments, progress_callback=progress)
    assert crawl.structured_content is not None
    assert (crawl.structured_content["status"], crawl.structured_content["page_count"]) == ("done", 3)
    assert told and told == sorted(told)

    audit = await client.call_tool("actor_audit-onpage", {"url": f"{site}/"})
    assert audit.structured_content is not None
    assert audit.structured_content["actor"] == "audit-onpage"

    refused = await client.call_tool("scan", {"url": "http://10.0.0.1/"})
    assert refused.is_error and refused.structured_content is not None
    assert refused.structured_content["error"]["code"] == "INVALID_INPUT"
    with pytest.raises(MCPError):
        await client.call_tool("nothing", {})


@pytest.mark.parametrize("connect", [over_http, over_stdio])
def test_the_official_client_uses_the_tools(
    connect: Connect, service: str, site: str, tmp_path: Path
) -> None:
    async def run() -> None:
        async with connect(service, tmp_path) as client:
            await use(client, site)

    asyncio.run(asyncio.wait_for(run(), 120))
