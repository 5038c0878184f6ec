//! Links, orphans and diffs.

use orbweaver_core::ids::RunId;
use orbweaver_origin::{Origin, Reply};
use serde_json::{Value, json};

use super::{get, leaf, urls};
use crate::support::Service;
use crate::support::runs::{SEED, Written, done, without_workers};

#[tokio::test]
async fn links_can_be_listed_from_any_offset() {
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
        // Any offset, with and without a remembered position.
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
        // A page of another run is not a page of this run.
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
async fn orphans_are_pages_that_no_other_page_links_to() {
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
async fn a_diff_has_gone_pages_and_text_changes() {
    let service = without_workers(false, |_| {}).await;
    let client = service.client();
    let text = |price: &str| format!("<h1>Orbs</h1><p>An orb costs {price} euros.</p>");
    let old = [
        leaf(""),
        Written::new("lost", "a page", &[]),
        Written::new("price", &text("5"), &[]),
        Written::new("title", "<title>Orbs</title><p>Text", &[]),
    ];
    let new = [
        leaf(""),
        Written {
            status: 404,
            ..Written::new("lost", "not found", &[])
        },
        Written::new("price", &text("seven"), &[]),
        Written::new("title", "<title>New orbs</title><p>Text", &[]),
    ];
    let old = done(&service, &old).await;
    let new = done(&service, &new).await;
    let path = format!("/diff/{new}?text=true");
    let diff = get(&client, old, &path).await.ok();
    assert_eq!(
        (urls(&diff["gone"]), urls(&diff["changed"])),
        (vec!["lost"], vec!["price", "title"])
    );
    let title = diff["changed"][1]["text"]["unified"].as_str();
    let title = title.expect("a text");
    assert!(
        title.contains("-Title: Orbs\n+Title: New orbs\n"),
        "{title}"
    );
    let gone = &diff["gone"][0];
    assert_eq!(
        (&gone["old_status"], &gone["new_status"]),
        (&json!(200), &json!(404))
    );
    let change = &diff["changed"][0]["text"];
    assert_eq!(
        (&change["words_added"], &change["words_removed"]),
        (&json!(1), &json!(1))
    );
    let unified = change["unified"].as_str().expect("a text");
    assert!(
        unified.contains("-An orb costs 5 euros.\n+An orb costs seven euros."),
        "{unified}"
    );
    let one = get(&client, old, &format!("{path}&url={SEED}lost"))
        .await
        .ok();
    assert_eq!(
        (urls(&one["gone"]).len(), urls(&one["changed"]).len()),
        (1, 0)
    );
    let plain = get(&client, old, &format!("/diff/{new}")).await.ok();
    assert!(plain["changed"][0].get("text").is_none(), "{plain}");
}

#[tokio::test]
async fn pages_that_a_smaller_run_did_not_visit_are_not_removed() {
    let (service, origin) = (
        Service::start().await,
        Origin::start().await.expect("a site"),
    );
    let client = service.client();
    let links: String = (0..9).map(|n| format!("<a href=/{n}>{n}</a>")).collect();
    origin.set("/robots.txt", Reply::text(""));
    origin.set("/", Reply::html(links));
    origin.set("/8", Reply::html("<a href=/deep>d</a>"));
    origin.set_under("/", |request| Reply::html(format!("<p>{}", request.path())));
    let mut runs = Vec::new();
    for limits in [json!({}), json!({"max_pages": 3}), json!({"depth": 1})] {
        let mut crawl = json!({"url": origin.url("/"), "delay_ms": 0});
        for (name, value) in limits.as_object().expect("limits") {
            crawl[name] = value.clone();
        }
        let id = client.post("/v1/crawls", &crawl).await.json()["id"].clone();
        client
            .until(&format!("/v1/crawls/{id}"), |answer| {
                answer.ok()["status"] == "done"
            })
            .await;
        runs.push(id);
    }
    for (run, missing) in [(1, 8), (2, 1)] {
        let path = format!("/v1/crawls/{}/diff/{}", runs[0], runs[run]);
        let diff = client.get(&path).await.ok();
        assert_eq!(diff["summary"]["unvisited"], missing, "{diff}");
        assert_eq!(diff["summary"]["removed"], 0, "{diff}");
    }
}

#[tokio::test]
async fn a_diff_lists_the_differences_of_two_runs() {
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
        let summary = json!({"added": 1, "removed": 1, "changed": 1, "unchanged": 2,
            "gone": 0, "unvisited": 0, "unavailable": 0});
        assert_eq!(diff["summary"], summary);
        assert_eq!(urls(&diff["added"]), ["born"]);
        assert_eq!(urls(&diff["removed"]), ["gone"]);
        assert_eq!(urls(&diff["changed"]), ["new"]);
        let change = &diff["changed"][0];
        assert!(change["old_hash"].is_string() && change["old_hash"] != change["new_hash"]);
        assert!(diff["added"][0]["hash"].is_string() && diff["removed"][0]["hash"].is_string());
        let same = get(&client, new, &format!("/diff/{new}")).await.ok();
        let summary = json!({"added": 0, "removed": 0, "changed": 0, "unchanged": 4,
            "gone": 0, "unvisited": 0, "unavailable": 0});
        assert_eq!(same["summary"], summary);
        get(&client, old, "/diff/999").await.error(404, "NOT_FOUND");
        get(&client, RunId(999), &format!("/diff/{old}"))
            .await
            .error(404, "NOT_FOUND");
    }
}

#[tokio::test]
async fn a_diff_does_not_take_pages_that_failed_for_unchanged_ones() {
    for postgres in [false, true] {
        let service = without_workers(postgres, |_| {}).await;
        let client = service.client();
        let page = |path: &str, status: u16, text: &str| Written {
            status,
            ..Written::new(path, text, &[])
        };
        let old = [leaf(""), page("a", 200, "text"), page("b", 429, "wait")];
        let new = [
            leaf(""),
            page("a", 503, "down"),
            page("b", 200, "text"),
            page("c", 500, "down"),
        ];
        let old = done(&service, &old).await;
        let new = done(&service, &new).await;
        let diff = get(&client, old, &format!("/diff/{new}")).await.ok();
        let summary = json!({"added": 0, "removed": 0, "changed": 0, "unchanged": 1,
            "gone": 0, "unvisited": 0, "unavailable": 3});
        assert_eq!(diff["summary"], summary);
        let failed = json!([
            {"url": format!("{SEED}a"), "old_status": 200, "new_status": 503},
            {"url": format!("{SEED}b"), "old_status": 429, "new_status": 200},
            {"url": format!("{SEED}c"), "old_status": null, "new_status": 500},
        ]);
        assert_eq!(diff["unavailable"], failed);
        let one = get(&client, old, &format!("/diff/{new}?url={SEED}c"))
            .await
            .ok();
        assert_eq!(one["unavailable"], json!([failed[2]]));
    }
}
