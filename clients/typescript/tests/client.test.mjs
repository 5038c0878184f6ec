// The client against a real server.
import assert from "node:assert/strict";
import { createHmac } from "node:crypto";
import { createServer } from "node:http";
import { after, before, test } from "node:test";

import { Orbweaver, OrbweaverError, verify } from "orbweaver-client";
import { KEY, start } from "./service.mjs";

const PAGES = {
  "/": "<title>Home</title><h1>Home</h1><a href='/a'>a</a><a href='/b'>b</a>",
  "/a": "<title>A</title><p>The first page.</p>",
  "/b": "<title>B</title><p>The second page.</p>",
};

function listen(answer) {
  const server = createServer(answer);
  return new Promise((resolve) => {
    server.listen(0, "127.0.0.1", () => {
      resolve({ server, url: `http://127.0.0.1:${server.address().port}` });
    });
  });
}

let site, running, web;

before(async () => {
  site = await listen((request, response) => {
    const page = PAGES[request.url];
    response.writeHead(page ? 200 : 404, { "Content-Type": "text/html" });
    response.end(page ?? "<title>No</title>");
  });
  running = await start();
  web = new Orbweaver({ baseUrl: running.service, key: KEY });
});

after(async () => {
  await running.stop();
  site.server.close();
});

test("a page is scanned", async () => {
  const page = await web.scan(`${site.url}/`, { include_links: true });
  assert.equal(page.metadata.title, "Home");
  assert.deepEqual(page.links.map((link) => link.anchor), ["a", "b"]);
  const [first, second] = await web.scanBulk([`${site.url}/a`, "http://10.0.0.1/"]);
  assert.equal(first.ok && first.result.metadata.title, "A");
  assert.equal(second.ok, false);
});

test("a site is crawled and its pages are read", async () => {
  const run = await web.crawl(`${site.url}/`, { delay_ms: 0 }, { pollMs: 100 });
  assert.deepEqual([run.status, run.page_count], ["done", 3]);
  const paths = [];
  for await (const page of web.pages(run.id, { pageSize: 2 })) paths.push(new URL(page.url).pathname);
  assert.deepEqual(paths.sort(), ["/", "/a", "/b"]);
  const links = [];
  for await (const link of web.links(run.id, { pageSize: 1 })) links.push(link.anchor);
  assert.deepEqual(links.sort(), ["a", "b"]);
  await web.deleteCrawl(run.id);
  await assert.rejects(web.getCrawl(run.id), (error) => {
    assert.ok(error instanceof OrbweaverError);
    assert.deepEqual([error.status, error.code], [404, "NOT_FOUND"]);
    assert.ok(error.requestId);
    return true;
  });
});

test("a file is bytes, and a list of lines is text", async () => {
  const run = await web.crawl(`${site.url}/`, { delay_ms: 0 }, { pollMs: 100 });
  const read = (format) => web.request("GET", `/v1/crawls/${run.id}/export`, { query: { format } });
  const archive = await read("zip");
  assert.ok(archive instanceof Uint8Array);
  const end = Buffer.from(archive).lastIndexOf("PK\x05\x06", undefined, "latin1");
  // What a directory of archives says of its own place (APPNOTE 4.3.16) holds only for whole bytes.
  const [size, begin] = [Buffer.from(archive).readUInt32LE(end + 12), Buffer.from(archive).readUInt32LE(end + 16)];
  assert.equal(begin + size, end);
  assert.match(await read("csv"), /^id,url,status/);
  assert.equal((await read("ndjson")).trim().split("\n").length, 3);
  assert.equal((await read("json")).next_offset, null);
});

test("an actor runs, and errors have code and message", async () => {
  const answer = await web.actor("audit-onpage", { url: `${site.url}/` });
  assert.equal(answer.actor, "audit-onpage");
  await assert.rejects(web.scan("http://10.0.0.1/"), { code: "INVALID_INPUT", status: 422 });
});

test("a webhook is verified by the project's secret", async () => {
  const secret = await web.webhookSecret();
  const body = '{"id":1}';
  const mac = createHmac("sha256", Buffer.from(secret, "hex")).update(body).digest("hex");
  assert.ok(verify(body, `sha256=${mac}`, secret));
  assert.ok(!verify(`${body} `, `sha256=${mac}`, secret));
  assert.ok(!verify(body, "sha256=00", secret));
  assert.ok(!verify(body, `sha256=${mac}`, "no hex"));
});

test("what is refused for a moment is tried again with the same key", async () => {
  const seen = [];
  const tired = await listen((request, response) => {
    seen.push(request.headers["idempotency-key"]);
    const refused = seen.length <= 2;
    const headers = { "Content-Type": "application/json", "Retry-After": "0" };
    response.writeHead(refused ? 429 : 200, headers);
    response.end(refused ? '{"error":{"code":"RATE_LIMITED","message":"m"}}' : '{"url":"u"}');
  });
  const client = new Orbweaver({ baseUrl: tired.url, key: KEY });
  assert.deepEqual(await client.scan("https://example.com/"), { url: "u" });
  assert.equal(seen.length, 3);
  assert.equal(new Set(seen).size, 1);
  seen.length = 0;
  const once = new Orbweaver({ baseUrl: tired.url, key: KEY, retries: 1 });
  await assert.rejects(once.scan("https://example.com/"), { status: 429 });
  assert.equal(seen.length, 2);
  tired.server.close();
});

