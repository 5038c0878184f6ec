"""A real server, and a site to fetch."""

from __future__ import annotations

import http.server
import os
import re
import subprocess
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

KEY = "orb_AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA"
PAGES = {
    "/": "<title>Home</title><h1>Home</h1><a href='/a'>a</a><a href='/b'>b</a>",
    "/a": "<title>A</title><p>The first page.</p>",
    "/b": "<title>B</title><p>The second page.</p>",
}


class Site(http.server.BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        page = PAGES.get(self.path)
        self.send_response(200 if page else 404)
        self.send_header("Content-Type", "text/html")
        self.end_headers()
        self.wfile.write((page or "<title>No</title>").encode())

    def log_message(self, *_: object) -> None:
        pass


def serve(handler: type[http.server.BaseHTTPRequestHandler]) -> tuple[http.server.HTTPServer, str]:
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    return server, f"http://127.0.0.1:{server.server_port}"


@pytest.fixture(scope="session")
def site() -> Iterator[str]:
    server, address = serve(Site)
    yield address
    server.shutdown()


def binary() -> str:
    """The program."""
    root = Path(__file__).parents[3]
    return os.environ.get("ORBWEAVER_BINARY") or str(root / "target" / "release" / "orbweaver")


@pytest.fixture(scope="session")
def service(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    environment = dict(os.environ, ORBWEAVER_BOOTSTRAP_KEY=KEY)
    environment["ORBWEAVER_DATA_DIR"] = str(tmp_path_factory.mktemp("data"))
    arguments = ["serve", "--listen", "127.0.0.1:0", "--allow-net", "127.0.0.0/8"]
    process = subprocess.Popen(
        [binary(), *arguments], env=environment, stdout=subprocess.PIPE, text=True
    )
    assert process.stdout is not None
    for line in process.stdout:
        found = re.search(r"listens on (\S+)", line)
        if found:
            break
    else:
        raise AssertionError("the service ended before it listened")
    yield found.group(1)
    process.terminate()
    assert process.wait(timeout=15) == 0
