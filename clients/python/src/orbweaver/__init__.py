"""Client of Orbweaver: scan pages, crawl sites, run actors, verify webhooks."""

from ._async import AsyncOrbweaver
from ._sync import Orbweaver
from ._types import (
    ActorAnswer,
    ActorRun,
    BucketExport,
    Crawl,
    CrawlReference,
    Link,
    Metadata,
    Monitor,
    Page,
    ScanResult,
    SearchResult,
)
from .errors import OrbweaverError
from .webhooks import verify

__all__ = [
    "ActorAnswer",
    "ActorRun",
    "AsyncOrbweaver",
    "BucketExport",
    "Crawl",
    "CrawlReference",
    "Link",
    "Metadata",
    "Monitor",
    "Orbweaver",
    "OrbweaverError",
    "Page",
    "ScanResult",
    "SearchResult",
    "verify",
]
