//! What a run has stored, as its readers get it.

use chrono::TimeDelta;
use orbweaver_core::ids::{PageId, RunId};
use serde_json::{Value, json};

use crate::support::http::Answer;
use crate::support::runs::{self, SEED, Written, begin, done, end, without_workers, write};
use crate::support::site::ARTICLE;
use crate::support::{Client, Service};

fn leaf(path: &str) -> Written {
    Written::new(path, &format!("<title>{path}</title>"), &[])
}

async fn get(client: &Client, run: RunId, rest: &str) -> Answer {
    client.get(&format!("/v1/crawls/{run}{rest}")).await
}

fn urls(items: &Value) -> Vec<&str> {
    let items = items.as_array().expect("items");
    let urls = items
        .iter()
        .map(|item| item["url"].as_str().expect("a url"));
    urls.map(|url| url.strip_prefix(SEED).expect("a page of the run"))
        .collect()
}

#[tokio::test]
async fn pages_come_in_pieces_and_in_order() {
    for postgres in [false, true] {
        let service = without_workers(postgres, |_| {}).await;
        let client = service.client();
        let pages: Vec<Written> = (0..2_501)
            .map(|n| Written {
                path: if n == 0 {
                    String::new()
                } else {
                    format!("p/{n}?a=\"1\",2")
                },
                status: if n % 5 == 4 { 404 } else { 200 },
                ..Written::default()
            })
            .collect();
        let leased = begin(&service).await;
        for (at, piece) in (0..).step_by(500).zip(pages.chunks(500)) {
            write(&service, &leased, at, piece).await;
        }
        let run = end(&service, &leased).await;

        let first = get(&client, run, "/pages").await.ok();
        assert_eq!(first["items"].as_array().unwrap().len(), 100);
        assert_eq!(first["next_offset"], 100);
        let item = &first["items"][4];
        assert_eq!(item.as_object().unwrap().len(), 5);
        assert_eq!(item["url"], format!("{SEED}p/4?a=\"1\",2"));
        assert_eq!((&item["status"], &item["bytes"]), (&json!(404), &json!(7)));
        assert_eq!(item["fetched_at"], "2026-03-01T12:00:00Z");

        // Pages of the list, joined, are the list.
        let whole = get(&client, run, "/pages?limit=100000").await.ok();
        let whole = whole["items"].as_array().unwrap().clone();
        assert_eq!(whole.len(), 2_501);
        let (mut joined, mut offset) = (Vec::new(), json!(0));
        while !offset.is_null() {
            let path = format!("/pages?limit=999&offset={offset}");
            let piece = get(&client, run, &path).await.ok();
            joined.extend(piece["items"].as_array().unwrap().clone());
            offset = piece["next_offset"].clone();
        }
        assert_eq!(joined, whole);
        let last = get(&client, run, "/pages?limit=501&offset=2000").await.ok();
        assert_eq!(last["next_offset"], Value::Null);
        let beyond = get(&client, run, "/pages?offset=9007199254740991")
            .await
            .ok();
        assert_eq!(beyond, json!({"items": [], "next_offset": null}));

        let missing = get(&client, run, "/pages?status=404&limit=2&offset=498")
            .await
            .ok();
        assert_eq!(missing["items"].as_array().unwrap().len(), 2);
        assert_eq!(missing["next_offset"], Value::Null);
        assert_eq!(missing["items"][1], whole[2_499]);
        let none = get(&client, run, "/pages?status=500").await.ok();
        assert_eq!(none, json!({"items": [], "next_offset": null}));

        let lines = get(&client, run, "/pages?format=ndjson&limit=100000").await;
        assert_eq!(lines.header("content-type"), Some("application/x-ndjson"));
        let text = lines.text();
        let parsed: Vec<Value> = text
            .lines()
            .map(|l| serde_json::from_str(l).unwrap())
            .collect();
        assert_eq!(parsed, whole);

        let csv = get(&client, run, "/pages?format=csv&limit=100000").await;
        assert_eq!(csv.header("content-type"), Some("text/csv; charset=utf-8"));
        let text = csv.text();
        let mut rows = text.lines();
        assert_eq!(rows.next(), Some("id,url,status,bytes,fetched_at"));
        let id = &whole[0]["id"];
        assert_eq!(
            rows.next(),
            Some(format!("{id},{SEED},200,7,2026-03-01T12:00:00Z").as_str())
        );
        let id = &whole[1]["id"];
        let second = format!("{id},\"{SEED}p/1?a=\"\"1\"\",2\",200,7,2026-03-01T12:00:00Z");
        assert_eq!(rows.next(), Some(second.as_str()));
        assert_eq!(rows.count(), 2_499);
    }
}

