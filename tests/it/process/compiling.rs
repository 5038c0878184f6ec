//! Uploads are compiled in a process of their own, which has a bound of memory.

use super::{Served, command};
use crate::support::{Client, KEY, fixture};

/// Adds a core module to a component whose function has so many blocks, each with a thousand results: the compiler
/// takes memory by the square of their number.
fn with_nested_blocks(component: &[u8], blocks: usize) -> Vec<u8> {
    const RESULTS: usize = 1_000;
    let thousand = [vec![0x60, 0], number(RESULTS), vec![0x7f; RESULTS]].concat();
    let types = vector(&[vec![0x60, 0, 0], thousand]);
    let functions = vector(&[vec![1], vec![0]]);
    let unreachable = vec![0, 0x00, 0x0b];
    let (block, call, end, drop) = ([0x02, 1], [0x10, 0], [0x0b], [0x1a]);
    let nested = [
        vec![0],
        block.repeat(blocks),
        call.to_vec(),
        end.repeat(blocks),
        drop.repeat(RESULTS),
        end.to_vec(),
    ]
    .concat();
    let sized = |body: Vec<u8>| [number(body.len()), body].concat();
    let bodies = vector(&[sized(unreachable), sized(nested)]);
    let module = [
        b"\0asm\x01\0\0\0".to_vec(),
        section(1, types),
        section(3, functions),
        section(10, bodies),
    ]
    .concat();
    [component.to_vec(), section(1, module)].concat()
}

fn section(id: u8, content: Vec<u8>) -> Vec<u8> {
    [vec![id], number(content.len()), content].concat()
}

fn vector(items: &[Vec<u8>]) -> Vec<u8> {
    [number(items.len()), items.concat()].concat()
}

/// A number in LEB128.
fn number(mut rest: usize) -> Vec<u8> {
    let mut bytes = Vec::new();
    loop {
        let low = u8::try_from(rest & 0x7f).unwrap();
        rest >>= 7;
        if rest == 0 {
            bytes.push(low);
            return bytes;
        }
        bytes.push(low | 0x80);
    }
}

/// The most memory that a process has had, in MiB.
fn most_memory(pid: u32) -> u64 {
    let status = std::fs::read_to_string(format!("/proc/{pid}/status")).unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    let kib = line.unwrap().trim().trim_end_matches(" kB");
    kib.parse::<u64>().unwrap() / 1_024
}

#[tokio::test(flavor = "multi_thread")]
async fn a_plugin_whose_compilation_takes_too_much_memory_is_refused_and_harms_nobody() {
    let data = tempfile::tempdir().unwrap();
    let no_plugins = data.path().join("none");
    std::fs::create_dir(&no_plugins).unwrap();
    let served = Served::start(
        command(&data)
            .env("ORBWEAVER_BOOTSTRAP_KEY", KEY)
            .env("ORBWEAVER_PLUGINS__CACHE_DIR", data.path().join("compiled"))
            .env("ORBWEAVER_PLUGIN_DIR", &no_plugins)
            .env("ORBWEAVER_PLUGINS__COMPILE_MEMORY_MIB", "512"),
    );
    let client = Client::new(served.address, Some(KEY));
    let good = std::fs::read(fixture("good")).unwrap();
    let put = async |component: &[u8]| {
        let headers = [("content-type", "application/wasm")];
        client
            .send("PUT", "/v1/plugins/good", &headers, component)
            .await
    };
    let refused = put(&with_nested_blocks(&good, 1_000)).await;
    let text = refused.text();
    assert_eq!(refused.status, 422, "{text}");
    assert!(
        text.contains("more than 512 MiB of memory (setting plugins.compile_memory_mib)"),
        "{text}"
    );
    let most = most_memory(served.process.id());
    assert!(most < 1_024, "the service itself took {most} MiB");
    // What is as large and harmless is compiled there, too.
    let installed = put(&with_nested_blocks(&good, 10)).await;
    assert_eq!(installed.status, 201, "{}", installed.text());
}
