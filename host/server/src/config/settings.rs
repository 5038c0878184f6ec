//! Every setting with its meaning.

/// A setting, or a table of settings that is described as a whole.
pub(super) struct Setting {
    pub(super) path: &'static str,
    pub(super) flag: Option<&'static str>,
    pub(super) help: &'static str,
}

const fn setting(path: &'static str, help: &'static str) -> Setting {
    Setting {
        path,
        flag: None,
        help,
    }
}

const fn flagged(path: &'static str, flag: &'static str, help: &'static str) -> Setting {
    Setting {
        path,
        flag: Some(flag),
        help,
    }
}

/// All of them, in the order of the configuration file.
pub(super) const SETTINGS: &[Setting] = &[
    flagged(
        "listen",
        "--listen",
        "Address and port that the API listens on.",
    ),
    flagged(
        "data_dir",
        "--data-dir",
        "Folder for the SQLite file and compiled plugins. Only this user may write there: compiled plugins are run as machine code.",
    ),
    flagged(
        "database_url",
        "--database-url",
        "postgres://USER:PASSWORD@HOST/DATABASE for several nodes; unset, a SQLite file in the data folder.",
    ),
    flagged(
        "plugin_dir",
        "--plugin-dir",
        "Folder of plugins, watched: a file that appears, changes or goes is taken over while running. Unset, `plugins` beside the binary's folder.",
    ),
    flagged(
        "allow_nets",
        "--allow-net",
        "Networks that may be fetched from besides the public internet, such as 10.0.0.0/8.",
    ),
    setting(
        "bootstrap_key",
        "The first key, used on the first start on an empty database: orb_ and 24 random bytes in base64url. Unset, a fresh key is printed once.",
    ),
    setting(
        "secret_key",
        "Secret of this instance, 32 characters or more: seals mails that wait to be sent. Nodes that share a database share it. Unset, a file `secret.key` in the data folder.",
    ),
    setting(
        "public_url",
        "Address that clients reach the API at, such as https://crawl.example.com, for links in answers. Unset, what the Host header of requests from this machine or trusted_proxies says, else the listen address.",
    ),
    flagged(
        "browser",
        "--browser",
        "Browser for rendering. Unset, the first on PATH of chromium-headless-shell, chromium, chromium-browser, google-chrome.",
    ),
    flagged(
        "tls_cert",
        "--tls-cert",
        "Certificate chain (PEM), to serve HTTPS directly. Unset, a proxy in front terminates TLS.",
    ),
    flagged(
        "tls_key",
        "--tls-key",
        "Private key (PEM) of the certificate.",
    ),
    flagged(
        "roles",
        "--roles",
        "What this process does: api answers requests, worker crawls and delivers webhooks, scheduler fires monitors and removes what is past its time.",
    ),
    setting(
        "trusted_proxies",
        "Networks of proxies in front whose X-Forwarded-For is believed.",
    ),
    setting(
        "http.max_body_bytes",
        "Largest request body, in bytes; a larger one is answered 413.",
    ),
    setting(
        "http.header_timeout_ms",
        "Time for a client to send the first request's head, TLS handshake included, in milliseconds.",
    ),
    setting(
        "http.idle_timeout_ms",
        "Time between an answer and the next request's head on the same connection, in milliseconds.",
    ),
    setting(
        "http.write_timeout_ms",
        "Time that a client may take no byte of its answer, in milliseconds.",
    ),
    setting(
        "http.body_timeout_ms",
        "Time for a client to send a request's body, in milliseconds.",
    ),
    setting(
        "http.request_timeout_ms",
        "Longest time to an answer, in milliseconds; then 408.",
    ),
    setting(
        "http.shutdown_ms",
        "On SIGTERM, time for running requests to finish, in milliseconds (at most 9500).",
    ),
    setting(
        "http.max_connections",
        "Open connections of a listener. Beyond it the connection that has been quiet for longest is closed; a new one is refused where all are busy. Unset: half of the files that this process may open, at most 10000.",
    ),
    setting(
        "http.max_connections_per_address",
        "Of these, from one IPv4 address or one IPv6 /64 network; not counted for trusted_proxies. Unset: a quarter of http.max_connections.",
    ),
    setting(
        "http.http2_max_streams",
        "Requests at once on one HTTP/2 connection.",
    ),
    setting(
        "http.http2_ping_ms",
        "How often an HTTP/2 client is pinged, in milliseconds; it has as long to answer. 0: never.",
    ),
    setting(
        "http.log_requests_per_day",
        "Requests that GET /v1/logs remembers per project and UTC day, by process; further ones are answered and not logged.",
    ),
    setting(
        "http.rate.key",
        "Requests of one key: `burst` at once, `per_second` in the long run (0: no limit); beyond it 429 with Retry-After, RateLimit and RateLimit-Policy.",
    ),
    setting(
        "http.rate.address",
        "As http.rate.key, for all requests of one IPv4 address or IPv6 /64 network. GET /v1/health is not counted.",
    ),
    setting(
        "http.rate.keyless",
        "As http.rate.address, for requests without a valid key.",
    ),
    setting("fetch.allow_nets", "As allow_nets; both lists count."),
    setting(
        "fetch.user_agents",
        "User agents to rotate through instead of the built-in browsers'.",
    ),
    setting(
        "fetch.proxy_pools",
        "Proxies by pool (datacenter, isp, residential, mobile): lists of http, https or socks5 URLs. `{country}` in one stands for the ISO-2 code asked for, `{session}` for a number new with each request.",
    ),
    setting(
        "fetch.limits.connect_ms",
        "Time to resolve, connect and shake hands, in milliseconds.",
    ),
    setting(
        "fetch.limits.first_byte_ms",
        "Time to the end of the response's headers, in milliseconds.",
    ),
    setting(
        "fetch.limits.total_ms",
        "Time of a whole fetch, redirects included, in milliseconds.",
    ),
    setting(
        "fetch.limits.max_body_bytes",
        "Largest body, as received and decoded alike, in bytes.",
    ),
    setting("fetch.limits.max_redirects", "Redirects followed."),
    setting(
        "fetch.limits.min_rate",
        "Bytes a second below which a body counts as stalled; 0: never.",
    ),
    setting(
        "fetch.limits.min_rate_window_ms",
        "How long a body may stay below that rate, in milliseconds.",
    ),
    setting("fetch.limits.max_headers", "Response headers, by number."),
    setting(
        "fetch.limits.max_header_bytes",
        "Response headers, by their total size in bytes.",
    ),
    setting(
        "fetch.limits.idle_per_host",
        "Idle connections kept per host.",
    ),
    setting(
        "fetch.limits.idle_ms",
        "How long an idle connection is kept, in milliseconds.",
    ),
    setting(
        "fetch.limits.max_clients",
        "HTTP clients kept: one for direct requests, one per proxy in use.",
    ),
    setting("plugins.plugin_dir", "As plugin_dir, which wins."),
    setting(
        "plugins.cache_dir",
        "Folder of compiled plugins; unset, `compiled` in the data folder. Only this user may write there: what lies there is run as machine code.",
    ),
    setting(
        "plugins.max_component_bytes",
        "Largest plugin file, in bytes.",
    ),
    setting(
        "plugins.compile_timeout_ms",
        "Longest compilation of one plugin, in milliseconds.",
    ),
    setting(
        "plugins.max_instances",
        "Extractor instances alive at once.",
    ),
    setting(
        "plugins.extractor_threads",
        "Threads that run extractors; 0 takes one per core.",
    ),
    setting(
        "plugins.max_actors",
        "Actor and fetcher calls at once; more wait.",
    ),
    setting(
        "plugins.roles",
        "Which extractor serves a role, where it is not the one of the role's name: { article = \"my-article\" }.",
    ),
    setting(
        "plugins.grants",
        "What plugins are granted, by name: \"all\", \"none\", or a table { http, extract, render, crawl-data, wasi }. A plugin of the folder that is not named gets all that its manifest asks.",
    ),
    setting(
        "plugins.limits.extractor",
        "Budgets of an extractor's call: `default` for one that asks for nothing, `max` for one that asks. Times in milliseconds.",
    ),
    setting("plugins.limits.actor", "Budgets of an actor's call."),
    setting("plugins.limits.fetcher", "Budgets of a fetcher's call."),
    setting(
        "database.connections",
        "Connections kept: for reading (SQLite), in all (PostgreSQL).",
    ),
    setting(
        "database.acquire_timeout_ms",
        "Longest wait for a free connection, in milliseconds.",
    ),
    setting(
        "database.writer_queue",
        "Writes that wait for the writer before callers wait too.",
    ),
    setting(
        "scan.extractors",
        "Extractors that run for every scanned page besides those of the contract; their output is under `extensions`.",
    ),
    setting(
        "scan.result_cache_mib",
        "Memory for extracted results and answers of stored pages, in MiB; 0 keeps none.",
    ),
    setting(
        "scan.concurrent",
        "Scans at once in this process; more wait.",
    ),
    setting(
        "crawl.runs",
        "Crawl runs that this process works on at once; more wait, or go to other nodes.",
    ),
    setting(
        "crawl.lease_ms",
        "Time without a sign of life after which another worker takes a run over, in milliseconds (at least 1000).",
    ),
    setting(
        "crawl.max_concurrency",
        "Requests at once of a run that names no concurrency; it starts with few and adapts to the origin.",
    ),
    setting(
        "crawl.retries",
        "Further tries of a page after a transient failure: no answer, 429, 502, 503 or 504.",
    ),
    setting(
        "crawl.retry_base_ms",
        "Wait before the first further try, in milliseconds; each next one is twice as long.",
    ),
    setting(
        "crawl.max_wait_ms",
        "Longest Retry-After and Crawl-delay that are honoured, in milliseconds.",
    ),
    setting(
        "crawl.template_budget",
        "URLs of one run that differ only in numbers or parameters' values, where the URL has a query or a date: keeps endless calendars and filters from filling a run.",
    ),
    setting(
        "crawl.drop_tracking",
        "Whether URLs that differ only in session identifiers and tracking parameters are one page.",
    ),
    setting(
        "log.format",
        "pretty (for people) or json (one object a line). Logs go to standard error.",
    ),
    setting(
        "log.filter",
        "Least level logged, and exceptions: `info`, `warn,orbweaver_server=debug` …",
    ),
    setting(
        "metrics.listen",
        "Address and port of Prometheus metrics (GET /metrics). Unset, none.",
    ),
    setting(
        "metrics.public",
        "Whether /metrics is on the API's port, too.",
    ),
    setting(
        "retention.scans_days",
        "Days that scanned pages are kept for `max_age_seconds`.",
    ),
    setting(
        "retention.request_log_days",
        "Days that GET /v1/logs goes back.",
    ),
    setting(
        "retention.runs_days",
        "Days that a crawl run and its pages are kept after its end; 0: until deleted.",
    ),
    setting(
        "retention.project_mib",
        "Stored bodies of one project, in MiB, above which its oldest ended runs are removed, then its oldest scanned pages; 0: no bound.",
    ),
    setting(
        "webhooks.retry_delays",
        "Seconds to wait before the second attempt at a webhook delivery, the third and so on; one attempt more than there are waits. For attempts over 24 hours: [60, 300, 900, 3600, 7200, 14400, 21600, 36000].",
    ),
    setting(
        "webhooks.max_retry_after",
        "Longest wait that a receiver's Retry-After may ask for, in seconds.",
    ),
    setting(
        "webhooks.timeout_ms",
        "Longest time of one attempt, in milliseconds.",
    ),
    setting(
        "webhooks.concurrent",
        "Webhook deliveries at once in this process.",
    ),
    setting(
        "webhooks.concurrent_per_target",
        "Of these, deliveries at once to one scheme, host and port.",
    ),
    setting(
        "blocklist.sources",
        "Lists of malicious domains: files, watched, or http(s) URLs. Hosts files and plain lists of one name a line; a name stands for its subdomains. What is on them is never fetched.",
    ),
    setting(
        "blocklist.refresh_seconds",
        "How often lists at URLs are asked for anew, in seconds.",
    ),
    setting(
        "tiers.free",
        "What projects of tier free may use: pages_per_day (UTC) and pages_per_month count pages and cloud pages together, cloud_pages_per_day cloud pages alone; concurrent_runs and monitors at once; aggressive: whether crawls may be. A number, or \"unlimited\". Further tiers may be added with all six values.",
    ),
    setting("tiers.pro", "As tiers.free, for tier pro."),
    setting("tiers.agency", "As tiers.free, for tier agency."),
    setting("tiers.studio", "As tiers.free, for tier studio."),
    setting(
        "tiers.self_hosted",
        "As tiers.free, for the tier of the first project, and of those that the command line makes.",
    ),
    setting(
        "rendering.concurrent",
        "Pages rendered at once; more wait for their turn.",
    ),
    setting(
        "rendering.queue_ms",
        "How long a page may wait for its turn, in milliseconds; then 429.",
    ),
    setting(
        "rendering.timeout_ms",
        "Time for a page to come to the event that it waits for, in milliseconds; then what stands is the result.",
    ),
    setting(
        "rendering.launch_ms",
        "Time for a browser to start, in milliseconds.",
    ),
    setting(
        "rendering.max_uses",
        "Pages that one browser renders before a fresh one takes its place.",
    ),
    setting(
        "rendering.max_memory_mib",
        "Memory of a browser with all its processes, in MiB, beyond which a fresh one takes its place.",
    ),
    setting(
        "rendering.max_page_bytes",
        "Bytes that one rendered page may load, everything included.",
    ),
    setting(
        "rendering.idle_ms",
        "After so long without a page to render the browser is closed, in milliseconds.",
    ),
    setting(
        "rendering.sandbox",
        "Chromium's own sandbox: on, off, or auto (off for root, under whom it does not start).",
    ),
    setting(
        "cloud.vendor_url",
        "Base URL of an upstream provider that fetches, unblocks and searches. The guard judges it as every other: open its network with allow_nets if it is private.",
    ),
    setting("cloud.vendor_key", "The provider's API key."),
    setting(
        "cloud.vendor_timeout_ms",
        "Time for the provider to answer, in milliseconds.",
    ),
    setting(
        "cloud.searxng_url",
        "Base URL of a SearXNG instance (with its JSON format enabled) that /v1/cloud/search asks. Unset, the provider, else Brave, else the project's own stored pages.",
    ),
    setting(
        "cloud.brave_key",
        "Subscription token of the Brave Search API, to search the web with.",
    ),
    setting("cloud.brave_url", "Base URL of the Brave Search API."),
    setting(
        "cloud.prices.vendor_page",
        "US dollars for a page of the provider whose answer names no cost.",
    ),
    setting(
        "cloud.prices.vendor_search",
        "US dollars for a search at the provider whose answer names no cost.",
    ),
    setting(
        "cloud.prices.brave_search",
        "US dollars for a search at Brave.",
    ),
    setting(
        "cloud.prices.datacenter_gb",
        "US dollars for 10^9 bytes through the datacenter pool.",
    ),
    setting(
        "cloud.prices.isp_gb",
        "US dollars for 10^9 bytes through the isp pool.",
    ),
    setting(
        "cloud.prices.residential_gb",
        "US dollars for 10^9 bytes through the residential pool.",
    ),
    setting(
        "cloud.prices.mobile_gb",
        "US dollars for 10^9 bytes through the mobile pool.",
    ),
    setting(
        "signup.open",
        "Whether strangers may sign up (POST /v1/signup). Unset: only while `listen` and `metrics.listen` are on loopback.",
    ),
    setting(
        "signup.challenge_secret",
        "Secret of the bot challenge (Turnstile and alike). Set, `turnstile_token` is required and verified.",
    ),
    setting(
        "signup.challenge_url",
        "Where the challenge's tokens are verified: an endpoint that speaks siteverify.",
    ),
    setting(
        "signup.attempts_per_ip",
        "Attempts of one address in 24 hours; of an IPv6 address, of its /64 network.",
    ),
    setting("signup.per_day", "Successful signups of all, per UTC day."),
    setting(
        "billing.provider_key",
        "Secret key of the payment provider (Stripe). Unset or a placeholder (`sk_placeholder…`), checkout is a mock.",
    ),
    setting("billing.provider_url", "Address of the provider's API."),
    setting(
        "billing.webhook_secret",
        "Secret that the provider signs its webhooks with (POST /v1/billing/webhook).",
    ),
    setting(
        "billing.webhook_tolerance_seconds",
        "How old a signed webhook may be, in seconds.",
    ),
    setting(
        "billing.prices",
        "The provider's price by tier: { pro = \"price_…\" }.",
    ),
    setting(
        "billing.success_url",
        "Where the provider sends who has paid; unset, /docs here.",
    ),
    setting(
        "billing.cancel_url",
        "Where the provider sends who has not; unset, /docs here.",
    ),
    setting(
        "billing.mock",
        "Whether, without a provider key, visiting the mock checkout URL completes a paid signup without paying. Unset: only while `listen` and `metrics.listen` are on loopback.",
    ),
    setting(
        "mail.smtp_url",
        "Mail server: smtp://USER:PASSWORD@HOST:PORT?tls=required (STARTTLS), smtps://… (TLS at once) or smtp://… (plain). Unset, no mail is sent.",
    ),
    setting("mail.from", "Sender of mails."),
    setting(
        "mail.timeout_ms",
        "Longest time for the mail server to answer a step, in milliseconds.",
    ),
];
