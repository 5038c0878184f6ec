//! One run over many hosts, crawled by several nodes of one database.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use orbweaver_accounts::secret::SafeUrl;
use orbweaver_core::ids::RunId;
use orbweaver_core::setting::Millis;
use orbweaver_origin::{Origin, Reply, SiteSpec};
use orbweaver_server::config::Config;
use orbweaver_tests::drill;
use orbweaver_tests::postgres::Postgres;
use orbweaver_tests::program::Launch;
use serde_json::{Value, json};

use crate::process::program;
use crate::support::{Names, Service, database, plugin_dir, runs};

const HOSTS: usize = 24;
const PAGES: usize = 6;

/// A site with many hosts, whose pages lead from host to host. Some of them answer only when they
/// are released.
struct Ground {
    origin: Arc<Origin>,
    names: Arc<Names>,
    /// The path of a host's pages, without their number.
    pages: &'static str,
    /// How often held pages are released.
    every: Duration,
}

fn host(number: usize) -> String {
    format!("h{number}.site.example")
}

impl Ground {
    async fn start() -> Self {
        Self::with("/p/", Duration::from_millis(10)).await
    }

    /// All pages are held.
    async fn slow() -> Self {
        Self::with("/held/p/", Duration::from_millis(100)).await
    }

    async fn with(pages: &'static str, every: Duration) -> Self {
        let origin = Origin::start().await.expect("a site");
        let at = |host: &str, path: &str| origin.url_at(host, path);
        let all = (0..HOSTS).map(|number| {
            let (page, held) = (at(&host(number), "/"), at(&host(number), "/held/1"));
            format!("<a href='{page}'>page</a><a href='{held}'>held</a>")
        });
        let all: String = all.collect();
        let port = origin.address().port();
        origin.set("/start", Reply::html(all));
        origin.set_under("/", move |request| {
            let name = request.header("host").unwrap_or_default().to_owned();
            let number: usize = name
                .trim_start_matches('h')
                .split('.')
                .next()
                .and_then(|number| number.parse().ok())
                .unwrap_or(0);
            let page: usize = request
                .path()
                .trim_start_matches(pages)
                .parse()
                .unwrap_or(0);
            // Every page but the first is found on another host.
            let next = (number + 1) % HOSTS;
            let to = (page + 1).min(PAGES);
            Reply::html(format!(
                "<title>{number} {page}</title>
                 <a href='http://h{next}.site.example:{port}{pages}{to}'>on</a>"
            ))
        });
        let names = Names::of(&[("site.example", &["127.0.0.1"])]);
        for number in 0..HOSTS {
            names.then(&host(number), Ok("127.0.0.1".parse().expect("an address")));
        }
        Self {
            origin: Arc::new(origin),
            names,
            pages,
            every,
        }
    }

    /// The first node, on PostgreSQL.
    async fn service(&self) -> Service {
        let url = database::postgres();
        Service::with_resolver(self.names.clone(), |config| {
            config.database_url = Some(SafeUrl::new(url));
            config.crawl.part_hosts = 4;
            config.crawl.max_concurrency = 8;
            config.crawl.retry_base_ms = Millis(20);
            agent(config, "node-0");
        })
        .await
    }

    fn expected(&self) -> BTreeSet<String> {
        let origin = &self.origin;
        let mut urls = BTreeSet::from([origin.url_at("site.example", "/start")]);
        for number in 0..HOSTS {
            urls.insert(origin.url_at(&host(number), "/"));
            urls.insert(origin.url_at(&host(number), "/held/1"));
            let path = |page| format!("{}{page}", self.pages);
            urls.extend((1..=PAGES).map(|page| origin.url_at(&host(number), &path(page))));
        }
        urls
    }

    fn request(&self) -> Value {
        json!({"url": self.origin.url_at("site.example", "/start"), "subdomains": true,
            "respect_robots": false, "max_pages": 5_000, "depth": 20, "delay_ms": 0})
    }

    /// Lets held pages answer from now on.
    fn release(&self) -> tokio::task::JoinHandle<()> {
        let (origin, every) = (Arc::clone(&self.origin), self.every);
        tokio::spawn(async move {
            loop {
                origin.release();
                // What is asked for later waits, too.
                tokio::time::sleep(every).await;
            }
        })
    }

    /// Waits until so many nodes have sent requests for pages.
    async fn asked_by(&self, nodes: usize) {
        let wait = async {
            while self.agents().len() != nodes {
                tokio::time::sleep(Duration::from_millis(20)).await;
            }
        };
        let waited = tokio::time::timeout(Duration::from_secs(60), wait).await;
        waited.expect("other nodes send requests");
    }

    /// The nodes that have sent requests for pages.
    fn agents(&self) -> BTreeSet<String> {
        self.asked().into_values().flatten().collect()
    }

    /// Requests for pages, by URL, with the user agents that sent them.
    fn asked(&self) -> BTreeMap<String, Vec<String>> {
        let mut asked: BTreeMap<String, Vec<String>> = BTreeMap::new();
        for request in self.origin.requests() {
            if request.path().contains("robots") || request.path().contains("llms") {
                continue;
            }
            let url = format!(
                "http://{}{}",
                request.header("host").unwrap_or_default(),
                request.target
            );
            let agent = request.header("user-agent").unwrap_or_default().to_owned();
            asked.entry(url).or_default().push(agent);
        }
        asked
    }
}

