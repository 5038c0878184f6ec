//! Replacing plugins in service.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Duration;

use orbweaver_engine::{
    Engine, EngineConfig, Grants, Kind, LoadError, PluginInfo, Source, manifest,
};

use crate::support::{assert_good_still_runs, call, config, extract, fixture, page};

/// `peek` under the name `good`: different answers, the same identity.
fn other_good() -> Vec<u8> {
    renamed("peek", "good", "2.0.0")
}

fn renamed(fixture_name: &str, name: &str, version: &str) -> Vec<u8> {
    let text = format!(
        "name = \"{name}\"\nkind = \"extractor\"\nversion = \"{version}\"\napi = \"1.0.0\"\n"
    );
    manifest::embed(&fixture(fixture_name), &text).unwrap()
}

fn on_folder(dir: &Path) -> Engine {
    Engine::new(EngineConfig {
        plugin_dir: Some(dir.to_owned()),
        ..config()
    })
    .unwrap()
}

/// Waits until the engine's state satisfies `reached`; fails after a long time.
async fn until(engine: &Engine, reached: impl Fn(&Engine) -> bool) {
    let mut changes = engine.changes();
    let wait = async {
        while !reached(engine) {
            changes.changed().await.unwrap();
        }
    };
    tokio::time::timeout(Duration::from_secs(60), wait)
        .await
        .expect("the state was not reached in time");
}

fn good(engine: &Engine) -> Option<PluginInfo> {
    engine
        .plugins()
        .into_iter()
        .find(|p| p.kind == Kind::Extractor && p.name == "good")
}

fn version(engine: &Engine) -> Option<String> {
    good(engine).map(|plugin| plugin.version)
}

#[tokio::test]
async fn the_folder_is_loaded_and_refusals_are_reported() {
    let dir = tempfile::tempdir().unwrap();
    std::fs::write(dir.path().join("extract-good.wasm"), fixture("good")).unwrap();
    std::fs::write(dir.path().join("extract-wrong-name.wasm"), fixture("good")).unwrap();
    std::fs::write(dir.path().join("actor-broken.wasm"), b"not wasm").unwrap();
    std::fs::write(dir.path().join(".extract-new.wasm"), b"half").unwrap();
    std::fs::write(dir.path().join("README"), b"").unwrap();
    let engine = on_folder(dir.path());
    let report = engine.load_dir().await;
    let names: Vec<_> = report.loaded.iter().map(|p| p.name.as_str()).collect();
    assert_eq!(names, ["good"]);
    let refused: Vec<String> = report
        .refused
        .iter()
        .map(|(path, e)| format!("{}: {e}", path.file_name().unwrap().to_string_lossy()))
        .collect();
    assert_eq!(refused.len(), 2, "{refused:?}");
    assert!(
        refused[0].starts_with("actor-broken.wasm: not a component"),
        "{refused:?}"
    );
    assert!(
        refused[1].contains("must be extract-good.wasm"),
        "{refused:?}"
    );
    assert_good_still_runs(&engine).await;
}

#[tokio::test]
async fn a_new_file_replaces_the_old_one_and_no_call_fails() {
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("extract-good.wasm");
    std::fs::write(&file, fixture("good")).unwrap();
    let engine = on_folder(dir.path());
    engine.load_dir().await;
    engine.watch();

    let stop = Arc::new(AtomicBool::new(false));
    let calls = Arc::new(AtomicUsize::new(0));
    let load: Vec<_> = (0..4)
        .map(|_| {
            let (engine, stop, calls) = (engine.clone(), Arc::clone(&stop), Arc::clone(&calls));
            tokio::spawn(async move {
                while !stop.load(Ordering::Relaxed) {
                    let answer = engine
                        .extract(&page(), vec![call("good")])
                        .await
                        .pop()
                        .unwrap();
                    assert!(answer.is_ok(), "{answer:?}");
                    calls.fetch_add(1, Ordering::Relaxed);
                }
            })
        })
        .collect();
    for (bytes, expected) in [
        (other_good(), "2.0.0"),
        (fixture("good"), "0.1.0"),
        (other_good(), "2.0.0"),
    ] {
        // Written in place, in pieces: the watcher must not load a partial file.
        let (a, b) = bytes.split_at(bytes.len() / 2);
        std::fs::write(&file, a).unwrap();
        tokio::task::yield_now().await;
        let mut open = std::fs::OpenOptions::new()
            .append(true)
            .open(&file)
            .unwrap();
        std::io::Write::write_all(&mut open, b).unwrap();
        drop(open);
        until(&engine, |engine| {
            version(engine).as_deref() == Some(expected)
        })
        .await;
    }
    assert!(
        extract(&engine, "good")
            .await
            .unwrap()
            .contains("\"env\":0"),
        "the new plugin answers"
    );
    stop.store(true, Ordering::Relaxed);
    for task in load {
        task.await.unwrap();
    }
    assert!(calls.load(Ordering::Relaxed) > 10);
}

