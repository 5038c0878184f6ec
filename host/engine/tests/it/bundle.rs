//! Plugins inside a program.

use std::path::{Path, PathBuf};

use orbweaver_engine::{
    BundleError, Engine, EngineConfig, Grants, Kind, Source, StartError, has_bundle, manifest,
    write_bundle,
};
use sha2::{Digest as _, Sha256};

use crate::support::{assert_good_still_runs, config, fixture};

/// Stands for the program, whose contents do not matter.
const PROGRAM: &[u8] = b"\x7fELF a program";

/// A folder with a program and plugins, for one test.
struct Place {
    dir: tempfile::TempDir,
}

impl Place {
    fn new() -> Self {
        let dir = tempfile::tempdir().unwrap();
        std::fs::write(dir.path().join("program"), PROGRAM).unwrap();
        std::fs::create_dir(dir.path().join("plugins")).unwrap();
        Self { dir }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.dir.path().join(name)
    }

    fn add(&self, file: &str, component: Vec<u8>) {
        std::fs::write(self.path("plugins").join(file), component).unwrap();
    }

    /// A program with an extractor of the pool and an actor inside.
    async fn bundled(&self) -> PathBuf {
        self.add("extract-good.wasm", fixture("good"));
        self.add("actor-good-actor.wasm", fixture("good-actor"));
        let output = self.path("bundled");
        let report = write_bundle(self.folder(), &self.path("program"), &output)
            .await
            .unwrap();
        assert_eq!(
            report.plugins,
            ["extract-good.wasm", "actor-good-actor.wasm"]
        );
        assert_eq!(report.program_bytes, PROGRAM.len() as u64);
        output
    }

    fn folder(&self) -> EngineConfig {
        EngineConfig {
            plugin_dir: Some(self.path("plugins")),
            ..config()
        }
    }
}

/// Settings of an engine that has only the program's plugins. Compiled code goes to `cache`.
fn on_program(program: &Path, cache: &Path) -> EngineConfig {
    EngineConfig {
        bundle: Some(program.to_owned()),
        cache_dir: Some(cache.to_owned()),
        ..config()
    }
}

fn compiled(cache: &Path) -> usize {
    std::fs::read_dir(cache).unwrap().count()
}

fn source(engine: &Engine, kind: Kind, name: &str) -> (Source, String) {
    let plugin = engine.plugin(kind, name).unwrap();
    (plugin.source, plugin.version)
}

/// The fixture `peek` under the name `good`, version 2.0.0.
fn other_good() -> Vec<u8> {
    let text = "name = \"good\"\nkind = \"extractor\"\nversion = \"2.0.0\"\napi = \"1.0.0\"\n";
    manifest::embed(&fixture("peek"), text).unwrap()
}

/// A program with an index that has a correct checksum, but any contents.
fn forged(index: &str) -> Vec<u8> {
    let mut bytes = PROGRAM.to_vec();
    bytes.extend(index.as_bytes());
    bytes.extend((index.len() as u64).to_le_bytes());
    bytes.extend(Sha256::digest(index));
    bytes.extend(b"orbweaver-bundle");
    bytes
}

/// The index of a program, and where it begins.
fn index_of(program: &[u8]) -> (usize, serde_json::Value) {
    let end = program.len() - 56;
    let bytes = u64::from_le_bytes(program[end..][..8].try_into().unwrap());
    let begin = end - usize::try_from(bytes).unwrap();
    (begin, serde_json::from_slice(&program[begin..end]).unwrap())
}

fn entry(content: &str, offset: u64, packed: u64, size: u64) -> String {
    let hash = "0".repeat(64);
    format!(
        r#"{{"entries": [{{"content": {content}, "component": "{hash}", "offset": {offset},
           "packed": {packed}, "size": {size}, "sha256": "{hash}"}}]}}"#
    )
}

#[tokio::test]
async fn a_program_with_plugins_inside_serves_without_a_folder_and_compiles_nothing() {
    let place = Place::new();
    let program = place.bundled().await;
    assert!(has_bundle(&program));
    assert!(!has_bundle(&place.path("program")));
    let written = std::fs::read(&program).unwrap();
    assert!(written.starts_with(PROGRAM));

    let engine = Engine::new(on_program(&program, &place.path("cache"))).unwrap();
    let report = engine.load_dir().await;
    assert!(report.refused.is_empty(), "{:?}", report.refused);
    assert_eq!(report.loaded.len(), 2);
    assert_eq!(
        source(&engine, Kind::Actor, "good-actor").0,
        Source::Embedded
    );
    assert_good_still_runs(&engine).await;
    assert_eq!(compiled(&place.path("cache")), 0);
}

