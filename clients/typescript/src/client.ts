import { OrbweaverError } from "./errors.js";
import { TIMEOUT_MS, Tries } from "./tries.js";
import type {
  ActorAnswer,
  ActorRun,
  BucketCredentials,
  BucketExport,
  BulkItem,
  Crawl,
  CrawlOptions,
  CrawlReference,
  Link,
  Monitor,
  Page,
  ScanOptions,
  ScanResult,
  SearchResult,
} from "./types.js";

/** How the client reaches the service. */
export interface Settings {
  /** Default: `ORBWEAVER_URL`, else http://127.0.0.1:8080. */
  baseUrl?: string;
  /** Default: `ORBWEAVER_KEY`. Keys belong on servers, never in a browser's code. */
  key?: string;
  /** How often a request is tried again that was refused for a moment or broke off. */
  retries?: number;
  /** Milliseconds that one try may take, and for which the answer to one that broke off is waited for. */
  timeoutMs?: number;
  /** In place of the global `fetch`. */
  fetch?: typeof fetch;
}

/** How the end of a crawl, an export or an actor's run is waited for. */
export interface Waiting {
  pollMs?: number;
  waitMs?: number;
  signal?: AbortSignal;
}

type Query = Record<string, string | number | boolean | undefined>;

const ENDED = ["done", "failed", "cancelled"];

/** Client of the service. */
export class Orbweaver {
  readonly #baseUrl: string;
  readonly #key: string;
  readonly #retries: number;
  readonly #timeoutMs: number;
  readonly #fetch: typeof fetch;

  constructor(settings: Settings = {}) {
    const environment = globalThis.process?.env ?? {};
    const baseUrl = settings.baseUrl ?? environment["ORBWEAVER_URL"] ?? "http://127.0.0.1:8080";
    const key = settings.key ?? environment["ORBWEAVER_KEY"];
    if (!key) throw new TypeError("key: is required, or the environment variable ORBWEAVER_KEY");
    this.#baseUrl = baseUrl.replace(/\/+$/, "");
    this.#key = key;
    this.#retries = settings.retries ?? 3;
    this.#timeoutMs = settings.timeoutMs ?? TIMEOUT_MS;
    this.#fetch = settings.fetch ?? fetch;
  }

  /** One page with all that is extracted from it. */
  scan(url: string, options: ScanOptions = {}): Promise<ScanResult> {
    return this.request("POST", "/v1/scan", { body: { ...options, url } });
  }

  /** Up to a hundred pages, in order; one that fails has `ok` false and `error`. */
  async scanBulk(urls: string[], options: ScanOptions = {}): Promise<BulkItem[]> {
    const body = { ...options, urls };
    const answer = await this.request<{ items: BulkItem[] }>("POST", "/v1/scan/bulk", { body });
    return answer.items;
  }

  /** Results, best first. */
  async search(query: string, options: Record<string, unknown> = {}): Promise<SearchResult[]> {
    const body = { ...options, query };
    type Answer = { results: SearchResult[] };
    return (await this.request<Answer>("POST", "/v1/cloud/search", { body })).results;
  }

  /** The URLs of a site, without crawling it. */
  async map(url: string, options: Record<string, unknown> = {}): Promise<string[]> {
    const body = { ...options, url };
    type Answer = { urls: { url: string }[] };
    const answer = await this.request<Answer>("POST", "/v1/map", { body });
    return answer.urls.map((item) => item.url);
  }

  /** Starts a run over up to 100,000 URLs; it is read like a crawl. */
  startBatch(urls: string[], options: CrawlOptions = {}): Promise<CrawlReference> {
    return this.request("POST", "/v1/batch", { body: { ...options, urls } });
  }

  /** What an actor finds; the input is that of its schema. */
  actor<Data = unknown>(name: string, input: Record<string, unknown>): Promise<ActorAnswer<Data>> {
    return this.request("POST", `/v1/actors/${encodeURIComponent(name)}`, { body: input });
  }

  /** Runs an actor in the background and waits for its end: for work that takes longer than a request may. */
  async runActor<Data = unknown>(
    name: string,
    input: Record<string, unknown>,
    waiting: Waiting = {},
  ): Promise<ActorRun<Data>> {
    const path = `/v1/actors/${encodeURIComponent(name)}/runs`;
    const { id } = await this.request<{ id: number }>("POST", path, { body: input });
    return this.#ended(`${path}/${id}`, `run ${id} of ${name}`, waiting);
  }

