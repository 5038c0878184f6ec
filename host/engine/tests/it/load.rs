//! Components that are refused before they run, each with its reason.

use orbweaver_engine::{
    Engine, EngineConfig, Grants, Inspection, Kind, LoadError, Permissions, Source, manifest,
};

use crate::support::{assert_good_still_runs, config, engine, fixture, load, load_bytes};
use crate::wat::{Extractor, MANIFEST, component};

async fn refused(engine: &Engine, bytes: Vec<u8>) -> LoadError {
    engine
        .load_bytes(bytes, Source::Upload, Grants::All)
        .await
        .unwrap_err()
}

async fn good_engine() -> Engine {
    let engine = engine();
    load(&engine, &["good"]).await;
    engine
}

#[tokio::test]
async fn other_files_are_refused() {
    let engine = good_engine().await;
    let good = fixture("good");
    let core = wat::parse_str("(module)").unwrap();
    let cut = good[..good.len() / 2].to_vec();
    for (what, bytes) in [
        ("empty", Vec::new()),
        ("text", b"#!/bin/sh\n".to_vec()),
        ("core module", core),
        ("cut short", cut),
    ] {
        let error = refused(&engine, bytes).await;
        assert!(
            matches!(error, LoadError::NotAComponent(_)),
            "{what}: {error}"
        );
    }
    assert_good_still_runs(&engine).await;
}

#[tokio::test]
async fn damaged_components_are_refused_or_harmless() {
    let engine = good_engine().await;
    let good = fixture("state-leak");
    // Flips single bytes: most results are refused, the others must not harm the host.
    for at in (8..good.len()).step_by(good.len() / 60) {
        let mut bytes = good.clone();
        bytes[at] ^= 0x55;
        let _ = engine.load_bytes(bytes, Source::Upload, Grants::All).await;
    }
    assert_good_still_runs(&engine).await;
}

#[tokio::test]
async fn a_component_without_a_manifest_is_refused() {
    let engine = good_engine().await;
    let error = refused(&engine, wat::parse_str("(component)").unwrap()).await;
    assert!(
        matches!(&error, LoadError::Manifest(m) if m.contains("orbweaver:manifest")),
        "{error}"
    );
    assert_good_still_runs(&engine).await;
}

#[tokio::test]
async fn a_missing_or_foreign_export_is_refused() {
    let engine = good_engine().await;
    let error = refused(&engine, component("(component)")).await;
    assert!(
        matches!(&error, LoadError::Export(e) if e.contains("extracting@1.1.0")),
        "{error}"
    );
    let newer = Extractor {
        export: "orbweaver:plugin/extracting@7.0.0",
        ..Extractor::default()
    };
    let error = refused(&engine, newer.build()).await;
    assert!(
        matches!(&error, LoadError::Export(e) if e.contains("@7.0.0")),
        "{error}"
    );
    assert_good_still_runs(&engine).await;
}

#[tokio::test]
async fn an_export_of_the_right_name_and_wrong_type_is_refused() {
    let engine = good_engine().await;
    let wrong = component(
        r#"(component
             (core module $m (func (export "f")))
             (core instance $i (instantiate $m))
             (func $f (canon lift (core func $i "f")))
             (instance $out (export "extract" (func $f)))
             (export "orbweaver:plugin/extracting@1.0.0" (instance $out)))"#,
    );
    let error = refused(&engine, wrong).await;
    assert!(
        matches!(&error, LoadError::SelfTest(e) if e.contains("expected")),
        "{error}"
    );
    assert_good_still_runs(&engine).await;
}

