// The official TypeScript SDK of the Model Context Protocol: over HTTP, and over `orbweaver mcp`.
import assert from "node:assert/strict";
import { createServer } from "node:http";
import { after, before, test } from "node:test";

import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { StdioClientTransport } from "@modelcontextprotocol/sdk/client/stdio.js";
import { StreamableHTTPClientTransport } from "@modelcontextprotocol/sdk/client/streamableHttp.js";

import { KEY, binary, start } from "./service.mjs";

let running, site;

before(async () => {
  site = createServer((_, response) => {
    response.writeHead(200, { "Content-Type": "text/html" });
    response.end("<title>Home</title><h1>Home</h1><a href='/a'>a</a>");
  });
  await new Promise((resolve) => site.listen(0, "127.0.0.1", resolve));
  running = await start();
});

after(async () => {
  await running.stop();
  site.close();
});

const transports = {
  HTTP: () =>
    new StreamableHTTPClientTransport(new URL(`${running.service}/mcp`), {
      requestInit: { headers: { Authorization: `Bearer ${KEY}` } },
    }),
  "orbweaver mcp": () =>
    new StdioClientTransport({
      command: binary,
      args: ["mcp", "--server", running.service],
      env: { ...process.env, ORBWEAVER_KEY: KEY },
    }),
};

for (const [name, transport] of Object.entries(transports)) {
  test(`the official client uses the tools over ${name}`, async () => {
    const url = `http://127.0.0.1:${site.address().port}/`;
    const client = new Client({ name: "test", version: "1" });
    await client.connect(transport());
    const { tools } = await client.listTools();
    assert.ok(tools.some((tool) => tool.name === "actor_audit-onpage"));

    const scan = await client.callTool({ name: "scan", arguments: { url } });
    assert.equal(scan.structuredContent.metadata.title, "Home");
    const told = [];
    const crawl = { name: "crawl", arguments: { url, delay_ms: 0, wait_seconds: 60 } };
    const onprogress = ({ progress }) => told.push(progress);
    const run = await client.callTool(crawl, undefined, { onprogress });
    assert.equal(run.structuredContent.status, "done");
    assert.ok(told.length > 0);
    const audit = { name: "actor_audit-onpage", arguments: { url } };
    assert.equal((await client.callTool(audit)).structuredContent.actor, "audit-onpage");

    const refused = await client.callTool({ name: "scan", arguments: { url: "file:///etc/passwd" } });
    assert.equal(refused.isError, true);
    assert.equal(refused.structuredContent.error.code, "INVALID_INPUT");
    await assert.rejects(client.callTool({ name: "nothing", arguments: {} }), { code: -32602 });
    await client.close();
  });
}
