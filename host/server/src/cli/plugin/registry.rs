//! `orbweaver plugin install oci://…` and `publish oci://…`: components in OCI registries.

use std::io::{BufRead as _, IsTerminal as _, Write as _};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::{Context as _, bail};
use clap::Args;
use orbweaver_engine::{Engine, Grants, Source, file_name};
use orbweaver_kit::oci::signature::{PublicKey, Signer, SigningKey, identity};
use orbweaver_kit::oci::{Credentials, Digest, Lock, Locked, Pulled, Reference, Registry};
use serde_json::Value;

use super::super::Common;
use super::super::out::{out, shown};
use super::remote::additions;
use crate::config::Config;

/// How a registry is spoken to.
#[derive(Args)]
pub(super) struct RegistryOptions {
    /// Speak HTTP without TLS to a registry on this machine.
    #[arg(long)]
    plain_http: bool,
}

/// What is checked of a component before it is installed.
#[derive(Args)]
pub(super) struct InstallOptions {
    #[command(flatten)]
    registry: RegistryOptions,
    /// Install without a question.
    #[arg(long)]
    pub yes: bool,
    /// Install although the reference is another artefact than the lock file says, or what is installed under
    /// its name is from another source.
    #[arg(long)]
    update: bool,
    /// Public key (PEM, ECDSA P-256) by which the artefact must be signed; repeatable [default: those of
    /// `registry.keys`].
    #[arg(long, value_name = "FILE")]
    key: Vec<PathBuf>,
    /// Install without a signature, though keys are configured.
    #[arg(long, conflicts_with = "key")]
    unsigned: bool,
}

/// How a component is stored.
#[derive(Args)]
pub(super) struct PublishOptions {
    #[command(flatten)]
    registry: RegistryOptions,
    /// Private key (PEM, PKCS #8, ECDSA P-256) to sign the artefact with.
    #[arg(long, value_name = "FILE")]
    sign_key: Option<PathBuf>,
}

impl RegistryOptions {
    fn registry(&self, config: &Config) -> anyhow::Result<Registry> {
        let credentials = Credentials::of_this_machine();
        let settings = config.pipeline().fetch;
        Registry::new(&settings, credentials, self.plain_http)
    }
}

