//! A Chromium process: started with two pipes, ended with its whole process group.

use std::ffi::OsString;
use std::io;
use std::os::fd::{AsRawFd as _, OwnedFd};
use std::os::unix::process::CommandExt as _;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::sync::OnceLock;

use parking_lot::Mutex;
use tokio::io::AsyncReadExt as _;
use tokio::net::unix::pipe;
use tokio::sync::{oneshot, watch};

use super::config::{Isolation, Sandbox};
use super::meter;
use super::profile::Profile;
use super::strays;

/// How many of the last bytes of Chromium's standard error are kept.
const STDERR_BYTES: usize = 4_096;

/// Flags for every browser. Only requested pages may reach the network.
const FLAGS: &[&str] = &[
    "--headless",
    "--remote-debugging-pipe",
    "--disable-gpu",
    "--disable-dev-shm-usage",
    "--hide-scrollbars",
    "--mute-audio",
    // Popups would be pages outside the bounds of the one that opens them.
    "--block-new-web-contents",
    "--window-size=1280,800",
    "--no-first-run",
    "--no-default-browser-check",
    "--no-pings",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-component-extensions-with-background-pages",
    "--disable-default-apps",
    "--disable-extensions",
    "--disable-sync",
    "--disable-breakpad",
    "--disable-crash-reporter",
    "--disable-client-side-phishing-detection",
    "--disable-domain-reliability",
    "--disable-quic",
    "--disable-search-engine-choice-screen",
    "--disable-hang-monitor",
    "--disable-prompt-on-repost",
    "--disable-backgrounding-occluded-windows",
    "--disable-renderer-backgrounding",
    "--disable-background-timer-throttling",
    "--dns-prefetch-disable",
    "--metrics-recording-only",
    "--password-store=basic",
    "--use-mock-keychain",
    "--disk-cache-size=16777216",
    "--js-flags=--max-old-space-size=512",
    // Pages reach the network only through their context's proxy; nothing else resolves names
    // or sends datagrams.
    "--host-resolver-rules=MAP * ~NOTFOUND , EXCLUDE 127.0.0.1",
    "--force-webrtc-ip-handling-policy=disable_non_proxied_udp",
    // The same for a browser with a user interface, which does not read the one before.
    "--webrtc-ip-handling-policy=disable_non_proxied_udp",
    "--disable-features=DialMediaRouteProvider,MediaRouter,OptimizationHints,Translate,\
     InterestFeedContentSuggestions,PrivacySandboxSettings4,AutofillServerCommunication,\
     CertificateTransparencyComponentUpdater,WebTransport,DirectSockets,FedCm,\
     WebRtcHideLocalIpsWithMdns",
];

/// A running browser process. Dropping it kills its whole process group.
pub(super) struct Process {
    group: Arc<Mutex<Option<i32>>>,
    stderr: Arc<Mutex<Vec<u8>>>,
    /// Closed when no process of the group is left.
    ended: watch::Receiver<()>,
}

/// A started browser: the process, and the pipes that the protocol runs over.
pub(super) struct Started {
    pub process: Process,
    pub input: pipe::Sender,
    pub output: pipe::Receiver,
}

/// Starts `program`.
pub(super) async fn launch(program: &Path, sandbox: Sandbox) -> io::Result<Started> {
    let profile = Profile::new()?;
    // One pipe for commands to the browser, one for its events.
    let (commands, input) = io::pipe()?;
    let (output, events) = io::pipe()?;
    let command = command(program, sandbox, &profile, commands.into(), events.into());
    let group = Arc::new(Mutex::new(None));
    let (started, ready) = oneshot::channel();
    let watched = Arc::clone(&group);
    let (ending, ended) = watch::channel(());
    // A separate thread starts, waits for and reaps the process: the kernel sends the parent
    // death signal when the thread that started a process ends.
    std::thread::Builder::new()
        .name("browser".to_owned())
        .spawn(move || {
            watch(command, profile, &watched, started);
            drop(ending);
        })?;
    let stderr_pipe = ready
        .await
        .map_err(|_| io::Error::other("the browser's thread ended"))??;
    let stderr_pipe = pipe::Receiver::from_owned_fd(stderr_pipe)?;
    let process = Process {
        group,
        stderr: Arc::default(),
        ended,
    };
    tokio::spawn(keep_stderr(stderr_pipe, Arc::clone(&process.stderr)));
    Ok(Started {
        process,
        input: pipe::Sender::from_owned_fd(input.into())?,
        output: pipe::Receiver::from_owned_fd(output.into())?,
    })
}

