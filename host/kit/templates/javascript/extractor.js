// Counts the images of a page, and those without alternative text.

import { select } from "orbweaver:plugin/dom@1.1.0";
import { guarded } from "./orbweaver/errors.js";

/** Number of elements that a CSS selector matches. */
const count = (page, css) => select(page, css, 100_000).length;

/** `{"images": n, "without_alt": n}`. `options` is the caller's JSON object; `{}` without any. */
function extract(role, page, options) {
  return JSON.stringify({
    images: count(page, "img"),
    without_alt: count(page, "img:not([alt])"),
  });
}

export const extracting = { extract: guarded(extract) };
