//! Runs of an actor that a project has installed for itself.

use orbweaver_accounts::tiers::Cap;
use serde_json::json;

use super::{begin, finished, items};
use crate::support::{Service, fixture};

#[tokio::test]
async fn a_projects_own_actor_runs_in_the_background_for_that_project_alone() {
    let service = Service::with(|config| {
        let tier = config.tiers.get_mut("free").expect("a tier");
        tier.plugins.count = Cap::at(1);
    })
    .await;
    let ours = service.other_project("ours").await;
    let component = std::fs::read(fixture("job-tool")).expect("a fixture");
    let headers = [("content-type", "application/wasm")];
    let path = "/v1/plugins/job-tool?grant=http";
    let put = ours.send("PUT", path, &headers, &component).await;
    assert_eq!(put.status, 201, "{}", put.text());

    let run = begin(&ours, &json!({"do": "emit"})).await;
    let ended = finished(&ours, &run).await;
    assert_eq!(ended["status"], "done", "{ended}");
    let emitted = items(&ours, &run).await;
    assert_eq!(
        Some(&ended["item_count"]),
        emitted.as_array().map(|items| json!(items.len())).as_ref()
    );
    // By the tariff of others' actors: at least one page, whatever it did.
    assert_eq!(ended["billing"]["pages"], 1);
    assert_eq!(ours.get("/v1/usage").await.ok()["today"]["pages"], 1);

    let other = service.other_project("other").await;
    for client in [&other, &service.client()] {
        let answer = client.post(super::RUNS, &json!({"do": "emit"})).await;
        answer.error(404, "NOT_FOUND");
        client.get(&run).await.error(404, "NOT_FOUND");
    }
}