#[tokio::test]
async fn an_import_that_is_not_granted_is_refused_by_name() {
    let engine = good_engine().await;
    let imports = [
        ("wasi:sockets/tcp@0.2.6", "wasi:sockets/tcp"),
        (
            "wasi:http/outgoing-handler@0.2.6",
            "wasi:http/outgoing-handler",
        ),
        ("orbweaver:plugin/http@1.0.0", "orbweaver:plugin/http"),
        (
            "orbweaver:plugin/pages@0.9.0",
            "orbweaver:plugin/pages@0.9.0",
        ),
        ("some:one/else", "some:one/else"),
    ];
    for (import, named) in imports {
        let text = format!("(import \"{import}\" (instance))");
        let raw = Extractor {
            imports: &text,
            ..Extractor::default()
        };
        let error = refused(&engine, raw.build()).await;
        assert!(
            matches!(&error, LoadError::Import(i) if i.contains(named)),
            "{error}"
        );
    }
    assert_good_still_runs(&engine).await;
}

#[tokio::test]
async fn clocks_are_refused_unless_asked_and_granted() {
    let engine = good_engine().await;
    let error = refused(&engine, fixture("clock-random")).await;
    assert!(
        matches!(&error, LoadError::Import(i) if i.contains("wasi:clocks/")),
        "{error}"
    );
    let asking = manifest::embed(
        &fixture("clock-random"),
        &format!("{MANIFEST}[permissions]\nwasi = [\"clocks\"]\n"),
    )
    .unwrap();
    // Uploads do not get it by default.
    let error = engine
        .load_bytes(asking.clone(), Source::Upload, Grants::Configured)
        .await
        .unwrap_err();
    assert!(
        matches!(&error, LoadError::Import(i) if i.contains("wasi=clocks")),
        "{error}"
    );
    let granted = Grants::Only(Permissions::from_names(&["wasi=clocks"]).unwrap());
    let info = engine
        .load_bytes(asking, Source::Upload, granted)
        .await
        .unwrap();
    assert_eq!(info.granted.wasi, ["clocks"]);
    assert_good_still_runs(&engine).await;
}

#[tokio::test]
async fn an_actor_without_the_http_grant_is_refused() {
    let engine = good_engine().await;
    let error = engine
        .load_bytes(fixture("fetch-narrow"), Source::Upload, Grants::Configured)
        .await
        .unwrap_err();
    assert!(
        matches!(&error, LoadError::Import(i) if i.contains("permission http")),
        "{error}"
    );
    assert_good_still_runs(&engine).await;
}

#[tokio::test]
async fn too_much_static_memory_is_refused_at_load() {
    let engine = good_engine().await;
    let memory = "(memory (export \"memory\") 65536)";
    let error = refused(
        &engine,
        Extractor {
            memory,
            ..Extractor::default()
        }
        .build(),
    )
    .await;
    assert!(
        matches!(&error, LoadError::Limits(l) if l.contains("initial memory")),
        "{error}"
    );

    let hundred: String = "(core module (memory 1))".repeat(100);
    let error = refused(&engine, component(&format!("(component {hundred})"))).await;
    assert!(
        matches!(&error, LoadError::Limits(l) if l.contains("memories")),
        "{error}"
    );

    let memory = "(memory (export \"memory\") i64 1)";
    let text = Extractor {
        memory,
        ..Extractor::default()
    };
    let built = std::panic::catch_unwind(|| text.build());
    if let Ok(bytes) = built {
        let error = refused(&engine, bytes).await;
        assert!(matches!(&error, LoadError::Limits(_)), "{error}");
    }

    let core = "(table 5000000 funcref)";
    let error = refused(
        &engine,
        Extractor {
            core,
            ..Extractor::default()
        }
        .build(),
    )
    .await;
    assert!(
        matches!(&error, LoadError::Limits(l) if l.contains("table elements")),
        "{error}"
    );
    assert_good_still_runs(&engine).await;
}

