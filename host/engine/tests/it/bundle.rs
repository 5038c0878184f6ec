//! Plugins inside a program.

use std::path::{Path, PathBuf};

use orbweaver_engine::{
    BundleError, Engine, EngineConfig, Kind, Source, StartError, has_bundle, manifest, write_bundle,
};

use crate::support::{assert_good_still_runs, config, fixture};

/// What stands for the program: its contents do not matter.
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

/// An engine on a program alone. Its cache shows what was compiled.
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
    let text = "name = \"good\"\nkind = \"extractor\"\nversion = \"2.0.0\"\napi = \"0.1.0\"\n";
    manifest::embed(&fixture("peek"), text).unwrap()
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
async fn the_folder_lies_over_the_plugins_inside() {
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
async fn a_bundle_is_written_anew_from_the_plugins_inside_and_the_folder() {
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
async fn a_refused_plugin_is_not_put_into_a_program() {
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
async fn damage_is_found_wherever_it_is() {
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
    assert_eq!(started, 1, "an entry's damage concerns that entry alone");
    // Cut off, it is a program without plugins inside.
    std::fs::write(&damaged, &whole[..whole.len() - 1]).unwrap();
    assert!(!has_bundle(&damaged));
}

#[tokio::test]
async fn damaged_machine_code_is_compiled_anew() {
    let place = Place::new();
    place.add("extract-good.wasm", fixture("good"));
    let program = place.path("bundled");
    write_bundle(place.folder(), &place.path("program"), &program)
        .await
        .unwrap();
    let mut bytes = std::fs::read(&program).unwrap();
    let index_bytes = u64::from_le_bytes(bytes[bytes.len() - 56..][..8].try_into().unwrap());
    // The last entry is code; this is its last byte.
    let at = bytes.len() - 56 - usize::try_from(index_bytes).unwrap() - 1;
    bytes[at] ^= 0x40;
    std::fs::write(&program, bytes).unwrap();

    let engine = Engine::new(on_program(&program, &place.path("cache"))).unwrap();
    let report = engine.load_dir().await;
    assert!(report.refused.is_empty(), "{:?}", report.refused);
    assert_good_still_runs(&engine).await;
    assert_eq!(compiled(&place.path("cache")), 1);
}
