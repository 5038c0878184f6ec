//! Loads a plugin from a file's bytes: inspection, compilation, linking and self-test.

mod build;
mod parts;
mod selftest;

use std::borrow::Cow;
use std::path::PathBuf;
use std::sync::Arc;

use moka::future::Cache;
use orbweaver_core::ids::ProjectId;
use sha2::{Digest as _, Sha256};

use crate::apart::Apart;
use crate::bulk;
use crate::bundle::Bundle;
use crate::code_cache::CodeCache;
use crate::compile::{CodeOwner, Compiler, Stored};
use crate::config::{EngineConfig, Grant, GrantWord};
use crate::error::{LoadError, StartError};
use crate::grants::{EffectivePermissions, Permissions};
use crate::imports::{self, World};
use crate::inner::Inner;
use crate::inspect::{Digest, Inspection, StaticLimits, inspect};
use crate::kind::Kind;
use crate::limits::LimitRange;
use crate::manifest::section;
use crate::plugin::{Code, Plugin, Source};
use crate::runtime::Runtime;
use crate::schema::Schema;
use crate::stats::Stats;
use crate::tenancy::ProjectPolicy;
use build::CodeTarget;
use parts::Parts;
pub(crate) use selftest::fails_test;

/// Permissions granted to a plugin.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Grants {
    /// Those of the configuration, else the default of its source: for a plugin of the program or
    /// the folder all that it requests, for an upload only `log` and `extract`.
    #[default]
    Configured,
    /// Everything that it requests.
    All,
    /// These, limited to those it requests.
    Only(Permissions),
    /// What a project accepts and its policy allows, limited to those it requests.
    Project(Box<ProjectPolicy>),
}

/// Compiled components kept, in service or not: returning to an earlier version is then
/// immediate.
const KEPT_COMPONENTS: u64 = 128;

/// What compiled and linked code depends on.
#[derive(Clone, PartialEq, Eq, Hash)]
struct CodeKey {
    /// Digest of the component without its manifest: plugins of the same code share it.
    code: Digest,
    /// What it exports.
    world: World,
    /// The linker depends on the grants.
    grants: [u8; 32],
    /// Whether it has memory in reserve.
    reserve: bool,
}

/// Loads plugins.
pub(crate) struct Loader {
    runtime: Arc<Runtime>,
    /// The plugins inside the program.
    bundle: Option<Arc<Bundle>>,
    compiler: Compiler,
    code: Cache<CodeKey, Arc<Code>>,
    /// Components with their grants that have passed the self-test.
    tested: Cache<(Digest, [u8; 32]), ()>,
    static_limits: StaticLimits,
    /// Most bytes of one project's compiled code on the disk.
    project_code_bytes: u64,
}

impl Loader {
    /// # Errors
    /// [`StartError::Bundle`] if the program contains plugins that cannot be read.
    pub fn new(runtime: Arc<Runtime>, config: &EngineConfig) -> Result<Self, StartError> {
        let bundle = match &config.bundle {
            Some(program) => Bundle::open(program)?.map(Arc::new),
            None => None,
        };
        let cache = config.cache_dir.as_deref().and_then(|dir| {
            CodeCache::open(dir, config.compiled_mib << 20)
                .inspect_err(|error| tracing::warn!("compiled plugins are not cached: {error}"))
                .ok()
        });
        // Portable code is compiled for a new bundle, and must be written to the cache.
        let stored = Stored {
            bundle: bundle.clone().filter(|_| !config.portable_code),
            cache,
        };
        let timeout = config.compile_timeout_ms.as_duration();
        let apart = config.compiler.clone().map(|program| Apart {
            program,
            memory_mib: config.compile_memory_mib,
            timeout,
        });
        Ok(Self {
            runtime,
            bundle,
            compiler: Compiler::new(timeout, stored, apart),
            code: Cache::new(KEPT_COMPONENTS),
            tested: Cache::new(KEPT_COMPONENTS),
            static_limits: StaticLimits {
                max_component_bytes: config.max_component_bytes,
            },
            project_code_bytes: config.compiled_mib_per_project << 20,
        })
    }

    /// Removes a project's compiled code from the disk.
    pub fn forget_code(&self, project: ProjectId) {
        if let Some(cache) = self.compiler.cache()
            && let Err(error) = cache.forget(project)
        {
            tracing::warn!(%project, %error, "compiled plugins of a project not removed");
        }
    }