  /** What a run of an actor emitted, read as it is needed. */
  actorItems<Item = unknown>(
    name: string,
    id: number,
    options: { pageSize?: number } = {},
  ): AsyncGenerator<Item> {
    const path = `/v1/actors/${encodeURIComponent(name)}/runs/${id}/items`;
    return this.#items<Item>(path, {}, options.pageSize ?? 1_000);
  }

  /** Starts a crawl. */
  startCrawl(url: string, options: CrawlOptions = {}): Promise<CrawlReference> {
    return this.request("POST", "/v1/crawls", { body: { ...options, url } });
  }

  /** Starts a crawl and waits for its end. */
  async crawl(url: string, options: CrawlOptions = {}, waiting: Waiting = {}): Promise<Crawl> {
    const run = await this.startCrawl(url, options);
    return this.wait(run.id, waiting);
  }

  /** Waits for a crawl's end. */
  wait(id: number, waiting: Waiting = {}): Promise<Crawl> {
    return this.#ended(`/v1/crawls/${id}`, `crawl ${id}`, waiting);
  }

  /** A crawl's status and counts. */
  getCrawl(id: number): Promise<Crawl> {
    return this.request("GET", `/v1/crawls/${id}`);
  }

  /** Cancels a crawl if it is running, and removes it with its pages. */
  async deleteCrawl(id: number): Promise<void> {
    await this.request("DELETE", `/v1/crawls/${id}`);
  }

  /** All pages of a crawl, read as they are needed. */
  pages(id: number, options: { status?: number; pageSize?: number } = {}): AsyncGenerator<Page> {
    const { pageSize = 1_000, ...query } = options;
    return this.#items<Page>(`/v1/crawls/${id}/pages`, query, pageSize);
  }

  /** All pages of a crawl with their content, read as they are needed. */
  export(
    id: number,
    include: string[] = ["title", "markdown"],
    options: { only_main_content?: boolean; pageSize?: number } = {},
  ): AsyncGenerator<Page & Record<string, unknown>> {
    const { pageSize = 100, ...query } = { ...options, include: include.join(",") };
    return this.#items(`/v1/crawls/${id}/pages`, query, pageSize);
  }

  /**
   * Writes the pages of a crawl to a bucket and waits for the end; fields as in
   * `POST /v1/crawls/{id}/export`. The credentials are names of secrets: see `setSecret`.
   */
  async exportToBucket(
    id: number,
    to: string,
    credentials: BucketCredentials,
    options: Record<string, unknown> = {},
    waiting: Waiting = {},
  ): Promise<BucketExport> {
    const path = `/v1/crawls/${id}/export`;
    const body = { ...options, to, credentials };
    const made = await this.request<{ id: number }>("POST", path, { body });
    return this.#ended(`${path}s/${made.id}`, `export ${made.id} of crawl ${id}`, waiting);
  }

  /**
   * Stores a secret, which nobody can read again; `hosts` are the origins that may receive it, such
   * as `https://s3.example.com`.
   */
  async setSecret(name: string, value: string, hosts: string[]): Promise<void> {
    const path = `/v1/secrets/${encodeURIComponent(name)}`;
    await this.request("PUT", path, { body: { value, hosts } });
  }

  /** Crawls a site by a schedule of five fields, UTC. */
  async monitor(url: string, cron: string, options: CrawlOptions = {}): Promise<Monitor> {
    const body = { ...options, url, cron };
    type Made = { monitor_id: number };
    const made = await this.request<Made>("POST", "/v1/crawls", { body });
    return this.request("GET", `/v1/crons/${made.monitor_id}`);
  }

  /** The project's monitors. */
  async monitors(): Promise<Monitor[]> {
    return (await this.request<{ items: Monitor[] }>("GET", "/v1/crons")).items;
  }

  /** Ends a monitor; its runs stay. */
  async deleteMonitor(id: number): Promise<void> {
    await this.request("DELETE", `/v1/crons/${id}`);
  }

  /** All links on a crawl's pages, read as they are needed. */
  links(id: number, options: { pageSize?: number } = {}): AsyncGenerator<Link> {
    return this.#items<Link>(`/v1/crawls/${id}/links`, {}, options.pageSize ?? 1_000);
  }

  /** A stored page: html, markdown, article, both, full or signals. */
  page(id: number, format = "markdown"): Promise<Record<string, unknown>> {
    return this.request("GET", `/v1/pages/${id}`, { query: { format } });
  }

  /** What changed between two crawls of a site. */
  diff(oldId: number, newId: number, text = false): Promise<Record<string, unknown>> {
    return this.request("GET", `/v1/crawls/${oldId}/diff/${newId}`, { query: { text } });
  }

