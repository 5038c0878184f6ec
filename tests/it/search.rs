//! POST /v1/cloud/search over the project's own stored pages, on both databases.

use std::time::Duration;

use orbweaver_origin::{Origin, Reply};
use serde_json::{Value, json};

use crate::support::{Client, Service};

async fn scan(client: &Client, origin: &Origin, path: &str) {
    let body = json!({"url": origin.url(path)});
    client.post("/v1/scan", &body).await.ok();
}

async fn search(client: &Client, query: &str) -> Vec<Value> {
    let body = json!({"query": query, "limit": 5});
    let answer = client.post("/v1/cloud/search", &body).await.ok();
    answer["results"].as_array().unwrap().clone()
}

/// Searches until something is found: pages are indexed in the background.
async fn found(client: &Client, query: &str, count: usize) -> Vec<Value> {
    let patience = async {
        loop {
            let results = search(client, query).await;
            if results.len() >= count {
                return results;
            }
            tokio::time::sleep(Duration::from_millis(100)).await;
        }
    };
    tokio::time::timeout(Duration::from_secs(60), patience)
        .await
        .unwrap_or_else(|_| panic!("{query:?} is never found"))
}

fn page(title: &str, text: &str) -> Reply {
    Reply::html(format!(
        "<title>{title}</title><h1>{title}</h1><p>{text}</p>"
    ))
}

async fn pages_are_found_best_first_by_their_own_project(service: Service) {
    let origin = Origin::start().await.unwrap();
    let client = service.client();
    origin.set(
        "/spiral",
        page(
            "The sticky spiral",
            "Laid from the outside to the inside, by the orb weaver.",
        ),
    );
    origin.set(
        "/hub",
        page(
            "The hub",
            "Where the radii meet; a spiral starts far from it. Zürich's café has none.",
        ),
    );
    origin.set("/other", page("Beetles", "They make no webs at all."));
    for path in ["/spiral", "/hub", "/other"] {
        scan(&client, &origin, path).await;
    }
    let billed = service.billed().await;
    let results = found(&client, "spiral", 2).await;
    assert_eq!(
        results[0]["url"],
        origin.url("/spiral"),
        "the title has more weight"
    );
    assert_eq!(results[0]["title"], "The sticky spiral");
    assert!(
        results[0]["content"]
            .as_str()
            .unwrap()
            .contains("# The sticky spiral")
    );
    assert_eq!(results[0]["cost_usd"], 0.0);
    assert_eq!(results[1]["url"], origin.url("/hub"));
    assert!(
        service.billed().await.1 >= billed.1 + 2,
        "one cloud page for each result"
    );
    // It was stored last, and may be indexed after the others.
    found(&client, "beetles", 1).await;
    // Pages with all words are found; if there is none, pages with any of them.
    assert_eq!(search(&client, "radii spiral").await.len(), 1);
    assert_eq!(search(&client, "radii beetles").await.len(), 2);
    assert_eq!(search(&client, "Café \"' OR -- (").await.len(), 1);
    let before = service.billed().await;
    assert!(search(&client, "nowhere").await.is_empty());
    assert_eq!(
        service.billed().await,
        before,
        "nothing found, nothing billed"
    );
    // Another project finds only its own pages.
    let stranger = service.other_project("stranger").await;
    assert!(search(&stranger, "spiral").await.is_empty());
    origin.set(
        "/spiral",
        page("The dry spiral", "Eaten again, thread by thread."),
    );
    scan(&stranger, &origin, "/spiral").await;
    let theirs = found(&stranger, "spiral", 1).await;
    assert_eq!(theirs.len(), 1);
    assert_eq!(theirs[0]["title"], "The dry spiral");
    // A page that was fetched again is found once, with its new content.
    scan(&client, &origin, "/spiral").await;
    found(&client, "dry", 1).await;
    assert_eq!(search(&client, "spiral").await.len(), 2);
    assert!(search(&client, "sticky").await.is_empty());
}

#[tokio::test]
async fn pages_are_found_on_sqlite() {
    Box::pin(pages_are_found_best_first_by_their_own_project(
        Service::start().await,
    ))
    .await;
}