fn command(
    program: &Path,
    sandbox: Sandbox,
    profile: &Profile,
    commands: OwnedFd,
    events: OwnedFd,
) -> Command {
    let mut command = Command::new(program);
    let mut data_dir = OsString::from("--user-data-dir=");
    data_dir.push(profile.path());
    command
        .args(FLAGS)
        .arg(data_dir)
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .process_group(0);
    if sandbox.isolation() != Isolation::Sandboxed {
        command.arg("--no-sandbox");
    }
    // The browser runs untrusted scripts: it must not see this process's environment.
    command.env_clear().env("HOME", profile.path());
    for name in [
        "PATH",
        "LANG",
        "LC_ALL",
        "TZ",
        "FONTCONFIG_PATH",
        "FONTCONFIG_FILE",
    ] {
        if let Some(value) = std::env::var_os(name) {
            command.env(name, value);
        }
    }
    let parent = std::process::id();
    // SAFETY: runs between fork and exec; prctl, getppid, fcntl, dup2 and _exit are
    // async-signal-safe, nothing allocates, and the descriptors are owned by the closure.
    unsafe {
        command.pre_exec(move || {
            libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL);
            if libc::getppid().unsigned_abs() != parent {
                // The parent died before prctl was called.
                libc::_exit(1);
            }
            forbid_higher_priority();
            // Moved above 4 first, because one of them may already be 3 or 4.
            let input = libc::fcntl(commands.as_raw_fd(), libc::F_DUPFD, 5);
            let output = libc::fcntl(events.as_raw_fd(), libc::F_DUPFD, 5);
            if input < 0 || output < 0 || libc::dup2(input, 3) < 0 || libc::dup2(output, 4) < 0 {
                return Err(io::Error::last_os_error());
            }
            libc::close(input);
            libc::close(output);
            Ok(())
        });
    }
    command
}

/// Keeps the browser from going before the service where both compete for the processors. As root,
/// Chromium raises the priority of its own threads (to nice -8); the right to do so, dropped from the
/// bounding set, is lost with exec. A failure changes nothing.
fn forbid_higher_priority() {
    /// `linux/capability.h`
    const CAP_SYS_NICE: libc::c_ulong = 23;
    // SAFETY: takes plain numbers.
    unsafe { libc::prctl(libc::PR_CAPBSET_DROP, CAP_SYS_NICE, 0, 0, 0) };
}

/// Starts the process, waits for its end, kills remaining processes of its group and reaps
/// them all, so that not even a zombie remains.
fn watch(
    mut command: Command,
    profile: Profile,
    group: &Mutex<Option<i32>>,
    started: oneshot::Sender<io::Result<OwnedFd>>,
) {
    adopt_orphans();
    let spawned = command.spawn();
    // Closes this process's copies of the browser's pipe ends, so that end of file is seen.
    drop(command);
    let mut child = match spawned {
        Ok(child) => child,
        Err(error) => {
            let _ = started.send(Err(error));
            return;
        }
    };
    let pid = i32::try_from(child.id()).unwrap_or(i32::MAX);
    *group.lock() = Some(pid);
    let _ = started.send(stderr_of(&mut child));
    wait_without_collecting(pid);
    {
        let mut group = group.lock();
        kill_group(pid);
        *group = None;
    }
    let _ = child.wait();
    collect_group(pid);
    strays::collect();
    drop(profile);
}

