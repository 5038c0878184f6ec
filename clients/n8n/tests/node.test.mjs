// The node against a real server: every operation is one of its OpenAPI document, every field one of
// the operation's, and the requests that n8n would send are answered.
import assert from "node:assert/strict";
import { createHmac } from "node:crypto";
import { createServer } from "node:http";
import { createRequire } from "node:module";
import { after, before, test } from "node:test";

import { KEY, start } from "../../typescript/tests/service.mjs";

const require = createRequire(import.meta.url);
const { Orbweaver } = require("../dist/nodes/Orbweaver/Orbweaver.node.js");
const { OrbweaverTrigger, isSigned } = require("../dist/nodes/OrbweaverTrigger/OrbweaverTrigger.node.js");
const { properties } = new Orbweaver().description;

let running, document, site;
before(async () => {
  running = await start();
  document = await (await fetch(`${running.service}/openapi.json`)).json();
  site = createServer((_, response) => {
    response.setHeader("content-type", "text/html");
    response.end("<title>A web</title><h1>A web</h1><p>A spider rests in it.</p>");
  });
  await new Promise((resolve) => site.listen(0, "127.0.0.1", resolve));
});
after(async () => {
  site.close();
  await running.stop();
});

/** Every operation: its resource, its value, its request. */
function operations() {
  return properties
    .filter((property) => property.name === "operation")
    .flatMap((property) =>
      property.options.map((option) => ({
        resource: property.displayOptions.show.resource[0],
        ...option,
      })),
    );
}

/** The fields that an operation shows, those of its collections included. */
function fields({ resource, value }) {
  const shown = properties.filter(
    ({ displayOptions: { show } = {} }) =>
      show?.resource?.includes(resource) && show.operation?.includes(value),
  );
  return shown.flatMap((field) => (field.type === "collection" ? field.options : [field]));
}

const path = (url) =>
  url
    .replace(/^=/, "")
    .replace("{{$parameter.oldCrawlId}}", "{old_id}")
    .replace("diff/{{$parameter.crawlId}}", "diff/{new_id}")
    .replace("{{$parameter.actor}}", "{name}")
    .replace(/\{\{\$parameter\.\w+\}\}/, "{id}");

const resolved = (schema) =>
  schema?.$ref ? document.components.schemas[schema.$ref.split("/").at(-1)] : schema;

test("every operation and every field is one of the API", () => {
  assert.ok(operations().length > 10);
  for (const operation of operations()) {
    const { method, url } = operation.routing.request;
    const described = document.paths[path(url)]?.[method.toLowerCase()];
    assert.ok(described, `${method} ${url}`);
    const body = resolved(described.requestBody?.content?.["application/json"]?.schema);
    for (const field of fields(operation)) {
      const send = field.routing?.send;
      if (send?.type === "body") {
        assert.ok(send.property in body.properties, `${operation.name}: ${send.property}`);
      } else if (send?.type === "query") {
        const known = described.parameters.map(({ name }) => name);
        assert.ok(known.includes(send.property), `${operation.name}: ${send.property}`);
      }
    }
  }
});

test("choices are values that the API takes", () => {
  for (const operation of operations()) {
    const { method, url } = operation.routing.request;
    const described = document.paths[path(url)][method.toLowerCase()];
    const body = resolved(described.requestBody?.content?.["application/json"]?.schema);
    for (const field of fields(operation).filter((field) => field.type === "options")) {
      const schema =
        body?.properties?.[field.name] ??
        described.parameters?.find(({ name }) => name === field.name)?.schema;
      const allowed = JSON.stringify([schema, ...(schema?.oneOf ?? []).map(resolved), resolved(schema)]);
      for (const { value } of field.options) {
        assert.ok(allowed.includes(`"${value}"`), `${operation.name}: ${field.name}=${value}`);
      }
    }
  }
});

test("what an operation takes out of an answer is there", () => {
  const taken = [];
  for (const { name, routing } of operations()) {
    const { method, url } = routing.request;
    const { responses } = document.paths[path(url)][method.toLowerCase()];
    const answer = resolved(responses["200"]?.content?.["application/json"]?.schema);
    const roots = (routing.output?.postReceive ?? [])
      .filter(({ type }) => type === "rootProperty")
      .map(({ properties }) => properties.property);
    // What pages through a list reads these two.
    if (routing.operations?.pagination) roots.push("items", "next_offset");
    for (const root of roots) {
      assert.ok(answer?.properties && root in answer.properties, `${name}: ${root}`);
      taken.push(root);
    }
  }
  assert.ok(taken.includes("urls") && taken.includes("items"), taken);
});