#[tokio::test]
async fn lists_name_the_parameter_that_breaks_a_rule() {
    let service = without_workers(false, |_| {}).await;
    let client = service.client();
    let run = done(&service, &[leaf("")]).await;
    for (path, field) in [
        ("/pages?limit=0", "limit"),
        ("/pages?limit=100001", "limit"),
        ("/pages?limit=x", "limit"),
        ("/pages?offset=-1", "offset"),
        ("/pages?offset=9007199254740992", "offset"),
        ("/pages?status=99", "status"),
        ("/pages?status=1000", "status"),
        ("/pages?format=xml", "format"),
        ("/links?limit=0", "limit"),
        ("/links?limit=100001", "limit"),
        ("/links?offset=-1", "offset"),
        ("/links?from_page_id=x", "from_page_id"),
    ] {
        let message = get(&client, run, path).await.error(422, "INVALID_INPUT");
        assert!(
            message.starts_with(&format!("{field}: ")),
            "{path}: {message}"
        );
    }
    for (path, field) in [
        ("/v1/crawls?limit=1001", "limit"),
        ("/v1/crawls?status=cancelled", "status"),
        ("/v1/crawls?offset=x", "offset"),
    ] {
        let message = client.get(path).await.error(422, "INVALID_INPUT");
        assert!(
            message.starts_with(&format!("{field}: ")),
            "{path}: {message}"
        );
    }
}

#[tokio::test]
async fn runs_are_listed_the_youngest_first() {
    for postgres in [false, true] {
        let service = without_workers(postgres, |_| {}).await;
        let client = service.client();
        let ids = [
            done(&service, &[leaf("")]).await,
            done(&service, &[leaf(""), leaf("a")]).await,
            begin(&service).await.lease.run,
        ];
        let list = client.get("/v1/crawls?limit=2").await.ok();
        assert_eq!(list["next_offset"], 2);
        let items = list["items"].as_array().unwrap();
        assert_eq!(items[0]["id"], ids[2].get());
        assert_eq!(items[0]["status"], "running");
        assert_eq!(
            (&items[1]["id"], &items[1]["page_count"]),
            (&json!(ids[1].get()), &json!(2))
        );
        let rest = client.get("/v1/crawls?offset=2").await.ok();
        assert_eq!(rest["items"].as_array().unwrap().len(), 1);
        assert_eq!(rest["next_offset"], Value::Null);
        let done = client.get("/v1/crawls?status=done").await.ok();
        assert_eq!(done["items"].as_array().unwrap().len(), 2);
        let other = service.other_project("other").await.get("/v1/crawls").await;
        assert_eq!(other.ok()["items"], json!([]));
    }
}

#[tokio::test]
async fn links_come_from_any_place_on() {
    for postgres in [false, true] {
        let service = without_workers(postgres, |_| {}).await;
        let client = service.client();
        // 250 pages with 0 to 6 links each.
        let pages: Vec<Written> = (0..250)
            .map(|n| Written {
                path: format!("p/{n}"),
                links: (0..n % 7).map(|link| format!("to/{n}/{link}")).collect(),
                ..Written::default()
            })
            .collect();
        let run = done(&service, &pages).await;
        let ids = get(&client, run, "/pages?limit=1000").await.ok();
        let id = |n: usize| ids["items"][n]["id"].clone();
        let expected: Vec<Value> = (0..250)
            .flat_map(|n| (0..n % 7).map(move |link| (n, link)))
            .map(|(n, link)| {
                json!({"from_page_id": id(n), "to_url": format!("{SEED}to/{n}/{link}"),
                       "anchor": "the anchor", "rel": "nofollow", "nofollow": true})
            })
            .collect();
        let whole = get(&client, run, "/links?limit=100000").await.ok();
        assert_eq!(whole["items"], json!(expected));
        assert_eq!(whole["next_offset"], Value::Null);
        let first = get(&client, run, "/links").await.ok();
        assert_eq!(first["items"], json!(expected[..100]));
        assert_eq!(first["next_offset"], 100);
        // Any window, with places remembered and not.
        for offset in [
            0,
            1,
            6,
            7,
            333,
            700,
            expected.len() - 1,
            expected.len(),
            5_000,
        ] {
            for limit in [1, 10, 100] {
                let path = format!("/links?limit={limit}&offset={offset}");
                let part = get(&client, run, &path).await.ok();
                let from = offset.min(expected.len());
                let to = (from + limit).min(expected.len());
                assert_eq!(part["items"], json!(expected[from..to]), "{path}");
                let next = (to < expected.len()).then_some(offset + limit);
                assert_eq!(part["next_offset"], json!(next), "{path}");
            }
        }
        let one = get(
            &client,
            run,
            &format!("/links?from_page_id={}&offset=1", id(6)),
        )
        .await
        .ok();
        assert_eq!(one["items"], json!(expected[16..21]));
        let none = get(&client, run, &format!("/links?from_page_id={}", id(7)))
            .await
            .ok();
        assert_eq!(none, json!({"items": [], "next_offset": null}));
        // A page of another run is none of this one.
        let other = done(&service, &[Written::new("x", "", &["y"])]).await;
        let theirs = get(&client, other, "/links").await.ok();
        let page = &theirs["items"][0]["from_page_id"];
        let none = get(&client, run, &format!("/links?from_page_id={page}"))
            .await
            .ok();
        assert_eq!(none["items"], json!([]));
    }
}

