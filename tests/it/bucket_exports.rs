//! Exports of runs to a bucket of a real S3 server, with faults of the store.

use std::time::Duration;

use http::Method;
use orbweaver_core::ids::RunId;
use orbweaver_core::setting::Millis;
use orbweaver_crawl::export;
use orbweaver_server::config::Role;
use orbweaver_tests::s3::{ACCESS_KEY, Fault, S3, SECRET_KEY};
use serde_json::{Value, json};
use tokio::task::JoinHandle;

use crate::support::http::Answer;
use crate::support::runs::{Written, begin, done, done_of, end, without_workers, write};
use crate::support::{Client, Names, Service, wait};

/// Pages with a body that compresses badly, `kib` each.
fn pages(range: std::ops::Range<usize>, kib: usize) -> Vec<Written> {
    range
        .map(|n| {
            let mut state = n as u64 + 1;
            let mut text = String::with_capacity(kib << 10);
            while text.len() < kib << 10 {
                state = state
                    .wrapping_mul(6_364_136_223_846_793_005)
                    .wrapping_add(1);
                text.push_str(&format!("{:x} ", state >> 16));
            }
            Written::new(
                &format!("p/{n}"),
                &format!("<title>{n}</title><p>{text}"),
                &[],
            )
        })
        .collect()
}

async fn large(service: &Service) -> RunId {
    let leased = begin(service).await;
    for at in (0..600).step_by(100) {
        let first = i64::try_from(at).expect("a number");
        write(service, &leased, first, &pages(at..at + 100, 64)).await;
    }
    end(service, &leased).await
}

fn work(service: &Service) -> JoinHandle<()> {
    let app = &service.app;
    tokio::spawn(export::bucket_work(
        app.crawls.clone(),
        app.accounts.clone(),
    ))
}

async fn secrets(client: &Client, s3: &S3) {
    let hosts = json!([format!("http://{}", s3.address())]);
    for (name, value) in [("s3-id", ACCESS_KEY), ("s3-key", SECRET_KEY)] {
        let body = json!({"value": value, "hosts": hosts});
        let status = put(client, name, &body).await;
        assert_eq!(status, 201);
    }
}

async fn put(client: &Client, name: &str, body: &Value) -> u16 {
    let json = [("content-type", "application/json")];
    let path = format!("/v1/secrets/{name}");
    let body = body.to_string();
    client
        .send("PUT", &path, &json, body.as_bytes())
        .await
        .status
}

fn request(s3: &S3, format: &str, include: &str) -> Value {
    json!({
        "to": s3.url("out/a"), "format": format, "include": include,
        "credentials": {"access_key_id": "s3-id", "secret_access_key": "s3-key"},
    })
}

async fn queue(client: &Client, run: RunId, body: &Value) -> String {
    let answer = client.post(&format!("/v1/crawls/{run}/export"), body).await;
    assert_eq!(answer.status, 202, "{}", answer.text());
    let place = answer.header("location").expect("a place").to_owned();
    assert!(!answer.text().contains(SECRET_KEY));
    place
}

async fn reaches(client: &Client, place: &str, states: &[&str]) -> Value {
    let has_state = |answer: &Answer| {
        let export = answer.ok();
        states.contains(&export["status"].as_str().expect("a state"))
    };
    client.until(place, has_state).await.ok()
}

async fn direct(client: &Client, run: RunId, query: &str) -> Vec<u8> {
    let answer = client
        .get(&format!("/v1/crawls/{run}/export?{query}"))
        .await;
    assert_eq!(answer.status, 200, "{}", answer.text());
    answer.body.to_vec()
}

