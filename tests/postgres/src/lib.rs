//! A temporary PostgreSQL server: its own cluster in a temporary folder, reached through a
//! Unix socket, removed when the test process ends.

use std::io::{BufRead as _, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Mutex, OnceLock, PoisonError};
use std::thread::JoinHandle;

use anyhow::{Context as _, Result, bail};

/// A running server. It ends when the process that started it ends, in whatever way: a guard
/// shell waits for the end of its standard input.
#[derive(Debug)]
pub struct Postgres {
    bin: PathBuf,
    sockets: PathBuf,
    databases: AtomicU32,
    /// The database that [`copy`](Self::copy) copies, once it is made.
    template: Mutex<Option<String>>,
    /// `None` of a server that another process has started.
    guard: Option<Guard>,
}

#[derive(Debug)]
struct Guard {
    shell: Child,
    alive: ChildStdin,
    log: JoinHandle<()>,
}

/// Stops the server and removes its folder when standard input ends. Nothing waits for the disk. A commit
/// is written before it is confirmed all the same: a crash of the server must lose none. The log goes through a
/// file, to which each entry is appended whole; processes that share a pipe write entries of more than
/// 4 KiB (`PIPE_BUF`) into each other.
const GUARD: &str = r#"
bin=$1 folder=$2
shift 2
: >"$folder/log"
"$bin/postgres" -D "$folder/data" -k "$folder" -c listen_addresses= -c fsync=off \
    -c full_page_writes=off -c max_connections=300 \
    -c shared_buffers=64MB "$@" </dev/null 2>>"$folder/log" &
server=$!
tail --lines=+1 --follow --pid="$server" --sleep-interval=0.1 "$folder/log" >&2 &
tail=$!
cat >/dev/null
kill -INT "$server" 2>/dev/null
wait "$server" "$tail"
rm -rf "$folder"
"#;

