//! `orbweaver mcp` after a login: the tools of a service over standard input and output.

use std::io::{Read as _, Write as _};
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use orbweaver_origin::{Origin, Reply};
use serde_json::{Value, json};

use super::mcp::Agent;
use super::remote::LoggedIn;
use super::{Served, command, run};
use crate::support::{Client, KEY, Site, fixture};

/// A way to a service that can be cut. While it leads nowhere, connections are closed at once.
struct Way {
    address: SocketAddr,
    shared: Arc<Mutex<Led>>,
}

#[derive(Default)]
struct Led {
    to: Option<SocketAddr>,
    open: Vec<TcpStream>,
}

impl Way {
    fn to(service: SocketAddr) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let shared = Arc::new(Mutex::new(Led {
            to: Some(service),
            open: Vec::new(),
        }));
        let led = Arc::clone(&shared);
        std::thread::spawn(move || {
            for client in listener.incoming().map_while(Result::ok) {
                let mut led = led.lock().unwrap();
                let Some(server) = led.to.and_then(|to| TcpStream::connect(to).ok()) else {
                    continue;
                };
                led.open.push(client.try_clone().unwrap());
                led.open.push(server.try_clone().unwrap());
                for (mut from, mut to) in [
                    (client.try_clone().unwrap(), server.try_clone().unwrap()),
                    (server, client),
                ] {
                    std::thread::spawn(move || {
                        let mut piece = [0; 4096];
                        while let Ok(length @ 1..) = from.read(&mut piece) {
                            if to.write_all(&piece[..length]).is_err() {
                                break;
                            }
                        }
                        let _ = to.shutdown(Shutdown::Both);
                    });
                }
            }
        });
        Self { address, shared }
    }

    /// Closes all connections; new ones lead there.
    fn cut(&self, to: Option<SocketAddr>) {
        let mut led = self.shared.lock().unwrap();
        led.to = to;
        for stream in led.open.drain(..) {
            let _ = stream.shutdown(Shutdown::Both);
        }
    }

    fn agent(&self, at: &LoggedIn) -> Agent {
        let server = format!("http://{}", self.address);
        let mut agent = Agent::run(
            command(&at.user)
                .arg("mcp")
                .args(["--server", &server])
                .env("ORBWEAVER_KEY", KEY),
        );
        agent.shake_hands();
        agent
    }
}

fn code(result: &Value) -> &str {
    assert_eq!(result["isError"], true, "{result}");
    let code = &result["structuredContent"]["error"]["code"];
    code.as_str().expect("a code")
}

