//! The event `crawl.page`: every stored page reaches the receiver, in order.

use std::collections::HashSet;

use chrono::TimeDelta;
use orbweaver_core::ids::RunId;
use orbweaver_core::setting::Seconds;
use orbweaver_core::webhook::sign;
use orbweaver_crawl::webhooks;
use orbweaver_server::config::Config;
use orbweaver_store::crawl::LeasedRun;
use serde_json::{Value, json};
use tokio::task::JoinHandle;

use crate::support::runs::{
    SEED, Written, begin_with, end, ended, project, without_workers, write,
};
use crate::support::{ReceivedRequest, Receiver, Reply, Service};

fn leaves(range: std::ops::Range<usize>) -> Vec<Written> {
    range
        .map(|n| Written::new(&format!("p/{n}"), &format!("<p>{n}"), &[]))
        .collect()
}

/// A run whose webhook asks for pages; the test stores its pages and starts the deliveries.
struct Told {
    service: Service,
    leased: LeasedRun,
}

impl Told {
    async fn start(postgres: bool, receiver: &Receiver, change: impl FnOnce(&mut Config)) -> Self {
        let service = without_workers(postgres, change).await;
        let events = json!(["crawl.page"]);
        let body = json!({"url": SEED, "webhook_url": receiver.url(), "webhook_events": events});
        let leased = begin_with(&service, &body).await;
        let url = receiver.url();
        let store = &service.app.store;
        // As a worker does when it takes the run, also when it takes it again.
        for _ in 0..2 {
            let opened = store.open_page_feed(leased.lease, &url, &url);
            opened.await.expect("a database");
        }
        Self { service, leased }
    }

    fn deliver(&self) -> JoinHandle<()> {
        tokio::spawn(webhooks::work(self.service.app.crawls.clone()))
    }

    async fn store(&self, range: std::ops::Range<usize>) {
        let first = i64::try_from(range.start).expect("a number");
        write(&self.service, &self.leased, first, &leaves(range)).await;
    }

    fn advance(&self, seconds: i64) {
        self.service.clock.advance(TimeDelta::seconds(seconds));
    }

    fn run(&self) -> RunId {
        self.leased.lease.run
    }

    async fn detail(&self) -> Value {
        let path = format!("/v1/crawls/{}", self.run());
        self.service.client().get(&path).await.ok()
    }

    /// The run once its webhook has this state.
    async fn reaches(&self, state: &str) -> Value {
        self.once(|detail| detail["webhook_status"] == state).await
    }

    /// The run once it is as wanted.
    async fn once(&self, wanted: impl Fn(&Value) -> bool) -> Value {
        let path = format!("/v1/crawls/{}", self.run());
        let client = self.service.client();
        client
            .until(&path, |answer| wanted(&answer.ok()))
            .await
            .ok()
    }

    async fn deliveries(&self) -> Vec<Value> {
        let path = format!("/v1/crawls/{}/deliveries", self.run());
        let list = self.service.client().get(&path).await.ok();
        list["items"].as_array().expect("a list").clone()
    }
}

/// The pages of a delivery, by the number in their URL.
fn numbers(got: &ReceivedRequest) -> Vec<usize> {
    let body = got.json();
    assert_eq!(body["event"], "crawl.page");
    let pages = body["pages"].as_array().expect("pages");
    pages
        .iter()
        .map(|page| {
            let url = page["url"].as_str().expect("a URL");
            url.rsplit('/')
                .next()
                .and_then(|n| n.parse().ok())
                .expect(url)
        })
        .collect()
}

