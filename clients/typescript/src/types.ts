// Shapes of answers. Members that the API adds later are there, too, untyped.

export type Status = "queued" | "running" | "done" | "failed" | "cancelled";

export interface Metadata {
  title: string | null;
  description: string | null;
  canonical: string | null;
  og: Record<string, unknown>;
  twitter: Record<string, unknown>;
  json_ld: Record<string, unknown>[];
  [name: string]: unknown;
}

export interface ScanLink {
  to: string;
  anchor: string;
  rel: string;
  nofollow: boolean;
}

export interface ScanResult {
  url: string;
  final_url: string;
  status: number;
  bytes: number;
  content_hash: string | null;
  markdown?: string | null;
  article?: string | null;
  article_html?: string | null;
  metadata: Metadata;
  signals: Record<string, unknown>;
  ai_bot_policy: Record<string, string>;
  llms_txt: string | null;
  llms_full_txt: string | null;
  links?: ScanLink[];
  screenshot?: string;
  screenshot_error?: string;
  extensions?: Record<string, unknown>;
  extracted?: Record<string, unknown> | null;
  extract_errors?: { field: string; message: string }[];
  errors: { role: string; plugin?: string; message: string }[];
  warnings?: string[];
}

export type BulkItem =
  | { url: string; ok: true; result: ScanResult }
  | { url: string; ok: false; error: string };

export interface CrawlReference {
  id: number;
  status: Status;
  url: string;
  enqueued_at: string;
}

export interface Crawl {
  id: number;
  url: string;
  status: Status;
  page_count: number;
  error_count: number;
  enqueued_at: string;
  started_at: string | null;
  finished_at: string | null;
  error_message: string | null;
  webhook_status: string | null;
}

export interface Page {
  id: number;
  url: string;
  status: number;
  bytes: number;
  fetched_at: string;
}

export interface Link {
  from_page_id: number;
  to_url: string;
  anchor: string;
  rel: string;
  nofollow: boolean;
}

export interface SearchResult {
  url: string;
  title: string;
  content: string;
  cost_usd: number;
}

export interface ActorAnswer<Data = unknown> {
  actor: string;
  url: string | null;
  elapsed_ms: number;
  data: Data;
}

export interface ActorRun<Data = unknown> {
  id: number;
  actor: string;
  status: Status;
  item_count: number;
  result?: Data | null;
  error: { code: string; message: string } | null;
  enqueued_at: string;
  started_at: string | null;
  finished_at: string | null;
}

/** Names of secrets that have a bucket's access key. */
export interface BucketCredentials {
  access_key_id: string;
  secret_access_key: string;
  session_token?: string;
}

export interface BucketExport {
  id: number;
  crawl_id: number;
  status: Status;
  to: string;
  object: string;
  format: string;
  pages: number;
  bytes: number;
  error: { code: string; message: string } | null;
}

export interface Monitor {
  id: number;
  schedule: string;
  url: string;
  enabled: boolean;
  next_fires_at: string | null;
  last_fired_at: string | null;
  last_run_id: number | null;
  webhook_url: string | null;
}

/** Fields of `POST /v1/scan` besides `url`. */
export interface ScanOptions {
  user_agent?: string;
  max_age_seconds?: number;
  cloud_mode?: "none" | "auto" | "unblocker" | "browser";
  metadata_only?: boolean;
  only_main_content?: boolean;
  include_links?: boolean;
  screenshot_inline?: boolean;
  follow_refresh?: boolean;
  extractors?: string[];
  [name: string]: unknown;
}

/** Fields of `POST /v1/crawls` besides `url`. */
export interface CrawlOptions {
  max_pages?: number;
  depth?: number;
  concurrency?: number;
  delay_ms?: number;
  subdomains?: boolean;
  respect_robots?: boolean;
  store_html?: boolean;
  follow_refresh?: boolean;
  seed_kind?: "url" | "sitemap";
  include_paths?: string[];
  exclude_paths?: string[];
  webhook_url?: string;
  user_agent?: string;
  [name: string]: unknown;
}
