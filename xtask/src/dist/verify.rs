//! The Debian package in a fresh Debian: installed, started, upgraded, removed.

use std::fs;
use std::path::Path;
use std::process::Command;

use anyhow::{Result, bail};

use super::image::RELEASE;
use super::{VERSION, deb};
use crate::setup;
use crate::shell::{output, root, run};

/// Runs `deploy/debian/test.sh` in a root file system of its own, and checks the unit.
pub fn package(folder: &Path, package: &Path) -> Result<()> {
    if output(Command::new("id").arg("-u"))? != "0" {
        bail!("--test installs a package in a chroot, which only root may do");
    }
    setup::packages(
        "package's tests",
        &[
            ("mmdebstrap", "mmdebstrap"),
            ("systemd-analyze", "systemd"),
            ("curl", "curl"),
        ],
    )?;
    let chroot = folder.join(".debian");
    let _ = fs::remove_dir_all(&chroot);
    run(Command::new("mmdebstrap")
        .args([
            "--quiet",
            "--variant=minbase",
            "--mode=root",
            "--format=directory",
        ])
        .args(["--include=adduser,libgcc-s1,curl,ca-certificates,iproute2"])
        .arg(RELEASE)
        .arg(&chroot))?;
    let newer = format!("{VERSION}+test1");
    let upgrade = deb::build(folder, &newer)?;
    for (from, to) in [
        (package, "old.deb"),
        (&upgrade, "new.deb"),
        (&root().join("deploy/debian/test.sh"), "test.sh"),
    ] {
        fs::copy(from, chroot.join(to))?;
    }
    fs::remove_file(upgrade)?;
    let tested = run(Command::new("unshare")
        .args(["--mount", "--net", "--pid", "--fork", "--kill-child"])
        .arg(format!("--root={}", chroot.display()))
        .args([
            "sh",
            "-c",
            "mount -t proc proc /proc && ip link set lo up && exec sh /test.sh",
        ]))
    .and_then(|()| unit(&chroot));
    fs::remove_dir_all(&chroot)?;
    tested
}

/// Checks that systemd understands the unit, and how much it is confined.
fn unit(chroot: &Path) -> Result<()> {
    let unit = chroot.join("orbweaver.service");
    let text = fs::read_to_string(root().join("deploy/orbweaver.service"))?;
    // Where it is checked, the program is not installed.
    let program = chroot.join("program");
    fs::write(&program, "")?;
    run(Command::new("chmod").arg("+x").arg(&program))?;
    let text = text.replace("/usr/bin/orbweaver", &program.display().to_string());
    fs::write(&unit, text)?;
    run(Command::new("systemd-analyze")
        .args(["verify", "--man=no", "--recursive-errors=no"])
        .arg(&unit))?;
    run(Command::new("systemd-analyze")
        .args(["security", "--offline=true", "--threshold=30", "--no-pager"])
        .arg(&unit))
}
