//! Fuel is a property of the call alone: two runs of the same deed cost the same number, in each kind of
//! plugin, also where the deed ends badly.

use orbweaver_engine::{
    Delivery, Engine, EngineConfig, HookPoint, HookPoints, HookUse, Kind, Page, PageWork, Visit,
};
use serde_json::json;

use crate::hostile_kinds::{CULPRITS, act};
use crate::support::{assert_good_still_runs, config, load};

/// Some end with an answer, others with an error or a trap.
const DEEDS: [&str; 5] = ["remember", "log", "deep", "error", "divide"];

async fn engine(names: &[&str]) -> Engine {
    let engine = Engine::new(EngineConfig {
        count_fuel: true,
        ..config()
    })
    .unwrap();
    load(&engine, &["good"]).await;
    load(&engine, names).await;
    engine
}

/// What the plugin has spent since the last time.
fn spent(engine: &Engine, kind: Kind, name: &str, before: &mut u64) -> u64 {
    let total = engine.plugin(kind, name).unwrap().fuel;
    total - std::mem::replace(before, total)
}

#[tokio::test]
async fn the_same_deed_of_an_actor_or_a_fetcher_costs_the_same_fuel() {
    let engine = engine(&CULPRITS.map(|(name, _)| name)).await;
    for (name, label) in CULPRITS {
        let (kind, listed) = label.split_once(':').unwrap();
        let kind = match kind {
            "actor" => Kind::Actor,
            _ => Kind::Fetcher,
        };
        let mut total = 0;
        spent(&engine, kind, listed, &mut total);
        for what in DEEDS {
            let mut runs = Vec::new();
            for _ in 0..2 {
                let answer = act(&engine, name, what).await;
                assert_eq!(
                    answer.is_err(),
                    ["deep", "error", "divide"].contains(&what),
                    "{name}, {what}"
                );
                runs.push(spent(&engine, kind, listed, &mut total));
            }
            assert!(runs[0] > 0, "{name}, {what}: nothing was counted");
            assert_eq!(runs[0], runs[1], "{name}, {what}");
        }
    }
    assert_good_still_runs(&engine).await;
}

#[tokio::test]
async fn the_same_deed_of_a_hook_costs_the_same_fuel() {
    let engine = engine(&["hook-tool", "hook-delivery"]).await;
    let url = "http://a.test/";
    let about = Delivery {
        event: "crawl.done".to_owned(),
        run_id: 7,
        run_url: url.to_owned(),
    };
    let mut totals = [0, 0];
    spent(&engine, Kind::Hook, "tool", &mut totals[0]);
    spent(&engine, Kind::Hook, "delivery", &mut totals[1]);
    for what in DEEDS {
        let bad = json!({"do": what});
        let hook = |name: &str, config: serde_json::Value| {
            [HookUse {
                name: name.to_owned(),
                config: config.to_string().into(),
            }]
        };
        let tool = hook(
            "tool",
            json!({"response": bad, "record": bad, "discover": bad, "request": bad}),
        );
        let mut runs = Vec::new();
        for _ in 0..2 {
            let work = PageWork {
                page: Page::from_html(url, "<p>x"),
                visit: Visit::default(),
                points: HookPoints::of(&[
                    HookPoint::Response,
                    HookPoint::Record,
                    HookPoint::Discover,
                ]),
                outputs: Vec::new(),
                links: Vec::new(),
                retry_within: None,
            };
            engine.page_hooks(&tool, work).await;
            let page = spent(&engine, Kind::Hook, "tool", &mut totals[0]);
            engine.request_hooks(&tool, url, 0, 0).await;
            let request = spent(&engine, Kind::Hook, "tool", &mut totals[0]);
            let delivery = hook("delivery", bad.clone());
            engine
                .delivery_hooks(&delivery, &about, "{}".to_owned())
                .await;
            let delivery = spent(&engine, Kind::Hook, "delivery", &mut totals[1]);
            runs.push([page, request, delivery]);
        }
        assert!(!runs[0].contains(&0), "{what}: {:?}", runs[0]);
        assert_eq!(runs[0], runs[1], "{what}");
    }
    assert_good_still_runs(&engine).await;
}
