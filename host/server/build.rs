//! Links a smaller program if `cargo xtask dist` asks for it: functions with the same code are kept
//! once, and relocations are packed, which needs glibc 2.36 or newer.

fn main() {
    const ASKED: &str = "ORBWEAVER_LINK_SMALL";
    println!("cargo::rerun-if-env-changed={ASKED}");
    let target = |part: &str| std::env::var(format!("CARGO_CFG_TARGET_{part}"));
    // Rust has a linker with these options for this target only.
    let is_known = target("ARCH").as_deref() == Ok("x86_64")
        && target("OS").as_deref() == Ok("linux")
        && target("ENV").as_deref() == Ok("gnu");
    if is_known && std::env::var_os(ASKED).is_some() {
        println!("cargo::rustc-link-arg-bins=-Wl,--icf=safe");
        println!("cargo::rustc-link-arg-bins=-Wl,-z,pack-relative-relocs");
    }
}
