"""Brings public pages with known main content into the layout that `train.py` is given.

Usage: sets.py SET CHECKOUT OUT [--without FOLDER...]

CHECKOUT is a working copy of the set's repository, OUT becomes a folder with
`ground-truth.json` and `html/ID.html.gz`. Pages of hosts that a set in `--without` has are left
out, so that no page is measured by a model that has seen its site. The sets:

    fundus         flairNLP/fundus (MIT): articles of some 150 publishers, their text as parsers
                   made for each publisher read it, with the standfirst
    magic-article  opendatalab/magic-html (Apache-2.0): articles, half of them Chinese
    magic-forum    the same: threads and questions
    readability    mozilla/readability (Apache-2.0): articles with what Readability should give
    newspaper      AndyTheFactory/newspaper4k (MIT): articles in a dozen languages
"""

import argparse
import gzip
import hashlib
import html.parser
import json
import pathlib
import re
from urllib.parse import urlsplit

# Larger pages are no pages for people.
MOST_BYTES = 8_000_000
BLOCKS = set(
    "p div li ul ol h1 h2 h3 h4 h5 h6 tr td th table section article header footer figure "
    "figcaption pre blockquote br dt dd dl".split()
)


class Text(html.parser.HTMLParser):
    """The text of HTML, a line for each block."""

    def __init__(self):
        super().__init__()
        self.parts, self.skipped = [], 0

    def handle_starttag(self, tag, attrs):
        self.skipped += tag in ("script", "style")
        if tag in BLOCKS:
            self.parts.append("\n")

    def handle_endtag(self, tag):
        if tag in ("script", "style"):
            self.skipped = max(0, self.skipped - 1)
        if tag in BLOCKS:
            self.parts.append("\n")

    def handle_data(self, data):
        if not self.skipped:
            self.parts.append(data)


def text_of(markup):
    reader = Text()
    reader.feed(markup)
    lines = "".join(reader.parts).split("\n")
    return "\n".join(line for line in (re.sub(r"\s+", " ", line).strip() for line in lines) if line)


def decoded(data):
    """Text of bytes whose encoding only they themselves tell."""
    for mark, encoding in ((b"\xef\xbb\xbf", "utf-8-sig"), (b"\xff\xfe", "utf-16"),
                           (b"\xfe\xff", "utf-16")):
        if data.startswith(mark):
            return data.decode(encoding, "replace")
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError:
        pass
    told = re.search(rb"charset=[\"']?([\w-]+)", data[:4096], re.I)
    encoding = told.group(1).decode().lower() if told else "cp1252"
    try:
        return data.decode("cp1252" if encoding in ("iso-8859-1", "latin1") else encoding, "replace")
    except LookupError:
        return data.decode("cp1252", "replace")


def stated_url(page, name):
    """The page's own address as it states it, else one made of its name."""
    for pattern in (r"<link[^>]*rel=[\"']?canonical[\"']?[^>]*>",
                    r"<meta[^>]*property=[\"']og:url[\"'][^>]*>"):
        element = re.search(pattern, page)
        url = element and re.search(r"(?:href|content)=[\"'](https?:[^\"']+)", element.group())
        if url:
            return url.group(1)
    return f"https://{name}.example/page"


def fundus(root):
    folder = root / "tests/resources/parser/test_data"
    for facts in sorted(folder.glob("*/meta.info")):
        urls = json.loads(facts.read_text(encoding="utf-8"))
        for truth in sorted(facts.parent.glob("*.json")):
            versions = json.loads(truth.read_text(encoding="utf-8"))
            day = r"_\d{4}_\d\d_\d\d\.html\.gz"
            pages = sorted(p for p in facts.parent.glob("*.html.gz")
                           if re.fullmatch(re.escape(truth.stem) + day, p.name))
            order = sorted(versions, key=lambda v: [int(n) for n in re.findall(r"\d+", v)])
            # Each version of a parser has a page of its time.
            if len(pages) != len(order):
                continue
            for version, page in zip(order, pages):
                body = versions[version].get("body")
                if not body:
                    continue
                lines = list(body.get("summary") or [])
                for section in body["sections"]:
                    lines += (section.get("headline") or []) + (section.get("paragraphs") or [])
                url = urls.get(page.name, {}).get("url") or f"https://{truth.stem}.example/page"
                yield url, gzip.decompress(page.read_bytes()), "\n".join(lines), "article"


def magic(kind):
    def read(root):
        folder = root / "benchmark/data" / kind
        for name, facts in json.loads((folder / "base.json").read_text(encoding="utf-8")).items():
            page = folder / "htmls" / f"{name}.html"
            if page.exists():
                yield facts["url"], page.read_bytes(), facts["content"], kind
    return read


def readability(root):
    for page in sorted(root.glob("test/test-pages/*/source.html")):
        data = page.read_bytes()
        truth = text_of(decoded((page.parent / "expected.html").read_bytes()))
        yield stated_url(decoded(data), page.parent.name), data, truth, "article"


def newspaper(root):
    for truth in sorted(root.glob("tests/data/txt/*.txt")):
        page = root / "tests/data/html" / f"{truth.stem}.html"
        if page.exists():
            data = page.read_bytes()
            yield stated_url(decoded(data), truth.stem), data, decoded(truth.read_bytes()), "article"


SETS = {"fundus": fundus, "magic-article": magic("article"), "magic-forum": magic("forum"),
        "readability": readability, "newspaper": newspaper}


def site(url):
    parts = (urlsplit(url).hostname or "").lower().split(".")
    second = len(parts) > 2 and len(parts[-2]) <= 3 and len(parts[-1]) == 2
    return ".".join(parts[-3:] if second else parts[-2:])


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("set", choices=SETS)
    parser.add_argument("checkout", type=pathlib.Path)
    parser.add_argument("out", type=pathlib.Path)
    parser.add_argument("--without", type=pathlib.Path, nargs="*", default=[])
    arguments = parser.parse_args()
    known = set()
    for folder in arguments.without:
        truth = json.loads((folder / "ground-truth.json").read_text(encoding="utf-8"))
        known |= {site(page["url"]) for page in truth.values() if page.get("url")}
    (arguments.out / "html").mkdir(parents=True, exist_ok=True)
    truth = {}
    for url, data, text, kind in SETS[arguments.set](arguments.checkout):
        if site(url) in known or len(data) > MOST_BYTES:
            continue
        name = hashlib.md5(url.encode()).hexdigest()[:12]
        truth[name] = {"url": url, "page_type": kind, "main_content": text}
        with gzip.open(arguments.out / "html" / f"{name}.html.gz", "wb") as file:
            file.write(decoded(data).encode("utf-8", "replace"))
    file = arguments.out / "ground-truth.json"
    file.write_text(json.dumps(truth, ensure_ascii=False), encoding="utf-8")
    print(f"{arguments.set}: {len(truth)} pages")


if __name__ == "__main__":
    main()
