"""A reader for LlamaIndex: ``pip install 'orbweaver-client[llamaindex]'``."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from llama_index.core.readers.base import BaseReader
from llama_index.core.schema import Document

from ._documents import Mode, documents
from ._sync import Orbweaver


class OrbweaverReader(BaseReader):
    """Reads the main content of pages as Markdown."""

    def __init__(self, client: Orbweaver | None = None) -> None:
        self.client = client or Orbweaver()

    def lazy_load_data(
        self, source: str | int, *, mode: Mode = "crawl", **fields: Any
    ) -> Iterable[Document]:
        """Documents of a URL (mode ``scan``: one page; ``crawl``: a site) or of the id of a
        finished run (mode ``run``). Further arguments are fields of the request."""
        for text, metadata in documents(self.client, source, mode, fields):
            yield Document(text=text, metadata=metadata)
