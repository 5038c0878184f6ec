//! Checks that every role of every built-in extractor takes time linear in its page: a document of
//! twice the size costs less than 2.6 times the fuel. Fuel counts executed instructions, so the
//! result is the same on every machine. A copy
//! of any length counts as one instruction.

use std::sync::Arc;

use futures::future::join_all;
use orbweaver_engine::{Engine, EngineConfig, Kind, Page, PluginInfo, RoleCall};
use orbweaver_nasty::MAX_GROWTH;

use crate::support::{config, load_bytes};

/// Size of the smaller document, in bytes: large enough that fixed costs of a call do not hide
/// how the rest grows.
const SIZE: usize = 32 << 10;

async fn shipped() -> (Engine, Vec<PluginInfo>) {
    let engine = Engine::new(EngineConfig {
        count_fuel: true,
        ..config()
    })
    .unwrap();
    let mut extractors = Vec::new();
    for file in std::fs::read_dir(crate::shipped::plugin_dir()).unwrap() {
        let path = file.unwrap().path();
        let name = path.file_name().unwrap().to_string_lossy().into_owned();
        if name.starts_with("extract-") {
            extractors.push(load_bytes(&engine, std::fs::read(path).unwrap()).await);
        }
    }
    assert!(extractors.len() >= 5, "`cargo xtask plugins` builds them");
    (engine, extractors)
}

/// Fuel of one role on one page; the error, where a limit ended the call.
async fn fuel(
    engine: &Engine,
    extractor: &str,
    role: &str,
    page: &Arc<Page>,
) -> Result<u64, String> {
    let spent = || engine.plugin(Kind::Extractor, extractor).unwrap().fuel;
    let before = spent();
    let call = RoleCall {
        role: role.to_owned(),
        options: "{}".to_owned(),
    };
    let answer = engine.extract(page, vec![call]).await.pop().unwrap();
    match answer {
        // A plugin may refuse a page, but not run out of anything.
        Err(error) if !matches!(error.kind(), "failed" | "invalid-input") => Err(error.to_string()),
        _ => Ok(spent() - before),
    }
}

/// What an extractor's roles cost on the small page and on the large one, as complaints.
async fn steep_roles(
    engine: &Engine,
    extractor: &PluginInfo,
    name: &str,
    (small, large): (&Arc<Page>, &Arc<Page>),
) -> Vec<String> {
    let mut steep = Vec::new();
    for role in &extractor.roles {
        let small = fuel(engine, &extractor.name, role, small).await;
        let large = fuel(engine, &extractor.name, role, large).await;
        let (small, large) = match (small, large) {
            (Ok(small), Ok(large)) => (small, large),
            (Err(error), _) | (_, Err(error)) => {
                steep.push(format!("{role} on {name}: {error}"));
                continue;
            }
        };
        assert!(small > 0, "{role}: no fuel was counted");
        let growth = large as f64 / small as f64;
        if growth >= MAX_GROWTH {
            steep.push(format!("{role} on {name}: {small} to {large}, {growth:.2}"));
        }
    }
    steep
}

#[tokio::test]
async fn every_role_is_linear_in_its_page() {
    let (engine, extractors) = shipped().await;
    let mut steep = Vec::new();
    for pattern in orbweaver_nasty::html() {
        let page = |bytes| Page::from_html("https://example.com/a", &pattern.sized(bytes));
        let pages = (&page(SIZE), &page(2 * SIZE));
        // Fuel is counted per plugin, so plugins may run beside each other.
        let calls = extractors
            .iter()
            .map(|extractor| steep_roles(&engine, extractor, pattern.name, pages));
        steep.extend(join_all(calls).await.into_iter().flatten());
    }
    assert!(
        steep.is_empty(),
        "{} are too steep: {steep:#?}",
        steep.len()
    );
}

#[tokio::test]
async fn the_same_page_costs_the_same_fuel() {
    let (engine, _) = shipped().await;
    let html = "<title>x</title><p>Some words.".repeat(100);
    let page = Page::from_html("https://example.com/a", &html);
    let first = fuel(&engine, "markdown", "markdown", &page).await;
    assert!(first.is_ok());
    let second = fuel(&engine, "markdown", "markdown", &page).await;
    assert_eq!(first, second);
}