fn stderr_of(child: &mut Child) -> io::Result<OwnedFd> {
    let stderr = child
        .stderr
        .take()
        .ok_or_else(|| io::Error::other("no standard error"))?;
    Ok(stderr.into())
}

async fn keep_stderr(mut pipe: pipe::Receiver, kept: Arc<Mutex<Vec<u8>>>) {
    let mut chunk = [0; 1_024];
    while let Ok(count @ 1..) = pipe.read(&mut chunk).await {
        let mut kept = kept.lock();
        kept.extend_from_slice(chunk.get(..count).unwrap_or_default());
        let excess = kept.len().saturating_sub(STDERR_BYTES);
        kept.drain(..excess);
    }
}

impl Process {
    /// The group's id, which is the browser's process id; `None` once it has ended.
    pub fn group(&self) -> Option<i32> {
        *self.group.lock()
    }

    /// Kills the whole group.
    pub fn kill(&self) {
        // Under the lock, so that the id still belongs to this group.
        if let Some(pid) = *self.group.lock() {
            kill_group(pid);
        }
    }

    /// Kills one process of the group.
    pub fn kill_member(&self, pid: i32) {
        // Under the lock, so that the group's id still belongs to it.
        if let Some(group) = *self.group.lock()
            && meter::is_member(pid, group)
        {
            // SAFETY: sends a signal to a process that was just seen in the group.
            unsafe { libc::kill(pid, libc::SIGKILL) };
        }
    }

    /// Waits until no process of the group is left, not even a zombie.
    #[crate::boxed]
    pub async fn ended(&self) {
        while self.ended.clone().changed().await.is_ok() {}
    }

    /// The last line of the browser's standard error.
    pub fn last_words(&self) -> String {
        let stderr = self.stderr.lock();
        let text = String::from_utf8_lossy(&stderr);
        let mut lines = text.lines().map(str::trim).filter(|line| !line.is_empty());
        // Warnings about a missing message bus appear in every container.
        lines
            .rfind(|line| !line.contains("dbus/"))
            .unwrap_or("no error output")
            .chars()
            .take(400)
            .collect()
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        self.kill();
    }
}

/// Makes this process the parent of orphaned Chromium helpers, so that it can reap them.
pub(super) fn adopt_orphans() {
    static ONCE: OnceLock<()> = OnceLock::new();
    ONCE.get_or_init(|| {
        // SAFETY: sets an attribute of this process.
        unsafe { libc::prctl(libc::PR_SET_CHILD_SUBREAPER, 1) };
    });
}

fn kill_group(group: i32) {
    // SAFETY: sends a signal to a group whose leader is not reaped yet, so the id still
    // belongs to it.
    unsafe { libc::kill(-group, libc::SIGKILL) };
}

/// Returns when the process has ended. It is not reaped, so its id stays taken.
pub(super) fn wait_without_collecting(pid: i32) {
    loop {
        // SAFETY: `info` outlives the call, which fills it.
        let done = unsafe {
            let mut info: libc::siginfo_t = std::mem::zeroed();
            libc::waitid(
                libc::P_PID,
                pid.unsigned_abs(),
                &raw mut info,
                libc::WEXITED | libc::WNOWAIT,
            )
        };
        if done == 0 || io::Error::last_os_error().kind() != io::ErrorKind::Interrupted {
            return;
        }
    }
}

/// Reaps the remaining processes of a killed group.
fn collect_group(group: i32) {
    loop {
        // SAFETY: waits for children of one group; the status pointer may be null.
        let found = unsafe { libc::waitpid(-group, std::ptr::null_mut(), 0) };
        if found < 0 && io::Error::last_os_error().kind() != io::ErrorKind::Interrupted {
            return;
        }
    }
}
