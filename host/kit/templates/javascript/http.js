// Requests through the host. Part of the template: change it as you like.

import { fetchMany } from "orbweaver:plugin/batch@1.1.0";

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

/**
 * Fetches URLs at the same time; `options` are fields of the interface's `request`. Throws the first
 * failure. A page is the host's: receive it with `using`, which gives it back.
 */
export function getAll(urls, options = {}) {
  const answers = fetchMany(urls.map((url) => ({ ...REQUEST, ...options, url })), 0);
  const failed = answers.find((answer) => answer.tag === "err");
  if (failed) throw failed.val;
  return answers.map((answer) => answer.val);
}

/** Fetches a URL. A page of any status is an answer. */
export const get = (url, options = {}) => getAll([url], options)[0];