#[tokio::test]
async fn plugins_of_the_same_code_are_inside_once_with_a_manifest_each() {
    let place = Place::new();
    let named = |name: &str| {
        let text =
            format!("name = \"{name}\"\nkind = \"extractor\"\nversion = \"1\"\napi = \"1.0.0\"\n");
        manifest::embed(&fixture("good"), &text).unwrap()
    };
    let bytes_with = async |output: &str| {
        let (program, output) = (place.path("program"), place.path(output));
        let report = write_bundle(place.folder(), &program, &output).await;
        report.unwrap().total_bytes
    };
    place.add("extract-good.wasm", named("good"));
    let one = bytes_with("one").await;
    place.add("extract-good-too.wasm", named("good-too"));
    let two = bytes_with("two").await;
    assert!(two < one + 1_024, "{one} and {two} bytes");

    let engine = Engine::new(on_program(&place.path("two"), &place.path("cache"))).unwrap();
    let report = engine.load_dir().await;
    assert!(report.refused.is_empty(), "{:?}", report.refused);
    for name in ["good", "good-too"] {
        let plugin = engine.plugin(Kind::Extractor, name).unwrap();
        assert_eq!(plugin.source, Source::Embedded);
        let digest = hex::encode(Sha256::digest(named(name)));
        assert_eq!(plugin.digest, digest, "{name}");
    }
    assert_eq!(compiled(&place.path("cache")), 0);
    assert_good_still_runs(&engine).await;
}

#[tokio::test]
async fn the_folder_overrides_plugins_inside_and_uploads_override_both() {
    let place = Place::new();
    let program = place.bundled().await;
    std::fs::remove_file(place.path("plugins/actor-good-actor.wasm")).unwrap();
    place.add("extract-good.wasm", other_good());
    let engine = Engine::new(EngineConfig {
        plugin_dir: Some(place.path("plugins")),
        ..on_program(&program, &place.path("cache"))
    })
    .unwrap();
    assert_eq!(engine.load_dir().await.loaded.len(), 2);
    let (from, version) = source(&engine, Kind::Extractor, "good");
    assert_eq!(version, "2.0.0");
    assert!(matches!(from, Source::Folder(_)));
    assert_eq!(
        source(&engine, Kind::Actor, "good-actor").0,
        Source::Embedded
    );

    let upload = |component| engine.load_bytes(component, Source::Upload, Grants::Configured);
    upload(fixture("good")).await.unwrap();
    assert_eq!(source(&engine, Kind::Extractor, "good").0, Source::Upload);
    assert!(engine.remove(Kind::Extractor, "good"));
    assert_eq!(source(&engine, Kind::Extractor, "good").1, "2.0.0");

    engine.watch();
    let mut changes = engine.changes();
    std::fs::remove_file(place.path("plugins/extract-good.wasm")).unwrap();
    while source(&engine, Kind::Extractor, "good").0 != Source::Embedded {
        changes.changed().await.unwrap();
    }
    assert_eq!(source(&engine, Kind::Extractor, "good").1, "0.1.0");
}

#[tokio::test]
async fn a_missing_folder_is_reported_and_the_plugins_inside_serve() {
    let place = Place::new();
    let program = place.bundled().await;
    let engine = Engine::new(EngineConfig {
        plugin_dir: Some(place.path("absent")),
        ..on_program(&program, &place.path("cache"))
    })
    .unwrap();
    let report = engine.load_dir().await;
    assert_eq!(report.loaded.len(), 2);
    assert_eq!(report.refused.len(), 1, "{:?}", report.refused);
    assert_eq!(report.refused[0].0, place.path("absent"));
}

#[tokio::test]
async fn a_new_bundle_has_the_plugins_inside_and_those_of_the_folder() {
    let place = Place::new();
    let program = place.bundled().await;
    std::fs::remove_file(place.path("plugins/actor-good-actor.wasm")).unwrap();
    place.add("extract-good.wasm", other_good());
    let both = EngineConfig {
        bundle: Some(program.clone()),
        ..place.folder()
    };
    let again = place.path("again");
    let report = write_bundle(both, &program, &again).await.unwrap();
    assert_eq!(report.program_bytes, PROGRAM.len() as u64);
    assert_eq!(report.plugins.len(), 2);

    let engine = Engine::new(on_program(&again, &place.path("cache"))).unwrap();
    engine.load_dir().await;
    let (from, version) = source(&engine, Kind::Extractor, "good");
    assert_eq!((from, version.as_str()), (Source::Embedded, "2.0.0"));
    assert_eq!(compiled(&place.path("cache")), 0);
}

