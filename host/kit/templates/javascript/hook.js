// Leaves out links by their text, and makes a record of every page.

import { select, text } from "orbweaver:plugin/dom@1.1.0";
import { guarded, unused } from "./orbweaver/errors.js";

/** Judges the new links of a page. The host has checked `config` against the manifest's input schema. */
function discover(config, visit, page, links) {
  const { skip = [] } = JSON.parse(config);
  const judge = ({ anchor }) =>
    skip.includes(anchor)
      ? { tag: "skip", val: `its text is ${JSON.stringify(anchor)}` }
      : { tag: "follow", val: 0 };
  return { verdicts: links.map(judge), added: [] };
}

/** Says what is stored of a page: here, a record besides it. */
function record(config, visit, page, outputs, records) {
  // `select` returns an array of numbers, whose `map` makes numbers.
  const [title = null] = Array.from(select(page, "title", 1), (element) => text(page, element));
  return { tag: "emit", val: [JSON.stringify({ url: visit.url, title })] };
}

// The manifest lists the functions that the host calls. The interface has all four.
export const hooking = {
  discover: guarded(discover),
  record: guarded(record),
  request: unused,
  response: unused,
};
