//! Creates a plugin project that builds and passes its tests unchanged, outside any checkout.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result, bail};
use orbweaver_engine::Kind;

use crate::project::Language;
use crate::sdk;
use crate::web::write_exchange;

/// Longest name of a plugin, in characters.
const MAX_NAME: usize = 64;

/// Where a project in Rust keeps the SDK.
const VENDOR: &str = "vendor/orbweaver";

/// What to create.
#[derive(Clone, Debug)]
pub struct NewProject {
    /// The plugin's name: lower-case letters, digits and hyphens, starting with a letter.
    pub name: String,
    /// Its kind.
    pub kind: Kind,
    /// Its language.
    pub language: Language,
    /// The folder to create; `None`: the plugin's name, in the current folder.
    pub folder: Option<PathBuf>,
}

/// The texts of a kind's project.
struct Template {
    manifest: &'static str,
    /// In Rust.
    code: &'static str,
    call: &'static str,
    expected: &'static str,
    /// The page of the call, as a file of the project.
    page: Option<&'static str>,
    /// What the web answers to the call's request: its URL, its content type and its body.
    web: Option<(&'static str, &'static str, &'static str)>,
}

impl Template {
    const fn of(kind: Kind) -> Self {
        const PAGE: &str = include_str!("../templates/page.html");
        match kind {
            Kind::Extractor => Self {
                manifest: include_str!("../templates/extractor.plugin.toml"),
                code: include_str!("../templates/extractor.lib.rs"),
                call: include_str!("../templates/extractor.case.json"),
                expected: include_str!("../templates/extractor.expected.json"),
                page: Some(PAGE),
                web: None,
            },
            Kind::Actor => Self {
                manifest: include_str!("../templates/actor.plugin.toml"),
                code: include_str!("../templates/actor.lib.rs"),
                call: include_str!("../templates/actor.case.json"),
                expected: include_str!("../templates/actor.expected.json"),
                page: None,
                web: Some(("https://example.com/", "text/html", PAGE)),
            },
            Kind::Fetcher => Self {
                manifest: include_str!("../templates/fetcher.plugin.toml"),
                code: include_str!("../templates/fetcher.lib.rs"),
                call: include_str!("../templates/fetcher.case.json"),
                expected: include_str!("../templates/fetcher.expected.json"),
                page: None,
                web: Some((
                    "https://example.com/posts.json",
                    "application/json",
                    include_str!("../templates/posts.json"),
                )),
            },
            Kind::Hook => Self {
                manifest: include_str!("../templates/hook.plugin.toml"),
                code: include_str!("../templates/hook.lib.rs"),
                call: include_str!("../templates/hook.case.json"),
                expected: include_str!("../templates/hook.expected.json"),
                page: Some(PAGE),
                web: None,
            },
        }
    }
}

impl NewProject {
    /// Creates the project and returns its folder.
    ///
    /// # Errors
    /// An invalid name, a language without a template for the kind, a folder that exists already, or a
    /// failed write.
    pub fn create(&self) -> Result<PathBuf> {
        let name = &self.name;
        let well_formed = name.starts_with(|c: char| c.is_ascii_lowercase())
            && name.len() <= MAX_NAME
            && name
                .chars()
                .all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-');
        if !well_formed {
            bail!(
                "name: lower-case letters, digits and hyphens, starting with a letter, at most \
                 {MAX_NAME} characters"
            );
        }
        if self.language != Language::Rust && self.kind != Kind::Actor {
            bail!(
                "language: there is a template in {} for actors only; use Rust for {}s",
                self.language.name(),
                self.kind.as_str()
            );
        }
        let folder = self.folder.clone().unwrap_or_else(|| PathBuf::from(name));
        if folder.exists() {
            bail!("{} already exists", folder.display());
        }
        for part in ["", "src", "fixtures"] {
            let path = folder.join(part);
            fs::create_dir_all(&path)
                .with_context(|| format!("cannot create {}", path.display()))?;
        }
        match self.language {
            Language::Rust => self.rust(&folder)?,
            Language::JavaScript => self.javascript(&folder)?,
            Language::Python => self.python(&folder)?,
        }
        Ok(folder)
    }

    /// What projects of every language have: the manifest, and one case with its answer.
    fn common(&self, folder: &Path, template: &Template) -> Result<()> {
        self.write(folder, "plugin.toml", template.manifest)?;
        let fixtures = folder.join("fixtures");
        self.write(&fixtures, "first.case.json", template.call)?;
        self.write(&fixtures, "first.expected.json", template.expected)?;
        if let Some(page) = template.page {
            self.write(&fixtures, "page.html", page)?;
        }
        if let Some((url, content_type, body)) = template.web {
            write_exchange(&fixtures, url, content_type, body)?;
        }
        Ok(())
    }

    fn rust(&self, folder: &Path) -> Result<()> {
        let template = Template::of(self.kind);
        self.common(folder, &template)?;
        self.write(
            folder,
            "Cargo.toml",
            include_str!("../templates/Cargo.template.toml"),
        )?;
        self.write(folder, "src/lib.rs", template.code)?;
        self.write(folder, "README.md", include_str!("../templates/README.md"))?;
        self.write(folder, ".gitignore", "/build\n/target\n")?;
        sdk::write(&folder.join(VENDOR))
    }

    fn javascript(&self, folder: &Path) -> Result<()> {
        self.write(
            folder,
            "package.json",
            include_str!("../templates/javascript/package.json"),
        )?;
        self.write(
            folder,
            "build.mjs",
            include_str!("../templates/javascript/build.mjs"),
        )?;
        self.write(
            folder,
            "src/plugin.js",
            include_str!("../templates/javascript/plugin.js"),
        )?;
        self.scripted(folder)?;
        self.write(folder, ".gitignore", "/build\n/node_modules\n")
    }

    fn python(&self, folder: &Path) -> Result<()> {
        self.write(
            folder,
            "requirements.txt",
            include_str!("../templates/python/requirements.txt"),
        )?;
        self.write(
            folder,
            "src/plugin.py",
            include_str!("../templates/python/plugin.py"),
        )?;
        self.scripted(folder)?;
        self.write(folder, ".gitignore", "/.venv\n/build\n__pycache__\n")
    }

    /// What the projects of both scripting languages have in common.
    fn scripted(&self, folder: &Path) -> Result<()> {
        self.common(folder, &Template::of(self.kind))?;
        self.write(
            folder,
            "README.md",
            include_str!("../templates/README.scripted.md"),
        )?;
        let wit = folder.join("wit");
        sdk::write_wit(&wit.join("deps/orbweaver-plugin"))?;
        let world = match self.language {
            Language::Python => include_str!("../templates/python/world.wit"),
            _ => include_str!("../templates/javascript/world.wit"),
        };
        self.write(&wit, "world.wit", world)
    }

    fn write(&self, folder: &Path, file: &str, text: &str) -> Result<()> {
        let prefix = self.kind.file_prefix();
        let name = &self.name;
        let text = text
            .replace("{{name}}", name)
            .replace("{{crate}}", &format!("{prefix}{name}"))
            .replace("{{sdk}}", &format!("{VENDOR}/plugins/sdk"));
        let path = folder.join(file);
        fs::write(&path, text).with_context(|| format!("cannot write {}", path.display()))
    }
}