#[tokio::test]
async fn pages_arrive_once_in_order_and_in_bounded_deliveries() {
    for postgres in [false, true] {
        let mut receiver = Receiver::start(&[]).await;
        let told = Told::start(postgres, &receiver, |_| {}).await;
        told.store(0..600).await;
        told.store(600..1_203).await;
        // Pages wait for others, though not for long.
        told.advance(2);
        let worker = told.deliver();
        let first = receiver.next().await;
        assert_eq!(first.header("x-crawler-run-id"), told.run().to_string());
        let project = project(&told.service).await;
        let now = told.service.app.clock.now();
        let secret = webhooks::secret(&told.service.app.store, project, now);
        let secret = secret.await.expect("a secret");
        let signed = sign(&secret, first.header("webhook-id"), now, &first.body);
        assert_eq!(first.header("webhook-signature"), signed.standard);
        let body = first.json();
        assert_eq!(body["id"], told.run().get());
        assert_eq!(body["url"], SEED);
        let page = body["pages"][3].as_object().expect("an object");
        let mut members: Vec<&str> = page.keys().map(String::as_str).collect();
        members.sort_unstable();
        let expected = [
            "bytes",
            "content_hash",
            "content_type",
            "depth",
            "elapsed_ms",
            "fetched_at",
            "final_url",
            "id",
            "status",
            "title",
            "url",
        ];
        assert_eq!(members, expected);
        let second = receiver.next().await;
        assert_eq!(numbers(&first), (0..500).collect::<Vec<_>>());
        assert_eq!(numbers(&second), (500..1_000).collect::<Vec<_>>());
        let third = receiver.next().await;
        assert_eq!(numbers(&third), (1_000..1_203).collect::<Vec<_>>());
        let ids: HashSet<_> = [&first, &second, &third]
            .map(|got| got.header("webhook-id").to_owned())
            .into();
        assert_eq!(ids.len(), 3);
        // The run goes on.
        assert_eq!(told.detail().await["webhook_status"], "pending");
        told.store(1_203..1_205).await;
        end(&told.service, &told.leased).await;
        assert_eq!(numbers(&receiver.next().await), [1_203, 1_204]);
        let detail = told.reaches("delivered").await;
        assert_eq!(detail["webhook_attempts"], 4);
        assert_eq!(told.deliveries().await.len(), 4);
        worker.abort();
    }
}

#[tokio::test]
async fn a_failed_delivery_is_repeated_with_the_same_pages_and_holds_back_the_next() {
    let mut receiver = Receiver::start(&[Reply::Status(500), Reply::Hang]).await;
    let told = Told::start(false, &receiver, |config| {
        config.webhooks.retry_delays = vec![Seconds(60)];
    })
    .await;
    told.store(0..2).await;
    told.advance(2);
    let worker = told.deliver();
    let first = receiver.next().await;
    assert_eq!(numbers(&first), [0, 1]);
    // These are not added to it.
    told.store(2..700).await;
    told.once(|detail| detail["webhook_attempts"] != 0).await;
    told.advance(70);
    let second = receiver.next().await;
    assert_eq!(numbers(&second), [0, 1]);
    assert_eq!(second.header("webhook-id"), first.header("webhook-id"));
    // The process dies while the receiver has not answered.
    worker.abort();
    let worker = told.deliver();
    let third = receiver.next().await;
    assert_eq!(third.header("webhook-id"), first.header("webhook-id"));
    assert_eq!(numbers(&third), [0, 1]);
    assert_eq!(
        numbers(&receiver.next().await),
        (2..502).collect::<Vec<_>>()
    );
    end(&told.service, &told.leased).await;
    assert_eq!(
        numbers(&receiver.next().await),
        (502..700).collect::<Vec<_>>()
    );
    told.reaches("delivered").await;
    worker.abort();
}

#[tokio::test]
async fn a_receiver_that_is_away_for_long_gets_its_pages_later() {
    let replies = [503, 503, 503, 503].map(Reply::Status);
    let mut receiver = Receiver::start(&replies).await;
    let told = Told::start(false, &receiver, |config| {
        config.webhooks.retry_delays = vec![Seconds(1)];
    })
    .await;
    told.store(0..1).await;
    end(&told.service, &told.leased).await;
    let worker = told.deliver();
    receiver.next().await;
    for attempts in 1..=4 {
        told.once(|detail| detail["webhook_attempts"] == attempts)
            .await;
        assert_eq!(told.detail().await["webhook_status"], "pending");
        told.advance(if attempts == 1 { 2 } else { 310 });
        assert_eq!(numbers(&receiver.next().await), [0]);
    }
    told.reaches("delivered").await;
    worker.abort();
}

