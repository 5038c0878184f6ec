"""Both clients against a real server."""

from __future__ import annotations

import asyncio
import hashlib
import hmac
import http.server
import io
import json
import zipfile

import pytest
from conftest import KEY, serve

from orbweaver import AsyncOrbweaver, Orbweaver, OrbweaverError, verify


def test_a_page_is_scanned(service: str, site: str) -> None:
    with Orbweaver(service, KEY) as web:
        page = web.scan(f"{site}/", include_links=True)
        assert page["metadata"]["title"] == "Home"
        assert "# Home" in page["markdown"]
        assert [link["anchor"] for link in page["links"]] == ["a", "b"]
        first, second = web.scan_bulk([f"{site}/a", "http://10.0.0.1/"], metadata_only=True)
        assert first["ok"] and not second["ok"]


def test_a_site_is_crawled_and_its_pages_are_read(service: str, site: str) -> None:
    with Orbweaver(service, KEY) as web:
        run = web.crawl(f"{site}/", delay_ms=0, poll_seconds=0.1)
        assert (run["status"], run["page_count"]) == ("done", 3)
        # More parts than one.
        pages = list(web.pages(run["id"], page_size=2))
        assert sorted(page["url"].removeprefix(site) for page in pages) == ["/", "/a", "/b"]
        assert len(list(web.links(run["id"], page_size=1))) == 2
        stored = web.page(pages[0]["id"])
        assert stored["markdown"]
        again = web.crawl(f"{site}/", delay_ms=0, poll_seconds=0.1)
        assert web.diff(run["id"], again["id"])["summary"]["unchanged"] == 3
        web.delete_crawl(run["id"])
        with pytest.raises(OrbweaverError) as failed:
            web.get_crawl(run["id"])
        assert (failed.value.status, failed.value.code) == (404, "NOT_FOUND")
        assert failed.value.request_id


def test_a_file_is_bytes_and_a_list_of_lines_is_text(service: str, site: str) -> None:
    with Orbweaver(service, KEY) as web:
        run = web.crawl(f"{site}/", delay_ms=0, poll_seconds=0.1)
        path = f"/v1/crawls/{run['id']}/export"
        archive = web.request("GET", path, query={"format": "zip"})
        with zipfile.ZipFile(io.BytesIO(archive)) as opened:
            assert opened.testzip() is None and "index.csv" in opened.namelist()
        lines = web.request("GET", path, query={"format": "csv"})
        assert lines.startswith("id,url,status")
        assert len(web.request("GET", path).splitlines()) == 3
        assert web.request("GET", path, query={"format": "json"})["next_offset"] is None


class Named(http.server.BaseHTTPRequestHandler):
    """Answers with the input of an actor."""

    def do_POST(self) -> None:
        data = self.rfile.read(int(self.headers["Content-Length"]))
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.end_headers()
        self.wfile.write(data)

    def log_message(self, *_: object) -> None:
        pass


def test_an_actors_input_may_have_a_name() -> None:
    server, address = serve(Named)
    with Orbweaver(address, KEY) as web:
        assert web.actor("greet", name="Ann") == {"name": "Ann"}
    server.shutdown()


def test_an_actor_runs(service: str, site: str) -> None:
    with Orbweaver(service, KEY) as web:
        answer = web.actor("audit-onpage", url=f"{site}/")
        assert answer["actor"] == "audit-onpage"
        assert web.usage()["tier"] == "self_hosted"


def test_an_actor_runs_in_the_background(service: str, site: str) -> None:
    with Orbweaver(service, KEY) as web:
        run = web.run_actor("check-links", url=f"{site}/", poll_seconds=0.1)
        assert run["status"] == "done", run
        items = list(web.actor_items("check-links", run["id"], page_size=1))
        assert len(items) == run["item_count"] > 0


def test_a_monitor_is_made_and_ended(service: str) -> None:
    with Orbweaver(service, KEY) as web:
        made = web.monitor("https://example.com/", "0 6 * * *", max_pages=5)
        assert (made["schedule"], made["enabled"]) == ("0 6 * * *", True)
        assert made["id"] in [monitor["id"] for monitor in web.monitors()]
        web.delete_monitor(made["id"])
        assert made["id"] not in [monitor["id"] for monitor in web.monitors()]


class Bucket(http.server.BaseHTTPRequestHandler):
    """A bucket that takes objects, whole or in parts."""

    objects: dict[str, bytes] = {}
    parts: list[bytes] = []

    def do_PUT(self) -> None:
        body = self.rfile.read(int(self.headers["Content-Length"]))
        path, _, query = self.path.partition("?")
        if "partNumber=" in query:
            self.parts.append(body)
        else:
            self.objects[path] = body
        self.answer("")

    def do_POST(self) -> None:
        self.rfile.read(int(self.headers["Content-Length"] or 0))
        path, _, query = self.path.partition("?")
        if "uploadId=" in query:
            self.objects[path] = b"".join(self.parts)
            self.answer("<CompleteMultipartUploadResult><ETag>e</ETag></CompleteMultipartUploadResult>")
        else:
            self.answer(
                "<InitiateMultipartUploadResult><UploadId>u</UploadId></InitiateMultipartUploadResult>"
            )

    def answer(self, body: str) -> None:
        self.send_response(200)
        self.send_header("ETag", '"e"')
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body.encode())

    def log_message(self, *_: object) -> None:
        pass