#[tokio::test]
async fn too_large_a_binary_is_refused() {
    let engine = Engine::new(EngineConfig {
        max_component_bytes: 1 << 20,
        ..config()
    })
    .unwrap();
    load(&engine, &["good"]).await;
    let error = refused(&engine, vec![0; (1 << 20) + 1]).await;
    assert!(matches!(error, LoadError::Limits(_)), "{error}");

    let functions = "(func)".repeat(100_000);
    let error = refused(
        &engine,
        component(&format!("(component (core module {functions}))")),
    )
    .await;
    assert!(
        matches!(&error, LoadError::Limits(l) if l.contains("functions")),
        "{error}"
    );

    let nested = (0..20).fold("(component)".to_owned(), |inner, _| {
        format!("(component {inner})")
    });
    let error = refused(&engine, component(&nested)).await;
    assert!(
        matches!(&error, LoadError::Limits(l) if l.contains("nested")),
        "{error}"
    );
    assert_good_still_runs(&engine).await;
}

/// A compiler writes each instance out: these files of a few kilobytes would take all memory.
#[tokio::test]
async fn components_that_make_too_many_instances_are_refused() {
    let engine = good_engine().await;
    let innermost = "(component $c (core module $m) (core instance (instantiate $m)))";
    let instances = "(instance (instantiate $c))".repeat(1_000);
    let bomb = (0..6).fold(innermost.to_owned(), |inner, _| {
        format!("(component $c {inner} {instances})")
    });
    for (text, said) in [
        (
            format!("(component {bomb} {instances})"),
            "instances of nested",
        ),
        // Few memories in the file, each of which reserves 4 GiB of addresses.
        (
            format!("(component {})", memories(33)),
            "33 memories of all its instances, 32 are allowed",
        ),
        (
            format!(
                "(component (component $c {}) {})",
                memories(2),
                "(instance (instantiate $c))".repeat(17)
            ),
            "34 memories of all its instances",
        ),
        (
            format!(
                "(component $c (core module $m (memory 1))
                   (component $d (alias outer $c $m (core module $n))
                     (core instance (instantiate $n)) (export \"n\" (core module $n)))
                   (component $e (alias outer $c $d (component $f)) {})
                   (instance (instantiate $e)))",
                "(instance (instantiate $f))".repeat(33)
            ),
            "33 memories of all its instances",
        ),
        // Without the bound of the components that have ended.
        (
            "(component (component $d (import \"c\" (component $c)) (instance (instantiate $c))))"
                .to_owned(),
            "imported components",
        ),
        (
            "(component
                (component $d (component $c) (export \"c\" (component $c)))
                (instance $i (instantiate $d))
                (alias export $i \"c\" (component $c))
                (instance (instantiate $c)))"
                .to_owned(),
            "exported components",
        ),
    ] {
        let error = refused(&engine, component(&text)).await;
        assert!(
            matches!(&error, LoadError::Limits(why) if why.contains(said)),
            "{error}"
        );
    }
    let most = engine.inspect(&component(&format!("(component {})", memories(32))));
    assert_eq!(most.unwrap().shape.memories, 1);
    assert_good_still_runs(&engine).await;
}

/// A module with one memory, and so many instances of it.
fn memories(count: usize) -> String {
    let instances = "(core instance (instantiate $m))".repeat(count);
    format!("(core module $m (memory 1)) {instances}")
}

#[tokio::test]
async fn compilation_has_a_time_limit() {
    let engine = Engine::new(EngineConfig {
        compile_timeout_ms: orbweaver_core::setting::Millis(0),
        ..config()
    })
    .unwrap();
    let error = refused(&engine, fixture("good")).await;
    assert!(
        matches!(&error, LoadError::NotCompiled(c) if c.contains("took longer")),
        "{error}"
    );
}

#[tokio::test]
async fn a_plugin_that_fails_its_self_test_is_refused() {
    let engine = good_engine().await;
    let raw = Extractor {
        core: "(func $f unreachable) (start $f)",
        ..Extractor::default()
    };
    let error = refused(&engine, raw.build()).await;
    assert!(matches!(error, LoadError::SelfTest(_)), "{error}");
    assert!(engine.plugin(Kind::Extractor, "raw").is_none());
    assert_good_still_runs(&engine).await;
}

#[tokio::test]
async fn inspection_describes_a_component_without_running_it() {
    let engine = engine();
    let found: Inspection = engine.inspect(&fixture("good-actor")).unwrap();
    assert_eq!(found.manifest.name, "good-actor");
    assert_eq!(found.manifest.kind, Kind::Actor);
    assert!(
        found
            .imports
            .contains(&"orbweaver:plugin/http@1.1.0".to_owned())
    );
    assert!(
        found
            .exports
            .contains(&"orbweaver:plugin/acting@1.1.0".to_owned())
    );
    assert_eq!(found.digest.len(), 64);
    assert_eq!(found.shape.memories, 1);
}

#[tokio::test]
async fn a_listing_shows_requests_grants_and_statistics() {
    let engine = good_engine().await;
    let granted = Permissions::from_names(&["http=https://*.example.com", "crawl-data"]).unwrap();
    let result = engine
        .load_bytes(fixture("good-actor"), Source::Upload, Grants::Only(granted))
        .await;
    // It imports no browser, so `render` may stay ungranted.
    let info = result.unwrap();
    assert_eq!(info.asked.http, ["*"]);
    assert_eq!(info.granted.http, ["https://*.example.com"]);
    assert!(info.asked.render && !info.granted.render && info.granted.crawl_data);
    assert_eq!(info.input_schema.unwrap()["required"][0], "url");
    assert_good_still_runs(&engine).await;
    let good = engine.plugin(Kind::Extractor, "good").unwrap();
    assert_eq!((good.calls, good.errors), (1, 0));
    assert!(good.cpu > std::time::Duration::ZERO);
    assert_eq!(good.roles, ["good", "good-too"]);
}

#[tokio::test]
async fn configured_grants_narrow_the_folder() {
    let dir = tempfile::tempdir().unwrap();
    std::fs::write(
        dir.path().join("actor-fetch-narrow.wasm"),
        fixture("fetch-narrow"),
    )
    .unwrap();
    let config: EngineConfig = EngineConfig {
        plugin_dir: Some(dir.path().to_owned()),
        grants: serde_json::from_str(r#"{"actor:fetch-narrow": "none"}"#).unwrap(),
        ..config()
    };
    let engine = Engine::new(config).unwrap();
    let report = engine.load_dir().await;
    assert!(report.loaded.is_empty());
    assert!(matches!(&report.refused[0].1, LoadError::Import(i) if i.contains("http")));
}

#[tokio::test]
async fn compiled_code_is_cached_only_where_no_other_user_can_write() {
    use std::os::unix::fs::PermissionsExt as _;
    let dir = tempfile::tempdir().unwrap();
    let cache = dir.path().join("code");
    let with_cache = || {
        Engine::new(EngineConfig {
            cache_dir: Some(cache.clone()),
            ..config()
        })
        .unwrap()
    };
    let files = || std::fs::read_dir(&cache).unwrap().count();

    let engine = with_cache();
    load_bytes(&engine, fixture("good")).await;
    assert_eq!(files(), 1);
    let mode = std::fs::metadata(&cache).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o700);

    // Loaded again from the cache; a damaged file is not used.
    let engine = with_cache();
    load_bytes(&engine, fixture("good")).await;
    assert_good_still_runs(&engine).await;
    let file = std::fs::read_dir(&cache)
        .unwrap()
        .next()
        .unwrap()
        .unwrap()
        .path();
    let mut bytes = std::fs::read(&file).unwrap();
    let middle = bytes.len() / 2;
    bytes[middle] ^= 1;
    std::fs::write(&file, &bytes).unwrap();
    let engine = with_cache();
    load_bytes(&engine, fixture("good")).await;
    assert_good_still_runs(&engine).await;

    // A folder writable by others is not used.
    std::fs::set_permissions(&cache, std::fs::Permissions::from_mode(0o777)).unwrap();
    let engine = with_cache();
    load_bytes(&engine, fixture("state-leak")).await;
    assert_eq!(files(), 1);
}
