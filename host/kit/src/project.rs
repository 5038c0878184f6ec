//! A plugin project on disk, and the building of its component.

use std::ffi::OsStr;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context as _, Result, bail};
use orbweaver_engine::file_name;
use orbweaver_engine::manifest::{self, Manifest};
use serde::Deserialize;
use serde_json::{Map, Value};

/// The target that components in Rust are compiled for.
const TARGET: &str = "wasm32-wasip2";

/// Folder of built components, in the project's folder.
const BUILD: &str = "build";

/// The language of a project.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Language {
    /// Rust, with the crate `orbweaver-sdk`.
    Rust,
    /// JavaScript, with `componentize-qjs` or `componentize-js`.
    JavaScript,
    /// Python, with `componentize-py`.
    Python,
}

impl Language {
    /// Its name in messages.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Rust => "Rust",
            Self::JavaScript => "JavaScript",
            Self::Python => "Python",
        }
    }

    /// How the names of its files end, without the dot.
    pub(crate) const fn extension(self) -> &'static str {
        match self {
            Self::Rust => "rs",
            Self::JavaScript => "js",
            Self::Python => "py",
        }
    }

    /// The language of the project in a folder, by the file that its tool chain needs.
    fn of(folder: &Path) -> Option<Self> {
        [
            ("Cargo.toml", Self::Rust),
            ("package.json", Self::JavaScript),
            ("requirements.txt", Self::Python),
        ]
        .into_iter()
        .find(|(file, _)| folder.join(file).is_file())
        .map(|(_, language)| language)
    }
}

/// A plugin project.
#[derive(Clone, Debug)]
pub struct Project {
    folder: PathBuf,
    language: Language,
}

/// A component with its manifest.
#[derive(Clone, Debug)]
pub struct Built {
    /// Its file in the project's folder `build`, named as the plugin folder requires.
    pub file: PathBuf,
    /// Its content.
    pub bytes: Vec<u8>,
}

impl Project {
    /// The project in a folder.
    ///
    /// # Errors
    /// If there is no such folder, or it is not a plugin project.
    pub fn open(folder: &Path) -> Result<Self> {
        if !folder.exists() {
            bail!("there is no file or folder {}", folder.display());
        }
        if !folder.join("plugin.toml").is_file() {
            bail!(
                "{} is not a plugin project: it has no plugin.toml; `orbweaver plugin new` creates one",
                folder.display()
            );
        }
        let language = Language::of(folder).with_context(|| {
            format!(
                "{} has neither a Cargo.toml (Rust), nor a package.json (JavaScript), nor a \
                 requirements.txt (Python)",
                folder.display()
            )
        })?;
        let folder = folder
            .canonicalize()
            .with_context(|| format!("cannot read {}", folder.display()))?;
        Ok(Self { folder, language })
    }

    /// Its folder, absolute.
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// Its language.
    pub const fn language(&self) -> Language {
        self.language
    }

    /// The folder of its recorded answers and cases.
    pub fn fixtures(&self) -> PathBuf {
        self.folder.join("fixtures")
    }

    /// Compiles the component and embeds the manifest. The tools' messages go to standard error.
    /// Blocks the calling thread.
    ///
    /// # Errors
    /// A manifest that cannot be read, a tool that is missing, or one that fails.
    pub fn build(&self) -> Result<Built> {
        let path = self.folder.join("plugin.toml");
        let text =
            fs::read_to_string(&path).with_context(|| format!("cannot read {}", path.display()))?;
        let parsed = Manifest::parse(&text).with_context(|| path.display().to_string())?;
        let component = match self.language {
            Language::Rust => self.rust()?,
            Language::JavaScript => self.javascript()?,
            Language::Python => self.python()?,
        };
        let bytes =
            fs::read(&component).with_context(|| format!("cannot read {}", component.display()))?;
        // The Rust SDK embeds the manifest itself, from the same file.
        let bytes = match manifest::read_text(&bytes) {
            Ok(_) => bytes,
            Err(_) => manifest::embed(&bytes, &text)?,
        };
        let build = self.folder.join(BUILD);
        fs::create_dir_all(&build).with_context(|| format!("cannot create {}", build.display()))?;
        let file = build.join(file_name(parsed.kind, &parsed.name));
        fs::write(&file, &bytes).with_context(|| format!("cannot write {}", file.display()))?;
        Ok(Built { file, bytes })
    }

    fn rust(&self) -> Result<PathBuf> {
        /// A message of `cargo build --message-format=json`.
        #[derive(Deserialize)]
        struct Message {
            reason: String,
            #[serde(default)]
            filenames: Vec<PathBuf>,
        }
        let mut command = self.command("cargo");
        command.args(["build", "--release", "--target", TARGET]);
        command.arg("--message-format=json-render-diagnostics");
        let output = self.run(
            command.stdout(Stdio::piped()),
            "Rust from https://rustup.rs, with `rustup target add wasm32-wasip2`",
        )?;
        let built = output
            .split(|byte| *byte == b'\n')
            .filter_map(|line| serde_json::from_slice::<Message>(line).ok())
            .filter(|message| message.reason == "compiler-artifact")
            .flat_map(|message| message.filenames)
            .rfind(|file| file.extension() == Some(OsStr::new("wasm")));
        built.context(
            "cargo built no .wasm file; the crate needs crate-type = [\"cdylib\", \"rlib\"]",
        )
    }

