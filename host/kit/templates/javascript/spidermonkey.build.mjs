// Builds the component: node build.mjs OUT.wasm. `orbweaver plugin build` adds the manifest.

import { writeFile } from "node:fs/promises";
import { fileURLToPath } from "node:url";
// Not componentize-qjs, whose components are smaller: they give a borrowed page back too late, which
// ends the call.
import { componentize } from "@bytecodealliance/componentize-js";

const here = (path) => fileURLToPath(new URL(path, import.meta.url));

const { component } = await componentize({
  sourcePath: here("src/plugin.js"),
  witPath: here("wit"),
  worldName: "plugin",
  // No clock, file, socket or randomness: the component asks for no WASI at all.
  disableFeatures: ["stdio", "random", "clocks", "http", "fetch-event"],
});
await writeFile(process.argv[2], component);