test("an answer that breaks off is asked for again, with the same key", async () => {
  const seen = [];
  const flaky = await listen((request, response) => {
    seen.push(request.headers["idempotency-key"]);
    response.setHeader("Content-Type", "application/json");
    const body = JSON.stringify({ url: "https://example.com/", status: 200 });
    if (seen.length > 1) return response.end(body);
    response.setHeader("Content-Length", body.length);
    response.write(body.slice(0, 10), () => response.destroy());
  });
  const client = new Orbweaver({ baseUrl: flaky.url, key: KEY, retries: 2 });
  assert.equal((await client.scan("https://example.com/")).status, 200);
  assert.equal(seen.length, 2);
  assert.equal(new Set(seen).size, 1);
  flaky.server.close();
});

test("an answer that is no JSON is not asked for again", async () => {
  let times = 0;
  const wrong = await listen((_, response) => {
    times += 1;
    response.setHeader("Content-Type", "application/json");
    response.end("{");
  });
  const client = new Orbweaver({ baseUrl: wrong.url, key: KEY, retries: 2 });
  await assert.rejects(client.usage(), SyntaxError);
  assert.equal(times, 1);
  wrong.server.close();
});

test("a key is required", () => {
  assert.throws(() => new Orbweaver({ baseUrl: "http://127.0.0.1:1", key: "" }), /key: is required/);
});

test("a site is mapped, and a batch is fetched with its content", async () => {
  assert.ok((await web.map(`${site.url}/`)).includes(`${site.url}/a`));
  const started = await web.startBatch([`${site.url}/a`, `${site.url}/b`]);
  const run = await web.wait(started.id, { pollMs: 100 });
  assert.equal(run.page_count, 2);
  const titles = [];
  for await (const page of web.export(run.id, ["title"], { pageSize: 1 })) titles.push(page.title);
  assert.deepEqual(titles.sort(), ["A", "B"]);
});

test("an actor runs in the background, and its items are read", async () => {
  const run = await web.runActor("check-links", { url: `${site.url}/` }, { pollMs: 100 });
  assert.equal(run.status, "done");
  const items = [];
  for await (const item of web.actorItems("check-links", run.id, { pageSize: 1 })) items.push(item);
  assert.equal(items.length, run.item_count);
  assert.ok(items.length > 0);
});

test("a monitor is made and ended", async () => {
  const made = await web.monitor("https://example.com/", "0 6 * * *", { max_pages: 5 });
  assert.equal(made.schedule, "0 6 * * *");
  assert.ok((await web.monitors()).some((monitor) => monitor.id === made.id));
  await web.deleteMonitor(made.id);
  assert.ok(!(await web.monitors()).some((monitor) => monitor.id === made.id));
});

test("a crawl is exported to a bucket", async () => {
  const objects = {};
  const bucket = await listen((request, response) => {
    const parts = [];
    request.on("data", (part) => parts.push(part));
    request.on("end", () => {
      const { pathname, searchParams } = new URL(request.url, "http://bucket");
      const body = Buffer.concat(parts).toString();
      if (request.method === "PUT" && !searchParams.has("partNumber")) objects[pathname] = body;
      if (searchParams.has("partNumber")) objects.part = (objects.part ?? "") + body;
      if (request.method === "POST" && searchParams.has("uploadId")) objects[pathname] = objects.part;
      const begun = "<InitiateMultipartUploadResult><UploadId>u</UploadId></InitiateMultipartUploadResult>";
      const ended = "<CompleteMultipartUploadResult><ETag>e</ETag></CompleteMultipartUploadResult>";
      response.writeHead(200, { ETag: '"e"' });
      response.end(request.method === "POST" ? (searchParams.has("uploadId") ? ended : begun) : "");
    });
  });
  await web.setSecret("bucket-id", "an-access-key", [bucket.url]);
  await web.setSecret("bucket-key", "a-secret-key", [bucket.url]);
  const run = await web.crawl(`${site.url}/`, { delay_ms: 0 }, { pollMs: 100 });
  const to = `s3://pages/daily?endpoint=${bucket.url}&style=path`;
  const keys = { access_key_id: "bucket-id", secret_access_key: "bucket-key" };
  const done = await web.exportToBucket(run.id, to, keys, { include: "title" }, { pollMs: 100 });
  assert.deepEqual([done.status, done.pages], ["done", 3], JSON.stringify(done));
  const lines = objects[`/pages/daily/crawl-${run.id}.ndjson`].trim().split("\n");
  assert.deepEqual(lines.map((line) => JSON.parse(line).title).sort(), ["A", "B", "Home"]);
  bucket.server.close();
});