#[tokio::test]
async fn a_refused_plugin_is_not_written_into_a_program() {
    let place = Place::new();
    place.add("extract-good.wasm", fixture("good"));
    place.add("actor-broken.wasm", b"not wasm".to_vec());
    let output = place.path("out");
    let error = write_bundle(place.folder(), &place.path("program"), &output)
        .await
        .unwrap_err();
    assert!(matches!(error, BundleError::Refused(_)), "{error}");
    assert!(error.to_string().contains("actor-broken.wasm"), "{error}");
    let left: Vec<_> = std::fs::read_dir(place.dir.path())
        .unwrap()
        .map(|entry| entry.unwrap().file_name())
        .collect();
    assert_eq!(left.len(), 2, "{left:?}");
}

#[tokio::test]
async fn damage_is_detected_in_every_part() {
    let place = Place::new();
    let program = place.bundled().await;
    let whole = std::fs::read(&program).unwrap();
    let damaged = place.path("damaged");
    let mut started = 0;
    // In the packed entries, in the index, in the trailer's checksum.
    for at in [PROGRAM.len() + 100, whole.len() - 100, whole.len() - 20] {
        let mut bytes = whole.clone();
        bytes[at] ^= 0x40;
        std::fs::write(&damaged, bytes).unwrap();
        match Engine::new(on_program(&damaged, &place.path("cache"))) {
            Ok(engine) => {
                started += 1;
                let report = engine.load_dir().await;
                assert_eq!(report.refused.len(), 1, "{:?}", report.refused);
                assert_eq!(report.loaded.len(), 1);
            }
            Err(error) => assert!(matches!(error, StartError::Bundle(_)), "{error}"),
        }
    }
    assert_eq!(started, 1, "a damaged entry affects only itself");
    // A truncated file is a program without plugins inside.
    for length in [whole.len() - 1, whole.len() / 2, PROGRAM.len(), 3, 0] {
        std::fs::write(&damaged, &whole[..length]).unwrap();
        assert!(!has_bundle(&damaged), "{length}");
    }
}

