//! Writes plugins into a program ([`bundle`](crate::bundle)).

use std::collections::HashMap;
use std::fs::{self, File};
use std::io::{self, Read as _, Write as _};
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use sha2::{Digest as _, Sha256};
use zstd::bulk::Compressor;
use zstd::dict::EncoderDictionary;

use crate::bundle::{Bundle, Content, Entry, Index, MAGIC};
use crate::code_cache::CodeCache;
use crate::config::EngineConfig;
use crate::engine::Engine;
use crate::error::{BundleError, LoadError};
use crate::inspect::Digest;
use crate::load::file_name;
use crate::manifest::section;
use crate::plugin::{PluginInfo, Source};

/// Level of compression: a high one, since entries are packed once and unpacked at every start,
/// which takes the same time at any level.
const LEVEL: i32 = 19;

/// What was written into a program.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BundleReport {
    /// File names of the plugins.
    pub plugins: Vec<String>,
    /// Size of the program without plugins, in bytes.
    pub program_bytes: u64,
    /// Size of the written file, in bytes.
    pub total_bytes: u64,
}

/// Copies `program` to `output`, with the plugins of the configuration inside: those of its folder,
/// and those of its bundle that the folder has none in place of. Their machine code is for any
/// recent processor (x86-64-v3; on other architectures their first version).
///
/// Compiling takes seconds for each plugin, in a temporary folder beside `output`.
///
/// # Errors
/// [`BundleError::Refused`] if there is no plugin, or one is refused; [`BundleError::Io`].
#[crate::boxed]
pub async fn write_bundle(
    mut config: EngineConfig,
    program: &Path,
    output: &Path,
) -> Result<BundleReport, BundleError> {
    let work = beside(output, "compiled")?;
    let _ = fs::remove_dir_all(&work);
    config.cache_dir = Some(work.clone());
    config.portable_code = true;
    let written = compile_and_write(config, program, output, &work).await;
    let _ = fs::remove_dir_all(&work);
    written
}

async fn compile_and_write(
    config: EngineConfig,
    program: &Path,
    output: &Path,
    work: &Path,
) -> Result<BundleReport, BundleError> {
    let refused = |error: String| BundleError::Refused(error);
    let bundle = match &config.bundle {
        Some(program) => Bundle::open(program)?,
        None => None,
    };
    let engine = Engine::new(config).map_err(|error| refused(error.to_string()))?;
    let report = engine.load_dir().await;
    if let Some((file, why)) = report.refused.first() {
        let file = file.display();
        return Err(refused(format!("{file} is refused: {why}")));
    }
    if report.loaded.is_empty() {
        return Err(refused("there are no plugins".to_owned()));
    }
    let parts = Parts {
        plugins: report.loaded,
        bundle,
        code: CodeCache::open(work, u64::MAX).map_err(refused)?,
    };
    let program = program.to_owned();
    let output = output.to_owned();
    tokio::task::spawn_blocking(move || parts.write(&program, &output))
        .await
        .map_err(|error| refused(error.to_string()))?
}

/// What is written into the program.
struct Parts {
    plugins: Vec<PluginInfo>,
    /// Has the components of embedded plugins.
    bundle: Option<Bundle>,
    /// Has the code that loading these plugins compiled, and no other.
    code: CodeCache,
}

impl Parts {
    /// Writes a temporary file beside `output`, which it replaces at the end.
    fn write(&self, program: &Path, output: &Path) -> Result<BundleReport, BundleError> {
        let partial = beside(output, "partial")?;
        let written = self.write_to(program, &partial).and_then(|report| {
            fs::rename(&partial, output)?;
            Ok(report)
        });
        if written.is_err() {
            let _ = fs::remove_file(&partial);
        }
        written
    }

    fn write_to(&self, program: &Path, partial: &Path) -> Result<BundleReport, BundleError> {
        let mut out = Writer::begin(program, partial)?;
        let program_bytes = out.position;
        let mut plugins = Vec::new();
        for plugin in &self.plugins {
            let name = file_name(plugin.kind, &plugin.name);
            let component = self.component(plugin, &name)?;
            if hex::encode(Sha256::digest(&component)) != plugin.digest {
                let why = format!("{name} was changed while it was read");
                return Err(BundleError::Refused(why));
            }
            out.add_component(&name, &plugin.digest, &component)?;
            plugins.push(name);
        }
        let code = self.code.files()?;
        // Loading succeeds if compiled code cannot be kept, for example on a full disk.
        if code.len() < out.codes.len() {
            let why = "compiled code could not be written".to_owned();
            return Err(BundleError::Refused(why));
        }
        let mut read = Vec::with_capacity(code.len());
        for (digest, path) in code {
            let code = CodeCache::read(&path);
            let code = code.ok_or(BundleError::Damaged("compiled code cannot be read"))?;
            read.push((digest, code));
        }
        out.add_code(read)?;
        Ok(BundleReport {
            plugins,
            program_bytes,
            total_bytes: out.finish()?,
        })
    }

