#!/usr/bin/env python3
"""Regenerates ai-crawlers.json from the ai.robots.txt list.

    update-ai-crawlers.py [SOURCE]

SOURCE is a checkout of https://github.com/ai-robots-txt/ai.robots.txt, a robots.json, or
a URL of one; by default the list's main branch on GitHub. Only the crawlers' names, which
are facts, are taken over. Exits with 1 if the list looks wrong (too short, no GPTBot).
"""

import json
import pathlib
import sys
import urllib.request

HOME = "https://github.com/ai-robots-txt/ai.robots.txt"
DEFAULT = "https://raw.githubusercontent.com/ai-robots-txt/ai.robots.txt/main/robots.json"
TARGET = pathlib.Path(__file__).with_name("ai-crawlers.json")


def read(source: str) -> bytes:
    if source.startswith(("http://", "https://")):
        with urllib.request.urlopen(source, timeout=30) as answer:
            return answer.read(4 << 20)
    path = pathlib.Path(source)
    return (path / "robots.json" if path.is_dir() else path).read_bytes()


def main() -> int:
    source = sys.argv[1] if len(sys.argv) > 1 else DEFAULT
    names = sorted(json.loads(read(source)), key=lambda name: (name.lower(), name))
    if len(names) < 100 or "GPTBot" not in names:
        print(f"{source}: {len(names)} names; this is not the list", file=sys.stderr)
        return 1
    before = json.loads(TARGET.read_text())["crawlers"] if TARGET.exists() else []
    TARGET.write_text(
        json.dumps({"source": HOME, "licence": "MIT", "crawlers": names}, indent=1, ensure_ascii=False) + "\n"
    )
    for name in names:
        if name not in before:
            print(f"+ {name}")
    for name in before:
        if name not in names:
            print(f"- {name}")
    print(f"{len(names)} crawlers in {TARGET}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
