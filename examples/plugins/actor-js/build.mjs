// Builds the component and attaches its manifest: node build.mjs [OUT.wasm]

import { cp, readFile, rm, writeFile } from "node:fs/promises";
import { componentize } from "componentize-qjs";

const here = (path) => new URL(path, import.meta.url);
const out = process.argv[2] ?? "actor-two-pages-js.wasm";

// The tool reads one WIT folder: the contract goes beside this actor's own world.
const contract = here("wit/deps/orbweaver-plugin/");
await rm(contract, { recursive: true, force: true });
await cp(here("../../../wit/"), contract, { recursive: true });

const { component } = await componentize({
  witPath: here("wit").pathname,
  world: "two-pages",
  jsSource: await readFile(here("two-pages.js"), "utf8"),
  // Its asynchronous runtime can export, but not yet import, asynchronous functions.
  sync: true,
  // No clock, file, socket or randomness: the component asks for no WASI at all.
  stubWasi: true,
});

/** An unsigned integer as WebAssembly writes it (LEB128). */
function leb128(value) {
  const bytes = [];
  for (; value > 0x7f; value >>>= 7) bytes.push((value & 0x7f) | 0x80);
  return [...bytes, value];
}

// A custom section: id 0, size, and in it the name with its length, then the manifest.
const name = Buffer.from("orbweaver:manifest");
const body = Buffer.concat([
  Buffer.from(leb128(name.length)),
  name,
  await readFile(here("plugin.toml")),
]);
const section = Buffer.concat([Buffer.from([0, ...leb128(body.length)]), body]);
await writeFile(out, Buffer.concat([component, section]));