    fn component(&self, plugin: &PluginInfo, name: &str) -> Result<Arc<[u8]>, BundleError> {
        match (&plugin.source, &self.bundle) {
            (Source::Folder(path), _) => Ok(fs::read(path)?.into()),
            (Source::Embedded, Some(bundle)) => bundle.component(name),
            _ => Err(BundleError::Refused(format!("{name} has no file"))),
        }
    }
}

/// Writes a program with a bundle.
struct Writer {
    out: File,
    position: u64,
    index: Index,
    /// The components without their manifests, each with the first entry that has it.
    codes: HashMap<Digest, usize>,
}

impl Writer {
    /// Copies the program without the plugins that it has inside.
    fn begin(program: &Path, partial: &Path) -> Result<Self, BundleError> {
        let program_bytes = match Bundle::open(program)? {
            Some(bundle) => bundle.program_bytes,
            None => fs::metadata(program)?.len(),
        };
        let mut out = File::create(partial)?;
        let position = io::copy(&mut File::open(program)?.take(program_bytes), &mut out)?;
        Ok(Self {
            out,
            position,
            index: Index::default(),
            codes: HashMap::new(),
        })
    }

    /// Adds a component; of one with the code of an earlier one only the manifest.
    fn add_component(
        &mut self,
        name: &str,
        digest: &str,
        component: &[u8],
    ) -> Result<(), BundleError> {
        let refused = |why: LoadError| BundleError::Refused(format!("{name}: {why}"));
        let code = section::without(component).map_err(refused)?;
        let manifest = section::read_text(component).map_err(refused)?;
        let is_behind = section::embed(&code, &manifest).is_ok_and(|whole| whole == component);
        let content = Content::Component(name.to_owned());
        let next = self.index.entries.len();
        let first = *self.codes.entry(Digest::compute(&code)).or_insert(next);
        let earlier = self.index.entries.get(first);
        let entry = match earlier.filter(|first| is_behind && first.manifest.is_some()) {
            Some(earlier) => Entry {
                content,
                component: digest.to_owned(),
                manifest: Some(manifest),
                ..earlier.clone()
            },
            None => {
                self.add(content, digest, if is_behind { &code } else { component })?;
                if let Some(entry) = self.index.entries.get_mut(next).filter(|_| is_behind) {
                    entry.manifest = Some(manifest);
                }
                return Ok(());
            }
        };
        self.index.entries.push(entry);
        Ok(())
    }

    fn add(&mut self, content: Content, component: &str, bytes: &[u8]) -> io::Result<()> {
        self.add_packed(content, component, bytes, None)
    }

    /// Adds the code of components. One is the dictionary of the others: one that is larger than three
    /// quarters of them, which has what most have without what only a few do.
    fn add_code(&mut self, mut code: Vec<(String, Vec<u8>)>) -> io::Result<()> {
        code.sort_by(|(a, one), (b, other)| one.len().cmp(&other.len()).then_with(|| a.cmp(b)));
        let chosen = code.len() * 3 / 4;
        if chosen >= code.len() {
            return Ok(());
        }
        let (component, dictionary) = code.swap_remove(chosen);
        self.index.dictionary = Some(self.index.entries.len());
        self.add(Content::Code, &component, &dictionary)?;
        let prepared = EncoderDictionary::copy(&dictionary, LEVEL);
        for (component, code) in code {
            self.add_packed(Content::Code, &component, &code, Some(&prepared))?;
        }
        Ok(())
    }

    fn add_packed(
        &mut self,
        content: Content,
        component: &str,
        bytes: &[u8],
        dictionary: Option<&EncoderDictionary<'_>>,
    ) -> io::Result<()> {
        let mut packer = match dictionary {
            Some(dictionary) => Compressor::with_prepared_dictionary(dictionary)?,
            None => Compressor::new(LEVEL)?,
        };
        let packed = packer.compress(bytes)?;
        self.out.write_all(&packed)?;
        self.index.entries.push(Entry {
            content,
            component: component.to_owned(),
            offset: self.position,
            packed: packed.len() as u64,
            size: bytes.len() as u64,
            sha256: hex::encode(Sha256::digest(bytes)),
            needs_dictionary: dictionary.is_some(),
            manifest: None,
        });
        self.position += packed.len() as u64;
        Ok(())
    }

    /// Returns the size of the file, in bytes.
    fn finish(mut self) -> io::Result<u64> {
        let index = serde_json::to_vec(&self.index)?;
        self.out.write_all(&index)?;
        self.out.write_all(&(index.len() as u64).to_le_bytes())?;
        self.out.write_all(&Sha256::digest(&index))?;
        self.out.write_all(MAGIC)?;
        self.out
            .set_permissions(fs::Permissions::from_mode(0o755))?;
        self.out.sync_all()?;
        Ok(self.out.metadata()?.len())
    }
}

/// The path of a hidden file beside another.
fn beside(output: &Path, what: &str) -> Result<PathBuf, BundleError> {
    let name = output
        .file_name()
        .ok_or_else(|| BundleError::Refused(format!("{} is not a file name", output.display())))?;
    let pid = std::process::id();
    Ok(output.with_file_name(format!(".{}.{pid}.{what}", name.to_string_lossy())))
}