#[tokio::test]
async fn orphans_are_what_no_other_page_links_to() {
    for postgres in [false, true] {
        let service = without_workers(postgres, |_| {}).await;
        let pages = [
            Written::new("", "", &["a", "old", "nowhere"]),
            Written::new("a", "", &["a", "b"]),
            leaf("b"),
            Written::new("self", "", &["self"]),
            Written {
                redirected_from: vec!["old".to_owned()],
                ..leaf("new")
            },
            Written {
                status: 404,
                ..leaf("lost")
            },
        ];
        let run = done(&service, &pages).await;
        // Links of another run do not count.
        done(&service, &[Written::new("", "", &["self", "lost"])]).await;
        let orphans = get(&service.client(), run, "/orphans").await.ok();
        assert_eq!(urls(&orphans["items"]), ["self", "lost"]);
        let lost = &orphans["items"][1];
        assert_eq!(lost["status"], 404);
        assert_eq!(lost["fetched_at"], "2026-03-01T12:00:00Z");
        assert!(lost["id"].is_i64() && lost.as_object().unwrap().len() == 4);
        assert_eq!(orphans.as_object().unwrap().len(), 1);
    }
}

#[tokio::test]
async fn a_diff_tells_what_two_runs_differ_in() {
    for postgres in [false, true] {
        let service = without_workers(postgres, |_| {}).await;
        let client = service.client();
        let old = [
            leaf(""),
            leaf("same"),
            leaf("gone"),
            Written::new("new", "before", &[]),
        ];
        let new = [
            leaf(""),
            Written::new("new", "after", &[]),
            leaf("same"),
            leaf("born"),
        ];
        let old = done(&service, &old).await;
        let new = done(&service, &new).await;
        let diff = get(&client, old, &format!("/diff/{new}")).await.ok();
        assert_eq!(
            (&diff["old_run_id"], &diff["new_run_id"]),
            (&json!(old.get()), &json!(new.get()))
        );
        let summary = json!({"added": 1, "removed": 1, "changed": 1, "unchanged": 2});
        assert_eq!(diff["summary"], summary);
        assert_eq!(urls(&diff["added"]), ["born"]);
        assert_eq!(urls(&diff["removed"]), ["gone"]);
        assert_eq!(urls(&diff["changed"]), ["new"]);
        let change = &diff["changed"][0];
        assert!(change["old_hash"].is_string() && change["old_hash"] != change["new_hash"]);
        assert!(diff["added"][0]["hash"].is_string() && diff["removed"][0]["hash"].is_string());
        let same = get(&client, new, &format!("/diff/{new}")).await.ok();
        let summary = json!({"added": 0, "removed": 0, "changed": 0, "unchanged": 4});
        assert_eq!(same["summary"], summary);
        get(&client, old, "/diff/999").await.error(404, "NOT_FOUND");
        get(&client, RunId(999), &format!("/diff/{old}"))
            .await
            .error(404, "NOT_FOUND");
    }
}

