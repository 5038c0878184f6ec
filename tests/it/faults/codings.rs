//! Faults 8 to 12: content codings.

use orbweaver_origin::BOMB_BYTES;

use super::support::Faulty;

#[tokio::test]
async fn fault_08_bombs_of_every_coding() {
    let faulty = Faulty::start().await;
    // Other tests run in this process, so only what comes on top counts (proc(5), clear_refs).
    std::fs::write("/proc/self/clear_refs", "5").unwrap();
    let before = peak_memory();
    for coding in ["gzip", "deflate", "br", "zstd"] {
        let path = format!("/fault/bomb/{coding}");
        assert_eq!(faulty.failure(&path).await, "too_large", "{coding}");
    }
    // A bomb is decoded up to the limit only: a few complete ones would show here.
    let peak = peak_memory();
    assert!(peak < before + BOMB_BYTES, "{before}, then {peak} bytes");
    faulty.is_well().await;
}

/// The peak memory of this process, in bytes.
fn peak_memory() -> usize {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    let kibibytes = line.unwrap().trim().split(' ').next().unwrap();
    kibibytes.parse::<usize>().unwrap() * 1024
}

#[tokio::test]
async fn fault_09_nested_codings() {
    let faulty = Faulty::start().await;
    assert_eq!(faulty.failure("/fault/nested").await, "decode");
    faulty.is_well().await;
}

#[tokio::test]
async fn fault_10_plain_body_called_gzip() {
    let faulty = Faulty::start().await;
    assert_eq!(faulty.failure("/fault/not-gzip").await, "decode");
    faulty.is_well().await;
}

#[tokio::test]
async fn fault_11_truncated_gzip_keeps_what_decoded() {
    let faulty = Faulty::start().await;
    let bytes = faulty.scan("/fault/cut-gzip").await["bytes"]
        .as_u64()
        .unwrap();
    assert!(bytes > 10_000 && bytes < 60_000, "{bytes}");
    faulty.is_well().await;
}

#[tokio::test]
async fn fault_12_unknown_coding() {
    let faulty = Faulty::start().await;
    assert_eq!(faulty.failure("/fault/unknown-coding").await, "decode");
    faulty.is_well().await;
}
