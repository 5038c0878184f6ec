//! The hook `unique-text`: one page of those with the same text, over a run, with the state of the project.

use orbweaver_origin::{Origin, Reply};
use orbweaver_server::config::Config;
use serde_json::{Value, json};

use crate::support::{Client, Service, fixture, runs};

/// A page with a text of its own, or that of another one, and other surroundings in any case.
fn page(name: &str, topic: &str, links: &str) -> Reply {
    let sentence = format!(
        "The {topic} is described here at some length, so that it counts as the text of the page. "
    );
    Reply::html(format!(
        "<title>{name}</title><nav><a href=/>Home</a> {links}</nav>\
         <main><article><h1>{topic}</h1><p>{}</p><p>{}</p></article></main><footer>Page {name}</footer>",
        sentence.repeat(4),
        sentence.repeat(3),
    ))
}

/// Six pages with three texts.
async fn site() -> Origin {
    let origin = Origin::start().await.expect("a site");
    let links =
        "<a href=/a>A</a> <a href=/b>B</a> <a href=/c>C</a> <a href=/d>D</a> <a href=/e>E</a>";
    origin
        .set("/robots.txt", Reply::text(""))
        .set("/", page("home", "home of weavers", links))
        .set("/a", page("a", "orb weaver", ""))
        .set("/b", page("b", "orb weaver", ""))
        .set("/c", page("c", "orb weaver", ""))
        .set("/d", page("d", "jumping spider", ""))
        .set("/e", page("e", "jumping spider", ""));
    origin
}

fn crawl(origin: &Origin) -> Value {
    json!({
        "url": origin.url("/"),
        "delay_ms": 0,
        "hooks": [{"name": "unique-text", "config": {"min_chars": 100}}],
    })
}

/// A crawl keeps one page of each text, and says of the others whose text they have.
async fn one_of_each(client: &Client, origin: &Origin) {
    let run = runs::crawled(client, &crawl(origin)).await;
    let list = |name: &str| format!("/v1/crawls/{}/{name}", run["id"]);
    let urls = |list: &Value| -> Vec<String> {
        let items = list["items"].as_array().expect("items").iter();
        let url = |item: &Value| item["url"].as_str().expect("a URL").to_owned();
        items.map(url).collect()
    };
    let stored = urls(&client.get(&list("pages")).await.ok());
    let skipped = client.get(&list("skipped")).await.ok();
    let dropped = urls(&skipped);
    for group in [&["/"][..], &["/a", "/b", "/c"], &["/d", "/e"]] {
        let of_group = |urls: &[String]| -> Vec<String> {
            let paths = group.iter().map(|path| origin.url(path));
            paths.filter(|url| urls.contains(url)).collect()
        };
        let kept = of_group(&stored);
        assert_eq!(kept.len(), 1, "{group:?}: {stored:?}, {skipped}");
        assert_eq!(of_group(&dropped).len(), group.len() - 1, "{dropped:?}");
        for item in skipped["items"].as_array().expect("items") {
            let url = item["url"].as_str().expect("a URL");
            if group.iter().any(|path| origin.url(path) == url) {
                assert_eq!(item["plugin"], "unique-text");
                assert_eq!(item["reason"], format!("its text is that of {}", kept[0]));
            }
        }
    }
    let counts = ["page_count", "dropped_count", "plugin_error_count"].map(|name| &run[name]);
    assert_eq!(run["status"], "done");
    assert_eq!(counts, [&json!(3), &json!(3), &Value::Null]);
}

async fn each_crawl_keeps_one_of_each(service: Service) {
    let origin = site().await;
    let ours = service.client();
    let others = service.other_project("others").await;
    // The projects' crawls run beside each other; neither sees what the other has kept.
    tokio::join!(one_of_each(&ours, &origin), one_of_each(&others, &origin));
    // A later run of the same project has its own texts, too.
    one_of_each(&ours, &origin).await;
}

#[tokio::test]
async fn a_crawl_keeps_one_of_each_text_for_each_project_and_run_on_sqlite() {
    each_crawl_keeps_one_of_each(Service::start().await).await;
}

#[tokio::test]
async fn a_crawl_keeps_one_of_each_text_for_each_project_and_run_on_postgres() {
    each_crawl_keeps_one_of_each(Service::on_postgres().await).await;
}

fn without_room(config: &mut Config) {
    let tier = config.tiers.get_mut("free").expect("a tier");
    tier.plugins.state_entries = 0;
}

#[tokio::test]
async fn a_full_state_is_counted_as_the_hooks_failure_and_stalls_nothing() {
    let service = Service::with(without_room).await;
    let client = service.other_project("small").await;
    let origin = site().await;
    let run = runs::crawled(&client, &crawl(&origin)).await;
    assert_eq!(
        (
            &run["status"],
            &run["page_count"],
            &run["dropped_count"],
            &run["plugin_error_count"]
        ),
        (&json!("done"), &json!(6), &Value::Null, &json!(6)),
        "{run}"
    );
    let errors = format!("/v1/crawls/{}/errors", run["id"]);
    let errors = client.get(&errors).await.ok();
    let said = errors["items"][0]["message"].as_str().expect("a message");
    assert!(said.starts_with("record: quota: "), "{said}");
    assert!(said.contains("state_entries"), "{said}");
    // Strict, the run ends with the reason.
    let mut strict = crawl(&origin);
    strict["hooks"][0]["on_error"] = json!("fail");
    let run = runs::crawled(&client, &strict).await;
    assert_eq!(run["status"], "failed");
    let why = run["error_message"].as_str().expect("a reason");
    assert!(why.starts_with("hook `unique-text` failed on "), "{why}");
}

const WASM: [(&str, &str); 1] = [("content-type", "application/wasm")];

#[tokio::test]
async fn an_upload_that_imports_state_needs_the_grant() {
    let service = Service::start().await;
    let client = service.client();
    let component = std::fs::read(fixture("hook-keeper")).expect("a fixture");
    let path = "/v1/plugins/hook-keeper?grant=http";
    let refused = client.send("PUT", path, &WASM, &component).await;
    let said = refused.error(422, "INVALID_INPUT");
    assert_eq!(
        said,
        "body: imports orbweaver:plugin/state@1.1.0 (permission state: it was not granted; add ?grant=state to \
             the upload, or set plugins.grants for a plugin of the folder)"
    );
    let path = "/v1/plugins/hook-keeper?grant=http&grant=state";
    let item = client.send("PUT", path, &WASM, &component).await;
    assert_eq!(item.status, 201, "{}", item.text());

    // What it keeps in a crawl is of the project and the run that the service knows.
    let origin = site().await;
    let told = async |client: &Client, ops: Value| {
        let body = json!({
            "url": origin.url("/d"), "depth": 1, "delay_ms": 0,
            "hooks": [{"name": "keeper", "config": {"ops": ops}}],
        });
        let run = runs::crawled(client, &body).await;
        let records = format!("/v1/crawls/{}/records", run["id"]);
        let records = client.get(&records).await.ok();
        let told = records["items"][0]["data"].clone();
        assert_eq!(told["run"], run["id"], "{told}");
        told["results"][0].clone()
    };
    let put = json!([{"op": "put", "key": "k", "value": "ours"}]);
    let get = json!([{"op": "get", "key": "k"}]);
    assert!(told(&client, put).await.as_u64() >= Some(1));
    assert_eq!(told(&client, get.clone()).await["value"], "ours");
    let others = service.other_project("others").await;
    assert_eq!(told(&others, get).await, Value::Null);
}
