//! The interface `state`: values of plugins, apart by project and plugin, bounded, with versions.

use orbweaver_accounts::tiers::Cap;
use orbweaver_server::config::Config;
use orbweaver_store::{StateBounds, StateOwner, StateWrite, StateWritten};
use serde_json::{Value, json};

use crate::support::{Client, Service, fixture};

const WASM: [(&str, &str); 1] = [("content-type", "application/wasm")];

async fn install(client: &Client, query: &str) {
    let component = std::fs::read(fixture("keeper-actor")).expect("a fixture");
    let path = format!("/v1/plugins/keeper{query}");
    let answer = client.send("PUT", &path, &WASM, &component).await;
    assert!(matches!(answer.status, 200 | 201), "{}", answer.text());
}

async fn run(client: &Client, ops: Value) -> Vec<Value> {
    let answer = client
        .post("/v1/actors/keeper", &json!({ "ops": ops }))
        .await;
    let answer = answer.ok();
    answer["data"]["results"]
        .as_array()
        .expect("a list")
        .clone()
}

fn small(config: &mut Config) {
    let tier = config.tiers.get_mut("free").expect("a tier");
    tier.plugins.count = Cap::at(2);
    tier.plugins.state_mib = 1;
    tier.plugins.state_entries = 4;
}

async fn values_are_kept_swapped_listed_and_expire(service: Service) {
    let client = service.client();
    install(&client, "?grant=all").await;
    let results = run(
        &client,
        json!([
            {"op": "get", "key": "a"},
            {"op": "put", "key": "a", "value": "one", "expected": 7},
            {"op": "put", "key": "a", "value": "one", "expected": 0},
            {"op": "put", "key": "a", "value": "two", "expected": 0},
        ]),
    )
    .await;
    let first = results[2].as_u64().expect("a version");
    assert_eq!(
        results,
        [
            Value::Null,
            json!({"conflict": 0}),
            json!(first),
            json!({"conflict": first})
        ]
    );
    // Another call, on another node.
    let node = service.node().await;
    let there = client.at(node.address);
    let results = run(
        &there,
        json!([
            {"op": "get", "key": "a"},
            {"op": "put", "key": "a", "value": "two", "expected": first},
            {"op": "put", "key": "b/1", "value": "x", "ttl": 60_000},
            {"op": "put", "key": "b/2", "value": "x"},
            {"op": "keys", "prefix": "b/"},
            {"op": "keys", "prefix": "", "after": "a", "limit": 1},
            {"op": "delete", "key": "a", "expected": first},
            {"op": "delete", "key": "a"},
            {"op": "get", "key": "a"},
        ]),
    )
    .await;
    let second = results[1].as_u64().expect("a version");
    assert!(second > first);
    assert_eq!(results[0], json!({"value": "one", "version": first}));
    assert_eq!(results[4..6], [json!(["b/1", "b/2"]), json!(["b/1"])]);
    assert_eq!(
        results[6..],
        [json!({"conflict": second}), json!("deleted"), Value::Null]
    );
    // A deleted key never has an earlier version again.
    let results = run(
        &client,
        json!([{"op": "put", "key": "a", "value": "three"}]),
    )
    .await;
    assert!(results[0].as_u64().expect("a version") > second);
    // Deleted as of a time that the clock has not reached: each node's own purge, which begins
    // when the node does, leaves this value alone.
    let soon = json!([{"op": "put", "key": "b/3", "value": "x", "ttl": 30_000}]);
    run(&client, soon).await;
    let later = service.app.clock.now() + chrono::TimeDelta::seconds(31);
    let sweep = || service.app.store.sweep_plugin_state(later);
    assert_eq!(sweep().await.unwrap(), 1);
    assert_eq!(sweep().await.unwrap(), 0);
    let keys = json!([{"op": "keys", "prefix": "b/"}]);
    assert_eq!(run(&client, keys).await, [json!(["b/1", "b/2"])]);
    let none = json!([{"op": "keys", "prefix": "b/", "limit": 0}]);
    assert_eq!(run(&client, none).await, [json!([])]);
    service.clock.advance(chrono::TimeDelta::seconds(61));
    let get = json!([{"op": "get", "key": "b/1"}, {"op": "keys", "prefix": "b/"}]);
    assert_eq!(run(&client, get).await, [Value::Null, json!(["b/2"])]);
}

#[tokio::test]
async fn values_are_kept_swapped_listed_and_expire_on_sqlite() {
    values_are_kept_swapped_listed_and_expire(Service::start().await).await;
}

#[tokio::test]
async fn values_are_kept_swapped_listed_and_expire_on_postgres() {
    values_are_kept_swapped_listed_and_expire(Service::on_postgres().await).await;
}

async fn calls_that_change_one_value_at_once_all_succeed(service: Service) {
    let client = service.client();
    install(&client, "?grant=all").await;
    let increase = json!([{"op": "increase", "key": "visits"}]);
    let calls = (0..30).map(|_| run(&client, increase.clone()));
    let mut numbers: Vec<u64> = futures::future::join_all(calls)
        .await
        .into_iter()
        .map(|results| {
            let number = results[0].as_u64();
            number.unwrap_or_else(|| panic!("{results:?}"))
        })
        .collect();
    numbers.sort_unstable();
    assert!(numbers.into_iter().eq(1..=30));
}

#[tokio::test]
async fn calls_that_change_one_value_at_once_all_succeed_on_sqlite() {
    calls_that_change_one_value_at_once_all_succeed(Service::start().await).await;
}

#[tokio::test]
async fn calls_that_change_one_value_at_once_all_succeed_on_postgres() {
    calls_that_change_one_value_at_once_all_succeed(Service::on_postgres().await).await;
}

