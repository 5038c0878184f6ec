// Builds the component: node build.mjs OUT.wasm. `orbweaver plugin build` adds the manifest.

import { readFile, writeFile } from "node:fs/promises";
import { fileURLToPath } from "node:url";
import { componentize } from "componentize-qjs";

const here = (path) => fileURLToPath(new URL(path, import.meta.url));

const { component } = await componentize({
  witPath: here("wit"),
  world: "plugin",
  jsSource: await readFile(here("src/plugin.js"), "utf8"),
  jsPath: here("src/plugin.js"),
  // What the code imports: its own files, and packages of node_modules.
  moduleRoot: here("."),
  // Its asynchronous runtime can export, but not yet import, asynchronous functions.
  sync: true,
  // No clock, file, socket or randomness: the component asks for no WASI at all.
  stubWasi: true,
});
await writeFile(process.argv[2], component);
