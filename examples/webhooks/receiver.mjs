// Receives Orbweaver's webhooks: WEBHOOK_SECRET=… node receiver.mjs [PORT]

import { createHmac, timingSafeEqual } from "node:crypto";
import { createServer } from "node:http";

const SECRET = Buffer.from(process.env.WEBHOOK_SECRET ?? "", "hex");
if (SECRET.length === 0) throw new Error("WEBHOOK_SECRET must be the secret in hexadecimal");
const TOLERANCE_SECONDS = 300;
const MAX_BODY = 1 << 20;
const REMEMBERED = 10_000;

const seen = new Set();

function equal(a, b) {
  const [left, right] = [Buffer.from(a), Buffer.from(b)];
  return left.length === right.length && timingSafeEqual(left, right);
}

/** What is wrong with a delivery; null when it is ours, whole and fresh. */
function problem(headers, body) {
  const mac = createHmac("sha256", SECRET).update(body).digest("hex");
  if (!equal(`sha256=${mac}`, headers["x-crawler-signature"] ?? "")) {
    return "X-Crawler-Signature does not match";
  }
  const id = headers["webhook-id"] ?? "";
  const timestamp = headers["webhook-timestamp"] ?? "";
  const age = Math.abs(Date.now() / 1000 - Number(timestamp));
  if (!/^\d+$/.test(timestamp) || age > TOLERANCE_SECONDS) {
    return "webhook-timestamp is too old or in the future";
  }
  const dated = createHmac("sha256", SECRET)
    .update(`${id}.${timestamp}.`)
    .update(body)
    .digest("base64");
  // Several signatures may be given, one per secret while it is being replaced.
  const given = (headers["webhook-signature"] ?? "").split(" ");
  if (!given.some((one) => equal(`v1,${dated}`, one))) return "webhook-signature does not match";
  return null;
}

/** Whether this delivery has not been here before. */
function isNew(id) {
  if (seen.has(id)) return false;
  seen.add(id);
  if (seen.size > REMEMBERED) seen.delete(seen.values().next().value);
  return true;
}

/** A line about an event. Those of a later version of the service are named, too. */
function described(event) {
  switch (event.event) {
    case "crawl.done":
    case "crawl.diff_detected":
    case "actor.run_complete":
      return `${event.event} of run ${event.id}: ${event.status}`;
    case "crawl.page":
      return `${event.event} of run ${event.id}: ${event.pages.length} pages`;
    case "plugin.quarantined":
    case "plugin.recovered":
      return `${event.event}: ${event.plugin.kind} ${event.plugin.name}`;
    default:
      return event.event;
  }
}

const server = createServer((request, response) => {
  const chunks = [];
  let size = 0;
  request.on("data", (chunk) => {
    size += chunk.length;
    if (size > MAX_BODY) {
      response.writeHead(413).end();
      request.destroy();
    }
    chunks.push(chunk);
  });
  request.on("end", () => {
    const body = Buffer.concat(chunks);
    const wrong = problem(request.headers, body);
    if (wrong) {
      console.log(`refused: ${wrong}`);
      response.writeHead(401).end();
      return;
    }
    response.writeHead(204).end();
    if (isNew(request.headers["webhook-id"])) {
      console.log(described(JSON.parse(body)));
    }
  });
});

server.listen(Number(process.argv[2] ?? 9000), "127.0.0.1", () => {
  console.log(`listens on http://127.0.0.1:${server.address().port}`);
});