test("a long list is read to its end, or as far as Limit says", async () => {
  const { routing } = operations().find(({ value }) => value === "pages");
  const read = async (qs) => {
    const asked = [];
    const makeRoutingRequest = async ({ options }) => {
      const { limit, offset } = options.qs;
      asked.push({ ...options.qs });
      const end = Math.min(offset + limit, 1_200);
      const items = Array.from({ length: end - offset }, (_, index) => ({ id: offset + index }));
      return [{ json: { items, next_offset: end < 1_200 ? end : null } }];
    };
    assert.equal(routing.send.paginate, true);
    const items = await routing.operations.pagination.call(
      { makeRoutingRequest },
      { options: { url: "/", qs }, preSend: [], postReceive: [] },
    );
    return { asked, ids: items.map(({ json }) => json.id) };
  };
  const all = await read({ include: "title" });
  assert.deepEqual(all.ids, [...Array(1_200).keys()]);
  assert.ok(all.asked.every(({ include }) => include === "title"));
  const some = await read({ limit: 600, offset: 10 });
  assert.deepEqual([some.ids[0], some.ids.length], [10, 600]);
  assert.deepEqual(some.asked.map(({ limit }) => limit), [500, 100]);
  assert.equal((await read(undefined)).ids.length, 1_200);
});

/** What n8n makes of an expression of which `$value` is this. */
const evaluated = (expression, $value) => {
  const [, code] = /^=\{\{(.*)\}\}$/s.exec(expression);
  return new Function("$value", `return (${code});`)($value);
};

test("a field of JSON takes text, and the object of an expression or an agent", () => {
  const json = operations().flatMap(fields).filter(({ type }) => type === "json");
  assert.ok(json.length >= 2);
  for (const { name, routing } of json) {
    const expression = routing.send?.value ?? routing.request.body;
    const given = { url: "https://example.com/", deep: [{ a: 1 }] };
    assert.deepEqual(evaluated(expression, JSON.stringify(given)), given, name);
    assert.deepEqual(evaluated(expression, given), given, name);
  }
});

test("an answer without a body is an item that says what was done", () => {
  for (const { name, routing } of operations()) {
    const { method, url } = routing.request;
    const { responses } = document.paths[path(url)][method.toLowerCase()];
    const codes = Object.keys(responses).filter((code) => code.startsWith("2"));
    if (!codes.includes("204")) continue;
    const [{ type, properties: { value } }] = routing.output.postReceive;
    assert.equal(type, "set", name);
    assert.deepEqual(evaluated(value), { deleted: true }, name);
  }
});

test("a scan and an actor's run answer as n8n would ask them", async () => {
  const url = `http://127.0.0.1:${site.address().port}/`;
  const ask = async (value, body) => {
    const { request } = operations().find((operation) => operation.value === value).routing;
    const target = request.url.replace(/^=/, "").replace("{{$parameter.actor}}", "extract-article");
    const response = await fetch(running.service + target, {
      method: request.method,
      headers: { authorization: `Bearer ${KEY}`, "content-type": "application/json" },
      body: JSON.stringify(body),
    });
    assert.equal(response.status, 200, await response.clone().text());
    return response.json();
  };
  const scan = await ask("scan", { url, only_main_content: true });
  assert.match(scan.markdown, /A spider rests/);
  const actor = await ask("run", { url });
  assert.equal(actor.actor, "extract-article");
});

test("the trigger takes only what the project has signed", async () => {
  const body = Buffer.from('{"event":"crawl.complete"}');
  const secret = "00ff".repeat(16);
  const mac = createHmac("sha256", Buffer.from(secret, "hex")).update(body).digest("hex");
  assert.ok(isSigned(body, `sha256=${mac}`, secret));
  assert.ok(!isSigned(Buffer.from("{}"), `sha256=${mac}`, secret));
  assert.ok(!isSigned(body, `sha256=${mac}`, ""));

  const call = (signature) => {
    let status = 200;
    const response = { status: (code) => ((status = code), response), json: () => response };
    const context = {
      getCredentials: async () => ({ webhookSecret: secret }),
      getRequestObject: () => ({ rawBody: body }),
      getHeaderData: () => ({ "x-crawler-signature": signature }),
      getResponseObject: () => response,
      getBodyData: () => JSON.parse(body),
      helpers: { returnJsonArray: (data) => [{ json: data }] },
    };
    return new OrbweaverTrigger().webhook.call(context).then((answer) => ({ answer, status }));
  };
  const taken = await call(`sha256=${mac}`);
  assert.equal(taken.answer.workflowData[0][0].json.event, "crawl.complete");
  const refused = await call("sha256=00");
  assert.equal(refused.status, 401);
  assert.ok(refused.answer.noWebhookResponse && !refused.answer.workflowData);
});
