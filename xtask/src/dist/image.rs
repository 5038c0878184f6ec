//! Container images of the program that was built, on a base made from Debian's packages: no
//! image is downloaded.

use std::fs;
use std::path::Path;
use std::process::Command;

use anyhow::Result;

use super::VERSION;
use crate::setup;
use crate::shell::{output, root, run};

/// Debian's release that images are made from.
pub const RELEASE: &str = "bookworm";

/// What the program needs besides itself.
const BASE_PACKAGES: &str = "libc6,libgcc-s1,ca-certificates,netbase,tzdata";
/// What rendering needs besides.
const BROWSER_PACKAGES: &str = "chromium-headless-shell,fonts-liberation";

/// Parts of packages that a service never reads.
const UNUSED: [&str; 4] = [
    "/usr/share/doc/*",
    "/usr/share/man/*",
    "/usr/share/info/*",
    "/usr/share/locale/*",
];

/// Builds `localhost/orbweaver:VERSION` and `localhost/orbweaver:VERSION-browser`.
pub fn build(folder: &Path) -> Result<()> {
    setup::packages(
        "container images",
        &[("buildah", "buildah"), ("mmdebstrap", "mmdebstrap")],
    )?;
    variant(folder, "", BASE_PACKAGES)?;
    variant(
        folder,
        "-browser",
        &format!("{BASE_PACKAGES},{BROWSER_PACKAGES}"),
    )
}

fn variant(folder: &Path, suffix: &str, packages: &str) -> Result<()> {
    let base = format!("localhost/orbweaver-base{suffix}:{RELEASE}");
    let files = folder.join(format!(".base{suffix}.tar"));
    let mut debstrap = Command::new("mmdebstrap");
    debstrap.args([
        "--quiet",
        "--variant=essential",
        // The data folder belongs to the user that the image runs as.
        "--customize-hook=install -d -o 65532 -g 65532 -m 0700 \"$1/var/lib/orbweaver\"",
        "--customize-hook=rm -rf \"$1/var/lib/apt\" \"$1/var/cache\"/* \"$1/var/log\"/*",
        "--customize-hook=find \"$1\" -xdev -type f -perm /6000 -exec chmod ug-s {} +",
    ]);
    for path in UNUSED {
        debstrap.arg(format!("--dpkgopt=path-exclude={path}"));
    }
    debstrap.arg(format!("--include={packages}"));
    run(debstrap.arg(RELEASE).arg(&files))?;
    let container = output(buildah().args(["from", "scratch"]))?;
    run(buildah()
        .args(["add", "--quiet", &container])
        .arg(&files)
        .arg("/"))?;
    run(buildah().args(["commit", "--quiet", "--rm", &container, &base]))?;
    fs::remove_file(files)?;
    run(buildah()
        .args([
            "build",
            "--pull=never",
            "--isolation=chroot",
            "--format=docker",
        ])
        .arg("--build-arg")
        .arg(format!("BASE={base}"))
        .arg("--tag")
        .arg(format!("localhost/orbweaver:{VERSION}{suffix}"))
        .arg("--file")
        .arg(root().join("deploy/image/Containerfile"))
        .arg(folder))
}

fn buildah() -> Command {
    Command::new("buildah")
}
