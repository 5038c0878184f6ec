// The errors of a plugin. Part of the template: change it as you like.

/** An error with one of the interface's codes, such as `invalid-input` (interface `types` in wit/deps). */
export const failure = (code, message, field = null) => ({ code, message, field, retryAfterMs: null });

/**
 * The function, so that it may throw anything: errors of the interface pass through, and any other
 * becomes `failed` with its text. Without this, it would be a trap that says nothing.
 */
export const guarded = (run) => (...args) => {
  try {
    return run(...args);
  } catch (error) {
    const known = error?.payload ?? error;
    throw known?.code ? known : failure("failed", String(error));
  }
};

/** In place of a function that the manifest does not list, and that the host does not call. */
export const unused = guarded(() => {
  throw failure("failed", "the manifest does not list this function");
});
