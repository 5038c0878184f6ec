"""Shapes of answers. Members that the API adds later are there, too, untyped."""

from __future__ import annotations

from typing import Any, Literal, TypedDict

Status = Literal["queued", "running", "done", "failed", "cancelled"]


class Metadata(TypedDict, total=False):
    title: str | None
    description: str | None
    canonical: str | None
    og: dict[str, Any]
    twitter: dict[str, Any]
    json_ld: list[dict[str, Any]]


class ScanLink(TypedDict):
    to: str
    anchor: str
    rel: str
    nofollow: bool


class ScanResult(TypedDict, total=False):
    url: str
    final_url: str
    status: int
    bytes: int
    content_hash: str
    markdown: str | None
    article: str | None
    article_html: str | None
    metadata: Metadata
    signals: dict[str, Any]
    ai_bot_policy: dict[str, str]
    llms_txt: str | None
    llms_full_txt: str | None
    links: list[ScanLink]
    screenshot: str
    screenshot_error: str
    extensions: dict[str, Any]
    extracted: dict[str, Any] | None
    extract_errors: list[dict[str, str]]
    errors: list[dict[str, Any]]
    warnings: list[str]


class BulkItem(TypedDict, total=False):
    url: str
    ok: bool
    result: ScanResult
    error: str


class CrawlReference(TypedDict):
    id: int
    status: Status
    url: str
    enqueued_at: str


class Crawl(TypedDict, total=False):
    id: int
    url: str
    status: Status
    page_count: int
    error_count: int
    enqueued_at: str
    started_at: str | None
    finished_at: str | None
    error_message: str | None
    webhook_status: str | None


class Page(TypedDict):
    id: int
    url: str
    status: int
    bytes: int
    fetched_at: str


class Link(TypedDict):
    from_page_id: int
    to_url: str
    anchor: str
    rel: str
    nofollow: bool


class SearchResult(TypedDict):
    url: str
    title: str
    content: str
    cost_usd: float


class ActorAnswer(TypedDict):
    actor: str
    url: str | None
    elapsed_ms: int
    data: Any


class ActorRun(TypedDict, total=False):
    id: int
    actor: str
    status: Status
    item_count: int
    result: Any
    error: dict[str, str] | None
    enqueued_at: str
    started_at: str | None
    finished_at: str | None


class BucketExport(TypedDict, total=False):
    id: int
    crawl_id: int
    status: Status
    to: str
    object: str
    format: str
    pages: int
    bytes: int
    error: dict[str, str] | None


class Monitor(TypedDict, total=False):
    id: int
    schedule: str
    url: str
    enabled: bool
    next_fires_at: str | None
    last_fired_at: str | None
    last_run_id: int | None
    webhook_url: str | None