def test_a_crawl_is_exported_to_a_bucket(service: str, site: str) -> None:
    server, bucket = serve(Bucket)
    with Orbweaver(service, KEY) as web:
        run = web.crawl(f"{site}/", delay_ms=0, poll_seconds=0.1)
        web.set_secret("bucket-id", "an-access-key", hosts=[bucket])
        web.set_secret("bucket-key", "a-secret-key", hosts=[bucket])
        export = web.export_to_bucket(
            run["id"],
            f"s3://pages/daily?endpoint={bucket}&style=path",
            access_key_id="bucket-id",
            secret_access_key="bucket-key",
            include="title",
            poll_seconds=0.1,
        )
        assert (export["status"], export["pages"]) == ("done", 3), export
        lines = Bucket.objects[f"/pages/daily/crawl-{run['id']}.ndjson"].splitlines()
        assert sorted(json.loads(line)["title"] for line in lines) == ["A", "B", "Home"]
        with pytest.raises(OrbweaverError) as failed:
            web.export_to_bucket(
                run["id"], "s3://pages", access_key_id="none", secret_access_key="none"
            )
        assert failed.value.code == "INVALID_INPUT"
    server.shutdown()


def test_errors_have_code_and_message(service: str) -> None:
    with Orbweaver(service, KEY) as web, pytest.raises(OrbweaverError) as failed:
        web.scan("http://10.0.0.1/")
    assert (failed.value.status, failed.value.code) == (422, "INVALID_INPUT")
    assert failed.value.message.startswith("url: ")
    with Orbweaver(service, "orb_wrong") as web, pytest.raises(OrbweaverError) as failed:
        web.usage()
    assert failed.value.code == "UNAUTHORIZED"


def test_the_asynchronous_client_does_the_same(service: str, site: str) -> None:
    async def use() -> None:
        async with AsyncOrbweaver(service, KEY) as web:
            one, two = await asyncio.gather(web.scan(f"{site}/a"), web.scan(f"{site}/b"))
            assert (one["metadata"]["title"], two["metadata"]["title"]) == ("A", "B")
            run = await web.crawl(f"{site}/", delay_ms=0, poll_seconds=0.1)
            assert len([page async for page in web.pages(run["id"], page_size=1)]) == 3

    asyncio.run(use())


def test_a_key_is_required(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("ORBWEAVER_KEY", raising=False)
    with pytest.raises(ValueError, match="key: is required"):
        Orbweaver("http://127.0.0.1:1")


def test_a_webhook_is_verified_by_the_projects_secret(service: str) -> None:
    with Orbweaver(service, KEY) as web:
        secret = web.webhook_secret()
    body = b'{"id":1}'
    signature = "sha256=" + hmac.new(bytes.fromhex(secret), body, hashlib.sha256).hexdigest()
    assert verify(body, signature, secret)
    assert not verify(body + b" ", signature, secret)
    assert not verify(body, "sha256=00", secret)
    assert not verify(body, signature, "no hex")


class Tired(http.server.BaseHTTPRequestHandler):
    """Refuses twice, then answers; keeps what it was sent."""

    seen: list[str | None] = []

    def do_POST(self) -> None:
        self.rfile.read(int(self.headers["Content-Length"]))
        self.seen.append(self.headers["Idempotency-Key"])
        refused = len(self.seen) <= 2
        body = {"error": {"code": "RATE_LIMITED", "message": "m"}} if refused else {"url": "u"}
        self.send_response(429 if refused else 200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Retry-After", "0")
        self.end_headers()
        self.wfile.write(json.dumps(body).encode())

    def log_message(self, *_: object) -> None:
        pass


def test_what_is_refused_for_a_moment_is_tried_again_with_the_same_key() -> None:
    Tired.seen = []
    server, address = serve(Tired)
    with Orbweaver(address, KEY) as web:
        assert web.scan("https://example.com/") == {"url": "u"}
    assert len(Tired.seen) == 3 and len(set(Tired.seen)) == 1 and Tired.seen[0]
    Tired.seen = []
    with Orbweaver(address, KEY, retries=1) as web, pytest.raises(OrbweaverError) as failed:
        web.scan("https://example.com/")
    assert failed.value.status == 429 and len(Tired.seen) == 2
    server.shutdown()


def test_the_two_clients_are_the_same_code() -> None:
    import gen

    text = (gen.FOLDER / "_async.py").read_text()
    assert (gen.FOLDER / "_sync.py").read_text() == gen.sync(text), "run gen.py"