fn agent(config: &mut Config, name: &str) {
    config.fetch.user_agents = vec![name.to_owned()];
}

async fn create(service: &Service, body: &Value) -> RunId {
    let created = service.client().post("/v1/crawls", body).await;
    assert_eq!(created.status, 202, "{}", created.text());
    RunId(created.json()["id"].as_i64().expect("an id"))
}

/// Waits until so many parts are at work on these nodes.
async fn helped(nodes: &[&Service], parts: usize) {
    let wait = async {
        while nodes
            .iter()
            .map(|node| node.app.crawls.live.part_count())
            .sum::<usize>()
            != parts
        {
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    };
    let waited = tokio::time::timeout(Duration::from_secs(60), wait).await;
    waited.expect("other nodes help");
}

/// The run's pages, each once and billed once, and nothing left of its parts.
async fn check(service: &Service, run: RunId, expected: &BTreeSet<String>) {
    let client = service.client();
    let detail = client.get(&format!("/v1/crawls/{run}")).await.ok();
    assert_eq!(detail["status"], "done", "{detail}");
    let list = client
        .get(&format!("/v1/crawls/{run}/pages?limit=100000"))
        .await
        .ok();
    let items = list["items"].as_array().expect("pages");
    let urls: Vec<String> = items
        .iter()
        .map(|item| item["url"].as_str().expect("a URL").to_owned())
        .collect();
    let distinct: BTreeSet<String> = urls.iter().cloned().collect();
    assert_eq!(&distinct, expected);
    assert_eq!(urls.len(), expected.len());
    assert_eq!(detail["page_count"], expected.len());
    assert_eq!(service.billed().await.0, expected.len() as u64);
    let store = &service.app.store;
    assert_eq!(store.parts(run).await.expect("parts"), []);
    let project = runs::project(service).await;
    let reports = store.run_reports(project, run, None, 0, 10).await;
    assert_eq!(reports.expect("reports"), []);
}

#[tokio::test(flavor = "multi_thread")]
async fn nodes_divide_the_hosts_of_one_run() {
    let ground = Ground::start().await;
    let first = ground.service().await;
    let second = first.node_with(|config| agent(config, "node-1")).await;
    let third = first.node_with(|config| agent(config, "node-2")).await;
    let run = create(&first, &ground.request()).await;
    helped(&[&first, &second, &third], 2).await;
    let releasing = ground.release();
    runs::ended(&first, run).await;
    releasing.abort();
    check(&first, run, &ground.expected()).await;
    let asked = ground.asked();
    let twice: Vec<_> = asked
        .iter()
        .filter(|(_, agents)| agents.len() > 1)
        .collect();
    assert!(twice.is_empty(), "{twice:?}");
    let agents: BTreeSet<&String> = asked.values().flatten().collect();
    assert_eq!(agents.len(), 3, "{agents:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_redirect_to_a_page_of_another_node_makes_no_page_and_bills_none() {
    let ground = Ground::start().await;
    let origin = &ground.origin;
    // A held page has not answered before another node has its host.
    let held = "<title>held</title><a href='/moved'>moved</a>";
    origin.set("/held/1", Reply::html(held));
    let start = origin.url_at("site.example", "/start");
    origin.set("/moved", Reply::redirect(301, &start));
    let first = ground.service().await;
    let _second = first.node_with(|config| agent(config, "node-1")).await;
    let run = create(&first, &ground.request()).await;
    ground.asked_by(2).await;
    let releasing = ground.release();
    runs::ended(&first, run).await;
    releasing.abort();
    check(&first, run, &ground.expected()).await;
    let asked = ground.asked();
    assert!(asked[&start].len() > 1, "another node fetched it, too");
}

#[tokio::test(flavor = "multi_thread")]
async fn what_a_stopped_node_has_not_done_is_done_by_others() {
    let ground = Ground::start().await;
    let first = ground.service().await;
    let second = first.node_with(|config| agent(config, "node-1")).await;
    let run = create(&first, &ground.request()).await;
    helped(&[&first, &second], 1).await;
    // Whichever helps, and then whichever does not.
    let (helper, owner) = match second.app.crawls.live.part_count() {
        1 => (second, first),
        _ => (first, second),
    };
    helper.stop().await;
    let third = owner.node_with(|config| agent(config, "node-2")).await;
    helped(&[&third], 1).await;
    owner.stop().await;
    let releasing = ground.release();
    runs::ended(&third, run).await;
    releasing.abort();
    check(&third, run, &ground.expected()).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_clients_concurrency_is_divided_among_the_nodes() {
    const AT_ONCE: usize = 6;
    let ground = Ground::slow().await;
    let first = ground.service().await;
    let second = first.node_with(|config| agent(config, "node-1")).await;
    let mut request = ground.request();
    request["concurrency"] = AT_ONCE.into();
    let run = create(&first, &request).await;
    // The first node sends less before the second one sends anything.
    let releasing = ground.release();
    helped(&[&first, &second], 1).await;
    runs::ended(&first, run).await;
    releasing.abort();
    check(&first, run, &ground.expected()).await;
    let most = ground
        .origin
        .requests()
        .iter()
        .map(|request| request.open)
        .max();
    assert!(most <= Some(AT_ONCE), "{most:?} requests at once");
    let agents = ground.agents();
    assert_eq!(agents.len(), 2, "{agents:?}");
}

/// Its share of the requests that the client asked for would not be used.
#[tokio::test(flavor = "multi_thread")]
async fn a_part_that_nobody_takes_is_closed() {
    let ground = Ground::slow().await;
    let alone = ground.service().await;
    let mut request = ground.request();
    request["concurrency"] = 6.into();
    let run = create(&alone, &request).await;
    let parts = async |wanted: usize| {
        let store = &alone.app.store;
        let wait = async {
            while store.parts(run).await.expect("parts").len() != wanted {
                tokio::time::sleep(Duration::from_millis(20)).await;
            }
        };
        let waited = tokio::time::timeout(Duration::from_secs(60), wait).await;
        waited.expect("a part is opened, and closed");
    };
    let releasing = ground.release();
    parts(1).await;
    // However slow the machine is, the run does not end before the part is closed.
    releasing.abort();
    parts(0).await;
    let detail = alone.client().get(&format!("/v1/crawls/{run}")).await.ok();
    assert_eq!(detail["status"], "running", "{detail}");
    let releasing = ground.release();
    runs::ended(&alone, run).await;
    releasing.abort();
    check(&alone, run, &ground.expected()).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_deleted_run_ends_on_every_node() {
    let ground = Ground::start().await;
    let first = ground.service().await;
    let second = first.node_with(|config| agent(config, "node-1")).await;
    let run = create(&first, &ground.request()).await;
    helped(&[&first, &second], 1).await;
    let path = format!("/v1/crawls/{run}");
    let deleted = first.client().send("DELETE", &path, &[], b"").await;
    assert_eq!(deleted.status, 204);
    let releasing = ground.release();
    helped(&[&first, &second], 0).await;
    releasing.abort();
    let rest = first.app.store.parts(run).await.expect("parts");
    assert_eq!(rest, []);
}

/// Whoever takes the part next would fail at it, too.
#[tokio::test(flavor = "multi_thread")]
async fn a_page_that_no_node_can_store_ends_the_run() {
    let ground = Ground::start().await;
    let first = ground.service().await;
    let second = first.node_with(|config| agent(config, "node-1")).await;
    let run = create(&first, &ground.request()).await;
    helped(&[&first, &second], 1).await;
    let helper = match second.app.crawls.live.part_count() {
        1 => "node-1",
        _ => "node-0",
    };
    let of_helper = async {
        loop {
            let mut asked = ground.asked().into_iter();
            let held = asked.find(|(url, agents)| {
                url.ends_with("/held/1") && agents.iter().all(|agent| agent == helper)
            });
            if let Some((url, _)) = held {
                return url;
            }
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    };
    let waited = tokio::time::timeout(Duration::from_secs(60), of_helper).await;
    let url = waited.expect("the other node sends requests");
    let refuse = format!(
        "CREATE FUNCTION refuse() RETURNS TRIGGER LANGUAGE plpgsql AS
            $$BEGIN RAISE EXCEPTION 'no such page'; END$$;
         CREATE TRIGGER refuse BEFORE INSERT ON pages FOR EACH ROW
            WHEN (NEW.url = '{url}') EXECUTE FUNCTION refuse()"
    );
    let database = first.app.config().database_url();
    let refused = Postgres::shared().execute(database.expose(), &refuse);
    refused.expect("a trigger");
    let releasing = ground.release();
    runs::ended(&first, run).await;
    releasing.abort();
    let detail = first.client().get(&format!("/v1/crawls/{run}")).await.ok();
    assert_eq!(detail["status"], "failed", "{detail}");
    let why = detail["error_message"].as_str().expect("a reason");
    assert!(why.contains("no such page"), "{why}");
}

#[tokio::test]
async fn kill_9_of_any_node_loses_and_duplicates_nothing() {
    let launch = Launch {
        binary: program().to_owned(),
        plugin_dir: plugin_dir(),
        cache_dir: Some(Path::new(env!("CARGO_TARGET_TMPDIR")).join("compiled-plugins")),
        settings: Vec::new(),
    };
    let launch = launch
        .with("CRAWL__LEASE_MS", "2000")
        .with("CRAWL__PART_HOSTS", "4");
    let spec = SiteSpec {
        latency: Duration::from_millis(100),
        ..SiteSpec::small_pages(1_200)
    };
    let drill = move || drill::kill_nodes(&launch, &spec, 24, 3, 5, 11);
    let report = tokio::task::spawn_blocking(drill).await.expect("no panic");
    let report = report.unwrap_or_else(|error| panic!("{error:#}"));
    assert_eq!(report.billed, report.rows as u64);
}