#[tokio::test]
async fn a_refusal_stops_the_pages_until_it_is_repeated_on_request() {
    let mut receiver = Receiver::start(&[Reply::Status(410)]).await;
    let told = Told::start(false, &receiver, |_| {}).await;
    told.store(0..500).await;
    told.advance(2);
    let worker = told.deliver();
    receiver.next().await;
    let detail = told.reaches("dead").await;
    assert_eq!(detail["webhook_attempts"], 1);
    told.store(500..700).await;
    end(&told.service, &told.leased).await;
    told.advance(3_600);
    let dead = told.deliveries().await;
    assert_eq!(dead.len(), 1, "{dead:?}");
    assert_eq!(
        (&dead[0]["event"], &dead[0]["status"]),
        (&json!("crawl.page"), &json!("dead"))
    );
    assert_eq!(told.detail().await["webhook_status"], "dead");
    let path = format!(
        "/v1/crawls/{}/deliveries/{}/redeliver",
        told.run(),
        dead[0]["id"]
    );
    let again = told.service.client().send("POST", &path, &[], b"").await;
    assert_eq!(again.status, 202);
    assert_eq!(
        numbers(&receiver.next().await),
        (0..500).collect::<Vec<_>>()
    );
    assert_eq!(
        numbers(&receiver.next().await),
        (500..700).collect::<Vec<_>>()
    );
    told.reaches("delivered").await;
    worker.abort();
}

#[tokio::test]
async fn few_accepted_deliveries_are_kept() {
    let mut receiver = Receiver::start(&[]).await;
    let told = Told::start(false, &receiver, |_| {}).await;
    let worker = told.deliver();
    for n in 0..30 {
        told.store(n..n + 1).await;
        told.advance(2);
        assert_eq!(numbers(&receiver.next().await), [n]);
    }
    end(&told.service, &told.leased).await;
    let detail = told.reaches("delivered").await;
    assert_eq!(detail["webhook_attempts"], 30);
    let kept = told.deliveries().await.len();
    assert!((20..=21).contains(&kept), "{kept}");
    worker.abort();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_crawl_tells_of_its_pages_and_of_its_end() {
    let service = Service::start().await;
    let mut receiver = Receiver::start(&[]).await;
    let site = orbweaver_origin::Origin::start().await.expect("a site");
    let links: String = (0..40).map(|n| format!("<a href=/p/{n}>{n}</a>")).collect();
    site.set("/", orbweaver_origin::Reply::html(links));
    for n in 0..40 {
        let page = format!("<title>Page {n}</title><p>{n}");
        site.set(&format!("/p/{n}"), orbweaver_origin::Reply::html(page));
    }
    let body = json!({
        "url": site.url("/"), "delay_ms": 0, "webhook_url": receiver.url(),
        "webhook_events": ["crawl.done", "crawl.page"],
    });
    let created = service.client().post("/v1/crawls", &body).await;
    assert_eq!(created.status, 202, "{}", created.text());
    let run = RunId(created.json()["id"].as_i64().expect("an id"));
    ended(&service, run).await;
    let mut told: Vec<Value> = Vec::new();
    let mut is_done = false;
    while told.len() < 41 || !is_done {
        service.clock.advance(TimeDelta::seconds(1));
        let body = receiver.next().await.json();
        match body["pages"].as_array() {
            Some(pages) => told.extend(pages.iter().cloned()),
            None => {
                assert_eq!(body["page_count"], 41);
                is_done = true;
            }
        }
    }
    let listed = service
        .client()
        .get(&format!("/v1/crawls/{run}/pages?limit=100"))
        .await
        .ok();
    let listed = listed["items"].as_array().expect("pages");
    let ids = |pages: &[Value]| {
        pages
            .iter()
            .map(|page| page["id"].clone())
            .collect::<Vec<_>>()
    };
    assert_eq!(ids(&told), ids(listed));
    assert!(told.iter().any(|page| page["title"] == "Page 7"));
}
