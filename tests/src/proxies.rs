//! Real proxy servers from Debian's packages, with credentials. Their own logs show what went
//! through them.

use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, bail};
use tempfile::TempDir;

const USER: &str = "customer";
const PASSWORD: &str = "secret";
/// The longest time until a server listens.
const START: Duration = Duration::from_secs(20);

/// A running proxy server; it ends when dropped.
#[derive(Debug)]
pub struct ProxyServer {
    process: Child,
    scheme: &'static str,
    port: u16,
    log: PathBuf,
    _folder: TempDir,
}

impl ProxyServer {
    /// tinyproxy: HTTP, with a tunnel for https.
    ///
    /// # Errors
    /// It is not installed, or does not listen.
    pub fn tinyproxy() -> Result<Self> {
        let folder = tempfile::tempdir()?;
        let port = free_port()?;
        let log = folder.path().join("log");
        let config = folder.path().join("tinyproxy.conf");
        std::fs::write(
            &config,
            format!(
                "Port {port}\nListen 127.0.0.1\nTimeout 60\nMaxClients 50\nLogLevel Info\n\
                 LogFile \"{}\"\nBasicAuth {USER} {PASSWORD}\n",
                log.display()
            ),
        )?;
        let mut command = Command::new(program("tinyproxy")?);
        command
            .arg("-d")
            .arg("-c")
            .arg(config)
            .stdout(Stdio::null())
            .stderr(Stdio::null());
        Self::start(command, "http", port, log, folder)
    }

    /// microsocks: SOCKS 5.
    ///
    /// # Errors
    /// It is not installed, or does not listen.
    pub fn microsocks() -> Result<Self> {
        let folder = tempfile::tempdir()?;
        let port = free_port()?;
        let log = folder.path().join("log");
        let mut command = Command::new(program("microsocks")?);
        command
            .args(["-i", "127.0.0.1", "-p", &port.to_string()])
            .args(["-u", USER, "-P", PASSWORD])
            .stdout(Stdio::null())
            .stderr(std::fs::File::create(&log)?);
        Self::start(command, "socks5", port, log, folder)
    }

    fn start(
        mut command: Command,
        scheme: &'static str,
        port: u16,
        log: PathBuf,
        folder: TempDir,
    ) -> Result<Self> {
        let mut process = command.stdin(Stdio::null()).spawn()?;
        let end = Instant::now() + START;
        while std::net::TcpStream::connect(("127.0.0.1", port)).is_err() {
            if let Some(status) = process.try_wait()? {
                bail!("the proxy ended: {status}");
            }
            if Instant::now() > end {
                let _ = process.kill();
                let _ = process.wait();
                bail!("the proxy does not listen");
            }
            std::thread::sleep(Duration::from_millis(20));
        }
        Ok(Self {
            process,
            scheme,
            port,
            log,
            _folder: folder,
        })
    }

    /// Its URL with the right credentials.
    pub fn url(&self) -> String {
        format!(
            "{}://{USER}:{PASSWORD}@127.0.0.1:{}",
            self.scheme, self.port
        )
    }

    /// Its URL with wrong credentials.
    pub fn wrong_url(&self) -> String {
        format!("{}://{USER}:wrong@127.0.0.1:{}", self.scheme, self.port)
    }

    /// Its URL without credentials.
    pub fn open_url(&self) -> String {
        format!("{}://127.0.0.1:{}", self.scheme, self.port)
    }

    /// Its log so far.
    pub fn log(&self) -> String {
        std::fs::read_to_string(&self.log).unwrap_or_default()
    }
}

impl Drop for ProxyServer {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

/// The URL of a proxy that does not exist: nothing listens at its port.
///
/// # Errors
/// No port is free.
pub fn dead_url() -> Result<String> {
    Ok(format!("http://127.0.0.1:{}", free_port()?))
}

fn program(name: &str) -> Result<PathBuf> {
    ["/usr/bin", "/usr/sbin", "/usr/local/bin"]
        .iter()
        .map(|folder| Path::new(folder).join(name))
        .find(|path| path.is_file())
        .with_context(|| format!("{name} is not installed; `apt-get install {name}` brings it"))
}

fn free_port() -> Result<u16> {
    Ok(TcpListener::bind(("127.0.0.1", 0))?.local_addr()?.port())
}
