//! Putting plugins into a program.

use std::fs::{self, File};
use std::io::{self, Read as _, Write as _};
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use sha2::{Digest as _, Sha256};

use crate::bundle::{Bundle, Content, Entry, MAGIC};
use crate::config::EngineConfig;
use crate::engine::Engine;
use crate::error::BundleError;
use crate::load::file_name;
use crate::plugin::{PluginInfo, Source};

/// Packing is done once, unpacking at every start: the best ratio that unpacks as fast.
const LEVEL: i32 = 19;

/// What was put into a program.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BundleReport {
    /// File names of the plugins.
    pub plugins: Vec<String>,
    /// Bytes of the program alone.
    pub program_bytes: u64,
    /// Bytes of the file written.
    pub total_bytes: u64,
}

/// Copies `program` to `output` with plugins inside: those that the configuration names, by
/// its folder and its own bundle, with machine code for any processor of the last ten years
/// (`x86-64-v3`; elsewhere the architecture's first version). Plugins that `program` had
/// inside before are left out, but those of `config.bundle` go in again.
///
/// Compiling takes seconds; the compiled code passes through a folder beside `output`.
///
/// # Errors
/// [`BundleError::Refused`] if a plugin is refused or there is none.
pub async fn write_bundle(
    mut config: EngineConfig,
    program: &Path,
    output: &Path,
) -> Result<BundleReport, BundleError> {
    let refused = BundleError::Refused;
    let work = beside(output, "compiled")?;
    let _ = fs::remove_dir_all(&work);
    config.cache_dir = Some(work.clone());
    config.portable_code = true;
    let written = match Engine::new(config) {
        Ok(engine) => write(&engine, program, output).await,
        Err(error) => Err(refused(error.to_string())),
    };
    let _ = fs::remove_dir_all(&work);
    written
}

async fn write(
    engine: &Engine,
    program: &Path,
    output: &Path,
) -> Result<BundleReport, BundleError> {
    let report = engine.load_dir().await;
    if let Some((file, why)) = report.refused.first() {
        let file = file.display();
        return Err(BundleError::Refused(format!("{file} is refused: {why}")));
    }
    if report.loaded.is_empty() {
        return Err(BundleError::Refused("there are no plugins".to_owned()));
    }
    let partial = beside(output, "partial")?;
    let written = write_to(engine, &report.loaded, program, &partial).and_then(|report| {
        fs::rename(&partial, output)
            .map(|()| report)
            .map_err(Into::into)
    });
    if written.is_err() {
        let _ = fs::remove_file(&partial);
    }
    written
}

fn write_to(
    engine: &Engine,
    plugins: &[PluginInfo],
    program: &Path,
    partial: &Path,
) -> Result<BundleReport, BundleError> {
    let mut out = File::create(partial)?;
    let program_bytes = match Bundle::open(program)? {
        Some(bundle) => bundle.program_bytes,
        None => fs::metadata(program)?.len(),
    };
    let mut at = io::copy(&mut File::open(program)?.take(program_bytes), &mut out)?;
    let mut entries = Vec::new();
    let mut add = |content: Content, component: &str, bytes: &[u8]| -> Result<(), BundleError> {
        let packed = zstd::bulk::compress(bytes, LEVEL)?;
        out.write_all(&packed)?;
        entries.push(Entry {
            content,
            component: component.to_owned(),
            offset: at,
            packed: packed.len() as u64,
            size: bytes.len() as u64,
            sha256: hex::encode(Sha256::digest(bytes)),
        });
        at += packed.len() as u64;
        Ok(())
    };
    let mut names = Vec::new();
    for plugin in plugins {
        let name = file_name(plugin.kind, &plugin.name);
        let component: Arc<[u8]> = match &plugin.source {
            Source::Folder(path) => fs::read(path)?.into(),
            Source::Embedded | Source::Upload => engine.embedded_component(&name)?,
        };
        let digest = hex::encode(Sha256::digest(&component));
        if digest != plugin.digest {
            return Err(BundleError::Refused(format!("{name} changed meanwhile")));
        }
        add(Content::Component(name.clone()), &digest, &component)?;
        let codes = engine.compiled_code(&component);
        if codes.is_empty() {
            return Err(BundleError::Refused(format!("{name} has no compiled code")));
        }
        for code in codes {
            add(Content::Code, &digest, &code)?;
        }
        names.push(name);
    }
    let index = serde_json::to_vec(&entries).map_err(io::Error::from)?;
    out.write_all(&index)?;
    out.write_all(&(index.len() as u64).to_le_bytes())?;
    out.write_all(&Sha256::digest(&index))?;
    out.write_all(MAGIC)?;
    out.set_permissions(fs::Permissions::from_mode(0o755))?;
    out.sync_all()?;
    Ok(BundleReport {
        plugins: names,
        program_bytes,
        total_bytes: out.metadata()?.len(),
    })
}

/// A hidden name beside a file.
fn beside(output: &Path, what: &str) -> Result<PathBuf, BundleError> {
    let name = output
        .file_name()
        .ok_or_else(|| BundleError::Refused(format!("{} is no file name", output.display())))?;
    let pid = std::process::id();
    Ok(output.with_file_name(format!(".{}.{pid}.{what}", name.to_string_lossy())))
}
