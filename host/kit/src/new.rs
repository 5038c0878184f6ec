//! Creates a plugin project that builds and passes its tests unchanged, outside any checkout.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result, bail};
use orbweaver_engine::Kind;

use crate::project::Language;
use crate::sdk;
use crate::templates::{self, KindTexts};
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

impl NewProject {
    /// Creates the project and returns its folder.
    ///
    /// # Errors
    /// An invalid name, a folder that exists already, or a failed write.
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
        let folder = self.folder.clone().unwrap_or_else(|| PathBuf::from(name));
        if folder.exists() {
            bail!("{} already exists", folder.display());
        }
        for (file, text) in templates::sources(self.language, self.kind) {
            self.write(&folder, file, text)?;
        }
        self.manifest_and_cases(&folder)?;
        match self.language {
            Language::Rust => sdk::write(&folder.join(VENDOR))?,
            Language::JavaScript | Language::Python => {
                sdk::write_wit(&folder.join("wit/deps/orbweaver-plugin"))?;
                let world = templates::world(self.language, self.kind);
                self.write(&folder, "wit/world.wit", &world)?;
            }
        }
        Ok(folder)
    }

    fn manifest_and_cases(&self, folder: &Path) -> Result<()> {
        let texts = KindTexts::of(self.kind);
        self.write(folder, "plugin.toml", texts.manifest)?;
        let fixtures = folder.join("fixtures");
        for (name, call, expected) in texts.cases {
            self.write(&fixtures, &format!("{name}.case.json"), call)?;
            self.write(&fixtures, &format!("{name}.expected.json"), expected)?;
        }
        if let Some(page) = texts.page {
            self.write(&fixtures, "page.html", page)?;
        }
        if let Some((url, content_type, body)) = texts.web {
            write_exchange(&fixtures, url, content_type, body)?;
        }
        Ok(())
    }

    fn write(&self, folder: &Path, file: &str, text: &str) -> Result<()> {
        let prefix = self.kind.file_prefix();
        let name = &self.name;
        let text = text
            .replace("{{name}}", name)
            .replace("{{crate}}", &format!("{prefix}{name}"))
            .replace("{{extension}}", self.language.extension())
            .replace("{{sdk}}", &format!("{VENDOR}/plugins/sdk"));
        let path = folder.join(file);
        if let Some(parent) = path.parent() {
            fs::create_dir_all(parent)
                .with_context(|| format!("cannot create {}", parent.display()))?;
        }
        fs::write(&path, text).with_context(|| format!("cannot write {}", path.display()))
    }
}
