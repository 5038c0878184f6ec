//! Tests the program itself. Because cargo builds it for this suite, the behaviour suite, a
//! separate package of the same name, finds it built with the same features.

use std::process::Command;

#[test]
fn the_program_prints_its_version() {
    let output = Command::new(env!("CARGO_BIN_EXE_orbweaver"))
        .arg("--version")
        .output()
        .expect("the program runs");
    assert!(output.status.success());
    assert_eq!(
        String::from_utf8_lossy(&output.stdout).trim(),
        concat!("orbweaver ", env!("CARGO_PKG_VERSION"))
    );
}
