//! The progress of a run, as server-sent events.

use serde_json::{Value, json};

use super::leaf;
use crate::support::runs::{self, begin, end, without_workers, write};

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
