//! Sites that only a proxy reaches: their robots.txt, llms.txt and sitemaps take the way of their pages, and
//! a site that does not answer this service's own address is crawled and scanned all the same.

use orbweaver_fetch::ProxyPool;
use orbweaver_origin::{Origin, Proxy, Reply};
use orbweaver_store::ProjectChange;
use orbweaver_tests::proxies::dead_url;
use serde_json::{Value, json};

use crate::support::{Service, runs};

struct World {
    service: Service,
    origin: Origin,
    proxy: Proxy,
    /// Where the site is; only the proxy reaches it.
    site: String,
}

async fn world() -> World {
    let origin = Origin::start().await.expect("an origin");
    let site = dead_url().expect("a port");
    let text = "Plain text that is long enough to be content. ".repeat(10);
    let page = |links: &str| Reply::html(format!("<title>A</title>{links}<p>{text}</p>"));
    let listed = format!("<urlset><url><loc>{site}/listed</loc></url></urlset>");
    origin
        .set(
            "/robots.txt",
            Reply::text("User-agent: *\nDisallow: /private\nSitemap: /map.xml\n"),
        )
        .set("/llms.txt", Reply::text("# A site\n"))
        .set("/llms-full.txt", Reply::text("# All of it\n"))
        .set(
            "/map.xml",
            Reply::new(200, listed).header("Content-Type", "text/xml"),
        )
        .set("/", page("<a href=/open>o</a><a href=/private/1>p</a>"))
        .set("/open", page(""))
        .set("/private/1", page(""));
    let proxy = Proxy::http(origin.address()).await.expect("a proxy");
    let pool = proxy.url().parse().expect("a proxy");
    let service = Service::with(|config| {
        config.fetch.proxy_pools.insert(ProxyPool::Isp, vec![pool]);
    })
    .await;
    World {
        service,
        origin,
        proxy,
        site,
    }
}

impl World {
    fn page(&self) -> String {
        format!("{}/", self.site)
    }

    async fn crawled(&self, mut body: Value) -> Value {
        body["url"] = json!(self.page());
        body["delay_ms"] = json!(0);
        let run = runs::crawled(&self.service.client(), &body).await;
        let counts = (&run["page_count"], &run["error_count"]);
        assert_eq!(counts, (&json!(2), &json!(0)), "{run}");
        assert_eq!(run["skipped"]["robots"], 1, "{run}");
        assert_eq!(run["llms_txt"], "# A site\n", "{run}");
        assert_eq!(run["llms_full_txt"], "# All of it\n", "{run}");
        run
    }
}

#[tokio::test]
async fn a_crawl_asks_for_a_sites_files_by_its_proxy() {
    let world = world().await;
    world.crawled(json!({"proxy_url": world.proxy.url()})).await;
    assert_eq!(world.origin.count("/private/1"), 0);
    // Once for all of its pages, and for the next run.
    assert_eq!(world.origin.count("/robots.txt"), 1);
    world.crawled(json!({"proxy_url": world.proxy.url()})).await;
    assert_eq!(world.origin.count("/robots.txt"), 1);
}

#[tokio::test]
async fn a_crawl_asks_for_a_sites_files_by_its_pool() {
    let world = world().await;
    for _ in 0..2 {
        world.crawled(json!({"proxy_pool": "isp"})).await;
        assert_eq!(world.origin.count("/robots.txt"), 1);
    }
    assert_eq!(world.origin.count("/private/1"), 0);
}

#[tokio::test]
async fn all_calls_ask_for_a_sites_files_by_the_projects_proxy() {
    let world = world().await;
    let store = &world.service.app.store;
    let project = store.project_named("default").await;
    let project = project.expect("a database").expect("a project").id;
    let url = world.proxy.url();
    let change = ProjectChange {
        proxy_url: Some(Some(url.as_str())),
        ..ProjectChange::default()
    };
    store
        .change_project(project, &change)
        .await
        .expect("a database");
    let client = world.service.client();
    let body = json!({"url": world.page(), "max_age_seconds": 3_600});
    for _ in 0..2 {
        let scan = client.post("/v1/scan", &body).await.ok();
        assert_eq!(scan["llms_txt"], "# A site\n", "{scan}");
        assert_eq!(scan["llms_full_txt"], "# All of it\n", "{scan}");
        assert_eq!(scan["ai_bot_policy"]["GPTBot"], "partial", "{scan}");
    }
    let query = format!("/v1/robots-policy?url={}", world.page());
    let policy = client.get(&query).await.ok();
    assert_eq!(policy["llms_txt"], "# A site\n", "{policy}");
    let mapped = client.post("/v1/map", &json!({"url": world.page()})).await;
    let listed = json!({"url": format!("{}/listed", world.site), "source": "sitemap"});
    let mapped = mapped.ok();
    let urls = mapped["urls"].as_array().expect("urls");
    assert!(urls.contains(&listed), "{mapped}");
    let body = json!({"url": world.page(), "limit": 5});
    let crawled = client.post("/v1/cloud/crawl", &body).await.ok();
    assert_eq!(crawled["items"].as_array().map(Vec::len), Some(2));
    world.crawled(json!({})).await;
    assert_eq!(world.origin.count("/private/1"), 0);
    assert_eq!(world.origin.count("/robots.txt"), 1);
    // Some sites answer each crawler with a file of its own.
    let policy = client.get(&format!("{query}&user_agent=ProbeBot")).await;
    assert_eq!(policy.ok()["ai_bot_policy"]["ProbeBot"], "partial");
    assert_eq!(world.origin.count("/robots.txt"), 2);
}
