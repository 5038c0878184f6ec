"""The loaders for LangChain and LlamaIndex."""

from __future__ import annotations

from conftest import KEY

from orbweaver import Orbweaver
from orbweaver.langchain import OrbweaverLoader
from orbweaver.llamaindex import OrbweaverReader


def test_langchain_loads_pages_and_sites(service: str, site: str) -> None:
    with Orbweaver(service, KEY) as web:
        one = OrbweaverLoader(f"{site}/a", mode="scan", client=web).load()
        assert [doc.metadata["source"] for doc in one] == [f"{site}/a"]
        assert "The first page." in one[0].page_content
        loader = OrbweaverLoader(f"{site}/", client=web, delay_ms=0, poll_seconds=0.1)
        found = {doc.metadata["source"]: doc for doc in loader.lazy_load()}
        assert f"{site}/b" in found
        assert found[f"{site}/b"].metadata["title"] == "B"


def test_llamaindex_reads_a_finished_run(service: str, site: str) -> None:
    with Orbweaver(service, KEY) as web:
        run = web.crawl(f"{site}/", delay_ms=0, poll_seconds=0.1)
        docs = OrbweaverReader(web).load_data(run["id"], mode="run")
        assert any("The second page." in doc.text for doc in docs)


def test_maps_and_batches(service: str, site: str) -> None:
    with Orbweaver(service, KEY) as web:
        assert f"{site}/a" in web.map(f"{site}/")
        run = web.wait(web.start_batch([f"{site}/a", f"{site}/b"])["id"], poll_seconds=0.1)
        assert run["page_count"] == 2
        titles = [page["title"] for page in web.export(run["id"], ("title",))]
        assert sorted(titles) == ["A", "B"]
