"""trafilatura for `cargo xtask eval --peers`, with its default configuration.

Protocol: one line {"tool", "url", "html"} in, one line {"text", "title", "author",
"published", "language", "site_name", "description", "micros"} out.
"""

import json
import sys
import time

import trafilatura


def answer(request):
    # Dates found in the text are part of the tool's default.
    found = trafilatura.bare_extraction(
        request["html"], url=request["url"], with_metadata=True, include_comments=False
    )
    if found is None:
        return {}
    return {
        "text": found.text,
        "title": found.title,
        "author": found.author,
        "published": found.date,
        "language": found.language,
        "site_name": found.sitename,
        "description": found.description,
    }


for line in sys.stdin:
    request = json.loads(line)
    began = time.process_time()
    try:
        found = answer(request)
    except Exception as error:  # a page that the tool cannot read has no answer
        print(f"trafilatura: {request['url']}: {error}", file=sys.stderr)
        found = {}
    found["micros"] = (time.process_time() - began) * 1e6
    print(json.dumps(found), flush=True)