    fn code_owner(&self, source: &Source) -> CodeOwner {
        let project = match source {
            Source::Project(project) => *project,
            Source::Upload => return CodeOwner::Upload,
            Source::Embedded | Source::Folder(_) => return CodeOwner::Instance,
        };
        let cache = self.compiler.cache().and_then(|cache| {
            cache
                .of_project(project, self.project_code_bytes)
                .inspect_err(|error| tracing::warn!("compiled plugins are not cached: {error}"))
                .ok()
        });
        CodeOwner::Project(project, cache)
    }

    /// The plugins inside the program.
    pub fn bundle(&self) -> Option<&Bundle> {
        self.bundle.as_deref()
    }

    /// Inspects a component without running it.
    pub fn inspect(&self, bytes: &[u8]) -> Result<Inspection, LoadError> {
        inspect(bytes, self.static_limits).map(|(found, _)| found)
    }

    /// Reads a component inside the program.
    #[crate::boxed]
    pub async fn read_embedded(&self, file_name: String) -> Result<Arc<[u8]>, LoadError> {
        let bundle = self.bundle.clone();
        blocking(move || {
            let missing = || LoadError::Unreadable("the program contains no plugins".to_owned());
            let component = bundle.ok_or_else(missing)?.component(&file_name);
            component.map_err(|error| LoadError::Unreadable(error.to_string()))
        })
        .await
    }

    /// Reads a plugin file, up to the allowed size.
    #[crate::boxed]
    pub async fn read(&self, path: PathBuf) -> Result<Arc<[u8]>, LoadError> {
        let max = self.static_limits.max_component_bytes;
        let read = move || -> Result<Arc<[u8]>, LoadError> {
            use std::io::Read as _;
            let unreadable = |e: std::io::Error| LoadError::Unreadable(e.to_string());
            let file = std::fs::File::open(&path).map_err(unreadable)?;
            let size = file.metadata().map_err(unreadable)?.len();
            // One byte more, so that its end is found without a larger buffer.
            let expected = usize::try_from(size.min(max))
                .unwrap_or(0)
                .saturating_add(1);
            let mut bytes = Vec::with_capacity(expected);
            file.take(max.saturating_add(1))
                .read_to_end(&mut bytes)
                .map_err(unreadable)?;
            if bytes.len() as u64 > max {
                // The same file will not be smaller: it is not read again.
                return Err(LoadError::Limits(format!("more than {max} bytes")));
            }
            Ok(bytes.into())
        };
        blocking(read).await
    }

    /// All steps: inspect, check grants, compile, link, self-test.
    #[crate::boxed]
    pub async fn load(
        &self,
        inner: &Inner,
        bytes: Arc<[u8]>,
        source: Source,
        grants: Grants,
    ) -> Result<Arc<Plugin>, LoadError> {
        let config = &inner.config;
        let inspected = self.inspect_all(bytes).await?;
        let found = &inspected.found;
        if let Source::Folder(path) = &source {
            check_file_name(path, found)?;
        }
        let (range, grants) = resolve_grants(config, found, &source, grants)?;
        let world = imports::check(found, &grants)?;
        let code_bytes = Arc::clone(&inspected.code);
        let parts = Parts::new(config, inspected, source, &range, grants)?;
        let code = self
            .build_and_test(inner, &parts, world, code_bytes)
            .await?;
        let stats = parts.stats(&inner.stats);
        Ok(Arc::new(parts.assemble(code, stats)))
    }

    async fn inspect_all(&self, bytes: Arc<[u8]>) -> Result<Inspected, LoadError> {
        let static_limits = self.static_limits;
        blocking(move || {
            let (found, input) = inspect(&bytes, static_limits)?;
            let digest = Digest::compute(&bytes);
            let code = match section::without(&bytes)? {
                Cow::Borrowed(_) => bytes,
                Cow::Owned(code) => code.into(),
            };
            Ok(Inspected {
                digest,
                code,
                found,
                input,
            })
        })
        .await
    }

