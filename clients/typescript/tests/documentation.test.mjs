// The examples of the documentation compile and run as they stand.
import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { createServer } from "node:http";
import { join } from "node:path";
import { test } from "node:test";
import { promisify } from "node:util";

import { KEY, start } from "./service.mjs";

const page = await readFile(new URL("../../../docs/coming-from.md", import.meta.url), "utf8");
const examples = [...page.matchAll(/^```ts\n(.*?)^```/gms)].map((found) => found[1]);
const compiler = join(import.meta.dirname, "../node_modules/typescript/bin/tsc");
const run = promisify(execFile);

test("the examples run", async () => {
  assert.ok(examples.length >= 4);
  const site = createServer((_, response) => {
    response.writeHead(200, { "Content-Type": "text/html" });
    response.end("<title>Home</title><h1>Home</h1><p>The first page.</p><a href='/a'>a</a>");
  });
  await new Promise((resolve) => site.listen(0, "127.0.0.1", resolve));
  const { service, stop } = await start();
  const folder = await mkdtemp(join(import.meta.dirname, "examples-"));
  try {
    const env = { ...process.env, ORBWEAVER_URL: service, ORBWEAVER_KEY: KEY };
    for (const example of examples) {
      const file = join(folder, "example.mts");
      const code = example
        .replaceAll("https://example.com", `http://127.0.0.1:${site.address().port}`)
        .replaceAll('"orbweaver-client"', '"../../dist/index.js"');
      await writeFile(file, code);
      const options = ["--strict", "--target", "es2022", "--module", "nodenext", "--types", "node"];
      await run(process.execPath, [compiler, ...options, file]);
      const { stdout } = await run(process.execPath, [file.replace(".mts", ".mjs")], { env });
      assert.ok(stdout.trim() !== "" && !stdout.includes("undefined"), `${example}\n${stdout}`);
    }
  } finally {
    await rm(folder, { recursive: true });
    await stop();
    site.close();
  }
});