#[tokio::test]
async fn a_bad_file_is_reported_and_the_old_plugin_keeps_serving() {
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("extract-good.wasm");
    std::fs::write(&file, fixture("good")).unwrap();
    let engine = on_folder(dir.path());
    engine.load_dir().await;
    engine.watch();

    std::fs::write(&file, b"\0asm garbage").unwrap();
    until(&engine, |engine| {
        good(engine).is_some_and(|p| p.problem.is_some())
    })
    .await;
    let plugin = good(&engine).unwrap();
    assert_eq!(plugin.version, "0.1.0");
    assert!(plugin.problem.unwrap().contains("not a component"));
    assert_good_still_runs(&engine).await;

    let fixed = dir.path().join(".fixed");
    std::fs::write(&fixed, other_good()).unwrap();
    std::fs::rename(&fixed, &file).unwrap();
    // The list of refused files follows when the folder has been read.
    until(&engine, |engine| {
        version(engine).as_deref() == Some("2.0.0") && engine.refused().is_empty()
    })
    .await;
    assert_eq!(good(&engine).unwrap().problem, None);
}

/// `peek` under this name, with these needs.
fn needing(name: &str, needs: &[&str]) -> Vec<u8> {
    let text = format!(
        "name = \"{name}\"\nkind = \"extractor\"\nversion = \"1\"\napi = \"1.0.0\"\nneeds = {needs:?}\n"
    );
    manifest::embed(&fixture("peek"), &text).unwrap()
}

#[tokio::test]
async fn a_file_that_was_refused_for_another_ones_sake_is_tried_again() {
    let dir = tempfile::tempdir().unwrap();
    let write = |name: &str, needs: &[&str]| {
        let (new, file) = (dir.path().join(".new"), format!("extract-{name}.wasm"));
        std::fs::write(&new, needing(name, needs)).unwrap();
        std::fs::rename(&new, dir.path().join(file)).unwrap();
    };
    write("first", &["second"]);
    let engine = on_folder(dir.path());
    engine.load_dir().await;
    engine.watch();
    write("second", &["first"]);
    until(&engine, |engine| !engine.refused().is_empty()).await;
    let error = engine.refused()[0].1.to_string();
    assert!(error.contains("circular dependency"), "{error}");
    // The second file stays as it is.
    write("first", &[]);
    until(&engine, |engine| {
        engine.role("second").is_some() && engine.refused().is_empty()
    })
    .await;
}

#[tokio::test]
async fn a_file_above_the_size_limit_is_refused_for_what_it_is() {
    let dir = tempfile::tempdir().unwrap();
    std::fs::write(dir.path().join("extract-good.wasm"), fixture("good")).unwrap();
    let file = std::fs::File::create(dir.path().join("extract-large.wasm")).unwrap();
    let limit = 4 << 20;
    file.set_len(limit + 1).unwrap();
    let engine = Engine::new(EngineConfig {
        plugin_dir: Some(dir.path().to_owned()),
        max_component_bytes: limit,
        ..config()
    })
    .unwrap();
    let report = engine.load_dir().await;
    // A file that cannot be read would be tried again for ever.
    let refused: Vec<&LoadError> = report.refused.iter().map(|(_, error)| error).collect();
    assert!(matches!(refused[..], [LoadError::Limits(_)]), "{refused:?}");
    assert_good_still_runs(&engine).await;
}