/// Files of the server that belong to an upload that is not complete.
fn leftovers(s3: &S3) -> Vec<std::path::PathBuf> {
    let bucket = s3.bucket();
    let files = std::fs::read_dir(bucket.parent().expect("a folder")).expect("a folder");
    let files = files.map(|file| file.expect("a file").path());
    files
        .filter(|path| path.to_string_lossy().contains("/.upload"))
        .collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn every_format_arrives_as_it_is_downloaded() {
    for postgres in [false, true] {
        let s3 = S3::start().await.expect("a server");
        let service = without_workers(postgres, |_| {}).await;
        let client = service.client();
        secrets(&client, &s3).await;
        let run = done(&service, &pages(0..20, 2)).await;
        let worker = work(&service);
        for (format, end, include) in [
            ("ndjson", "ndjson", "title,html"),
            ("csv", "csv", "title"),
            ("parquet", "parquet", "title,html"),
            ("json", "json", "title"),
            ("zip", "zip", ""),
            ("warc", "warc.gz", ""),
        ] {
            let place = queue(&client, run, &request(&s3, format, include)).await;
            let export = reaches(&client, &place, &["done", "failed"]).await;
            assert_eq!(export["status"], "done", "{export}");
            assert_eq!(export["pages"], 20);
            let object = format!("s3://bodies/out/a/crawl-{run}.{end}");
            assert_eq!(export["object"], object);
            let file = std::fs::read(s3.bucket().join(format!("out/a/crawl-{run}.{end}")));
            let file = file.expect("the object");
            assert_eq!(export["bytes"], file.len());
            let expected =
                direct(&client, run, &format!("format={format}&include={include}")).await;
            // The archive formats have the time at which they were made.
            match format {
                "warc" => assert!(file.len().abs_diff(expected.len()) < 200),
                _ => assert!(file == expected, "{format}"),
            }
        }
        let list = client.get(&format!("/v1/crawls/{run}/exports")).await.ok();
        assert_eq!(list["items"].as_array().expect("a list").len(), 6);
        assert!(!list.to_string().contains(ACCESS_KEY));
        let stranger = service.other_project("stranger").await;
        for path in [
            format!("/v1/crawls/{run}/exports"),
            format!("/v1/crawls/{run}/exports/1"),
        ] {
            stranger.get(&path).await.error(404, "NOT_FOUND");
        }
        worker.abort();
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_large_export_is_uploaded_in_parts_through_faults() {
    let s3 = S3::start().await.expect("a server");
    let service = without_workers(false, |_| {}).await;
    let client = service.client();
    secrets(&client, &s3).await;
    let run = large(&service).await;
    for fault in [Fault::Busy(0), Fault::Torn, Fault::Unanswered] {
        s3.fail_put(fault);
    }
    let worker = work(&service);
    let place = queue(&client, run, &request(&s3, "ndjson", "html")).await;
    let export = reaches(&client, &place, &["done", "failed"]).await;
    assert_eq!(export["status"], "done", "{export}");
    let file = std::fs::read(s3.bucket().join(format!("out/a/crawl-{run}.ndjson")));
    let file = file.expect("the object");
    assert!(file.len() > 33 << 20, "{} bytes", file.len());
    assert!(file == direct(&client, run, "format=ndjson&include=html").await);
    assert_eq!(export["bytes"], file.len());
    worker.abort();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_file_whose_last_answer_is_lost_is_there() {
    let s3 = S3::start().await.expect("a server");
    let service = without_workers(false, |_| {}).await;
    let client = service.client();
    secrets(&client, &s3).await;
    let run = done(&service, &pages(0..300, 64)).await;
    // The file is made, and the request sent again.
    s3.fail_complete(Fault::Unanswered);
    s3.fail_complete(Fault::NoUpload);
    let worker = work(&service);
    let place = queue(&client, run, &request(&s3, "ndjson", "html")).await;
    let export = reaches(&client, &place, &["done", "failed"]).await;
    assert_eq!(export["status"], "done", "{export}");
    assert_eq!(s3.pending_faults(), 0);
    assert_eq!(export["attempts"], 1);
    let file = std::fs::read(s3.bucket().join(format!("out/a/crawl-{run}.ndjson")));
    assert!(file.expect("the object") == direct(&client, run, "format=ndjson&include=html").await);
    worker.abort();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_bucket_may_take_longer_than_a_page_to_answer() {
    let s3 = S3::start().await.expect("a server");
    let service = without_workers(false, |config| {
        config.fetch.limits.first_byte_ms = Millis(100);
    })
    .await;
    let client = service.client();
    secrets(&client, &s3).await;
    let run = done(&service, &pages(0..2, 1)).await;
    s3.fail_put(Fault::Slow(Duration::from_millis(400)));
    let worker = work(&service);
    let place = queue(&client, run, &request(&s3, "ndjson", "title")).await;
    let export = reaches(&client, &place, &["done", "failed"]).await;
    assert_eq!(export["status"], "done", "{export}");
    assert_eq!(s3.requests(&Method::PUT), 1, "it was not sent again");
    worker.abort();
}

#[tokio::test(flavor = "multi_thread")]
async fn no_half_file_is_seen_when_the_worker_dies_or_is_cancelled() {
    let s3 = S3::start().await.expect("a server");
    let service = without_workers(false, |_| {}).await;
    let client = service.client();
    secrets(&client, &s3).await;
    let run = large(&service).await;
    let object = s3.bucket().join(format!("out/a/crawl-{run}.ndjson"));
    // The first part arrives, the second one hangs.
    let stall = || {
        s3.fail_put(Fault::Slow(Duration::ZERO));
        s3.fail_put(Fault::Slow(Duration::from_secs(3_600)));
    };
    stall();
    let worker = work(&service);
    let place = queue(&client, run, &request(&s3, "ndjson", "html")).await;
    wait::until("the second part is sent", async || {
        s3.requests(&Method::PUT) >= 2
    })
    .await;
    worker.abort();
    assert!(!object.exists());
    assert!(!leftovers(&s3).is_empty());
    assert_eq!(client.get(&place).await.ok()["status"], "running");
    // Its lease runs out, and the next worker makes the file from the start.
    service.clock.advance(chrono::TimeDelta::seconds(60));
    let worker = work(&service);
    let export = reaches(&client, &place, &["done", "failed"]).await;
    assert_eq!(
        (&export["status"], &export["attempts"]),
        (&json!("done"), &json!(2)),
        "{export}"
    );
    assert!(
        std::fs::read(&object).expect("the object") == direct(&client, run, "include=html").await
    );
    assert_eq!(leftovers(&s3), Vec::<std::path::PathBuf>::new());

    std::fs::remove_file(&object).expect("the object");
    let before = s3.requests(&Method::PUT);
    stall();
    let place = queue(&client, run, &request(&s3, "ndjson", "html")).await;
    wait::until("the second part is sent again", async || {
        s3.requests(&Method::PUT) >= before + 2
    })
    .await;
    let cancelled = client
        .send("POST", &format!("{place}/cancel"), &[], b"")
        .await;
    assert_eq!(cancelled.status, 202, "{}", cancelled.text());
    let export = reaches(&client, &place, &["cancelled", "done", "failed"]).await;
    assert_eq!(export["status"], "cancelled");
    assert!(!object.exists());
    assert_eq!(leftovers(&s3), Vec::<std::path::PathBuf>::new());
    let again = client
        .send("POST", &format!("{place}/cancel"), &[], b"")
        .await;
    assert_eq!(again.status, 202);
    worker.abort();
}

#[tokio::test(flavor = "multi_thread")]
async fn what_cannot_be_written_says_why_and_shows_no_secret() {
    let s3 = S3::start().await.expect("a server");
    let service = without_workers(false, |_| {}).await;
    let client = service.client();
    let run = done(&service, &pages(0..2, 1)).await;
    let post = async |body: &Value| client.post(&format!("/v1/crawls/{run}/export"), body).await;
    let refused = async |change: &dyn Fn(&mut Value), field: &str| {
        let mut body = request(&s3, "ndjson", "title");
        change(&mut body);
        let said = post(&body).await.error(422, "INVALID_INPUT");
        assert!(said.starts_with(&format!("{field}: ")), "{said}");
    };
    refused(&|_| {}, "credentials.access_key_id").await;
    secrets(&client, &s3).await;
    refused(&|body| body["to"] = json!("file:///tmp/x"), "to").await;
    refused(&|body| body["to"] = json!("s3://id:key@bodies/x"), "to").await;
    refused(
        &|body| body["to"] = json!("s3://bodies/x?endpoint=http://10.0.0.1:9000"),
        "to",
    )
    .await;
    let metadata = "s3://bodies/x?endpoint=http://169.254.169.254";
    refused(&|body| body["to"] = json!(metadata), "to").await;
    // Another host than the secrets are for.
    let other = "s3://bodies/x?endpoint=http://127.0.0.1:9001";
    refused(
        &|body| body["to"] = json!(other),
        "credentials.access_key_id",
    )
    .await;
    refused(&|body| body["include"] = json!("titel"), "include").await;
    refused(
        &|body| {
            body["format"] = json!("warc");
        },
        "include",
    )
    .await;
    refused(&|body| body["status"] = json!(7), "status").await;
    let missing = client
        .post("/v1/crawls/999/export", &request(&s3, "ndjson", ""))
        .await;
    missing.error(404, "NOT_FOUND");

    let worker = work(&service);
    // As a store answers without such a bucket; this one makes it.
    s3.set_down(Some(http::StatusCode::NOT_FOUND));
    let place = queue(&client, run, &request(&s3, "ndjson", "")).await;
    let export = reaches(&client, &place, &["done", "failed"]).await;
    s3.set_down(None);
    assert_eq!(
        export["error"]["message"], "the bucket does not exist",
        "{export}"
    );
    // A key that the store does not accept.
    let hosts = json!([format!("http://{}", s3.address())]);
    let wrong = json!({"value": "not-the-secret-of-it", "hosts": hosts});
    assert_eq!(put(&client, "s3-key", &wrong).await, 204);
    let place = queue(&client, run, &request(&s3, "ndjson", "")).await;
    let export = reaches(&client, &place, &["done", "failed"]).await;
    assert_eq!(export["error"]["code"], "FETCH_FAILED", "{export}");
    let said = export.to_string();
    assert!(
        !said.contains("not-the-secret-of-it") && !said.contains(ACCESS_KEY),
        "{said}"
    );
    worker.abort();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_project_has_a_bounded_number_of_exports_under_way() {
    const MAX_EXPORTS: usize = 100;
    for postgres in [false, true] {
        let s3 = S3::start().await.expect("a server");
        let service = without_workers(postgres, |_| {}).await;
        let client = service.client();
        secrets(&client, &s3).await;
        let run = done(&service, &pages(0..2, 1)).await;
        let body = request(&s3, "ndjson", "title");
        let mut places = Vec::new();
        for _ in 0..MAX_EXPORTS {
            places.push(queue(&client, run, &body).await);
        }
        let path = format!("/v1/crawls/{run}/export");
        let refused = client.post(&path, &body).await;
        let said = refused.error(429, "RATE_LIMITED");
        assert!(said.contains("100 queued and running exports"), "{said}");
        assert_eq!(refused.header("retry-after"), Some("30"));
        // One that ends makes room for one more.
        let first = places.first().expect("an export");
        let cancel = format!("{first}/cancel");
        let cancelled = client.send("POST", &cancel, &[], b"").await;
        assert_eq!(cancelled.status, 202, "{}", cancelled.text());
        assert_eq!(client.get(first).await.ok()["status"], "cancelled");
        queue(&client, run, &body).await;
        client.post(&path, &body).await.error(429, "RATE_LIMITED");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn slow_buckets_cost_others_a_turn_and_no_more() {
    // Parts that the service sends at the same time.
    const SLOTS: usize = 4;
    let s3 = S3::start().await.expect("a server");
    let service = without_workers(false, |_| {}).await;
    s3.hold("/slow");
    let large = pages(0..36, 1 << 10);
    let mut slow = Vec::new();
    for n in 0..SLOTS {
        let client = service.other_project(&format!("slow-{n}")).await;
        secrets(&client, &s3).await;
        let run = done_of(&service, &client, &large).await;
        let mut body = request(&s3, "ndjson", "html");
        body["to"] = json!(s3.url(&format!("slow/{n}")));
        let place = queue(&client, run, &body).await;
        slow.push((client, run, place));
    }
    let client = service.client();
    secrets(&client, &s3).await;
    let run = done(&service, &pages(0..2, 1)).await;

    let worker = work(&service);
    let all_held = async || wait::until("all slots are taken", async || s3.held() >= SLOTS).await;
    all_held().await;
    let place = queue(&client, run, &request(&s3, "ndjson", "title")).await;
    reaches(&client, &place, &["running"]).await;
    // The first part of each slow one is taken, and the second, should they ask for their turns
    // first. No third one is.
    let slowly = async {
        s3.let_through(SLOTS);
        all_held().await;
        s3.let_through(SLOTS);
        std::future::pending().await
    };
    let export = tokio::select! {
        export = reaches(&client, &place, &["done", "failed"]) => export,
        () = slowly => unreachable!(),
    };
    assert_eq!(export["status"], "done", "{export}");
    for (client, _, place) in &slow {
        assert_eq!(client.get(place).await.ok()["status"], "running");
    }
    // What was put down between turns is taken up again where it was.
    s3.let_through(1_000);
    for (n, (client, run, place)) in slow.iter().enumerate() {
        let export = reaches(client, place, &["done", "failed"]).await;
        assert_eq!(export["status"], "done", "{export}");
        let file = std::fs::read(s3.bucket().join(format!("slow/{n}/crawl-{run}.ndjson")));
        let file = file.expect("the object");
        assert!(file.len() > 33 << 20, "{} bytes", file.len());
        assert!(file == direct(client, *run, "format=ndjson&include=html").await);
    }
    worker.abort();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_bucket_whose_name_resolves_to_a_private_address_is_refused() {
    let s3 = S3::start().await.expect("a server");
    let names = Names::of(&[("store.example", &["10.0.0.1"])]);
    let service = Service::with_resolver(names, |config| config.roles = vec![Role::Api]).await;
    let client = service.client();
    let run = done(&service, &pages(0..2, 1)).await;
    let endpoint = format!("http://store.example:{}", s3.address().port());
    let hosts = json!([endpoint]);
    for (name, value) in [("s3-id", ACCESS_KEY), ("s3-key", SECRET_KEY)] {
        let body = json!({"value": value, "hosts": hosts});
        assert_eq!(put(&client, name, &body).await, 201);
    }
    let mut body = request(&s3, "ndjson", "");
    body["to"] = json!(format!("s3://bodies/x?endpoint={endpoint}"));
    let place = queue(&client, run, &body).await;
    let worker = work(&service);
    let export = reaches(&client, &place, &["done", "failed"]).await;
    assert_eq!(export["error"]["code"], "INVALID_INPUT", "{export}");
    let said = export["error"]["message"].as_str().expect("a message");
    assert!(
        said.starts_with("to: ") && said.contains("10.0.0.0/8"),
        "{said}"
    );
    assert_eq!(export["attempts"], 1);
    worker.abort();
}
