//! A real OCI registry from Debian's package `docker-registry`, which wants a password.

use std::net::{TcpListener, TcpStream};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, bail};
use tempfile::TempDir;

/// Who may use it.
pub const USER: &str = "customer";
/// Its password.
pub const PASSWORD: &str = "secret";
/// The line of a file of htpasswd for both, by bcrypt.
const HTPASSWD: &str = "customer:$2b$05$abcdefghijklmnopqrstuuOQiyCxlgf/oeuTqixKmWdcYUh4Hjl0a\n";
/// The longest time until it listens.
const START: Duration = Duration::from_secs(20);

/// A running registry; it ends when dropped.
#[derive(Debug)]
pub struct RegistryServer {
    process: Child,
    port: u16,
    _folder: TempDir,
}

impl RegistryServer {
    /// Starts it without TLS, and waits until it listens.
    ///
    /// # Errors
    /// It is not installed, or does not listen.
    pub fn start() -> Result<Self> {
        let folder = tempfile::tempdir()?;
        let port = TcpListener::bind(("127.0.0.1", 0))?.local_addr()?.port();
        let place = folder.path();
        std::fs::write(place.join("htpasswd"), HTPASSWD)?;
        let config = place.join("config.yml");
        std::fs::write(
            &config,
            format!(
                "version: 0.1\nlog: {{level: error, accesslog: {{disabled: true}}}}\n\
                 storage: {{filesystem: {{rootdirectory: {folder}/data}}}}\n\
                 http: {{addr: \"127.0.0.1:{port}\"}}\n\
                 auth: {{htpasswd: {{realm: test, path: {folder}/htpasswd}}}}\n",
                folder = place.display()
            ),
        )?;
        let mut process = Command::new("docker-registry")
            .arg("serve")
            .arg(&config)
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .context(
                "docker-registry does not start; `apt-get install docker-registry` brings it",
            )?;
        let end = Instant::now() + START;
        while TcpStream::connect(("127.0.0.1", port)).is_err() {
            if let Some(status) = process.try_wait()? {
                bail!("the registry ended: {status}");
            }
            if Instant::now() > end {
                let _ = process.kill();
                let _ = process.wait();
                bail!("the registry does not listen");
            }
            std::thread::sleep(Duration::from_millis(20));
        }
        Ok(Self {
            process,
            port,
            _folder: folder,
        })
    }

    /// Its host and port.
    pub fn host(&self) -> String {
        format!("127.0.0.1:{}", self.port)
    }
}

impl Drop for RegistryServer {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}