impl InstallOptions {
    /// The option that was given and concerns references alone.
    pub(super) fn given(&self) -> Option<&'static str> {
        let given = [
            ("--plain-http", self.registry.plain_http),
            ("--yes", self.yes),
            ("--update", self.update),
            ("--key", !self.key.is_empty()),
            ("--unsigned", self.unsigned),
        ];
        given.into_iter().find_map(|(name, is)| is.then_some(name))
    }

    /// Installs what a reference names.
    pub(super) async fn install(
        &self,
        reference: &Reference,
        common: &Common,
    ) -> anyhow::Result<ExitCode> {
        let config = common.load()?.config;
        let Some(folder) = config.plugin_dir() else {
            bail!("no plugin folder is configured; set --plugin-dir");
        };
        let keys = self.keys(&config)?;
        let mut lock = Lock::read(&folder)?;
        let registry = self.registry.registry(&config)?;
        let pulled = registry.pull(reference).await?;
        if !self.update {
            lock.check(reference, &pulled.digest)?;
        }
        let signer = match keys.as_slice() {
            [] => None,
            keys => match registry.signer(reference, &pulled.digest, keys).await? {
                Signer::Key(key) => Some(key.id().to_owned()),
                Signer::ForAnother(named) => bail!(
                    "{reference} ({}) is signed for {named:?} and not for {:?}: a copy, as of a mirror, needs a \
                     signature that names where it is, or none; --unsigned installs it all the same",
                    pulled.digest,
                    identity(reference)
                ),
                Signer::Nobody => bail!(
                    "{reference} ({}) is not signed by any of the keys; --unsigned installs it all the same",
                    pulled.digest
                ),
            },
        };
        self.place(reference, &pulled, signer, &folder, &mut lock, config)
            .await
    }

    async fn place(
        &self,
        reference: &Reference,
        pulled: &Pulled,
        signer: Option<String>,
        folder: &Path,
        lock: &mut Lock,
        config: Config,
    ) -> anyhow::Result<ExitCode> {
        let engine = Engine::new(config.plugins)?;
        let bytes = pulled.component.to_vec();
        let found = engine.inspect(&bytes)?;
        let name = file_name(found.manifest.kind, &found.manifest.name);
        let file = folder.join(&name);
        eprintln!(
            "{} {} ({})\n{reference}\n{}",
            found.manifest.name,
            shown(&found.manifest.version),
            found.manifest.kind.as_str(),
            pulled.digest
        );
        match &signer {
            Some(key) => eprintln!("signed by {key}"),
            None => eprintln!("not checked for a signature"),
        }
        eprintln!(
            "asks for {}",
            super::permissions(&found.manifest.permissions)
        );
        if let Ok(installed) = std::fs::read(&file) {
            let is_expected = lock.check_place(&name, &Digest::of(&installed), reference);
            match is_expected {
                Err(why) if self.yes && !self.update => return Err(why),
                // The question below is asked with it in view.
                Err(why) if !self.update => eprintln!("{why}"),
                _ => {}
            }
            let had = match engine.inspect(&installed) {
                Ok(had) => serde_json::to_value(&had.manifest.permissions)?,
                Err(_) => Value::Null,
            };
            let wanted = serde_json::to_value(&found.manifest.permissions)?;
            eprintln!("in place of the installed {name}");
            for permission in additions(&had, &wanted) {
                eprintln!("+ {permission}");
            }
            for permission in additions(&wanted, &had) {
                eprintln!("- {permission}");
            }
        }
        if !self.yes && !is_agreed()? {
            bail!("not installed");
        }
        let loaded = engine.load_bytes(bytes, Source::Upload, Grants::All).await;
        loaded.context("the component would be refused")?;
        std::fs::create_dir_all(folder)
            .with_context(|| format!("cannot create {}", folder.display()))?;
        super::write(&file, &pulled.component)?;
        lock.set(Locked {
            file: name,
            source: reference.source(),
            digest: pulled.digest.to_string(),
            component: pulled.component_digest.to_string(),
            key: signer,
        });
        lock.write(folder)?;
        out!("{}", file.display())?;
        Ok(ExitCode::SUCCESS)
    }

    /// The keys of which one must have signed; none if it is not checked.
    fn keys(&self, config: &Config) -> anyhow::Result<Vec<PublicKey>> {
        let files = match (self.unsigned, self.key.as_slice()) {
            (true, _) => return Ok(Vec::new()),
            (false, []) => &config.registry.keys,
            (false, given) => given,
        };
        let key = |file: &PathBuf| {
            let text = std::fs::read_to_string(file)
                .with_context(|| format!("cannot read {}", file.display()))?;
            PublicKey::from_pem(&text).with_context(|| file.display().to_string())
        };
        files.iter().map(key).collect()
    }
}

impl PublishOptions {
    /// The option that was given and concerns references alone.
    pub(super) fn given(&self) -> Option<&'static str> {
        let given = [
            ("--plain-http", self.registry.plain_http),
            ("--sign-key", self.sign_key.is_some()),
        ];
        given.into_iter().find_map(|(name, is)| is.then_some(name))
    }

    /// Stores a component under a reference.
    pub(super) async fn publish(
        &self,
        reference: &Reference,
        bytes: Vec<u8>,
        common: &Common,
    ) -> anyhow::Result<ExitCode> {
        let key = match &self.sign_key {
            None => None,
            Some(file) => {
                let text = std::fs::read_to_string(file)
                    .with_context(|| format!("cannot read {}", file.display()))?;
                Some(SigningKey::from_pem(&text).with_context(|| file.display().to_string())?)
            }
        };
        let config = common.load()?.config;
        let registry = self.registry.registry(&config)?;
        let engine = Engine::new(config.plugins)?;
        let found = engine.inspect(&bytes)?;
        if let Some(why) = engine.verdict(&found).refused {
            bail!("the component would be refused: {why}");
        }
        let pushed = registry.push(reference, bytes.into(), &found).await?;
        if let Some(key) = key {
            registry.sign(reference, &pushed.digest, &key).await?;
        }
        out!("{}@{}", reference.source(), pushed.digest)?;
        Ok(ExitCode::SUCCESS)
    }
}

/// Asks at a terminal whether to go on.
fn is_agreed() -> anyhow::Result<bool> {
    if !std::io::stdin().is_terminal() {
        bail!("cannot ask for confirmation without a terminal; --yes installs without asking");
    }
    eprint!("Install it? [y/N] ");
    std::io::stderr().flush()?;
    let mut line = String::new();
    std::io::stdin().lock().read_line(&mut line)?;
    Ok(matches!(line.trim(), "y" | "Y" | "yes"))
}
