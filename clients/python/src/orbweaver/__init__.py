"""Client of Orbweaver: scan pages, crawl sites, run actors, verify webhooks."""

from ._async import AsyncOrbweaver
from ._sync import Orbweaver
from ._types import (
    ActorAnswer,
    Crawl,
    CrawlReference,
    Link,
    Metadata,
    Page,
    ScanResult,
    SearchResult,
)
from .errors import OrbweaverError
from .webhooks import verify

__all__ = [
    "ActorAnswer",
    "AsyncOrbweaver",
    "Crawl",
    "CrawlReference",
    "Link",
    "Metadata",
    "Orbweaver",
    "OrbweaverError",
    "Page",
    "ScanResult",
    "SearchResult",
    "verify",
]
