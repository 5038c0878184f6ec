// The errors of a plugin. Part of the template: change it as you like.

/** An error with one of the interface's codes, such as `invalid-input` (interface `types` in wit/deps). */
export const failure = (code, message, field = null) => ({ code, message, field, retryAfterMs: null });

/** What is wrong with an answer, which is a string of JSON, a list of them, or a verdict; else `null`. */
const wrong = (answer) => {
  if (typeof answer?.then === "function") return "a Promise: the function must not be async";
  if (typeof answer === "string") return null;
  if (typeof answer !== "object" || answer === null) return `${answer}, where a string or an object is needed`;
  if (Array.isArray(answer)) {
    const odd = answer.findIndex((item) => typeof item !== "string");
    return odd < 0 ? null : `a list whose item ${odd} is no string`;
  }
  const isVerdict = typeof answer.tag === "string" || Array.isArray(answer.verdicts) || Array.isArray(answer.headers);
  return isVerdict ? null : "an object that is no verdict: an answer in JSON is a string, of `JSON.stringify`";
};

/**
 * The function, so that it may throw and return anything: errors of the interface pass through, and any other
 * error or answer becomes `failed` with its text. Without this, it would be a trap that says nothing.
 */
export const guarded = (run) => (...args) => {
  try {
    const answer = run(...args);
    const why = wrong(answer);
    if (why) throw failure("failed", `${run.name || "the function"} returned ${why}`);
    return answer;
  } catch (error) {
    const thrown = error?.payload ?? error;
    // The interface `state` has errors of its own: a conflict, or one of the interface's in a case.
    const known = thrown?.tag === "error" ? thrown.val : thrown;
    if (known?.code) throw known;
    throw failure("failed", known?.tag ? `${known.tag}: ${known.val}` : String(error));
  }
};

/** In place of a function that the manifest does not list, and that the host does not call. */
export const unused = guarded(() => {
  throw failure("failed", "the manifest does not list this function");
});
