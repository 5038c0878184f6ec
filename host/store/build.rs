//! Makes cargo rebuild when a migration changes, because `sqlx::migrate!` embeds them.

fn main() {
    println!("cargo::rerun-if-changed=../../migrations");
}
