//! The built-in actors as components: each does its work against a host of this file, with the
//! permissions that its manifest requests.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use async_trait::async_trait;
use orbweaver_engine::{
    CodedError, CrawlDataHost, Engine, ErrorCode, ExtractionHost, FetchRequest, Grants, Host,
    HostWork, HttpHost, Kind, LinkColumns, Page, PageParts, PageRow, RenderingHost, RunInfo,
    Source, WaitFor,
};
use serde_json::{Value, json};

use crate::support::{engine, load_bytes};

const ACTORS: [&str; 7] = [
    "audit-onpage",
    "check-links",
    "extract-article",
    "internal-link-graph",
    "render-diff",
    "sitemap-audit",
    "structured-data",
];
const ROLES: [&str; 4] = ["article", "markdown", "metadata", "structured-data"];

const HOME: &str = r#"<!DOCTYPE html><html lang="en"><head><title>A house by the river</title>
    <meta property="og:title" content="A house"></head><body><main><article><h1>A house by the river</h1>
    <p>The house stands by the river, and the river goes by the house, as it has done for longer than
    anyone remembers, and on most days nothing else happens there that is worth a word in a book.</p>
    <p>In spring the water comes up to the door, stays for a week, and goes again, and leaves a line of
    reeds on the wall that nobody wipes off before the summer, when it has become a kind of calendar.</p>
    </article><a href="/refused">Refused to robots</a> <a href="/gone">Gone</a> <a href="/private">Private</a></main>
    <ol><li class="comment" id="comment-1"><b class="fn">Ann</b> <p>I know that house.</p></li></ol></body></html>"#;

/// The folder of the built plugins.
pub fn plugin_dir() -> PathBuf {
    std::env::var_os("ORBWEAVER_PLUGIN_DIR").map_or_else(
        || Path::new(env!("CARGO_MANIFEST_DIR")).join("../../target/plugins"),
        PathBuf::from,
    )
}

pub fn plugin(file: &str) -> Vec<u8> {
    let path = plugin_dir().join(format!("{file}.wasm"));
    std::fs::read(&path).unwrap_or_else(|error| {
        panic!(
            "{}: {error}; `cargo xtask plugins` builds it",
            path.display()
        )
    })
}

async fn shipped() -> Engine {
    let engine = engine();
    for role in ROLES {
        load_bytes(&engine, plugin(&format!("extract-{role}"))).await;
    }
    for actor in ACTORS {
        load_bytes(&engine, plugin(&format!("actor-{actor}"))).await;
    }
    engine
}

/// A site with a page for every case, a browser and a proxy pool with prices, and a crawl of two
/// pages.
struct Web(Engine);

fn page(url: &str, status: u16, body: &str, cost_usd: f64) -> Arc<Page> {
    Page::new(PageParts {
        url: url.to_owned(),
        final_url: url.to_owned(),
        status,
        headers: vec![
            ("content-type".into(), "text/html; charset=utf-8".into()),
            // A server that sends a header of the host.
            ("orbweaver-cost-usd".into(), "99".into()),
        ],
        body: Arc::from(body.as_bytes()),
        html: Arc::from(body),
        cost_usd,
        ..PageParts::default()
    })
}

impl Host for Web {
    fn http(&self) -> Option<&dyn HttpHost> {
        Some(self)
    }

    fn rendering(&self) -> Option<&dyn RenderingHost> {
        Some(self)
    }

    fn extraction(&self) -> Option<&dyn ExtractionHost> {
        Some(self)
    }

    fn crawl_data(&self) -> Option<&dyn CrawlDataHost> {
        Some(self)
    }
}