#[tokio::test]
async fn pages_are_found_on_postgres() {
    Box::pin(pages_are_found_best_first_by_their_own_project(
        Service::on_postgres().await,
    ))
    .await;
}

/// Text without spaces between words (such as Chinese) is found by any part of it.
async fn words_without_spaces_are_found(service: Service) {
    let origin = Origin::start().await.unwrap();
    let client = service.client();
    for (path, title, text) in [
        (
            "/ja",
            "円網の張り方",
            "東京都の蜘蛛は夜に網を張る。ガラスの窓にも、ｶﾞﾗｽの屋根にも。",
        ),
        ("/ja2", "京都の寺", "京都には寺が多い。蜘蛛の話は少しだけ。"),
        ("/zh", "蜘蛛的网", "圆蛛先搭一条桥线，然后织出黏性螺旋。"),
        ("/th", "แมงมุม", "แมงมุมชักใยเป็นวงกลมเพื่อดักแมลง"),
        ("/ko", "거미줄", "거미는 서울에서도 줄을 친다."),
        ("/ru", "Паук", "Кругопряд плетёт ловчую сеть."),
        (
            "/en",
            "Iphone nets",
            "The café of the ﬁne weavers, ＷＥＢ１.",
        ),
    ] {
        origin.set(path, page(title, text));
        scan(&client, &origin, path).await;
    }
    found(&client, "café", 1).await;
    for (query, paths) in [
        ("東京", &["/ja"][..]),
        ("東京都", &["/ja"]),
        // Both pages have this pair of characters; in the title it has more weight.
        ("京都", &["/ja2", "/ja"]),
        ("ガラス", &["/ja"]),
        ("蜘蛛 寺", &["/ja2"]),
        ("寺", &["/ja2"]),
        ("螺旋", &["/zh"]),
        ("桥线，然后", &["/zh"]),
        ("วงกลม", &["/th"]),
        ("แมลง", &["/th"]),
        ("서울", &["/ko"]),
        ("ПЛЕТЕТ", &["/ru"]),
        ("cafe FINE web1", &["/en"]),
        ("馬鹿", &[]),
    ] {
        let urls: Vec<String> = search(&client, query)
            .await
            .iter()
            .map(|result| result["url"].as_str().unwrap().to_owned())
            .collect();
        let expected: Vec<String> = paths.iter().map(|path| origin.url(path)).collect();
        assert_eq!(urls, expected, "{query}");
    }
    // A page whose title is the word comes before a page whose text has it.
    let spiders = search(&client, "蜘蛛").await;
    assert_eq!(spiders.len(), 3);
    assert_eq!(spiders[0]["title"], "蜘蛛的网");
    // If no page has the whole word, its pairs of characters are searched.
    let pieces = search(&client, "東京京都").await;
    assert_eq!(pieces.len(), 2, "{pieces:?}");
    // The limit counts characters, not bytes.
    let long = "網".repeat(1_000);
    let body = json!({"query": long, "limit": 1});
    client.post("/v1/cloud/search", &body).await.ok();
    let body = json!({"query": format!("{long}網")});
    client
        .post("/v1/cloud/search", &body)
        .await
        .error(422, "INVALID_INPUT");
}

#[tokio::test]
async fn words_without_spaces_are_found_on_sqlite() {
    Box::pin(words_without_spaces_are_found(Service::start().await)).await;
}

#[tokio::test]
async fn words_without_spaces_are_found_on_postgres() {
    Box::pin(words_without_spaces_are_found(Service::on_postgres().await)).await;
}

/// The largest index entry that a page can produce, and a page after it.
async fn a_huge_page_does_not_end_indexing(service: Service) {
    let origin = Origin::start().await.unwrap();
    let client = service.client();
    let han = (0..120_000_u32).filter_map(|n| char::from_u32(0x4e00 + n * (n % 9_973) % 20_011));
    origin.set("/huge", page("Huge", &han.collect::<String>()));
    origin.set("/after", page("After", "A page that came after it."));
    scan(&client, &origin, "/huge").await;
    scan(&client, &origin, "/after").await;
    found(&client, "after", 1).await;
    assert_eq!(search(&client, "huge").await.len(), 1);
}

