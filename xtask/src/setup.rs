//! Installs what a new machine lacks. Every step reports what it does; a missing part that cannot
//! be installed is an error, and never skipped silently.

use std::path::Path;
use std::process::Command;

use anyhow::{Result, bail};

use crate::shell::{on_path, output, run};

/// The target that plugins are compiled for.
pub const WASM_TARGET: &str = "wasm32-wasip2";

/// Adds the WebAssembly target to the Rust toolchain in use.
pub fn wasm_target() -> Result<()> {
    let sysroot = output(Command::new("rustc").args(["--print", "sysroot"]))?;
    if Path::new(&sysroot)
        .join("lib/rustlib")
        .join(WASM_TARGET)
        .is_dir()
    {
        return Ok(());
    }
    if !on_path("rustup") {
        bail!("the Rust target {WASM_TARGET} is missing and there is no rustup to add it");
    }
    run(Command::new("rustup").args(["target", "add", WASM_TARGET]))
}

/// Installs what compiling the program needs besides Rust: SQLite, zstd and the allocator are C.
pub fn c_tools() -> Result<()> {
    packages("the build", &[("cc", "gcc"), ("make", "make")])
}

/// Installs what the tests need besides Rust: real servers and a real browser.
pub fn test_tools() -> Result<()> {
    c_tools()?;
    let mut packages = Vec::new();
    if postgres_bin().is_none() {
        packages.push("postgresql");
    }
    if ![
        "chromium-headless-shell",
        "chromium",
        "chromium-browser",
        "google-chrome",
    ]
    .iter()
    .any(|name| on_path(name))
    {
        // Rendering prefers the first. What pages must not reach is also tested with the second.
        packages.extend(["chromium-headless-shell", "chromium"]);
    }
    if !on_path("node") {
        packages.push("nodejs");
    }
    if !on_path("npm") {
        packages.push("npm");
    }
    if !on_path("python3") {
        packages.extend(["python3", "python3-venv"]);
    }
    for server in ["tinyproxy", "microsocks", "docker-registry"] {
        if !on_path(server) {
            packages.push(server);
        }
    }
    if packages.is_empty() {
        return Ok(());
    }
    apt_install("tests", &packages)
}

/// The folder with PostgreSQL's server programs, newest version first.
pub fn postgres_bin() -> Option<std::path::PathBuf> {
    let mut versions: Vec<_> = std::fs::read_dir("/usr/lib/postgresql")
        .into_iter()
        .flatten()
        .filter_map(|entry| {
            let path = entry.ok()?.path();
            let version: u32 = path.file_name()?.to_str()?.parse().ok()?;
            path.join("bin/initdb")
                .is_file()
                .then_some((version, path.join("bin")))
        })
        .collect();
    versions.sort();
    versions.pop().map(|(_, bin)| bin)
}

/// Installs what a task lacks: pairs of a program and the Debian package that contains it.
pub fn packages(task: &str, programs: &[(&str, &'static str)]) -> Result<()> {
    let missing: Vec<&str> = programs
        .iter()
        .filter(|(program, _)| !on_path(program))
        .map(|(_, package)| *package)
        .collect();
    if missing.is_empty() {
        return Ok(());
    }
    apt_install(task, &missing)
}

/// Python, with what makes environments of its own.
pub fn python() -> Result<()> {
    let has_venv = Command::new("python3")
        .args(["-c", "import ensurepip, venv"])
        .output()
        .is_ok_and(|found| found.status.success());
    if has_venv {
        return Ok(());
    }
    apt_install("checks of documentation", &["python3", "python3-venv"])
}

/// Unpacks a Debian package into a folder, without installing it.
pub fn apt_download(package: &str, folder: &Path) -> Result<()> {
    let unpack =
        "apt-get download -qq \"$1\" && dpkg-deb --extract \"$1\"_*.deb . && rm \"$1\"_*.deb";
    let unpack = || {
        let mut command = Command::new("sh");
        command
            .args(["-ec", unpack, "sh", package])
            .current_dir(folder);
        command
    };
    if !on_path("apt-get") {
        bail!("{package} is needed; install it with this system's package manager");
    }
    // The lists of packages may be missing or old.
    run(&mut unpack()).or_else(|_| {
        run(apt()?.args(["update", "-qq"]))?;
        run(&mut unpack())
    })
}

/// `apt-get`, as root.
fn apt() -> Result<Command> {
    let mut command = if output(Command::new("id").arg("-u"))? == "0" {
        Command::new("apt-get")
    } else {
        let mut command = Command::new("sudo");
        command.args(["-n", "apt-get"]);
        command
    };
    command.env("DEBIAN_FRONTEND", "noninteractive");
    Ok(command)
}

fn apt_install(task: &str, packages: &[&str]) -> Result<()> {
    let list = packages.join(" ");
    if !on_path("apt-get") {
        bail!("the {task} need {list}; install them with this system's package manager");
    }
    let installed = run(apt()?.args(["update", "-qq"])).and_then(|()| {
        run(apt()?
            .args(["install", "-y", "-qq", "--no-install-recommends"])
            .args(packages))
    });
    if let Err(error) = installed {
        bail!(
            "the {task} need {list}, which could not be installed ({error}); install them by hand"
        );
    }
    Ok(())
}
