//! The program itself. That cargo builds it for this suite is also how the behaviour suite,
//! which is a package of its own and has the same name, finds it built with the same features.

use std::process::Command;

#[test]
fn the_program_tells_its_version() {
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