#[tokio::test]
async fn a_huge_page_does_not_end_indexing_on_sqlite() {
    a_huge_page_does_not_end_indexing(Service::start().await).await;
}

#[tokio::test]
async fn a_huge_page_does_not_end_indexing_on_postgres() {
    a_huge_page_does_not_end_indexing(Service::on_postgres().await).await;
}

async fn deleted_pages_leave(service: Service) {
    use orbweaver_core::words::query_terms;
    use orbweaver_store::Retention;

    let origin = Origin::start().await.unwrap();
    let client = service.client();
    origin.set("/web", page("Webs", "A bridge thread carried by the wind."));
    scan(&client, &origin, "/web").await;
    found(&client, "bridge", 1).await;
    let keep = Retention {
        scans: Duration::ZERO,
        request_log: Duration::from_secs(3_600),
        plugin_records: Duration::from_secs(86_400),
    };
    let later = service.app.clock.now() + chrono::TimeDelta::seconds(1);
    service.app.store.purge(&keep, later).await.unwrap();
    assert!(search(&client, "bridge").await.is_empty());
    let project = service
        .app
        .store
        .project_named("default")
        .await
        .unwrap()
        .unwrap()
        .id;
    let hits = service
        .app
        .store
        .search(project, &query_terms("bridge", 1), 5)
        .await
        .unwrap();
    assert_eq!(hits, [], "the index still has the page");
}

#[tokio::test]
async fn deleted_pages_leave_the_index_on_sqlite() {
    deleted_pages_leave(Service::start().await).await;
}

#[tokio::test]
async fn deleted_pages_leave_the_index_on_postgres() {
    deleted_pages_leave(Service::on_postgres().await).await;
}

async fn a_page_that_several_urls_lead_to_is_found_once(service: Service) {
    let origin = Origin::start().await.unwrap();
    let client = service.client();
    origin.set("/x", page("Radii", "Every radius is taut."));
    origin.set("/r", Reply::redirect(302, "/x"));
    origin.set("/s", page("Old", "A taut radius of its own."));
    for path in ["/s", "/x", "/r"] {
        scan(&client, &origin, path).await;
    }
    let results = found(&client, "taut", 2).await;
    let mut urls: Vec<&str> = results
        .iter()
        .filter_map(|one| one["url"].as_str())
        .collect();
    urls.sort_unstable();
    assert_eq!(urls, [origin.url("/s"), origin.url("/x")]);
    let billed = service.billed().await.1;
    search(&client, "taut").await;
    assert_eq!(service.billed().await.1 - billed, 2);

    // A URL that leads elsewhere now is no longer found as it was.
    origin.set("/s", Reply::redirect(302, "/x"));
    origin.set(
        "/x",
        page("Radii", "Every radius is taut, and freshly spun."),
    );
    scan(&client, &origin, "/s").await;
    let results = found(&client, "freshly", 1).await;
    assert_eq!(results[0]["url"], origin.url("/x"));
    assert_eq!(search(&client, "taut").await.len(), 1);
}

#[tokio::test]
async fn a_page_is_found_once_on_sqlite() {
    a_page_that_several_urls_lead_to_is_found_once(Service::start().await).await;
}

#[tokio::test]
async fn a_page_is_found_once_on_postgres() {
    a_page_that_several_urls_lead_to_is_found_once(Service::on_postgres().await).await;
}

#[tokio::test]
async fn a_result_beyond_the_size_of_the_answer_has_a_snippet() {
    let service = Service::with(|config| config.http.max_answer_bytes = 20_000).await;
    let (client, origin) = (service.client(), Origin::start().await.unwrap());
    for path in ["/a", "/b", "/c"] {
        origin.set(path, page(path, &"Plain words. ".repeat(600)));
        scan(&client, &origin, path).await;
    }
    let results = found(&client, "plain", 3).await;
    let sizes = results
        .iter()
        .map(|one| one["content"].as_str().unwrap().len());
    let whole = sizes.clone().filter(|bytes| *bytes > 7_000).count();
    let parts = sizes.filter(|bytes| (1..=300).contains(bytes)).count();
    assert_eq!((whole, parts), (2, 1));
}
