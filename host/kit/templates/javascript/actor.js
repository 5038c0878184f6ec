// Fetches a page through the host and gets its title from the `metadata` plugin.

import { extract } from "orbweaver:plugin/extraction-sync@1.1.0";
import { guarded } from "./orbweaver/errors.js";
import { get } from "./orbweaver/http.js";

/** One call. The host has checked the input against the manifest's schema. */
function run(input) {
  const { url } = JSON.parse(input);
  using page = get(url);
  const { title } = JSON.parse(extract("metadata", page, "{}"));
  return JSON.stringify({ status: page.status(), title });
}

export const actingSync = { run: guarded(run) };
