//! The progress of a run, as server-sent events.

use orbweaver_origin::{Origin, Reply};
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;

use super::leaf;
use crate::support::runs::{self, begin, end, without_workers, write};
use crate::support::{KEY, Service};

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
        // The listener may connect at any time: it gets the end in any case.
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

        // A listener that knows the end gets nothing more; any other gets the missing events.
        let last = last.expect("an id").to_string();
        let again = client
            .send("GET", &path, &[("last-event-id", &last)], b"")
            .await;
        assert_eq!((again.status, again.body.len()), (204, 0));
        // Counts fall if skipped links are taken all the same, so more may have been told before.
        for known in ["1", "1000"] {
            let again = client
                .send("GET", &path, &[("last-event-id", known)], b"")
                .await;
            let told = events(&again.text());
            assert_eq!(told.len(), 1, "{known}");
            assert_eq!(told[0].0, "end");
        }
    }
}

#[tokio::test]
async fn deleting_a_run_ends_its_event_stream() {
    let service = without_workers(false, |_| {}).await;
    let client = service.client();
    let leased = begin(&service).await;
    let path = format!("/v1/crawls/{}/events", leased.lease.run);
    let first = client.get(&path);
    let delete = async {
        // Only once the listener is connected.
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

/// A connection to the events of a run, which returns what was received.
struct Listener {
    stream: TcpStream,
    heard: String,
}

impl Listener {
    async fn connect(service: &Service, path: &str, last: Option<&str>) -> Self {
        let mut stream = TcpStream::connect(service.address).await.unwrap();
        let last = last.map_or(String::new(), |id| format!("Last-Event-ID: {id}\r\n"));
        let request =
            format!("GET {path} HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer {KEY}\r\n{last}\r\n");
        stream.write_all(request.as_bytes()).await.unwrap();
        let heard = String::new();
        Self { stream, heard }
    }

    /// Reads until an event contains this text; returns its id.
    async fn hear(&mut self, what: &str) -> String {
        loop {
            let found = self.heard.split("\n\n").find(|block| block.contains(what));
            let id =
                found.and_then(|block| block.lines().find_map(|line| line.strip_prefix("id:")));
            if let Some(id) = id {
                return id.trim().to_owned();
            }
            let mut piece = [0; 4096];
            let read = self.stream.read(&mut piece).await.unwrap();
            assert!(read > 0, "{what} was never said: {}", self.heard);
            self.heard
                .push_str(&String::from_utf8_lossy(&piece[..read]));
        }
    }
}

#[tokio::test]
async fn commits_of_a_local_run_are_sent_as_events() {
    for service in [Service::start().await, Service::on_postgres().await] {
        let origin = Origin::start().await.unwrap();
        for (path, next) in [("/", "/held/a"), ("/held/a", "/held/b"), ("/held/b", "/")] {
            origin.set(path, Reply::html(format!("<a href='{next}'>next</a>")));
        }
        let body = json!({"url": origin.url("/"), "delay_ms": 0});
        let run = service.client().post("/v1/crawls", &body).await.json()["id"].clone();
        let path = format!("/v1/crawls/{run}/events");
        // Nothing happens in between except the commits that the listener waits for.
        origin.asked("/held/a", 1).await;
        let mut first = Listener::connect(&service, &path, None).await;
        let one = first.hear("\"fetched\":1").await;
        origin.release();
        origin.asked("/held/b", 1).await;
        let two = first.hear("\"fetched\":2").await;
        assert!(one.parse::<u64>().unwrap() < two.parse().unwrap());
        // A listener that knows the first event gets only the second.
        let mut second = Listener::connect(&service, &path, Some(&one)).await;
        assert_eq!(second.hear("\"fetched\":2").await, two);
        assert!(!second.heard.contains("\"fetched\":1"), "{}", second.heard);
        origin.release();
        for listener in [&mut first, &mut second] {
            let end = listener.hear("event: end").await;
            assert!(
                listener.heard.contains("\"fetched\":3"),
                "{}",
                listener.heard
            );
            let client = service.client();
            let told = client
                .send("GET", &path, &[("last-event-id", &end)], b"")
                .await;
            assert_eq!(told.status, 204);
        }
    }
}
