// Returns the posts of a site, from the JSON that the site publishes.

import { failure, guarded } from "./orbweaver/errors.js";
import { get } from "./orbweaver/http.js";

/** One call: one item per post. The host has checked `params` against the manifest's input schema. */
function fetch(domain, path, params) {
  if (path !== "posts") throw failure("invalid-input", `path: \`${path}\` is unknown; use \`posts\``);
  using page = get(`https://${domain}/posts.json`);
  if (page.status() !== 200) throw failure("bad-response", `${domain} responded with status ${page.status()}`);
  const { limit = 30 } = JSON.parse(params);
  const posts = JSON.parse(page.html());
  return posts.slice(0, limit).map(({ id, title }) => JSON.stringify({ id, title }));
}

export const fetchingSync = { fetch: guarded(fetch) };