#[async_trait]
impl HttpHost for Web {
    async fn fetch(&self, request: FetchRequest) -> Result<Arc<Page>, CodedError> {
        assert!(
            request
                .headers
                .iter()
                .all(|(name, _)| !name.starts_with("orbweaver-"))
        );
        let url = request.url.as_str();
        if let Some(proxy) = &request.proxy {
            assert_eq!((proxy.pool.as_str(), &proxy.country), ("mobile", &None));
            return Ok(page(url, 200, "", 0.5));
        }
        Ok(match url.strip_prefix("https://site.test") {
            Some("/") => page(url, 200, HOME, 0.0),
            Some("/refused") => page(url, 403, "", 0.0),
            Some("/private") if request.respect_robots => {
                return Err(CodedError::new(
                    ErrorCode::Robots,
                    "robots.txt disallows /private",
                ));
            }
            Some("/robots.txt") => page(
                url,
                200,
                "User-agent: *\nSitemap: https://site.test/map.xml\n",
                0.0,
            ),
            Some("/map.xml") => page(
                url,
                200,
                "<urlset><url><loc>https://site.test/</loc></url><url><loc>/gone</loc></url></urlset>",
                0.0,
            ),
            Some(_) => page(url, 404, "", 0.0),
            None => return Err(CodedError::new(ErrorCode::Connect, "connection refused")),
        })
    }
}

#[async_trait]
impl RenderingHost for Web {
    async fn render(&self, url: &str, wait_for: WaitFor) -> Result<Arc<Page>, CodedError> {
        let _ = wait_for;
        let body = HOME.replace("</main>", "<a href=/by-script>Only by script</a></main>");
        Ok(page(url, 200, &body, 0.25))
    }
}

#[async_trait]
impl ExtractionHost for Web {
    async fn extract(
        &self,
        role: &str,
        page: Arc<Page>,
        options: &str,
        account: &HostWork,
    ) -> Result<String, CodedError> {
        let engine = self.0.spending(account);
        engine.extract_for_plugin(role, &page, options).await
    }
}

#[async_trait]
impl CrawlDataHost for Web {
    async fn run(&self, id: i64) -> Result<RunInfo, CodedError> {
        Ok(RunInfo {
            id,
            url: "https://site.test/".into(),
            failed: false,
            page_count: 2,
        })
    }

    async fn pages(
        &self,
        _run: i64,
        after: Option<i64>,
        _limit: u32,
    ) -> Result<Vec<PageRow>, CodedError> {
        let row = |id, url: &str| PageRow {
            id,
            url: url.into(),
            status: 200,
            bytes: 1,
        };
        let rows = [row(3, "https://site.test/"), row(5, "https://site.test/a")];
        Ok(rows
            .into_iter()
            .filter(|row| row.id > after.unwrap_or_default())
            .collect())
    }

    async fn links(
        &self,
        _run: i64,
        _after: Option<i64>,
        _pages: u32,
        _account: &HostWork,
    ) -> Result<LinkColumns, CodedError> {
        Ok(LinkColumns {
            from_page: vec![3, 3],
            to_page: vec![5, 5],
            anchor: vec![0, 0],
            nofollow: vec![false, false],
            anchors: vec!["To a".into()],
            next: None,
        })
    }

    async fn open_page(&self, page: i64) -> Result<Arc<Page>, CodedError> {
        Err(CodedError::invalid(format!(
            "page: page {page} does not exist"
        )))
    }
}

async fn run(engine: &Engine, actor: &str, input: Value) -> Value {
    let host = Arc::new(Web(engine.clone()));
    let output = engine.run_actor(actor, &input, host).await;
    let output = output.unwrap_or_else(|error| panic!("{actor}: {error}"));
    serde_json::from_str(&output.json).unwrap()
}

/// One test, so that the components are compiled once.
#[tokio::test]
async fn the_shipped_actors_work_as_components() {
    let engine = shipped().await;
    every_actor_does_its_work(&engine).await;
    broken_links_are_retried_through_the_named_pool_or_the_browser(&engine).await;
    schemas_have_the_limits_of_the_api(&engine).await;
}