impl Postgres {
    /// The server that all tests of this process share.
    ///
    /// # Panics
    /// PostgreSQL is not installed or does not start: a test that can't run has failed.
    pub fn shared() -> &'static Self {
        static SHARED: OnceLock<Postgres> = OnceLock::new();
        SHARED.get_or_init(|| match Self::start(&[], drop) {
            Ok(server) => server,
            #[expect(clippy::panic, reason = "a test that cannot run has failed")]
            Err(error) => panic!("these tests need PostgreSQL: {error:#}"),
        })
    }

    /// A server of the caller's own, with these settings (`name=value`) besides. Each line of its log,
    /// once it has started, goes to `log`.
    ///
    /// # Errors
    /// When PostgreSQL is not installed or does not start.
    pub fn start(settings: &[&str], log: impl FnMut(String) + Send + 'static) -> Result<Self> {
        let bin = find().context(
            "no server programs in /usr/lib/postgresql/*/bin or on PATH; \
             `apt-get install postgresql` brings them",
        )?;
        let user = unprivileged_user()?;
        let folder = folder(user.as_deref())?;
        let data = folder.join("data");
        run(command(user.as_deref(), &bin.join("initdb"))
            .arg("-D")
            .arg(&data)
            .args([
                "--auth=trust",
                "--username=postgres",
                "--no-sync",
                "--encoding=UTF8",
            ])
            .args(["--locale=C"]))?;
        Self::serve(bin, folder, user.as_deref(), settings, log)
    }

    /// Starts the server of a folder that has a cluster.
    fn serve(
        bin: PathBuf,
        folder: PathBuf,
        user: Option<&str>,
        settings: &[&str],
        mut each: impl FnMut(String) + Send + 'static,
    ) -> Result<Self> {
        let settings = settings.iter().flat_map(|setting| ["-c", setting]);
        let mut guard = command(user, Path::new("sh"))
            .args(["-c", GUARD, "guard"])
            .arg(&bin)
            .arg(&folder)
            .args(settings)
            .current_dir("/")
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            .stderr(Stdio::piped())
            .spawn()
            .context("cannot start the server")?;
        let alive = guard
            .stdin
            .take()
            .context("the guard has no standard input")?;
        let log = guard
            .stderr
            .take()
            .context("the guard has no standard error")?;
        let mut lines = BufReader::new(log).lines();
        let mut seen = Vec::new();
        loop {
            let Some(line) = lines.next() else {
                bail!("the server did not start: {}", seen.join("\n"));
            };
            let line = line?;
            if line.contains("ready to accept") {
                break;
            }
            seen.push(line);
        }
        // To its end: a full pipe would block the server.
        let log = std::thread::spawn(move || lines.map_while(Result::ok).for_each(&mut each));
        Ok(Self {
            bin,
            sockets: folder,
            databases: AtomicU32::new(0),
            template: Mutex::new(None),
            guard: Some(Guard {
                shell: guard,
                alive,
                log,
            }),
        })
    }

    /// A replica of the server, which follows it through a stream: with all of its databases, in the same
    /// state as soon as it is ready. [`reached`](Self::reached) makes the URLs of its databases.
    ///
    /// # Errors
    /// When the copy cannot be made, or the replica does not start.
    pub fn replica(&self) -> Result<Self> {
        let user = unprivileged_user()?;
        let folder = folder(user.as_deref())?;
        run(command(user.as_deref(), &self.bin.join("pg_basebackup"))
            .arg("-h")
            .arg(&self.sockets)
            .args(["-U", "postgres", "--checkpoint=fast", "--no-sync"])
            .args(["--wal-method=stream", "--write-recovery-conf", "-D"])
            .arg(folder.join("data"))
            .current_dir("/"))?;
        Self::serve(self.bin.clone(), folder, user.as_deref(), &[], drop)
    }

    /// The URL by which this server is reached for a database of another one, of which it is a replica.
    pub fn reached(&self, other: &Self, url: &str) -> String {
        let host = |server: &Self| server.sockets.display().to_string();
        url.replace(&host(other), &host(self))
    }

    /// A server that another process has started, by its [`folder`](Self::folder).
    ///
    /// # Errors
    /// When PostgreSQL's programs are not found.
    pub fn attach(folder: &Path) -> Result<Self> {
        Ok(Self {
            bin: find().context("no server programs")?,
            sockets: folder.to_owned(),
            databases: AtomicU32::new(0),
            template: Mutex::new(None),
            guard: None,
        })
    }

    /// Folder of the server's sockets and files.
    pub fn folder(&self) -> &Path {
        &self.sockets
    }

    /// Ends the server and waits for the last line of its log.
    ///
    /// # Errors
    /// When it cannot be waited for.
    pub fn stop(self) -> Result<()> {
        if let Some(mut guard) = self.guard {
            drop(guard.alive);
            guard.shell.wait()?;
            if guard.log.join().is_err() {
                bail!("the reader of the server's log has panicked");
            }
        }
        Ok(())
    }

    /// The URL of a fresh, empty database.
    ///
    /// # Errors
    /// When it cannot be created.
    pub fn database(&self) -> Result<String> {
        let (name, url) = self.new_name();
        run(&mut self.create(&name))?;
        Ok(url)
    }

    /// The URL of a copy of one database, which the first call makes and lets `fill` bring into its state.
    /// A copy costs a third of the schema's migrations.
    ///
    /// # Errors
    /// When `fill` fails or leaves a connection to the database, or the copy cannot be made.
    pub fn copy<F>(&self, fill: impl FnOnce(String) -> F + Send) -> Result<String>
    where
        F: Future<Output = Result<()>>,
    {
        let template = {
            let mut template = self.template.lock().unwrap_or_else(PoisonError::into_inner);
            match &*template {
                Some(name) => name.clone(),
                None => template.insert(self.template(fill)?).clone(),
            }
        };
        let (name, url) = self.new_name();
        run(self.create(&name).args(["--template", &template]))?;
        Ok(url)
    }

    /// The name of a new database in the state that `fill` makes.
    fn template<F>(&self, fill: impl FnOnce(String) -> F + Send) -> Result<String>
    where
        F: Future<Output = Result<()>>,
    {
        let (name, url) = self.new_name();
        run(&mut self.create(&name))?;
        // The copies live for seconds: nothing is gained by the vacuum of hundreds of them.
        self.execute(&url, "ALTER SYSTEM SET autovacuum = off")?;
        self.execute(&url, "SELECT pg_reload_conf()")?;
        let filled = std::thread::scope(|scope| {
            // The caller may be a task of a runtime, which must not block in another one.
            let filled = scope.spawn(|| {
                let mut runtime = tokio::runtime::Builder::new_current_thread();
                runtime.enable_all().build()?.block_on(fill(url))
            });
            filled.join()
        });
        match filled {
            Ok(filled) => filled.map(|()| name),
            Err(panic) => std::panic::resume_unwind(panic),
        }
    }

    /// A name that no database has, and the URL under it.
    fn new_name(&self) -> (String, String) {
        let name = format!("test_{}", self.databases.fetch_add(1, Ordering::Relaxed));
        let sockets = self.sockets.display();
        let url = format!("postgres://postgres@localhost/{name}?host={sockets}");
        (name, url)
    }

    /// The command that creates a database.
    fn create(&self, name: &str) -> Command {
        let mut createdb = Command::new(self.bin.join("createdb"));
        createdb.arg("-h").arg(&self.sockets);
        createdb.args(["-U", "postgres", name]);
        createdb
    }
}