#[tokio::test]
async fn values_are_apart_by_project_and_plugin() {
    let service = Service::with(small).await;
    let (ours, others) = (
        service.other_project("ours").await,
        service.other_project("others").await,
    );
    install(&service.client(), "?grant=all").await;
    let put = json!([{"op": "put", "key": "k", "value": "ours"}]);
    run(&ours, put).await;
    let get = json!([{"op": "get", "key": "k"}, {"op": "keys", "prefix": ""}]);
    assert_eq!(run(&others, get.clone()).await, [Value::Null, json!([])]);
    // The project's own plugin of that name has values of its own.
    install(&ours, "?grant=all").await;
    assert_eq!(run(&ours, get.clone()).await, [Value::Null, json!([])]);
    run(&ours, json!([{"op": "put", "key": "k", "value": "own"}])).await;
    let path = "/v1/plugins/keeper";
    assert_eq!(ours.send("DELETE", path, &[], b"").await.status, 204);
    assert_eq!(run(&ours, get.clone()).await[0]["value"], "ours");
    // The deleted plugin's values are gone.
    install(&ours, "?grant=all").await;
    assert_eq!(run(&ours, get).await, [Value::Null, json!([])]);
}

#[tokio::test]
async fn values_are_bounded_and_need_a_permission() {
    let service = Service::with(small).await;
    let ours = service.other_project("ours").await;
    install(&ours, "?grant=http").await;
    let put = json!([{"op": "put", "key": "k", "value": "v"}]);
    let results = run(&ours, put).await;
    assert_eq!(
        results,
        [
            json!({"not-granted": "permission state: it was not granted; add ?grant=state to the upload, or set plugins.grants for a plugin of the folder"})
        ]
    );
    install(&ours, "?grant=all").await;
    let results = run(
        &ours,
        json!([
            {"op": "put", "key": "", "value": "v"},
            {"op": "put", "key": "a\nb", "value": "v"},
            {"op": "put", "key": "k", "bytes": (256 << 10) + 1},
            {"op": "put", "key": "k", "value": "v", "ttl": 0},
            {"op": "put", "key": "1", "bytes": 250 << 10},
            {"op": "put", "key": "2", "bytes": 250 << 10},
            {"op": "put", "key": "3", "bytes": 250 << 10},
            {"op": "put", "key": "4", "bytes": 250 << 10, "ttl": 1_000},
            {"op": "put", "key": "4", "bytes": 256 << 10},
            {"op": "put", "key": "5", "value": "v"},
        ]),
    )
    .await;
    for (result, field) in results
        .iter()
        .zip(["key: ", "key: ", "value: ", "ttl-ms: "])
    {
        let said = result["invalid-input"].as_str().expect("refused");
        assert!(said.starts_with(field), "{said}");
    }
    assert!(results[4..9].iter().all(Value::is_u64), "{results:?}");
    let said = results[9]["quota"].as_str().expect("full");
    assert!(said.contains("tiers.NAME.plugins.state_mib"), "{said}");
    // What is deleted or has expired makes room.
    let again = json!([
        {"op": "delete", "key": "4"},
        {"op": "put", "key": "4", "value": "v", "ttl": 1_000},
    ]);
    assert!(run(&ours, again).await[1].is_u64());
    let put = json!([{"op": "put", "key": "5", "value": "v"}]);
    assert!(run(&ours, put.clone()).await[0]["quota"].is_string());
    service.clock.advance(chrono::TimeDelta::seconds(2));
    assert!(run(&ours, put).await[0].is_u64());
    // Other projects have room of their own.
    let others = service.other_project("others").await;
    install(&others, "?grant=all").await;
    let put = json!([{"op": "put", "key": "5", "value": "v"}]);
    assert!(run(&others, put).await[0].is_u64());
}

async fn a_call_that_outlives_its_plugin_keeps_nothing(service: Service) {
    let ours = service.other_project("ours").await;
    install(&ours, "?grant=all").await;
    let store = &service.app.store;
    let project = store.project_named("ours").await.unwrap();
    let owner = |own| StateOwner {
        project: project.as_ref().expect("a project").id,
        own,
        kind: "actor".to_owned(),
        name: "keeper".to_owned(),
    };
    let bounds = StateBounds {
        bytes: 1 << 20,
        entries: 4,
    };
    let write = StateWrite {
        key: "late",
        value: Some(b"x"),
        expected: None,
        expires_at: None,
        now: service.app.clock.now(),
    };
    let written = async |own| store.write_plugin_state(&owner(own), &write, bounds).await;
    assert!(matches!(written(true).await, Ok(StateWritten::Written(_))));
    let deleted = ours.send("DELETE", "/v1/plugins/keeper", &[], b"").await;
    assert_eq!(deleted.status, 204);
    assert!(matches!(written(true).await, Ok(StateWritten::Gone)));
    // Those of the instance's plugin of that name are others.
    assert!(matches!(written(false).await, Ok(StateWritten::Written(_))));
    install(&ours, "?grant=all").await;
    let keys = json!([{"op": "keys", "prefix": ""}, {"op": "put", "key": "a", "value": "x"}]);
    let results = run(&ours, keys).await;
    assert_eq!(results[0], json!([]));
    assert!(results[1].is_u64(), "{results:?}");
}

#[tokio::test]
async fn a_call_that_outlives_its_plugin_keeps_nothing_on_sqlite() {
    a_call_that_outlives_its_plugin_keeps_nothing(Service::with(small).await).await;
}

#[tokio::test]
async fn a_call_that_outlives_its_plugin_keeps_nothing_on_postgres() {
    let service = Service::on_postgres_with(small).await;
    a_call_that_outlives_its_plugin_keeps_nothing(service).await;
}
