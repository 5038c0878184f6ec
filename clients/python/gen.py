"""Writes src/orbweaver/_sync.py from src/orbweaver/_async.py: the same code without await."""

import re
from pathlib import Path

FOLDER = Path(__file__).parent / "src" / "orbweaver"
WORDS = [
    ("AsyncOrbweaver", "Orbweaver"),
    ("httpx.AsyncClient", "httpx.Client"),
    ("AsyncIterator", "Iterator"),
    ("__aenter__", "__enter__"),
    ("__aexit__", "__exit__"),
    (".aclose()", ".close()"),
    ("asyncio.sleep", "time.sleep"),
    ("import asyncio", "import time"),
    ("async with", "with"),
    ("async for", "for"),
    ("async def", "def"),
    ("await ", ""),
    ("The asynchronous client.", "The client."),
]


def sync(text: str) -> str:
    for old, new in WORDS:
        text = text.replace(old, new)
    return re.sub(r'^"""', '"""Written by gen.py; edit _async.py. ', text, count=1)


if __name__ == "__main__":
    (FOLDER / "_sync.py").write_text(sync((FOLDER / "_async.py").read_text()))
