//! When browsers start, are replaced and end.

use std::time::Duration;

use orbweaver_fetch::{Kind, find_browser};
use orbweaver_origin::{Origin, Reply};

use super::{html, render, renderer, renderer_of, renderer_with};

/// The processes of a group, zombies included.
pub(super) fn processes(group: i32) -> Vec<(i32, String)> {
    std::fs::read_dir("/proc")
        .unwrap()
        .filter_map(|entry| {
            let path = entry.ok()?.path();
            let pid = path.file_name()?.to_str()?.parse().ok()?;
            let stat = std::fs::read_to_string(path.join("stat")).ok()?;
            let of: i32 = stat.rsplit_once(") ")?.1.split(' ').nth(2)?.parse().ok()?;
            let line = std::fs::read_to_string(path.join("cmdline")).unwrap_or_default();
            (of == group).then_some((pid, line.replace('\0', " ")))
        })
        .collect()
}

fn kill(pid: i32) {
    let status = std::process::Command::new("kill")
        .args(["-9", &pid.to_string()])
        .status()
        .unwrap();
    assert!(status.success());
}

/// The nice values of all threads of a process (`proc_pid_stat(5)`, field 19).
pub(super) fn nice_values(pid: i32) -> Vec<i32> {
    let threads = std::fs::read_dir(format!("/proc/{pid}/task"));
    let stat = |entry: std::fs::DirEntry| std::fs::read_to_string(entry.path().join("stat")).ok();
    threads
        .into_iter()
        .flatten()
        .filter_map(|entry| {
            let stat = stat(entry.ok()?)?;
            stat.rsplit_once(") ")?.1.split(' ').nth(16)?.parse().ok()
        })
        .collect()
}

/// As an ordinary user, Chromium may not do so in any case.
#[tokio::test]
async fn the_browser_does_not_go_before_the_service() {
    let origin = Origin::start().await.unwrap();
    origin.set("/", Reply::html("<p>here"));
    let renderer = renderer();
    render(&renderer, origin.url("/")).await.unwrap();
    let group = renderer.process_group().await.unwrap();
    let values: Vec<i32> = processes(group)
        .into_iter()
        .flat_map(|(pid, _)| nice_values(pid))
        .collect();
    assert!(!values.is_empty());
    assert!(values.iter().all(|nice| *nice >= 0), "{values:?}");
}

/// Writes a program by another process: one that another test starts meanwhile would inherit the open
/// file from this process, and a file that somebody may write to cannot be run.
fn write_program(program: &std::path::Path, text: &str) {
    let written = program.with_extension("text");
    std::fs::write(&written, text).unwrap();
    let mut install = std::process::Command::new("install");
    let installed = install.args(["-m", "700"]).arg(written).arg(program);
    assert!(installed.status().unwrap().success());
}

#[tokio::test]
async fn a_crash_costs_one_retry() {
    let origin = Origin::start().await.unwrap();
    origin.set("/held/page", Reply::html("<p>at last</p>"));
    let renderer = renderer();
    for whole in [false, true] {
        let url = origin.url("/held/page");
        let asked = origin.count("/held/page");
        let crash = async {
            origin.asked("/held/page", asked + 1).await;
            let group = renderer.process_group().await.unwrap();
            let victims: Vec<i32> = processes(group)
                .into_iter()
                .filter(|(pid, line)| {
                    if whole {
                        *pid == group
                    } else {
                        line.contains("--type=renderer")
                    }
                })
                .map(|(pid, _)| pid)
                .collect();
            assert!(!victims.is_empty());
            victims.into_iter().for_each(kill);
            origin.asked("/held/page", asked + 2).await;
            origin.release();
        };
        // Its error ends the test: the requests that the other waits for would not come.
        let rendered = async { render(&renderer, url).await.unwrap() };
        let (rendered, ()) = tokio::join!(rendered, crash);
        assert!(html(&rendered).contains("at last"));
    }
}

#[tokio::test]
async fn a_browser_is_replaced_after_its_uses_and_leaves_nothing() {
    let origin = Origin::start().await.unwrap();
    origin.set("/", Reply::html("fine"));
    let renderer = renderer_with(|config| config.max_uses = 2);
    render(&renderer, origin.url("/")).await.unwrap();
    let first = renderer.process_group().await.unwrap();
    render(&renderer, origin.url("/")).await.unwrap();
    render(&renderer, origin.url("/")).await.unwrap();
    let second = renderer.process_group().await.unwrap();
    assert_ne!(first, second);
    gone(first).await;
    renderer.shutdown().await;
    assert_eq!(processes(second), []);
    let error = render(&renderer, origin.url("/")).await.unwrap_err();
    assert_eq!(error.kind, Kind::Browser);
}

/// Waits for a group's end, which comes with its last page's.
async fn gone(group: i32) {
    let patience = async {
        while !processes(group).is_empty() {
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    };
    let ended = tokio::time::timeout(Duration::from_secs(60), patience).await;
    assert!(ended.is_ok(), "left behind: {:?}", processes(group));
}

#[tokio::test]
async fn dropping_the_pool_ends_the_browser() {
    let origin = Origin::start().await.unwrap();
    origin.set("/", Reply::html("fine"));
    let renderer = renderer();
    render(&renderer, origin.url("/")).await.unwrap();
    let group = renderer.process_group().await.unwrap();
    drop(renderer);
    gone(group).await;
}

#[tokio::test]
async fn a_browser_that_crashes_while_it_starts_is_started_again() {
    let origin = Origin::start().await.unwrap();
    origin.set("/", Reply::html("<p>text"));
    let dir = tempfile::tempdir().unwrap();
    let (program, tries) = (dir.path().join("browser"), dir.path().join("tries"));
    // Crashes as often as `crashes` says, then becomes the real browser.
    let script = |crashes: usize| {
        format!(
            "#!/bin/sh\necho >> {tries}\n[ $(wc -l < {tries}) -gt {crashes} ] || kill -SEGV $$\n\
             exec {browser} \"$@\"\n",
            tries = tries.display(),
            browser = find_browser(None).unwrap().display(),
        )
    };
    let count = || std::fs::read_to_string(&tries).unwrap().lines().count();
    write_program(&program, &script(1));
    let page = render(&renderer_of(&program), origin.url("/"))
        .await
        .unwrap();
    assert!(html(&page).contains("text"));
    assert_eq!(count(), 2);
    // One that always crashes is an error, and not started for ever.
    write_program(&program, &script(100));
    let error = render(&renderer_of(&program), origin.url("/"))
        .await
        .unwrap_err();
    assert!(error.to_string().contains("does not start"), "{error}");
}
