//! Tables that fetchers and hooks let grow while they run; those of extractors and actors are in
//! `hostile` and `hostile_async`.

use std::sync::Arc;

use orbweaver_engine::{
    Delivery, Engine, HookPoint, HookPoints, HookUse, NoHost, Page, PageFate, PageWork, Visit,
};
use serde_json::json;

use crate::support::{assert_good_still_runs, engine, load, load_bytes};
use crate::wat_kinds;

const TABLE: &str = "(table $t 1 funcref)";
/// A refused growth returns -1; any other result is wrong.
const GROW: &str =
    "(if (i32.ne (table.grow $t (ref.null func) (i32.const 10000000)) (i32.const -1))
    (then unreachable))";
/// What is within the limit is had, which shows that the guest gets as far as the growth.
const GROW_A_LITTLE: &str =
    "(if (i32.ne (table.grow $t (ref.null func) (i32.const 100)) (i32.const 1))
      (then unreachable))";

async fn engine_of(component: Vec<u8>) -> Engine {
    let engine = engine();
    load(&engine, &["good"]).await;
    load_bytes(&engine, component).await;
    engine
}

#[tokio::test]
async fn a_fetchers_tables_do_not_grow_beyond_their_limit() {
    for make in [wat_kinds::fetcher, wat_kinds::fetcher_sync] {
        for attack in [GROW_A_LITTLE, GROW] {
            let engine = engine_of(make(TABLE, attack)).await;
            let params = json!({});
            let call = engine.run_fetcher("raw.example", "a", &params, Arc::new(NoHost));
            assert_eq!(call.await.unwrap().json, "[]");
            assert_good_still_runs(&engine).await;
        }
    }
}

#[tokio::test]
async fn a_hooks_tables_do_not_grow_beyond_their_limit() {
    let hook = [HookUse {
        name: "raw".to_owned(),
        config: Arc::from("{}"),
    }];
    for attack in [GROW_A_LITTLE, GROW] {
        let engine = engine_of(wat_kinds::hook(TABLE, attack)).await;
        let work = PageWork {
            page: Page::from_html("http://a.test/", "<p>x"),
            visit: Visit::default(),
            points: HookPoints::of(&[HookPoint::Record]),
            outputs: Vec::new(),
            links: Vec::new(),
            retry_within: None,
        };
        let verdict = engine.page_hooks(&hook, work).await;
        assert_eq!((verdict.failures, verdict.fate), (vec![], PageFate::Kept));
        assert_good_still_runs(&engine).await;

        let engine = engine_of(wat_kinds::delivery_hook(TABLE, attack)).await;
        let payload = r#"{"id":7}"#.to_owned();
        let about = Delivery::default();
        let called = engine.delivery_hooks(&hook, &about, payload);
        assert_eq!(called.await, ("{}".to_owned(), vec![]));
        assert_good_still_runs(&engine).await;
    }
}