    fn javascript(&self) -> Result<PathBuf> {
        let wanted = packages(&fs::read(self.folder.join("package.json"))?);
        // npm keeps hidden files there. It is written last: an installation may have been interrupted.
        let installed = self.folder.join("node_modules/.orbweaver-packages");
        if fs::read(&installed).ok().as_ref() != Some(&wanted) {
            let mut install = self.command("npm");
            install.args(["install", "--no-audit", "--no-fund", "--loglevel=error"]);
            self.run(&mut install, "Node.js 20 or newer from https://nodejs.org")?;
            // Where nothing is wanted, npm makes no folder.
            fs::create_dir_all(self.folder.join("node_modules"))
                .and_then(|()| fs::write(&installed, &wanted))
                .with_context(|| format!("cannot write {}", installed.display()))?;
        }
        let out = self.scratch()?;
        let mut build = self.command("node");
        build.arg("build.mjs").arg(&out);
        self.run(&mut build, "Node.js 20 or newer from https://nodejs.org")?;
        Ok(out)
    }

    fn python(&self) -> Result<PathBuf> {
        const NEEDED: &str = "Python 3.10 or newer with venv from https://www.python.org";
        let venv = self.folder.join(".venv");
        let bin = venv.join(if cfg!(windows) { "Scripts" } else { "bin" });
        let wanted = fs::read(self.folder.join("requirements.txt"))?;
        let installed = venv.join("requirements.txt");
        if fs::read(&installed).ok().as_ref() != Some(&wanted) {
            let mut create = self.command("python3");
            create.args(["-m", "venv", "--clear"]).arg(&venv);
            self.run(&mut create, NEEDED)?;
            let mut install = self.command(bin.join("python"));
            install.args([
                "-m",
                "pip",
                "install",
                "--quiet",
                "--disable-pip-version-check",
            ]);
            install.args(["--requirement", "requirements.txt"]);
            self.run(&mut install, NEEDED)?;
            fs::write(&installed, &wanted)?;
        }
        let out = self.scratch()?;
        let mut build = self.command(bin.join("componentize-py"));
        build.args(["--quiet", "--wit-path", "wit", "--world", "plugin"]);
        // No clock, file, socket or randomness: the component asks for no WASI at all.
        build.args([
            "componentize",
            "--stub-wasi",
            "--python-path",
            "src",
            "--output",
        ]);
        build.arg(&out).arg("plugin");
        self.run(&mut build, NEEDED)?;
        Ok(out)
    }

    /// The file that a tool chain writes before the manifest is embedded.
    fn scratch(&self) -> Result<PathBuf> {
        let build = self.folder.join(BUILD);
        fs::create_dir_all(&build).with_context(|| format!("cannot create {}", build.display()))?;
        Ok(build.join("component.wasm"))
    }

    fn command(&self, program: impl AsRef<OsStr>) -> Command {
        let mut command = Command::new(program);
        command.current_dir(&self.folder).stdin(Stdio::null());
        // The output of a tool is not this program's output.
        command.stdout(Stdio::from(std::io::stderr()));
        command.stderr(Stdio::inherit());
        command
    }

    /// Runs a tool and returns what it printed, if that is piped.
    fn run(&self, command: &mut Command, needed: &str) -> Result<Vec<u8>> {
        let program = command.get_program().to_string_lossy().into_owned();
        let output = command
            .spawn()
            .and_then(std::process::Child::wait_with_output)
            .with_context(|| format!("cannot start {program}; it needs {needed}"))?;
        if !output.status.success() {
            bail!("{program} failed ({})", output.status);
        }
        Ok(output.stdout)
    }
}

/// What a `package.json` lets npm install.
fn packages(package: &[u8]) -> Vec<u8> {
    let Ok(mut read) = serde_json::from_slice::<Map<String, Value>>(package) else {
        // npm says what is wrong with it.
        return package.to_vec();
    };
    read.retain(|field, _| field.to_ascii_lowercase().ends_with("dependencies"));
    Value::Object(read).to_string().into_bytes()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn packages_are_installed_again_where_others_are_wanted() {
        let of = |text: &str| packages(text.as_bytes());
        let first = of(r#"{"name": "a", "devDependencies": {"x": "1.0.0"}}"#);
        let renamed = of(r#"{"devDependencies": {"x": "1.0.0"}, "name": "b"}"#);
        assert_eq!(first, renamed);
        for other in [
            r#"{"name": "a", "devDependencies": {"x": "1.0.1"}}"#,
            r#"{"name": "a", "devDependencies": {"x": "1.0.0"}, "dependencies": {"y": "1.0.0"}}"#,
            "{",
        ] {
            assert_ne!(first, of(other), "{other}");
        }
    }
}
