//! The Debian package, made by dpkg-deb from `deploy/debian` and the built files.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context as _, Result, bail};

use super::{copy, sbom};
use crate::shell::{output, root, run};

/// Scripts that dpkg runs.
const SCRIPTS: [&str; 3] = ["postinst", "prerm", "postrm"];

/// Builds the package of this version and returns its path.
pub fn build(folder: &Path, version: &str) -> Result<PathBuf> {
    let architecture = architecture()?;
    let stage = folder.join(".deb");
    let _ = fs::remove_dir_all(&stage);
    let source = root().join("deploy/debian");
    let put = |from: &Path, to: &str, mode: u32| -> Result<()> {
        let to = stage.join(to);
        copy(from, &to)?;
        fs::set_permissions(&to, fs::Permissions::from_mode(mode))?;
        Ok(())
    };
    put(&folder.join("orbweaver"), "usr/bin/orbweaver", 0o755)?;
    put(
        &source.join("orbweaver-admin"),
        "usr/sbin/orbweaver-admin",
        0o755,
    )?;
    put(
        &root().join("deploy/orbweaver.service"),
        "lib/systemd/system/orbweaver.service",
        0o644,
    )?;
    put(
        &root().join("deploy/orbweaver.toml"),
        "etc/orbweaver/orbweaver.toml",
        0o644,
    )?;
    for (file, to) in [
        (
            "orbweaver.bash",
            "usr/share/bash-completion/completions/orbweaver",
        ),
        ("_orbweaver", "usr/share/zsh/vendor-completions/_orbweaver"),
        (
            "orbweaver.fish",
            "usr/share/fish/vendor_completions.d/orbweaver.fish",
        ),
    ] {
        put(&folder.join("completions").join(file), to, 0o644)?;
    }
    for page in fs::read_dir(folder.join("man"))?.flatten() {
        let name = page.file_name().to_string_lossy().into_owned();
        put(&page.path(), &format!("usr/share/man/man1/{name}"), 0o644)?;
    }
    put(
        &source.join("orbweaver-admin.8"),
        "usr/share/man/man8/orbweaver-admin.8",
        0o644,
    )?;
    let doc = "usr/share/doc/orbweaver";
    put(
        &source.join("copyright"),
        &format!("{doc}/copyright"),
        0o644,
    )?;
    put(
        &root().join("README.md"),
        &format!("{doc}/README.md"),
        0o644,
    )?;
    put(
        &root().join("CHANGELOG.md"),
        &format!("{doc}/changelog"),
        0o644,
    )?;
    put(
        &folder.join(sbom::file_name()),
        &format!("{doc}/{}", sbom::file_name()),
        0o644,
    )?;
    for folder in ["usr/share/man", doc] {
        compress(&stage.join(folder))?;
    }
    for script in SCRIPTS {
        put(&source.join(script), &format!("DEBIAN/{script}"), 0o755)?;
    }
    put(&source.join("conffiles"), "DEBIAN/conffiles", 0o644)?;
    let control = fs::read_to_string(source.join("control"))?
        .replace("@VERSION@", version)
        .replace("@ARCHITECTURE@", &architecture)
        .replace("@GLIBC@", &glibc(&folder.join("orbweaver"))?)
        .replace("@INSTALLED_SIZE@", &installed_kib(&stage)?);
    fs::write(stage.join("DEBIAN/control"), control)?;
    // The usual modes, whatever this process's umask is.
    run(Command::new("chmod")
        .args(["-R", "u=rwX,go=rX"])
        .arg(&stage))?;
    let package = folder.join(format!("orbweaver_{version}_{architecture}.deb"));
    run(Command::new("dpkg-deb")
        .args(["--root-owner-group", "-Zxz", "--build"])
        .args([&stage, &package]))?;
    fs::remove_dir_all(&stage)?;
    Ok(package)
}

/// Debian's name of this machine's processor architecture.
fn architecture() -> Result<String> {
    Ok(match super::architecture() {
        "x86_64" => "amd64".to_owned(),
        "aarch64" => "arm64".to_owned(),
        other => bail!("there is no Debian package for {other}"),
    })
}

/// Compresses manual pages and change logs, as Debian's policy requires, without a date inside.
fn compress(folder: &Path) -> Result<()> {
    let files =
        output(
            Command::new("find")
                .arg(folder)
                .args(["-type", "f", "!", "-name", "copyright"]),
        )?;
    run(Command::new("gzip")
        .args(["-9", "--no-name"])
        .args(files.lines()))
}

/// The oldest version of glibc that has all functions that the program uses.
fn glibc(program: &Path) -> Result<String> {
    let symbols = output(Command::new("objdump").arg("--dynamic-syms").arg(program))?;
    newest_glibc(&symbols).context("the program does not use glibc")
}

/// The highest version in symbols such as `GLIBC_2.34`.
fn newest_glibc(symbols: &str) -> Option<String> {
    let versions = symbols.split("GLIBC_").skip(1).filter_map(|text| {
        let end = text.find(|c: char| c != '.' && !c.is_ascii_digit());
        let (major, minor) = text.get(..end.unwrap_or(text.len()))?.split_once('.')?;
        let minor = minor.split('.').next()?;
        Some((major.parse::<u32>().ok()?, minor.parse::<u32>().ok()?))
    });
    versions
        .max()
        .map(|(major, minor)| format!("{major}.{minor}"))
}

fn installed_kib(stage: &Path) -> Result<String> {
    let size = output(
        Command::new("du")
            .args(["--summarize", "--block-size=1024"])
            .arg(stage),
    )?;
    let size = size.split_whitespace().next();
    Ok(size.context("du printed nothing")?.to_owned())
}

#[cfg(test)]
mod tests {
    use super::newest_glibc;

    #[test]
    fn the_newest_symbol_decides_the_glibc_version() {
        let symbols = "DF *UND* (GLIBC_2.2.5) write\nDF *UND* (GLIBC_2.34) dlsym\n(GLIBC_2.9) x";
        assert_eq!(newest_glibc(symbols).as_deref(), Some("2.34"));
        assert_eq!(newest_glibc("(GCC_3.0) _Unwind"), None);
    }
}