#[tokio::test]
async fn a_page_has_what_its_format_names() {
    for postgres in [false, true] {
        let service = without_workers(postgres, |_| {}).await;
        let client = service.client();
        let bare = Written {
            path: "bare".to_owned(),
            ..Written::default()
        };
        let run = done(&service, &[Written::new("", ARTICLE, &[]), bare]).await;
        let items = get(&client, run, "/pages").await.ok();
        let [page, bare] = [0, 1].map(|n| format!("/v1/pages/{}", items["items"][n]["id"]));
        let base = ["bytes", "fetched_at", "id", "status", "url"];
        for (format, members) in [
            ("", &["html", "metadata"][..]),
            ("?format=html", &["html", "metadata"]),
            ("?format=markdown", &["markdown", "metadata"]),
            (
                "?format=article",
                &["article_html", "article_text", "metadata"],
            ),
            (
                "?format=both",
                &[
                    "article_html",
                    "article_text",
                    "html",
                    "markdown",
                    "metadata",
                ],
            ),
            (
                "?format=full",
                &[
                    "article_html",
                    "article_text",
                    "content_hash",
                    "html",
                    "markdown",
                    "metadata",
                    "signals",
                ],
            ),
            ("?format=signals", &["metadata", "signals"]),
        ] {
            let answer = client.get(&format!("{page}{format}")).await.ok();
            let mut expected: Vec<&str> = base.iter().chain(members).copied().collect();
            expected.sort_unstable();
            let mut found: Vec<&str> = answer
                .as_object()
                .unwrap()
                .keys()
                .map(String::as_str)
                .collect();
            found.sort_unstable();
            assert_eq!(found, expected, "{format}");
            assert!(
                members.iter().all(|member| !answer[member].is_null()),
                "{format}"
            );
            assert_eq!(answer["url"], SEED);
            assert_eq!(answer["metadata"]["title"], "How orb weavers build");
        }
        let full = client.get(&format!("{page}?format=full")).await.ok();
        assert_eq!(full["html"], ARTICLE);
        let markdown = full["markdown"].as_str().unwrap();
        assert!(
            markdown.contains("[the radii in detail](http://127.0.0.1:8081/radii?a=1&b=2)"),
            "{markdown}"
        );
        assert!(
            full["article_text"]
                .as_str()
                .unwrap()
                .contains("bridge thread")
        );
        assert_eq!(full["signals"]["lang"], "en");
        // Stored without its HTML: its row is all there is.
        for format in ["html", "markdown", "article", "both", "full", "signals"] {
            let message = client
                .get(&format!("{bare}?format={format}"))
                .await
                .error(422, "INVALID_INPUT");
            assert!(message.starts_with("format: "), "{message}");
        }
        let message = client
            .get(&format!("{page}?format=pdf"))
            .await
            .error(422, "INVALID_INPUT");
        assert!(message.starts_with("format: "), "{message}");
        client.get("/v1/pages/999999").await.error(404, "NOT_FOUND");
        client.get("/v1/pages/x").await.error(404, "NOT_FOUND");
    }
}

#[tokio::test]
async fn another_project_finds_none_of_it() {
    for postgres in [false, true] {
        let service = without_workers(postgres, |_| {}).await;
        let run = done(&service, &[Written::new("", "x", &["a"]), leaf("a")]).await;
        let pages = get(&service.client(), run, "/pages").await.ok();
        let page = &pages["items"][0]["id"];
        let other = service.other_project("other").await;
        for path in [
            "",
            "/pages",
            "/links",
            "/orphans",
            "/events",
            &format!("/diff/{run}"),
        ] {
            get(&other, run, path).await.error(404, "NOT_FOUND");
        }
        other
            .get(&format!("/v1/pages/{page}"))
            .await
            .error(404, "NOT_FOUND");
        let answer = other
            .send("DELETE", &format!("/v1/crawls/{run}"), &[], b"")
            .await;
        answer.error(404, "NOT_FOUND");
        assert_eq!(get(&service.client(), run, "").await.status, 200);
        for path in [
            "/v1/crawls/x",
            "/v1/crawls/99999999999999999999",
            "/v1/crawls/1.5",
        ] {
            service.client().get(path).await.error(404, "NOT_FOUND");
        }
    }
}

/// The rows of a run that are still there.
async fn rows(service: &Service, run: RunId, page: PageId) -> usize {
    let (store, project) = (&service.app.store, runs::project(service).await);
    let known = store.frontier_known(run, -1, 1_000).await.unwrap().len();
    let links = store
        .run_links(project, run, PageId(0), 1_000)
        .await
        .unwrap()
        .len();
    let page = store.page(project, page).await.unwrap();
    known + links + usize::from(page.is_some())
}