#[tokio::test(flavor = "multi_thread")]
async fn after_a_login_a_client_has_the_tools_of_the_service() {
    let site = Site::start().await;
    let url = site.url("/article");
    let at = LoggedIn::start();
    let mut agent = Agent::run(command(&at.user).arg("mcp"));
    let welcome = agent.shake_hands();
    assert_eq!(welcome["protocolVersion"], "2025-06-18");
    assert_eq!(welcome["capabilities"]["tools"]["listChanged"], true);

    let scan = agent.call("scan", &json!({"url": url}));
    assert_eq!(scan["metadata"]["title"], "How orb weavers build", "{scan}");
    let tools = agent.ask("tools/list", json!({}));
    assert!(tools.to_string().contains("actor_audit-onpage"), "{tools}");
    let audit = agent.call("actor_audit-onpage", &json!({"url": url}));
    assert_eq!(audit["actor"], "audit-onpage", "{audit}");

    // Progress comes before the result.
    let params = json!({
        "name": "crawl",
        "arguments": {"url": url, "max_pages": 2, "delay_ms": 0, "wait_seconds": 60},
        "_meta": {"progressToken": "t"},
    });
    let run = agent.ask("tools/call", params)["structuredContent"].clone();
    assert_eq!(run["status"], "done", "{run}");
    let progress: Vec<&Value> = agent
        .told
        .iter()
        .filter(|message| message["method"] == "notifications/progress")
        .collect();
    assert!(!progress.is_empty(), "{:?}", agent.told);
    assert!(
        progress
            .iter()
            .all(|one| one["params"]["progressToken"] == "t")
    );
    // The run is the service's.
    let client = Client::new(at.served.address, Some(KEY));
    let path = format!("/v1/crawls/{}", run["id"]);
    assert_eq!(client.get(&path).await.ok()["page_count"], 2);

    // Errors are the service's: of a tool, of the protocol, and of a line that is no message.
    let params = |name: &str, arguments: Value| json!({"name": name, "arguments": arguments});
    let refused = params("scan", json!({"url": "http://10.0.0.1/"}));
    assert_eq!(code(&agent.ask("tools/call", refused)), "INVALID_INPUT");
    let id = agent.send("tools/call", params("nothing", json!({})));
    assert_eq!(agent.answer(id)["error"]["code"], -32_602);
    let id = agent.send("resources/read", json!({"uri": "orbweaver://crawls/404"}));
    assert_eq!(agent.answer(id)["error"]["code"], -32_002);
    agent.tell(&json!(["not", "a", "message"]));
    assert_eq!(agent.next()["error"]["code"], -32_600);

    assert!(agent.close().success());
    // Nothing was done in this process.
    let files = std::fs::read_dir(at.user.path()).unwrap().flatten();
    let names: Vec<_> = files.map(|file| file.file_name()).collect();
    assert_eq!(names, ["user"], "the login alone");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_client_is_told_when_the_plugins_of_the_service_change() {
    let at = LoggedIn::start();
    let client = Client::new(at.served.address, Some(KEY));
    let mut agent = Agent::run(command(&at.user).arg("mcp"));
    agent.shake_hands();
    agent.ask("tools/list", json!({}));
    let component = std::fs::read(fixture("actor-two-pages-rs")).unwrap();
    let wasm = [("content-type", "application/wasm")];
    // The subscription begins some time after the handshake.
    let begun = Instant::now();
    while !agent
        .told
        .iter()
        .any(|message| message["method"] == "notifications/tools/list_changed")
    {
        assert!(begun.elapsed() < Duration::from_secs(60), "nobody was told");
        let path = "/v1/plugins/two-pages-rs";
        client
            .send("PUT", &format!("{path}?grant=all"), &wasm, &component)
            .await;
        client.send("DELETE", path, &[], b"").await;
        agent.ask("tools/list", json!({}));
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_crawl_is_started_once_although_the_connection_is_lost() {
    let origin = Origin::start().await.unwrap();
    origin.set(
        "/",
        Reply::html("<title>A</title><a href='/b'>b</a><a href='/held/c'>c</a>"),
    );
    origin.set("/b", Reply::html("<title>B</title>"));
    let at = LoggedIn::start();
    let way = Way::to(at.served.address);
    let mut agent = way.agent(&at);
    let arguments = json!({
        "url": origin.url("/"), "delay_ms": 0, "respect_robots": false, "wait_seconds": 120,
    });
    let params = json!({
        "name": "crawl", "arguments": arguments, "_meta": {"progressToken": 1},
    });
    let id = agent.send("tools/call", params);
    origin.asked("/held/c", 1).await;
    way.cut(None);
    way.cut(Some(at.served.address));
    // The second request is there when progress goes on.
    origin.release();
    let run = agent.answer(id)["result"]["structuredContent"].clone();
    assert_eq!(run["status"], "done", "{run}");
    let told = agent
        .told
        .iter()
        .filter_map(|one| one["params"]["progress"].as_f64());
    let told: Vec<f64> = told.collect();
    assert!(told.is_sorted_by(|a, b| a < b), "{told:?}");
    let client = Client::new(at.served.address, Some(KEY));
    let runs = client.get("/v1/crawls").await.ok();
    assert_eq!(runs["items"].as_array().unwrap().len(), 1, "{runs}");
}

#[tokio::test(flavor = "multi_thread")]
async fn an_actor_whose_connection_is_lost_is_not_called_twice() {
    let origin = Origin::start().await.unwrap();
    let at = LoggedIn::start();
    let way = Way::to(at.served.address);
    let mut agent = way.agent(&at);
    let arguments = json!({"url": origin.url("/held/a")});
    let params = json!({"name": "actor_audit-onpage", "arguments": arguments});
    let id = agent.send("tools/call", params);
    origin.asked("/held/a", 1).await;
    way.cut(Some(at.served.address));
    let result = agent.answer(id)["result"].clone();
    assert_eq!(code(&result), "UNAVAILABLE");
    assert!(
        result.to_string().contains("may have been done"),
        "{result}"
    );
    origin.release();
    // The next call goes its way.
    assert_eq!(agent.call("usage", &json!({}))["tier"], "self_hosted");
    assert_eq!(origin.count("/held/a"), 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_cancelled_call_has_no_answer_and_the_others_go_on() {
    let origin = Origin::start().await.unwrap();
    let at = LoggedIn::start();
    let way = Way::to(at.served.address);
    let mut agent = way.agent(&at);
    let arguments = json!({"url": origin.url("/held/a")});
    let params = json!({"name": "actor_audit-onpage", "arguments": arguments});
    let id = agent.send("tools/call", params);
    origin.asked("/held/a", 1).await;
    agent.tell(&json!({
        "jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": id},
    }));
    // `answer` fails if the cancelled call is answered.
    assert_eq!(agent.call("usage", &json!({}))["today"]["pages"], 0);
    origin.release();
    assert_eq!(agent.call("usage", &json!({}))["today"]["pages"], 0);
    assert!(agent.close().success());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_service_that_restarts_is_waited_for() {
    let (data, user) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let serve = || Served::start(command(&data).env("ORBWEAVER_BOOTSTRAP_KEY", KEY));
    let served = serve();
    let way = Way::to(served.address);
    let at = LoggedIn::with(served, user, data);
    let mut agent = way.agent(&at);
    agent.ask("tools/list", json!({}));
    at.served.signal("KILL");
    way.cut(None);
    let id = agent.send("tools/call", json!({"name": "usage", "arguments": {}}));
    let again = Served::start(command(&at.service).env("ORBWEAVER_BOOTSTRAP_KEY", KEY));
    way.cut(Some(again.address));
    let result = agent.answer(id)["result"].clone();
    assert_eq!(result["isError"], false, "{result}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_service_that_is_not_there_or_refuses_the_key_is_named() {
    let at = LoggedIn::start();
    let service = format!("http://{}", at.served.address);
    for (server, key, said) in [
        (
            "http://127.0.0.1:1",
            KEY,
            "http://127.0.0.1:1 does not answer",
        ),
        (&service, "orb_wrong", "does not know the key"),
        (&format!("{service}/console"), KEY, "answers 4"),
    ] {
        let arguments = ["mcp", "--server", server, "--key", key];
        let mut agent = Agent::run(command(&at.user).args(arguments));
        let hello = json!({
            "protocolVersion": "2025-06-18",
            "capabilities": {},
            "clientInfo": {"name": "test", "version": "1"},
        });
        let id = agent.send("initialize", hello);
        let answer = agent.answer(id);
        let message = answer["error"]["message"].as_str().unwrap_or_default();
        assert!(message.contains(said), "{server}: {answer}");
        assert!(!answer.to_string().contains(key), "{answer}");
        assert!(answer["error"]["data"]["code"].is_string(), "{answer}");
        let id = agent.send("tools/call", json!({"name": "usage"}));
        assert!(!code(&agent.answer(id)["result"]).is_empty());
    }
    for (arguments, said) in [
        (["mcp", "--project", "shop"], "the key says whose calls"),
        (["mcp", "--data-dir", "/tmp/x"], "--local"),
    ] {
        let done = run(&at.user, &arguments);
        assert!(!done.status.success());
        let told = String::from_utf8_lossy(&done.stderr);
        assert!(told.contains(said), "{told}");
    }
}
