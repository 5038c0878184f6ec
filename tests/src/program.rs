//! The real program as its own process: started, used, killed, started again.

use std::fs::{File, OpenOptions};
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{SocketAddr, TcpStream};
use std::ops::Deref;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, bail};
use serde_json::Value;

/// The key of the first project: well-formed, and of no use elsewhere.
pub const KEY: &str = "orb_AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA";

/// How the program is started.
#[derive(Clone, Debug)]
pub struct Launch {
    /// The program.
    pub binary: PathBuf,
    /// The plugin folder.
    pub plugin_dir: PathBuf,
    /// The cache of compiled plugins, if it is to survive; otherwise it is in the data folder.
    pub cache_dir: Option<PathBuf>,
    /// Other `ORBWEAVER_…` variables.
    pub settings: Vec<(String, String)>,
}

impl Launch {
    /// Adds a setting: the variable's name without its prefix, and its value.
    #[must_use]
    pub fn with(mut self, name: &str, value: impl Into<String>) -> Self {
        self.settings
            .push((format!("ORBWEAVER_{name}"), value.into()));
        self
    }
}

/// A running program, used with the key of its first project. It is killed when dropped.
#[derive(Debug)]
pub struct Program {
    process: Child,
    api: Api,
}

impl Deref for Program {
    type Target = Api;

    fn deref(&self) -> &Api {
        &self.api
    }
}

/// The API of a running program with a project's key.
#[derive(Clone, Debug)]
pub struct Api {
    address: SocketAddr,
    key: String,
}

impl Program {
    /// Starts the program on a data folder and, if given, a database, and waits until it
    /// listens. Its log goes to `log.txt` in the data folder.
    ///
    /// # Errors
    /// It can't be started or ends before it listens.
    pub fn start(launch: &Launch, data: &Path, database: Option<&str>) -> Result<Self> {
        let log = data.join("log.txt");
        // A write beyond the limit on file sizes is to fail, not to end the program.
        let mut command = Command::new("sh");
        command
            .args(["-c", "trap '' XFSZ; exec \"$@\"", "sh"])
            .arg(&launch.binary);
        for (name, _) in std::env::vars_os() {
            if name.to_string_lossy().starts_with("ORBWEAVER_") {
                command.env_remove(name);
            }
        }
        command
            .args(["serve", "--listen", "127.0.0.1:0"])
            .args(["--allow-net", "127.0.0.0/8"])
            .env("ORBWEAVER_DATA_DIR", data)
            .env("ORBWEAVER_PLUGIN_DIR", &launch.plugin_dir)
            .env("ORBWEAVER_BOOTSTRAP_KEY", KEY)
            .envs(launch.settings.iter().map(|(name, value)| (name, value)))
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(appended(&log)?);
        if let Some(database) = database {
            command.env("ORBWEAVER_DATABASE_URL", database);
        }
        if let Some(cache) = &launch.cache_dir {
            command.env("ORBWEAVER_PLUGINS__CACHE_DIR", cache);
        }
        let mut process = command
            .spawn()
            .with_context(|| format!("cannot start {}", launch.binary.display()))?;
        let out = process.stdout.take().context("no standard output")?;
        let mut lines = BufReader::new(out).lines();
        let address = lines
            .by_ref()
            .map_while(Result::ok)
            .find_map(|line| line.split_once("listens on http://")?.1.trim().parse().ok());
        let Some(address) = address else {
            let _ = process.kill();
            let _ = process.wait();
            let log = std::fs::read_to_string(&log).unwrap_or_default();
            bail!("the program does not listen: {}", tail(&log));
        };
        // Nobody reads the rest, and a full pipe would block the program.
        std::thread::spawn(move || lines.for_each(drop));
        let api = Api {
            address,
            key: KEY.to_owned(),
        };
        Ok(Self { process, api })
    }

    /// Its process id.
    pub fn pid(&self) -> u32 {
        self.process.id()
    }

    /// Kills it, as in a crash: SIGKILL.
    ///
    /// # Errors
    /// The process can't be waited for.
    pub fn kill(mut self) -> Result<()> {
        self.process.kill()?;
        self.process.wait()?;
        Ok(())
    }

    /// Asks it to end: SIGTERM. Returns its exit status and how long that took.
    ///
    /// # Errors
    /// The signal can't be sent.
    pub fn terminate(mut self) -> Result<(ExitStatus, Duration)> {
        let asked = Instant::now();
        let sent = Command::new("kill")
            .args(["-s", "TERM", &self.pid().to_string()])
            .status()?;
        if !sent.success() {
            bail!("kill: {sent}");
        }
        Ok((self.process.wait()?, asked.elapsed()))
    }

