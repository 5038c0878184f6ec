"""A client that a generator makes of the OpenAPI document: it compiles, and it works."""

from __future__ import annotations

import importlib
import json
import subprocess
import sys
from pathlib import Path

import httpx
import pytest
from conftest import KEY


@pytest.fixture(scope="module")
def generated(service: str, tmp_path_factory: pytest.TempPathFactory) -> str:
    folder = tmp_path_factory.mktemp("generated")
    document = folder / "openapi.json"
    document.write_bytes(httpx.get(f"{service}/openapi.json", timeout=60).content)
    config = folder / "config.json"
    overrides = {"content_type_overrides": {"application/wasm": "application/octet-stream"}}
    config.write_text(json.dumps(overrides))
    tool = Path(sys.executable).parent / "openapi-python-client"
    made = subprocess.run(
        [tool, "generate", "--path", document, "--config", config, "--meta", "none",
         "--output-path", folder / "generated_orbweaver"],
        capture_output=True, text=True, check=False,
    )
    assert made.returncode == 0, made.stdout + made.stderr
    assert "will not be generated" not in made.stdout + made.stderr
    sys.path.insert(0, str(folder))
    return "generated_orbweaver"


def test_a_generated_client_scans_and_crawls(service: str, site: str, generated: str) -> None:
    client_module = importlib.import_module(f"{generated}.client")
    models = importlib.import_module(f"{generated}.models")
    scan = importlib.import_module(f"{generated}.api.scan.scan")
    start = importlib.import_module(f"{generated}.api.crawls.create_crawl")
    links = importlib.import_module(f"{generated}.api.actors.actor_check_links")
    client = client_module.AuthenticatedClient(base_url=service, token=KEY)
    page = scan.sync(client=client, body=models.ScanRequest(url=f"{site}/a"))
    assert page.metadata.title == "A"
    run = start.sync(client=client, body=models.CrawlRequest(url=f"{site}/", delay_ms=0))
    assert run.status in list(models.CrawlStatus)
    body = models.ActorCheckLinksInput(urls=[f"{site}/a"])
    answer = links.sync_detailed(client=client, body=body)
    assert answer.status_code == 200