impl Postgres {
    /// Lets the server crash and recover: all connections break, and new ones are refused until
    /// it has replayed its log.
    ///
    /// # Errors
    /// When none of its processes can be found or killed.
    pub fn crash(&self) -> Result<()> {
        let file = self.sockets.join("data/postmaster.pid");
        let text = std::fs::read_to_string(&file).with_context(|| file.display().to_string())?;
        let postmaster = text.lines().next().unwrap_or_default();
        // Whichever of its processes is killed, the postmaster ends all and begins anew.
        let found = Command::new("pgrep")
            .args(["-P", postmaster, "-f", "checkpointer"])
            .output()?;
        let pid = String::from_utf8(found.stdout)?;
        let pid = pid.lines().next().context("no checkpointer runs")?;
        run(Command::new("kill").args(["-s", "KILL", pid]))
    }
}

impl Postgres {
    /// Folder of all the server's files.
    pub fn data(&self) -> PathBuf {
        self.sockets.join("data")
    }

    /// Runs SQL in a database.
    ///
    /// # Errors
    /// When it fails.
    pub fn execute(&self, url: &str, sql: &str) -> Result<()> {
        run(Command::new(self.bin.join("psql"))
            .args(["--quiet", "--set", "ON_ERROR_STOP=1", "--command", sql])
            .arg(url))
    }

    /// Runs a file of SQL, with psql's commands, in a database.
    ///
    /// # Errors
    /// When it fails.
    pub fn run_file(&self, url: &str, file: &Path) -> Result<()> {
        run(Command::new(self.bin.join("psql"))
            .args(["--quiet", "--set", "ON_ERROR_STOP=1", "--file"])
            .arg(file)
            .arg(url))
    }

    /// All that a database holds, as SQL.
    ///
    /// # Errors
    /// When it cannot be read.
    pub fn dump(&self, url: &str) -> Result<String> {
        output(
            Command::new(self.bin.join("pg_dump"))
                .arg("--inserts")
                .arg(url),
        )
    }
}

/// The folder of the server's programs, newest version first.
fn find() -> Option<PathBuf> {
    let mut versions: Vec<(u32, PathBuf)> = std::fs::read_dir("/usr/lib/postgresql")
        .into_iter()
        .flatten()
        .filter_map(|entry| {
            let path = entry.ok()?.path();
            let version = path.file_name()?.to_str()?.parse().ok()?;
            Some((version, path.join("bin")))
        })
        .collect();
    versions.sort();
    let on_path = std::env::var_os("PATH");
    versions
        .into_iter()
        .rev()
        .map(|(_, bin)| bin)
        .chain(on_path.iter().flat_map(std::env::split_paths))
        .find(|bin| bin.join("initdb").is_file() && bin.join("postgres").is_file())
}

/// A new folder of the server's user.
fn folder(user: Option<&str>) -> Result<PathBuf> {
    let folder = tempfile::Builder::new()
        .prefix("orbweaver-pg-")
        .tempdir()?
        .keep();
    if let Some(user) = user {
        run(Command::new("chown").arg(user).arg(&folder))?;
    }
    Ok(folder)
}

/// Another user's name if this process is root, because PostgreSQL refuses to run as root.
fn unprivileged_user() -> Result<Option<String>> {
    if output(Command::new("id").arg("-u"))?.trim() != "0" {
        return Ok(None);
    }
    for user in ["postgres", "nobody"] {
        if output(Command::new("id").arg("-u").arg(user)).is_ok() {
            return Ok(Some(user.to_owned()));
        }
    }
    bail!("root may not run it, and there is neither a user postgres nor nobody");
}

fn command(user: Option<&str>, program: &Path) -> Command {
    match user {
        None => Command::new(program),
        Some(user) => {
            let mut command = Command::new("runuser");
            command.args(["-u", user, "--"]).arg(program);
            command
        }
    }
}

fn run(command: &mut Command) -> Result<()> {
    output(command).map(drop)
}

fn output(command: &mut Command) -> Result<String> {
    let output = command
        .output()
        .with_context(|| format!("cannot start {command:?}"))?;
    if !output.status.success() {
        bail!(
            "{command:?}: {}",
            String::from_utf8_lossy(&output.stderr).trim()
        );
    }
    Ok(String::from_utf8(output.stdout)?)
}
