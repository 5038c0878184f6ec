"""Receives Orbweaver's webhooks: WEBHOOK_SECRET=… python3 receiver.py [PORT]"""

import base64
import collections
import hashlib
import hmac
import json
import os
import sys
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

SECRET = bytes.fromhex(os.environ["WEBHOOK_SECRET"])
TOLERANCE_SECONDS = 300
MAX_BODY = 1 << 20
REMEMBERED = 10_000

seen = collections.OrderedDict()


def problem(headers, body):
    """What is wrong with a delivery; None when it is ours, whole and fresh."""
    mac = hmac.new(SECRET, body, hashlib.sha256).hexdigest()
    if not hmac.compare_digest("sha256=" + mac, headers.get("X-Crawler-Signature", "")):
        return "X-Crawler-Signature does not match"
    message_id = headers.get("webhook-id", "")
    timestamp = headers.get("webhook-timestamp", "")
    if not timestamp.isdigit() or abs(time.time() - int(timestamp)) > TOLERANCE_SECONDS:
        return "webhook-timestamp is too old or in the future"
    dated = f"{message_id}.{timestamp}.".encode() + body
    mac = base64.b64encode(hmac.new(SECRET, dated, hashlib.sha256).digest()).decode()
    # Several signatures may be given, one per secret while it is being replaced.
    given = headers.get("webhook-signature", "").split(" ")
    if not any(hmac.compare_digest("v1," + mac, one) for one in given):
        return "webhook-signature does not match"
    return None


def is_new(message_id):
    """Whether this delivery has not been here before."""
    if message_id in seen:
        return False
    seen[message_id] = True
    if len(seen) > REMEMBERED:
        seen.popitem(last=False)
    return True


def described(event):
    """A line about an event. Those of a later version of the service are named, too."""
    name = event["event"]
    if name in ("crawl.done", "crawl.diff_detected", "actor.run_complete"):
        return f"{name} of run {event['id']}: {event['status']}"
    if name == "crawl.page":
        return f"{name} of run {event['id']}: {len(event['pages'])} pages"
    if name in ("plugin.quarantined", "plugin.recovered"):
        return f"{name}: {event['plugin']['kind']} {event['plugin']['name']}"
    return name


class Receiver(BaseHTTPRequestHandler):
    def do_POST(self):
        length = self.headers.get("Content-Length", "")
        if not length.isdigit() or int(length) > MAX_BODY:
            return self.answer(413)
        body = self.rfile.read(int(length))
        wrong = problem(self.headers, body)
        if wrong:
            print(f"refused: {wrong}", flush=True)
            return self.answer(401)
        self.answer(204)
        if is_new(self.headers["webhook-id"]):
            print(described(json.loads(body)), flush=True)

    def answer(self, status):
        self.send_response(status)
        self.send_header("Content-Length", "0")
        self.end_headers()

    def log_message(self, *_):
        pass


if __name__ == "__main__":
    port = int(sys.argv[1]) if len(sys.argv) > 1 else 9000
    server = ThreadingHTTPServer(("127.0.0.1", port), Receiver)
    print(f"listens on http://127.0.0.1:{server.server_port}", flush=True)
    server.serve_forever()
