// When a request is tried again, and how: no server is needed.
import assert from "node:assert/strict";
import { test } from "node:test";

import { Orbweaver } from "orbweaver-client";

const HELD = "Idempotency-Key: the first request with this key is still being worked on";
const OTHER = "Idempotency-Key: this key was used with another body within 24 hours";

/** A client whose tries `answer` decides, by their number: a status and a message, or none. Its pauses take no time. */
function failing(t, answer, settings = {}) {
  const [asked, pauses] = [[], []];
  t.mock.method(globalThis, "setTimeout", (call, milliseconds) => {
    pauses.push(milliseconds);
    queueMicrotask(call);
  });
  const fetch = async (url, { headers }) => {
    asked.push({ url: String(url), key: headers["Idempotency-Key"] });
    const said = answer(asked.length);
    if (said === undefined) throw new TypeError("fetch failed");
    const [status, message] = said;
    const body = status < 400 ? { url: "u" } : { error: { code: "C", message } };
    return Response.json(body, { status });
  };
  const client = new Orbweaver({ baseUrl: "http://service", key: "orb_A", fetch, ...settings });
  return { client, asked, pauses };
}

test("the answer to a try that broke off is waited for", async (t) => {
  const answer = (count) => (count === 1 ? undefined : count < 20 ? [409, HELD] : [200]);
  const { client, asked, pauses } = failing(t, answer, { retries: 1 });
  assert.deepEqual(await client.scan("https://example.com/"), { url: "u" });
  assert.equal(asked.length, 20);
  assert.equal(new Set(asked.map(({ key }) => key)).size, 1);
  assert.ok(asked[0].key);
  assert.ok(Math.max(...pauses) <= 5_000, String(pauses));
});

test("the answer is waited for about as long as a try may take", async (t) => {
  const answer = (count) => (count === 1 ? undefined : [409, HELD]);
  const { client, pauses } = failing(t, answer, { retries: 1, timeoutMs: 20_000 });
  await assert.rejects(client.scan("https://example.com/"), { status: 409 });
  const waited = pauses.reduce((sum, pause) => sum + pause);
  assert.ok(waited >= 20_000 && waited <= 21_000, String(waited));
});

test("another conflict is not tried again", async (t) => {
  const answer = (count) => (count === 1 ? undefined : [409, OTHER]);
  const { client, asked } = failing(t, answer);
  await assert.rejects(client.scan("https://example.com/"), { status: 409 });
  assert.equal(asked.length, 2);
});

for (const path of [
  "/v1/keys/rotate",
  "/v1/crawls/7/export",
  "/v1/plugins/extract-a/rollback",
  "/v1/signup",
]) {
  test(`what ignores the key is not done twice: ${path}`, async (t) => {
    const broken = failing(t, () => undefined);
    await assert.rejects(broken.client.request("POST", path, { body: {} }), TypeError);
    assert.deepEqual(broken.asked, [{ url: `http://service${path}`, key: undefined }]);
    // A cap refuses before anything is done.
    const capped = failing(t, (count) => (count === 1 ? [429, "m"] : [200]));
    assert.deepEqual(await capped.client.request("POST", path, { body: {} }), { url: "u" });
  });
}

test("what a try that broke off has removed is removed", async (t) => {
  const { client, asked } = failing(t, (count) => (count === 1 ? undefined : [404, "m"]));
  assert.equal(await client.deleteCrawl(7), undefined);
  assert.equal(asked.length, 2);
  // What was never there, or was refused before anything was done, is an error.
  const missing = failing(t, () => [404, "m"]);
  await assert.rejects(missing.client.deleteCrawl(7), { status: 404 });
  const capped = failing(t, (count) => (count === 1 ? [429, "m"] : [404, "m"]));
  await assert.rejects(capped.client.deleteCrawl(7), { status: 404 });
  const read = failing(t, (count) => (count === 1 ? undefined : [404, "m"]));
  await assert.rejects(read.client.getCrawl(7), { status: 404 });
});

test("the query of a path is kept and merged", async (t) => {
  const { client, asked } = failing(t, () => [200]);
  await client.request("GET", "/v1/usage?days=7");
  await client.request("GET", "/v1/usage?days=7&x=a", { query: { days: 8, no: undefined } });
  const urls = ["http://service/v1/usage?days=7", "http://service/v1/usage?days=8&x=a"];
  assert.deepEqual(asked.map(({ url }) => url), urls);
});