#[tokio::test]
async fn a_deleted_run_is_gone_at_once_and_its_rows_soon() {
    for postgres in [false, true] {
        let service = without_workers(postgres, |_| {}).await;
        let client = service.client();
        let kept = done(&service, &[leaf(""), leaf("shared")]).await;
        let leased = begin(&service).await;
        let run = leased.lease.run;
        let pages: Vec<Written> = (0..600)
            .map(|n| Written::new(&format!("{n}"), &format!("<p>{n}"), &["a"]))
            .chain([leaf("shared")])
            .collect();
        write(&service, &leased, 0, &pages).await;
        let items = get(&client, run, "/pages").await.ok();
        let page = PageId(items["items"][0]["id"].as_i64().unwrap());
        assert!(rows(&service, run, page).await > 1_000);

        let path = format!("/v1/crawls/{run}");
        let answer = client.send("DELETE", &path, &[], b"").await;
        assert_eq!((answer.status, answer.body.len()), (204, 0));
        for rest in ["", "/pages", "/links", "/orphans", "/events"] {
            get(&client, run, rest).await.error(404, "NOT_FOUND");
        }
        client
            .get(&format!("/v1/pages/{page}"))
            .await
            .error(404, "NOT_FOUND");
        client
            .send("DELETE", &path, &[], b"")
            .await
            .error(404, "NOT_FOUND");
        // Its worker writes nothing any more.
        let now = service.app.clock.now();
        let (leases, until) = ([leased.lease], now + TimeDelta::hours(1));
        let left = service.app.store.extend_leases(&leases, until).await;
        assert_eq!(left.unwrap(), []);

        orbweaver_server::crawl::cleanup::remove(&service.app)
            .await
            .unwrap();
        while rows(&service, run, page).await > 0 {
            tokio::task::yield_now().await;
        }
        // A body that another run has, too, is still there.
        let pages = get(&client, kept, "/pages").await.ok();
        let shared = client
            .get(&format!("/v1/pages/{}", pages["items"][1]["id"]))
            .await;
        assert_eq!(shared.ok()["html"], "<title>shared</title>");
    }
}

#[tokio::test]
async fn deleting_gives_the_space_back() {
    let service = without_workers(false, |_| {}).await;
    let client = service.client();
    let file = service.app.config.data_dir.join("orbweaver.db");
    let size = || std::fs::metadata(&file).unwrap().len();
    let leased = begin(&service).await;
    for at in 0..8 {
        let pages: Vec<Written> = (0..100)
            .map(|n| Written::new(&format!("{at}/{n}"), &noise(at * 100 + n), &[]))
            .collect();
        write(&service, &leased, at * 100, &pages).await;
    }
    let run = end(&service, &leased).await;
    orbweaver_server::crawl::cleanup::remove(&service.app)
        .await
        .unwrap();
    service.app.store.release_space().await.unwrap();
    let full = size();
    assert!(full > 4 << 20, "{full}");
    let answer = client
        .send("DELETE", &format!("/v1/crawls/{run}"), &[], b"")
        .await;
    assert_eq!(answer.status, 204);
    for _ in 0..600 {
        orbweaver_server::crawl::cleanup::remove(&service.app)
            .await
            .unwrap();
        if size() < full / 4 {
            return;
        }
        tokio::time::sleep(std::time::Duration::from_millis(100)).await;
    }
    panic!("{} of {full} bytes are still there", size());
}

/// 16 KiB that do not shrink.
fn noise(seed: i64) -> String {
    let mut state = seed.unsigned_abs().wrapping_add(0x9e37_79b9_7f4a_7c15);
    let mut text = String::with_capacity(16 << 10);
    while text.len() < 16 << 10 {
        state = state
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        text.push_str(&format!("{state:016x}"));
    }
    text
}