  /** What the project used, and its caps. */
  usage(): Promise<Record<string, unknown>> {
    return this.request("GET", "/v1/usage");
  }

  /** The secret that signs the project's webhooks, for `verify`. */
  async webhookSecret(): Promise<string> {
    type Answer = { secret_hex: string };
    return (await this.request<Answer>("GET", "/v1/webhook/secret")).secret_hex;
  }

  /**
   * Any request to the API: its JSON, its text where it is none, the bytes of a file (a picture, an
   * archive), undefined without a body.
   *
   * A POST carries an Idempotency-Key, the same in every try, so that it is done and billed once. Those
   * for which the service ignores it are tried again only after a cap or a rate refused them.
   */
  async request<Answer>(
    method: string,
    path: string,
    { query = {}, body }: { query?: Query; body?: unknown } = {},
  ): Promise<Answer> {
    const url = new URL(this.#baseUrl + path);
    for (const [name, value] of Object.entries(query)) {
      if (value !== undefined) url.searchParams.set(name, String(value));
    }
    const headers: Record<string, string> = { Authorization: `Bearer ${this.#key}` };
    if (body !== undefined) headers["Content-Type"] = "application/json";
    const tries = new Tries(method, path, this.#retries, this.#timeoutMs);
    if (tries.key !== undefined) headers["Idempotency-Key"] = tries.key;
    for (;;) {
      let failed: OrbweaverError | undefined;
      let retryAfter: string | null = null;
      let broken: unknown;
      try {
        const response = await this.#fetch(url, {
          method,
          headers,
          signal: AbortSignal.timeout(this.#timeoutMs),
          ...(body === undefined ? {} : { body: JSON.stringify(body) }),
        });
        if (response.ok) return (await content(response)) as Answer;
        retryAfter = response.headers.get("retry-after");
        failed = await refused(response);
        if (tries.hasRemoved(response.status)) return undefined as Answer;
      } catch (error) {
        // A whole answer that is no JSON would be the same again.
        if (error instanceof SyntaxError) throw error;
        // An answer that broke off is none, whatever its status.
        broken = error;
      }
      const refusal = failed && { status: failed.status, message: failed.message, retryAfter };
      const wait = tries.pauseBefore(refusal);
      if (wait === undefined) throw failed ?? broken;
      await pause(wait);
    }
  }

  async #ended<Run extends { status: string }>(
    path: string,
    what: string,
    { pollMs = 2_000, waitMs = 3_600_000, signal }: Waiting,
  ): Promise<Run> {
    for (let left = waitMs; ; left -= pollMs) {
      const run = await this.request<Run>("GET", path);
      if (ENDED.includes(run.status)) return run;
      if (left <= 0) throw new Error(`${what} is still ${run.status}`);
      await pause(Math.min(pollMs, left), signal);
    }
  }

  async *#items<Item>(path: string, query: Query, pageSize: number): AsyncGenerator<Item> {
    let offset: number | null = 0;
    while (offset !== null) {
      type Part = { items: Item[]; next_offset: number | null };
      const part: Part = await this.request<Part>("GET", path, {
        query: { ...query, limit: pageSize, offset },
      });
      yield* part.items;
      offset = part.next_offset;
    }
  }
}

async function content(response: Response): Promise<unknown> {
  const type = response.headers.get("content-type") ?? "";
  const kind = type.replace(/;.*$/s, "").trim().toLowerCase();
  // A picture or an archive read as text would be damaged.
  if (!/^(|text\/.*|application\/(json|x-ndjson))$/.test(kind)) {
    const bytes = new Uint8Array(await response.arrayBuffer());
    return bytes.length === 0 ? undefined : bytes;
  }
  const text = await response.text();
  if (text === "") return undefined;
  return kind === "application/json" ? JSON.parse(text) : text;
}

/** The error of an answer; its body has the envelope unless a proxy answered. */
async function refused(response: Response): Promise<OrbweaverError> {
  const body = await content(response).catch((error: unknown) => {
    if (error instanceof SyntaxError) return null;
    throw error;
  });
  return new OrbweaverError(response.status, body, response.headers.get("x-request-id"));
}

function pause(milliseconds: number, signal?: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    signal?.throwIfAborted();
    const stop = (): void => {
      clearTimeout(timer);
      reject(signal?.reason);
    };
    const timer = setTimeout(() => {
      signal?.removeEventListener("abort", stop);
      resolve();
    }, milliseconds);
    signal?.addEventListener("abort", stop, { once: true });
  });
}