async fn every_actor_does_its_work(engine: &Engine) {
    let url = json!({"url": "https://site.test/"});

    let article = run(
        engine,
        "extract-article",
        json!({"url": "https://site.test/", "include_comments": true}),
    )
    .await;
    assert!(
        article["content"]
            .as_str()
            .unwrap()
            .starts_with("The house stands by the river"),
        "{article}"
    );
    assert_eq!(article["comments"][0]["author"], "Ann");

    let audit = run(engine, "audit-onpage", url.clone()).await;
    let rules: Vec<&Value> = audit["findings"]
        .as_array()
        .unwrap()
        .iter()
        .map(|f| &f["rule"])
        .collect();
    assert!(
        rules.contains(&&json!("viewport-missing")) && !rules.contains(&&json!("title-missing")),
        "{rules:?}"
    );

    let data = run(engine, "structured-data", url.clone()).await;
    assert_eq!(data["counts"]["opengraph"], 1);

    let diff = run(engine, "render-diff", url.clone()).await;
    assert_eq!(
        diff["delta"]["links_only_after_render"],
        json!(["https://site.test/by-script"])
    );
    assert_eq!(
        diff["rendered_cost_usd"], 0.25,
        "the host's header, not the server's"
    );

    let map = run(engine, "sitemap-audit", url.clone()).await;
    assert_eq!(
        (
            &map["total_urls_in_sitemap"],
            &map["summary"]["ok"],
            &map["summary"]["client_error"]
        ),
        (&json!(2), &json!(1), &json!(1))
    );

    let graph = run(engine, "internal-link-graph", json!({"crawl_id": 7})).await;
    assert_eq!(
        (&graph["stats"]["pages"], &graph["stats"]["edges"]),
        (&json!(2), &json!(1))
    );
    assert_eq!(graph["pagerank"][0]["url"], "https://site.test/a");

    let links = run(engine, "check-links", url).await;
    let statuses: Vec<&Value> = links["items"]
        .as_array()
        .unwrap()
        .iter()
        .map(|i| &i["status"])
        .collect();
    assert_eq!(statuses, ["broken", "broken", "excluded"]);
    assert_eq!(links["cloud_cost_usd"], 0.0);
}

async fn broken_links_are_retried_through_the_named_pool_or_the_browser(engine: &Engine) {
    for (mode, cost) in [("proxy", 0.5), ("chrome", 0.25)] {
        let input = json!({"urls": ["https://site.test/refused", "https://site.test/gone"],
            "cloud_retry": true, "cloud_retry_mode": mode, "proxy_pool": "mobile"});
        let links = run(engine, "check-links", input).await;
        assert_eq!(
            links["items"][0]["recovered_via_cloud"], true,
            "{mode}: {links}"
        );
        assert_eq!(
            (&links["cloud_retried"], &links["broken"]),
            (&json!(1), &json!(1))
        );
        assert_eq!(links["cloud_cost_usd"], cost, "{mode}");
    }
}

async fn schemas_have_the_limits_of_the_api(engine: &Engine) {
    let urls: Vec<String> = (0..201).map(|i| format!("https://site.test/{i}")).collect();
    for (actor, input, field) in [
        (
            "extract-article",
            json!({"url": "https://site.test/", "format": "pdf"}),
            "format",
        ),
        ("extract-article", json!({"url": "ftp://site.test/"}), "url"),
        (
            "extract-article",
            json!({"url": "https://site.test/", "wpm": 0}),
            "wpm",
        ),
        ("audit-onpage", json!({}), "url"),
        ("check-links", json!({"urls": urls}), "urls"),
        (
            "check-links",
            json!({"urls": ["https://site.test/"], "cloud_retry_mode": "magic"}),
            "cloud_retry_mode",
        ),
        ("check-links", json!({}), "url"),
        ("internal-link-graph", json!({"crawl_id": "7"}), "crawl_id"),
        (
            "sitemap-audit",
            json!({"url": "https://site.test/", "max_urls": 50_001}),
            "max_urls",
        ),
    ] {
        let host = Arc::new(Web(engine.clone()));
        let error = engine
            .run_actor(actor, &input, host)
            .await
            .unwrap_err()
            .to_string();
        assert!(
            error.contains(&format!("{field}:")),
            "{actor} {input}: {error}"
        );
    }
    for actor in ACTORS {
        assert!(engine.plugin(Kind::Actor, actor).is_some(), "{actor}");
    }
}

#[tokio::test]
async fn a_role_that_the_component_does_not_serve_is_refused() {
    let manifest = "name = \"links\"\nkind = \"extractor\"\nversion = \"1\"\napi = \"1.0.0\"\n\
                    roles = [\"links\", \"lynx\"]\n";
    let packed = orbweaver_engine::manifest::embed(&plugin("extract-links"), manifest).unwrap();
    let engine = engine();
    let loaded = engine
        .load_bytes(packed, Source::Upload, Grants::Configured)
        .await;
    let said = loaded.unwrap_err().to_string();
    let expected = "self-test: role: this plugin does not serve \"lynx\"";
    assert_eq!(said, expected);
}
