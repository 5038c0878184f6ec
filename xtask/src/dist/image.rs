//! Container images of the built program, on a base made from Debian packages. No image is
//! downloaded.

use std::fs;
use std::path::Path;
use std::process::Command;

use anyhow::Result;

use super::VERSION;
use crate::setup;
use crate::shell::{output, root, run};

/// The Debian release of images and of the package's test.
pub const RELEASE: &str = "bookworm";

/// Packages that the program needs.
const BASE_PACKAGES: &str = "libc6,libgcc-s1,ca-certificates,netbase,tzdata";
/// Packages that rendering needs in addition.
const BROWSER_PACKAGES: &str = "chromium-headless-shell,fonts-liberation";

/// Files of packages that a service never reads.
const UNUSED: [&str; 4] = [
    "/usr/share/doc/*",
    "/usr/share/man/*",
    "/usr/share/info/*",
    "/usr/share/locale/*",
];

/// Builds and tests `localhost/orbweaver:VERSION` and `localhost/orbweaver:VERSION-browser`.
pub fn build(folder: &Path) -> Result<()> {
    setup::packages(
        "container images",
        &[
            ("buildah", "buildah"),
            ("podman", "podman"),
            ("mmdebstrap", "mmdebstrap"),
            ("curl", "curl"),
        ],
    )?;
    variant(folder, "", BASE_PACKAGES)?;
    variant(
        folder,
        "-browser",
        &format!("{BASE_PACKAGES},{BROWSER_PACKAGES}"),
    )
}

fn variant(folder: &Path, suffix: &str, packages: &str) -> Result<()> {
    let image = format!("localhost/orbweaver:{VERSION}{suffix}");
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
        .args(["--tag", &image])
        .arg("--file")
        .arg(root().join("deploy/image/Containerfile"))
        .arg(folder))?;
    run(Command::new("sh")
        .arg(root().join("deploy/image/test.sh"))
        .arg(&image))
}

fn buildah() -> Command {
    Command::new("buildah")
}