#[tokio::test]
async fn an_index_with_a_correct_checksum_is_still_checked() {
    let place = Place::new();
    let program = place.path("forged");
    let component = r#"{"component": "extract-good.wasm"}"#;
    for index in [
        "not JSON".to_owned(),
        "[]".to_owned(),
        r#"{"entries": [{}]}"#.to_owned(),
        entry(component, 0, 1 << 40, 10),
        entry(component, u64::MAX, 2, 10),
        entry(component, 0, 4, u64::MAX),
        entry("\"code\"", 0, 4, 1 << 40),
    ] {
        std::fs::write(&program, forged(&index)).unwrap();
        let started = Engine::new(on_program(&program, &place.path("cache")));
        let error = started.err().expect(&index);
        assert!(matches!(error, StartError::Bundle(_)), "{index}: {error}");
    }
    // In the file, but not what it should be.
    let index = entry(component, 0, PROGRAM.len() as u64, 10);
    std::fs::write(&program, forged(&index)).unwrap();
    let index = index.replace("\"entries\"", "\"dictionary\": DICTIONARY, \"entries\"");
    let with_dictionary = index.replace("\"size\"", "\"needs_dictionary\": true, \"size\"");
    for index in [
        index.replace("DICTIONARY", "null"),
        with_dictionary.replace("DICTIONARY", "null"),
        // Its own dictionary, and one that there is not.
        with_dictionary.replace("DICTIONARY", "0"),
        with_dictionary.replace("DICTIONARY", "7"),
    ] {
        std::fs::write(&program, forged(&index)).unwrap();
        let engine = Engine::new(on_program(&program, &place.path("cache"))).unwrap();
        let report = engine.load_dir().await;
        let counts = (report.loaded.len(), report.refused.len());
        assert_eq!(counts, (0, 1), "{index}");
    }

    let mut long = forged(r#"{"entries": []}"#);
    let at = long.len() - 56;
    long[at..at + 8].copy_from_slice(&u64::MAX.to_le_bytes());
    std::fs::write(&program, long).unwrap();
    assert!(Engine::new(on_program(&program, &place.path("cache"))).is_err());
}

#[tokio::test]
async fn a_component_under_another_name_is_refused() {
    let place = Place::new();
    let program = place.bundled().await;
    let mut bytes = std::fs::read(&program).unwrap();
    let index_bytes = u64::from_le_bytes(bytes[bytes.len() - 56..][..8].try_into().unwrap());
    let index_at = bytes.len() - 56 - usize::try_from(index_bytes).unwrap();
    let index = String::from_utf8(bytes[index_at..bytes.len() - 56].to_vec()).unwrap();
    let index = index.replace("extract-good.wasm", "extract-evil.wasm");
    bytes.truncate(index_at);
    bytes.extend(forged(&index).split_off(PROGRAM.len()));
    std::fs::write(&program, bytes).unwrap();

    let engine = Engine::new(on_program(&program, &place.path("cache"))).unwrap();
    let report = engine.load_dir().await;
    assert_eq!(report.loaded.len(), 1);
    let (file, why) = &report.refused[0];
    assert_eq!(file.as_path(), Path::new("extract-evil.wasm"));
    assert!(why.to_string().contains("extract-good.wasm"), "{why}");
}

#[tokio::test]
async fn only_the_needed_plugins_inside_are_loaded() {
    let place = Place::new();
    let program = place.bundled().await;
    let engine = Engine::new(EngineConfig {
        only_files: Some(vec!["extract-good.wasm".to_owned()]),
        ..on_program(&program, &place.path("cache"))
    })
    .unwrap();
    engine.load_dir_behind();
    assert_good_still_runs(&engine).await;
    engine.await_all().await;
    assert_eq!(engine.plugins().len(), 1);
}

#[tokio::test]
async fn damaged_machine_code_is_replaced_by_compiling() {
    let place = Place::new();
    let program = place.bundled().await;
    let whole = std::fs::read(&program).unwrap();
    let (_, index) = index_of(&whole);
    let entries = index["entries"].as_array().unwrap();
    let dictionary = usize::try_from(index["dictionary"].as_u64().unwrap()).unwrap();
    let code = entries
        .iter()
        .enumerate()
        .filter(|(_, entry)| entry["content"] == "code");
    let mut lost = Vec::new();
    for (number, entry) in code {
        let end = entry["offset"].as_u64().unwrap() + entry["packed"].as_u64().unwrap();
        let mut bytes = whole.clone();
        bytes[usize::try_from(end).unwrap() - 1] ^= 0x40;
        std::fs::write(&program, bytes).unwrap();
        let cache = place.path(&format!("cache-{number}"));
        let engine = Engine::new(on_program(&program, &cache)).unwrap();
        let report = engine.load_dir().await;
        assert!(report.refused.is_empty(), "{:?}", report.refused);
        assert_good_still_runs(&engine).await;
        lost.push((number == dictionary, compiled(&cache)));
    }
    lost.sort_unstable();
    assert_eq!(
        lost,
        [(false, 1), (true, 2)],
        "the dictionary is all code's"
    );
}

#[tokio::test]
async fn an_entry_that_unpacks_to_other_bytes_is_not_used() {
    let place = Place::new();
    let program = place.bundled().await;
    let whole = std::fs::read(&program).unwrap();
    let (index_at, index) = index_of(&whole);
    let count = index["entries"].as_array().unwrap().len();
    let mut compiled_and_refused = Vec::new();
    for number in 0..count {
        let mut index = index.clone();
        index["entries"][number]["sha256"] = "0".repeat(64).into();
        let mut bytes = whole[..index_at].to_vec();
        bytes.extend(&forged(&index.to_string())[PROGRAM.len()..]);
        std::fs::write(&program, bytes).unwrap();
        let cache = place.path(&format!("cache-{number}"));
        let engine = Engine::new(on_program(&program, &cache)).unwrap();
        let report = engine.load_dir().await;
        compiled_and_refused.push((compiled(&cache), report.refused.len()));
    }
    compiled_and_refused.sort_unstable();
    // Two components; code, and code that is the dictionary of all.
    assert_eq!(compiled_and_refused, [(0, 1), (0, 1), (1, 0), (2, 0)]);
}
