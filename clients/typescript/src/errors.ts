/** An error of the API; `retryAfter` is in seconds, `requestId` finds it in the server's log. */
export class OrbweaverError extends Error {
  readonly status: number;
  readonly code: string;
  readonly retryAfter: number | undefined;
  readonly crawlId: number | undefined;
  readonly requestId: string | undefined;

  constructor(status: number, body: unknown, requestId: string | null) {
    const envelope = body as { error?: Record<string, unknown> } | null;
    const error = (typeof envelope === "object" && envelope?.error) || {};
    super(String(error["message"] ?? "the answer has no error's envelope"));
    this.name = "OrbweaverError";
    this.status = status;
    this.code = String(error["code"] ?? "UNKNOWN");
    this.retryAfter = error["retry_after_seconds"] as number | undefined;
    this.crawlId = error["crawl_id"] as number | undefined;
    this.requestId = requestId ?? undefined;
  }
}
