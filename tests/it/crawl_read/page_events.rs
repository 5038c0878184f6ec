//! Events of pages: every page once, in order, and before the end.

use serde_json::Value;

use super::leaf;
use crate::support::runs::{begin, end, without_workers, write};

/// Name, id and data of each event.
fn events(text: &str) -> Vec<(String, String, Value)> {
    let field = |block: &str, name: &str| {
        let line = block.lines().find_map(|line| line.strip_prefix(name));
        line.map(|value| value.trim().to_owned())
    };
    text.split("\n\n")
        .filter_map(|block| {
            let data = serde_json::from_str(&field(block, "data:")?).expect("JSON");
            Some((field(block, "event:")?, field(block, "id:")?, data))
        })
        .collect()
}

fn urls(events: &[(String, String, Value)]) -> Vec<&str> {
    let pages = events.iter().filter(|(name, ..)| name == "crawl.page");
    pages
        .map(|(.., data)| data["url"].as_str().expect("a URL"))
        .collect()
}

#[tokio::test]
async fn every_page_is_an_event_once() {
    for postgres in [false, true] {
        let service = without_workers(postgres, |_| {}).await;
        let client = service.client();
        let leased = begin(&service).await;
        let run = leased.lease.run;
        let path = format!("/v1/crawls/{run}/events?pages=true");
        let follow = tokio::spawn({
            let (client, path) = (client.clone(), path.clone());
            async move { client.get(&path).await }
        });
        let names: Vec<String> = (0..1_203).map(|number| format!("p{number}")).collect();
        let pages: Vec<_> = names.iter().map(|name| leaf(name)).collect();
        write(&service, &leased, 0, &pages).await;
        end(&service, &leased).await;
        let told = events(&follow.await.expect("an answer").text());
        let (name, last, data) = told.last().expect("an event");
        assert_eq!(
            (name.as_str(), &data["status"]),
            ("end", &Value::from("done"))
        );
        let found = urls(&told);
        assert_eq!(found.len(), names.len());
        assert!(
            found
                .iter()
                .zip(&names)
                .all(|(url, name)| url.ends_with(&format!("/{name}")))
        );
        let (_, third, page) = told
            .iter()
            .filter(|(name, ..)| name == "crawl.page")
            .nth(2)
            .expect("one");
        for member in ["id", "url", "status", "bytes", "fetched_at"] {
            assert!(page.get(member).is_some(), "{member}");
        }
        // Who connects again gets the rest, and after the end nothing.
        let send = async |id: &str| {
            client
                .send("GET", &path, &[("last-event-id", id)], b"")
                .await
        };
        let rest = events(&send(third).await.text());
        assert_eq!(urls(&rest), found[3..]);
        assert_eq!(send(last).await.status, 204);
        // Without the parameter there are none.
        let plain = client.get(&format!("/v1/crawls/{run}/events")).await.text();
        assert!(!plain.contains("crawl.page"));
    }
}
