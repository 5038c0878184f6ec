// Types that a generator makes of the OpenAPI document: what users write compiles with them.
import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { mkdtemp, rm, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { promisify } from "node:util";

import openapiTS, { astToString } from "openapi-typescript";

import { start } from "./service.mjs";

const CODE = `
import createClient from "openapi-fetch";
import type { paths } from "./api.js";

// Lists answer as JSON unless their parameter \`format\` says otherwise.
const web = createClient<paths, "application/json">({ baseUrl: "http://127.0.0.1:8080" });
const page = await web.POST("/v1/scan", { body: { url: "https://example.com/" } });
const title: string | null | undefined = page.data?.metadata?.title;
const run = await web.POST("/v1/crawls", { body: { url: "https://example.com/" } });
if (run.data && "status" in run.data) {
  const status: "queued" | "running" | "done" | "failed" | "cancelled" = run.data.status;
  console.log(status);
}
const pages = await web.GET("/v1/crawls/{id}/pages", { params: { path: { id: 1 } } });
const url: string | undefined = pages.data?.items[0]?.url;
const lines = await web.GET("/v1/crawls/{id}/pages.ndjson", {
  params: { path: { id: 1 } }, parseAs: "text",
});
const links = await web.POST("/v1/actors/check-links", {
  body: { urls: ["https://example.com/"] },
});
const broken: number | undefined = links.data?.data.broken;
await web.POST("/v1/scan/bulk", { body: { urls: ["https://example.com/"] } });
await web.POST("/v1/map", { body: { url: "https://example.com/" } });
await web.POST("/v1/batch", { body: { urls: ["https://example.com/"] } });
await web.POST("/v1/cloud/render", { body: { url: "https://example.com/" } });
console.log(title, url, lines.data, broken);
// @ts-expect-error A required field is missing.
await web.POST("/v1/scan", { body: {} });
// @ts-expect-error A state that runs do not have.
await web.GET("/v1/crawls", { params: { query: { status: "paused" } } });
`;

test("generated types compile with what users write", async () => {
  const { service, stop } = await start();
  const folder = await mkdtemp(join(tmpdir(), "orbweaver-types-"));
  try {
    const document = await (await fetch(`${service}/openapi.json`)).json();
    const types = astToString(await openapiTS(document));
    await writeFile(join(folder, "api.d.ts"), types);
    await writeFile(join(folder, "use.ts"), CODE);
    await writeFile(join(folder, "package.json"), '{"type": "module"}');
    const modules = new URL("../node_modules", import.meta.url).pathname;
    await symlink(modules, join(folder, "node_modules"));
    const tsc = join(modules, ".bin", "tsc");
    const options = ["--noEmit", "--strict", "--skipLibCheck", "--target", "es2022"];
    options.push("--module", "nodenext", "use.ts");
    const run = promisify(execFile)(tsc, options, { cwd: folder });
    const failed = await run.then(() => "", (error) => error.stdout || String(error));
    assert.equal(failed, "");
  } finally {
    await rm(folder, { recursive: true });
    await stop();
  }
});
