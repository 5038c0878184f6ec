// Fetches a page through the host and gets its title from the `metadata` plugin.

import { extract } from "orbweaver:plugin/extraction-sync@1.0.0";
import { fetchMany } from "orbweaver:plugin/batch@1.0.0";
import { log } from "orbweaver:plugin/log@1.0.0";

const REQUEST = {
  method: "GET",
  headers: [],
  body: null,
  followRedirects: true,
  respectRobots: true,
  timeoutMs: null,
  proxy: null,
  secrets: [],
};

/** One call. The host has checked the input against the manifest's schema. */
function run({ url }) {
  const [answer] = fetchMany([{ ...REQUEST, url }], 1);
  if (answer.tag === "err") throw answer.val;
  // A page is the host's: give it back instead of waiting for the garbage collector.
  using page = answer.val;
  const { title } = JSON.parse(extract("metadata", page, "{}"));
  log("info", `${url} has the title ${JSON.stringify(title)}`);
  return { status: page.status(), title };
}

export const actingSync = {
  run(input) {
    try {
      return JSON.stringify(run(JSON.parse(input)));
    } catch (error) {
      // The interface's errors pass through; anything else is this plugin's own fault, and
      // without this line would be a trap that says nothing.
      if ((error?.payload ?? error)?.code) throw error;
      throw { code: "failed", message: String(error), field: null, retryAfterMs: null };
    }
  },
};
