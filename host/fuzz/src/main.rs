//! libFuzzer around one target, whose name is in `ORBWEAVER_FUZZ`.

#![no_main]

use std::sync::LazyLock;

use orbweaver_fuzz::Target;

static TARGET: LazyLock<Target> = LazyLock::new(|| {
    let name = std::env::var("ORBWEAVER_FUZZ").unwrap_or_default();
    let found = orbweaver_fuzz::targets()
        .into_iter()
        .find(|target| target.name == name);
    found.unwrap_or_else(|| {
        eprintln!("ORBWEAVER_FUZZ names no target: `{name}`");
        std::process::exit(2)
    })
});

/// Writes the inputs that the target makes itself into the folder that `ORBWEAVER_FUZZ_SEEDS`
/// names, before libFuzzer reads it.
fn write_seeds() {
    let Some(folder) = std::env::var_os("ORBWEAVER_FUZZ_SEEDS") else {
        return;
    };
    for (number, seed) in (TARGET.seeds)().into_iter().enumerate() {
        let file = std::path::Path::new(&folder).join(format!("seed-{number:04}"));
        if let Err(error) = std::fs::write(&file, seed) {
            eprintln!("{}: {error}", file.display());
        }
    }
}

libfuzzer_sys::fuzz_target!(
    init: write_seeds(),
    |data: &[u8]| {
        (TARGET.run)(data);
    }
);