#[tokio::test]
async fn runs_past_their_time_and_above_the_bound_are_removed() {
    for postgres in [false, true] {
        let service = without_workers(postgres, |config| {
            config.retention.runs_days = 2;
            config.retention.project_mib = 1;
        })
        .await;
        let client = service.client();
        let old = done(&service, &[leaf("")]).await;
        service.clock.advance(TimeDelta::days(1));
        let large: Vec<Written> = (0..100)
            .map(|n| Written::new(&format!("{n}"), &noise(n), &[]))
            .collect();
        let large = done(&service, &large).await;
        let retain = async || {
            orbweaver_server::crawl::cleanup::retain(&service.app)
                .await
                .unwrap()
        };
        retain().await;
        assert_eq!(get(&client, old, "").await.status, 200);
        service.clock.advance(TimeDelta::days(1));
        service.clock.advance(TimeDelta::seconds(1));
        let more: Vec<Written> = (0..100)
            .map(|n| Written::new(&format!("{n}"), &noise(n + 1_000), &[]))
            .collect();
        let more = done(&service, &more).await;
        retain().await;
        // The first is past its time, the second too much.
        get(&client, old, "").await.error(404, "NOT_FOUND");
        get(&client, large, "").await.error(404, "NOT_FOUND");
        assert_eq!(get(&client, more, "").await.status, 200);
    }
}

/// Name, id and data of each event.
fn events(text: &str) -> Vec<(String, Option<u64>, Value)> {
    text.split("\n\n")
        .filter(|block| block.lines().any(|line| line.starts_with("data:")))
        .map(|block| {
            let field = |name: &str| {
                let line = block.lines().find_map(|line| line.strip_prefix(name));
                line.map(|value| value.trim().to_owned())
            };
            (
                field("event:").expect("a name"),
                field("id:").map(|id| id.parse().expect("a number")),
                serde_json::from_str(&field("data:").expect("data")).expect("JSON"),
            )
        })
        .collect()
}

#[tokio::test]
async fn events_follow_a_run_to_its_end() {
    for postgres in [false, true] {
        let service = without_workers(postgres, |_| {}).await;
        let client = service.client();
        let leased = begin(&service).await;
        let run = leased.lease.run;
        write(&service, &leased, 0, &[leaf(""), leaf("a")]).await;
        let path = format!("/v1/crawls/{run}/events");
        let follow = tokio::spawn({
            let (client, path) = (client.clone(), path.clone());
            async move { client.get(&path).await }
        });
        // The listener may come at any time: the end is told whenever it does.
        write(&service, &leased, 2, &[leaf("b")]).await;
        end(&service, &leased).await;
        let answer = follow.await.unwrap();
        assert_eq!(answer.status, 200);
        assert_eq!(answer.header("content-type"), Some("text/event-stream"));
        let told = events(&answer.text());
        let (name, last, data) = told.last().expect("an event");
        assert_eq!(name, "end");
        assert_eq!(
            (&data["status"], &data["fetched"]),
            (&json!("done"), &json!(3))
        );
        for member in ["id", "queued", "failed", "skipped", "rate", "error_message"] {
            assert!(data.get(member).is_some(), "{member}");
        }
        let ids: Vec<u64> = told.iter().filter_map(|(_, id, _)| *id).collect();
        assert!(ids.is_sorted() && ids.len() == told.len());

        // Who has heard the end is told so; who has not gets what is missing.
        let last = last.expect("an id").to_string();
        let again = client
            .send("GET", &path, &[("last-event-id", &last)], b"")
            .await;
        assert_eq!((again.status, again.body.len()), (204, 0));
        let again = client
            .send("GET", &path, &[("last-event-id", "1")], b"")
            .await;
        assert_eq!(events(&again.text()).len(), 1);
    }
}

#[tokio::test]
async fn events_of_a_run_that_is_deleted_end() {
    let service = without_workers(false, |_| {}).await;
    let client = service.client();
    let leased = begin(&service).await;
    let path = format!("/v1/crawls/{}/events", leased.lease.run);
    let first = client.get(&path);
    let delete = async {
        // Not before the listener is there.
        while service
            .app
            .store
            .logs(runs::project(&service).await, all())
            .await
            .unwrap()
            .len()
            < 2
        {
            tokio::task::yield_now().await;
        }
        let path = format!("/v1/crawls/{}", leased.lease.run);
        client.send("DELETE", &path, &[], b"").await
    };
    let (answer, deleted) = tokio::join!(first, delete);
    assert_eq!(deleted.status, 204);
    let told = events(&answer.text());
    assert_eq!(told.last().unwrap().2["status"], "cancelled");
}

fn all() -> orbweaver_store::LogFilter {
    orbweaver_store::LogFilter {
        limit: 100,
        offset: 0,
        status_min: None,
        status_max: None,
        key_prefix: None,
    }
}
