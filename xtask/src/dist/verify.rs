//! Tests the Debian package in a new Debian system that runs systemd: installed, started, used,
//! upgraded, removed. The system is made from Debian's packages and boots in namespaces
//! (`deploy/debian/test/machine.sh`).

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Result, bail};

use super::image::RELEASE;
use super::{VERSION, deb};
use crate::setup;
use crate::shell::{output, root, run, target_dir};

/// Packages of the system besides the essential ones, and the tools of the test.
const PACKAGES: &str = "systemd-sysv,dbus,adduser,libgcc-s1,ca-certificates,curl,iproute2";

/// Runs `deploy/debian/test/package.sh` with this package, and with the same as a newer version.
pub fn package(folder: &Path, package: &Path) -> Result<()> {
    if output(Command::new("id").arg("-u"))? != "0" {
        bail!("--test boots a Debian system in namespaces, which needs root");
    }
    let machine = folder.join(".machine");
    let _ = fs::remove_dir_all(&machine);
    run(Command::new("cp")
        .args(["--archive", "--reflink=auto"])
        .args([&system()?, &machine]))?;
    let upgrade = deb::build(folder, &format!("{VERSION}+test1"))?;
    let tests = root().join("deploy/debian/test");
    for (from, to) in [
        (package, "old.deb"),
        (&upgrade, "new.deb"),
        (&tests.join("package.sh"), "package.sh"),
    ] {
        fs::copy(from, machine.join(to))?;
    }
    fs::remove_file(upgrade)?;
    let tested = run(Command::new("sh")
        .arg(tests.join("machine.sh"))
        .arg(&machine)
        .args(["sh", "/package.sh"]));
    fs::remove_dir_all(&machine)?;
    tested
}

/// The folder of a Debian system, made once.
fn system() -> Result<PathBuf> {
    let folder = target_dir().join("tools").join(format!("debian-{RELEASE}"));
    if folder.is_dir() {
        return Ok(folder);
    }
    setup::packages("tests of the package", &[("mmdebstrap", "mmdebstrap")])?;
    let partial = folder.with_extension("partial");
    let _ = fs::remove_dir_all(&partial);
    fs::create_dir_all(target_dir().join("tools"))?;
    run(Command::new("mmdebstrap")
        .args(["--quiet", "--mode=root", "--variant=minbase"])
        .arg("--format=directory")
        .arg(format!("--include={PACKAGES}"))
        .arg(RELEASE)
        .arg(&partial))?;
    fs::rename(&partial, &folder)?;
    Ok(folder)
}
