"""A document loader for LangChain: ``pip install 'orbweaver-client[langchain]'``."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from langchain_core.document_loaders import BaseLoader
from langchain_core.documents import Document

from ._documents import Mode, documents
from ._sync import Orbweaver


class OrbweaverLoader(BaseLoader):
    """Loads the main content of pages as Markdown.

    ``source`` is a URL (mode ``scan``: one page; ``crawl``: a site) or the id of a finished run
    (mode ``run``). Further arguments are fields of the request, such as ``max_pages``.
    """

    def __init__(
        self, source: str | int, *, mode: Mode = "crawl", client: Orbweaver | None = None,
        **fields: Any,
    ) -> None:
        self.source = source
        self.mode = mode
        self.client = client or Orbweaver()
        self.fields = fields

    def lazy_load(self) -> Iterator[Document]:
        for text, metadata in documents(self.client, self.source, self.mode, self.fields):
            yield Document(page_content=text, metadata=metadata)