    /// The code of a plugin, which has passed the self-test with its grants. Plugins of the instance
    /// share it; a project's is neither shared nor kept beyond its time of service.
    async fn build_and_test(
        &self,
        inner: &Inner,
        parts: &Parts,
        world: World,
        code_bytes: Arc<[u8]>,
    ) -> Result<Arc<Code>, LoadError> {
        let owner = parts.owner();
        let reserve = parts.limits.memory_bytes() >= u64::from(bulk::RESERVED_PAGES) << 16;
        let key = CodeKey {
            code: Digest::compute(&code_bytes),
            world,
            grants: grants_digest(&parts.grants),
            reserve,
        };
        let tested = (parts.digest, key.grants);
        let build = async {
            let target = CodeTarget {
                owner: self.code_owner(&parts.source),
                reserve,
            };
            let (found, grants) = (&parts.found, &parts.grants);
            let built = self.build(found, world, grants, key.code, code_bytes, target);
            Ok::<_, LoadError>(Arc::new(built.await?))
        };
        let test = |code: &Arc<Code>| {
            let silent = Arc::new(Stats::silent());
            let plugin = parts.assemble(Arc::clone(code), silent);
            selftest::self_test(inner, Arc::new(plugin))
        };
        if owner.is_some() {
            let code = build.await?;
            test(&code).await?;
            return Ok(code);
        }
        let kept = self.code.try_get_with(key.clone(), build).await;
        let code = kept.map_err(|e| (*e).clone())?;
        let passed = self.tested.try_get_with(tested, test(&code)).await;
        passed.map_err(|e| (*e).clone())?;
        Ok(code)
    }
}

/// A component that was read.
struct Inspected {
    found: Inspection,
    /// The digest of all its bytes.
    digest: Digest,
    /// Its bytes without the manifest.
    code: Arc<[u8]>,
    input: Option<Schema>,
}

/// The limits that the plugin may request, and its permissions.
fn resolve_grants(
    config: &EngineConfig,
    found: &Inspection,
    source: &Source,
    grants: Grants,
) -> Result<(LimitRange, EffectivePermissions), LoadError> {
    let manifest = &found.manifest;
    let range = config.limits.for_kind(manifest.kind);
    let (range, effective) = match grants {
        Grants::Project(policy) => {
            let effective = EffectivePermissions::new(&manifest.permissions, &policy.accepted)
                .and_then(|accepted| accepted.narrowed(&policy.allowed));
            (policy.cut(range), effective)
        }
        grants => {
            let granted = granted(config, found, source, grants);
            let effective = EffectivePermissions::new(&manifest.permissions, &granted);
            (*range, effective)
        }
    };
    let effective = effective.map_err(|e| LoadError::Manifest(format!("grant: {e}")))?;
    Ok((range, effective))
}

/// The permissions that the operator grants this plugin.
fn granted(
    config: &EngineConfig,
    found: &Inspection,
    source: &Source,
    grants: Grants,
) -> Permissions {
    match grants {
        Grants::All => return Permissions::all(),
        Grants::Only(permissions) => return permissions,
        // The caller has a case of its own for projects.
        Grants::Project(policy) => return policy.accepted,
        Grants::Configured => {}
    }
    match config
        .grants
        .find(found.manifest.kind, &found.manifest.name)
    {
        Some(Grant::Word(GrantWord::All)) => Permissions::all(),
        Some(Grant::Word(GrantWord::None)) => Permissions::default(),
        Some(Grant::Some(permissions)) => permissions.clone(),
        None => match source {
            Source::Embedded | Source::Folder(_) => Permissions::all(),
            Source::Upload | Source::Project(_) => Permissions::upload_default(),
        },
    }
}

fn grants_digest(grants: &EffectivePermissions) -> [u8; 32] {
    // Serialising plain data into memory cannot fail. If it did, plugins would only share a
    // cache entry whose import checks they have passed.
    let text = serde_json::to_vec(&grants.listed).unwrap_or_default();
    Sha256::digest(text).into()
}

/// Checks that the file is named `extract-NAME.wasm` and so on, as the manifest requires.
fn check_file_name(path: &std::path::Path, found: &Inspection) -> Result<(), LoadError> {
    let expected = file_name(found.manifest.kind, &found.manifest.name);
    let actual = path
        .file_name()
        .map(|n| n.to_string_lossy().into_owned())
        .unwrap_or_default();
    if actual == expected {
        return Ok(());
    }
    Err(LoadError::FileName(format!(
        "the manifest says {} `{}`, so it must be {expected}, not {actual}",
        found.manifest.kind, found.manifest.name
    )))
}

/// The required file name of a plugin.
pub fn file_name(kind: Kind, name: &str) -> String {
    format!("{}{name}.wasm", kind.file_prefix())
}

/// Runs slow work on a blocking thread.
async fn blocking<T: Send + 'static>(
    work: impl FnOnce() -> Result<T, LoadError> + Send + 'static,
) -> Result<T, LoadError> {
    tokio::task::spawn_blocking(work)
        .await
        .map_err(|e| LoadError::Unreadable(format!("the engine failed: {e}")))?
}