    /// Limits the size of the files that it writes, in bytes: longer writes fail.
    ///
    /// # Errors
    /// `prlimit` can't be run.
    pub fn limit_files(&self, bytes: Option<u64>) -> Result<()> {
        let soft = bytes.map_or("unlimited".to_owned(), |bytes| bytes.to_string());
        let done = Command::new("prlimit")
            .args(["--pid", &self.pid().to_string()])
            .arg(format!("--fsize={soft}:"))
            .status()?;
        if !done.success() {
            bail!("prlimit: {done}");
        }
        Ok(())
    }
}

impl Api {
    /// The address that the program listens on.
    pub const fn address(&self) -> SocketAddr {
        self.address
    }

    /// The project's key.
    pub fn key(&self) -> &str {
        &self.key
    }

    /// The same program with another project's key.
    #[must_use]
    pub fn with_key(&self, key: &str) -> Self {
        Self {
            key: key.to_owned(),
            ..self.clone()
        }
    }

    /// GET of a path; returns the JSON of the answer, which must be 200.
    ///
    /// # Errors
    /// No answer, another status, or no JSON.
    pub fn get(&self, path: &str) -> Result<Value> {
        let (status, body) = self.ask("GET", path, "")?;
        expect(status, 200, path, &body)
    }

    /// POST of a JSON body; returns the JSON of the answer, which must have this status.
    ///
    /// # Errors
    /// No answer, another status, or no JSON.
    pub fn post(&self, path: &str, body: &Value, wanted: u16) -> Result<Value> {
        let (status, body) = self.ask("POST", path, &body.to_string())?;
        expect(status, wanted, path, &body)
    }

    /// Makes any request; returns the answer's status and body.
    ///
    /// # Errors
    /// No answer.
    pub fn ask(&self, method: &str, path: &str, body: &str) -> Result<(u16, Vec<u8>)> {
        let mut answer = Vec::new();
        let status = self.stream(method, path, body, |piece| answer.extend_from_slice(piece))?;
        Ok((status, answer))
    }

    /// Passes an answer's body on as it is received, without storing it; returns the status.
    ///
    /// # Errors
    /// No answer, or an incomplete one.
    pub fn stream(
        &self,
        method: &str,
        path: &str,
        body: &str,
        take: impl FnMut(&[u8]),
    ) -> Result<u16> {
        stream_at(self, method, path, body, take)
    }
}

/// Makes a request to the program at this address with the key of its first project; returns the
/// answer's status and body.
///
/// # Errors
/// No answer.
pub fn ask_at(address: SocketAddr, method: &str, path: &str, body: &str) -> Result<(u16, Vec<u8>)> {
    let key = KEY.to_owned();
    Api { address, key }.ask(method, path, body)
}

fn stream_at(
    Api { address, key }: &Api,
    method: &str,
    path: &str,
    body: &str,
    mut take: impl FnMut(&[u8]),
) -> Result<u16> {
    let mut stream = TcpStream::connect(address)?;
    stream.set_read_timeout(Some(Duration::from_secs(300)))?;
    // HTTP/1.0: the answer is not chunked and ends with the connection.
    write!(
        stream,
        "{method} {path} HTTP/1.0\r\nHost: bench\r\nAuthorization: Bearer {key}\r\n\
             Content-Type: application/json\r\nContent-Length: {}\r\n\r\n{body}",
        body.len()
    )?;
    let mut reader = BufReader::with_capacity(1 << 16, stream);
    let mut line = String::new();
    reader.read_line(&mut line)?;
    let status = line
        .split(' ')
        .nth(1)
        .and_then(|status| status.parse().ok())
        .with_context(|| format!("no status in {line:?}"))?;
    while line != "\r\n" {
        line.clear();
        if reader.read_line(&mut line)? == 0 {
            bail!("the answer has no body");
        }
    }
    let mut piece = vec![0; 1 << 16];
    loop {
        let read = reader.read(&mut piece)?;
        if read == 0 {
            return Ok(status);
        }
        take(piece.get(..read).unwrap_or_default());
    }
}

impl Drop for Program {
    fn drop(&mut self) {
        // It is no error if the process has already ended.
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

fn appended(log: &Path) -> Result<File> {
    OpenOptions::new()
        .create(true)
        .append(true)
        .open(log)
        .with_context(|| log.display().to_string())
}

fn tail(log: &str) -> &str {
    let start = log.len().saturating_sub(2000);
    log.get(start..).unwrap_or(log)
}

fn expect(status: u16, wanted: u16, path: &str, body: &[u8]) -> Result<Value> {
    if status != wanted {
        bail!("{path}: {status} {}", String::from_utf8_lossy(body));
    }
    serde_json::from_slice(body).with_context(|| path.to_owned())
}