#[tokio::test]
async fn added_and_removed_files_are_noticed() {
    let dir = tempfile::tempdir().unwrap();
    let engine = on_folder(dir.path());
    assert!(engine.load_dir().await.loaded.is_empty());
    engine.watch();
    let file = dir.path().join("extract-good.wasm");
    std::fs::write(&file, fixture("good")).unwrap();
    until(&engine, |engine| good(engine).is_some()).await;
    std::fs::remove_file(&file).unwrap();
    until(&engine, |engine| good(engine).is_none()).await;
    assert_eq!(engine.role("good"), None);
}

#[tokio::test]
async fn calls_in_progress_finish_with_the_version_they_started_with() {
    let engine = crate::support::engine();
    crate::support::load(&engine, &["good"]).await;
    let calls = (0..50).map(|_| extract(&engine, "good"));
    let swap = async {
        engine
            .load_bytes(other_good(), Source::Upload, Grants::All)
            .await
            .unwrap();
    };
    let (answers, ()) = futures::future::join(futures::future::join_all(calls), swap).await;
    assert!(answers.into_iter().all(|answer| answer.is_ok()));
    assert_eq!(version(&engine).as_deref(), Some("2.0.0"));
}

#[tokio::test]
async fn an_upload_overrides_the_folder_until_it_is_removed() {
    let dir = tempfile::tempdir().unwrap();
    std::fs::write(dir.path().join("extract-good.wasm"), fixture("good")).unwrap();
    let engine = on_folder(dir.path());
    engine.load_dir().await;
    assert!(!engine.remove(Kind::Extractor, "good"), "no upload yet");
    engine
        .load_bytes(other_good(), Source::Upload, Grants::Configured)
        .await
        .unwrap();
    assert_eq!(good(&engine).unwrap().source, Source::Upload);
    assert_eq!(version(&engine).as_deref(), Some("2.0.0"));
    assert!(engine.remove(Kind::Extractor, "good"));
    assert_eq!(version(&engine).as_deref(), Some("0.1.0"));
    assert_good_still_runs(&engine).await;
}

#[tokio::test]
async fn a_role_whose_configured_plugin_is_not_there_is_served_by_another_one() {
    let dir = tempfile::tempdir().unwrap();
    for (name, component) in [
        ("extract-good.wasm", fixture("good")),
        ("extract-other.wasm", renamed("peek", "other", "1.0.0")),
    ] {
        std::fs::write(dir.path().join(name), component).unwrap();
    }
    // `good` has the name of its first role, and lists the second one.
    for (role, named, only) in [
        ("good", "typo", None),
        ("good-too", "typo", None),
        ("good", "other", None),
        ("good", "typo", Some("extract-typo.wasm")),
    ] {
        let engine = Engine::new(EngineConfig {
            plugin_dir: Some(dir.path().to_owned()),
            roles: [(role.to_owned(), named.to_owned())].into_iter().collect(),
            only_files: only.map(|file| vec![file.to_owned()]),
            ..config()
        })
        .unwrap();
        engine.load_dir_behind();
        let answer = extract(&engine, role).await;
        assert!(answer.is_ok(), "{role} {named}: {answer:?}");
        assert_eq!(engine.role(role).unwrap().name, "good", "{role} {named}");
    }
}

#[tokio::test]
async fn a_role_is_served_by_the_configured_plugin() {
    let roles = [("good-too".to_owned(), "other".to_owned())]
        .into_iter()
        .collect();
    let engine = Engine::new(EngineConfig { roles, ..config() }).unwrap();
    crate::support::load(&engine, &["good"]).await;
    assert_eq!(engine.role("good-too").unwrap().name, "good");
    let text = "name = \"other\"\nkind = \"extractor\"\nversion = \"1\"\napi = \"1.0.0\"\nroles = [\"good-too\", \"good\"]\n";
    let other = manifest::embed(&fixture("peek"), text).unwrap();
    engine
        .load_bytes(other, Source::Upload, Grants::All)
        .await
        .unwrap();
    assert_eq!(engine.role("good-too").unwrap().name, "other");
    assert_eq!(
        engine.role("good").unwrap().name,
        "good",
        "the role with its own name is unchanged"
    );
    assert_eq!(
        engine.role("other").unwrap().name,
        "other",
        "by plugin name"
    );
}
