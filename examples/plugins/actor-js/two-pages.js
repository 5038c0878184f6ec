// An actor in JavaScript: fetches the given pages together and answers what they are.

import { select, text } from "orbweaver:plugin/dom@1.1.0";
import { extract } from "orbweaver:plugin/extraction-sync@1.1.0";
import { fetchMany } from "orbweaver:plugin/batch@1.1.0";
import { log } from "orbweaver:plugin/log@1.1.0";

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

/** The contract's error in what was thrown: an import throws an Error with it as payload. */
const cause = (thrown) => thrown?.payload ?? thrown;

/** The page's title as the `metadata` role finds it; null where this actor may not ask. */
function title(page) {
  try {
    return JSON.parse(extract("metadata", page, "{}")).title;
  } catch (error) {
    if (cause(error).code === "not-granted") return null;
    throw error;
  }
}

/** The text of the page's first heading; null where there is none. */
function heading(page) {
  const [first] = select(page, "h1", 1);
  return first === undefined ? null : text(page, first);
}

function visit(urls) {
  const answers = fetchMany(urls.map((url) => ({ ...REQUEST, url })), urls.length);
  return answers.map(({ tag, val }, i) => {
    if (tag === "err") throw val;
    // A page is the host's: give it back instead of waiting for the garbage collector.
    using page = val;
    return {
      url: urls[i],
      status: page.status(),
      bytes: page.size(),
      title: title(page),
      heading: heading(page),
    };
  });
}

export const actingSync = {
  run(input) {
    try {
      const { urls } = JSON.parse(input);
      const items = visit(urls);
      log("info", `${items.length} pages fetched`);
      return JSON.stringify({ items });
    } catch (error) {
      // The contract's errors pass through; anything else is this actor's own fault, and
      // without this line would be a trap that says nothing.
      if (cause(error)?.code) throw error;
      throw { code: "failed", message: String(error), field: null, retryAfterMs: null };
    }
  },
};
