//! Writes a run's pages: as a file, as Markdown files in a folder, or as one line per page.

use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::{Path, PathBuf};

use anyhow::{Context as _, bail};
use futures::TryStreamExt as _;
use orbweaver_core::ids::PageId;
use orbweaver_crawl::export::{
    Export, ExportFormat, ExportSpec, Include, Names, export_pages, markdown_file,
};
use orbweaver_store::crawl::{PageRange, Run};
use tokio::runtime::Handle;
use tokio::sync::oneshot;

use crate::cli::out::{out, out_bytes};
use crate::serve::StopSignals;
use crate::service::Service;

/// Pages read per query.
const CHUNK: u32 = 500;

/// Output of the pages.
#[derive(Debug)]
pub(super) enum Target {
    /// A file of this format.
    File(PathBuf, ExportFormat),
    /// A Markdown file for each.
    Folder(PathBuf),
    /// Standard output, as JSON lines.
    Standard,
}

/// The format of [`Target::Standard`].
pub(super) const STANDARD: ExportFormat = ExportFormat::Ndjson;

/// Whether this is neither a file nor a folder nor nothing: a pipe, a device.
fn is_special(path: &Path) -> bool {
    path.metadata()
        .is_ok_and(|known| !known.is_file() && !known.is_dir())
}

/// Whether writing may wait for a reader: at a pipe, a device, and standard output.
pub(super) fn may_block(target: Option<&Target>) -> bool {
    match target {
        Some(Target::File(path, _)) => is_special(path),
        Some(Target::Folder(_)) => false,
        Some(Target::Standard) | None => true,
    }
}

/// Writes, unless a signal comes: then `None`, and no part of a file is left.
pub(super) async fn unless_stopped(
    stop: &mut StopSignals,
    may_block: bool,
    writing: impl Future<Output = anyhow::Result<Written>> + Send + 'static,
) -> anyhow::Result<Option<Written>> {
    let (go_on, stopped) = oneshot::channel::<()>();
    let runtime = Handle::current();
    // On a thread of its own: a pipe that nobody reads blocks it for good.
    let mut task = tokio::task::spawn_blocking(move || {
        runtime.block_on(async move {
            tokio::select! {
                done = writing => done.map(Some),
                _ = stopped => Ok(None),
            }
        })
    });
    tokio::select! {
        done = &mut task => done.context("writing failed")?,
        () = stop.next() => {
            drop(go_on);
            if may_block {
                return Ok(None);
            }
            task.await.context("writing failed")?
        }
    }
}

/// Result of writing.
#[derive(Debug)]
pub(super) struct Written {
    pub(super) pages: u64,
    pub(super) place: Option<PathBuf>,
}

impl Target {
    /// By the name: `-` is standard output, what ends like a file of lines is one. Tried now, so that a path that
    /// cannot be written shows before the crawl and not after it. A file that is there is
    /// replaced only by `force`.
    pub(super) fn at(path: &Path, force: bool) -> anyhow::Result<Self> {
        if path == Path::new("-") {
            return Ok(Self::Standard);
        }
        let is_folder = path.is_dir() || path.as_os_str().as_encoded_bytes().ends_with(b"/");
        let name = path.file_name().filter(|_| !is_folder);
        let name = name.map(|name| name.to_string_lossy().to_lowercase());
        let name = name.unwrap_or_default();
        let format = match Path::new(&name).extension().and_then(|last| last.to_str()) {
            Some("ndjson" | "jsonl" | "json") => Some(ExportFormat::Ndjson),
            Some("csv") => Some(ExportFormat::Csv),
            Some("parquet") => Some(ExportFormat::Parquet),
            Some("zip") => Some(ExportFormat::Zip),
            Some("wacz") => Some(ExportFormat::Wacz),
            Some("gz") if name.ends_with(".warc.gz") => Some(ExportFormat::Warc),
            Some(other) => bail!(
                "--out {}: .{other} is no kind of file that can be written; give a name that ends \
                 with .ndjson, .csv, .parquet, .zip, .warc.gz or .wacz, or a folder's with a slash \
                 at its end",
                path.display()
            ),
            None => None,
        };
        let file = format.map(|format| Self::File(path.to_owned(), format));
        if let Some(file) = file {
            // A pipe or a device holds nothing that could be lost.
            if !force && path.metadata().is_ok_and(|known| known.is_file()) {
                bail!("{} exists; --force replaces it", path.display());
            }
            // A pipe is opened once: that waits for its reader, who ends with its writer.
            if !is_special(path) {
                drop(Output::create(path)?);
            }
            return Ok(file);
        }
        std::fs::create_dir_all(path)
            .with_context(|| format!("cannot create the folder {}", path.display()))?;
        Ok(Self::Folder(path.to_owned()))
    }
}

/// Writes every page of the run.
pub(super) async fn write(
    service: &Service,
    run: &Run,
    target: Option<&Target>,
    fields: Fields,
) -> anyhow::Result<Written> {
    match target {
        Some(Target::File(path, format)) => file(service, run, path, *format, fields).await,
        Some(Target::Folder(path)) => folder(service, run, path, fields).await,
        Some(Target::Standard) => standard(service, run, fields).await,
        None => lines(service, run).await,
    }
}

/// What a file has of each page.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Fields {
    /// As asked for; `None`: Markdown and metadata in files of JSON lines, else only the row.
    pub(super) include: Option<Include>,
    /// Markdown without navigation, footer and sidebars.
    pub(super) main_content: bool,
}

impl Fields {
    /// The members of each page in a file of this format.
    pub(super) fn included(self, format: ExportFormat) -> Include {
        let default = match format {
            ExportFormat::Ndjson => Include {
                title: true,
                markdown: true,
                metadata: true,
                extensions: true,
                ..Include::default()
            },
            _ => Include::default(),
        };
        self.include.unwrap_or(default)
    }

    fn spec(self, format: ExportFormat) -> ExportSpec {
        ExportSpec {
            format,
            include: self.included(format),
            main_content: self.main_content,
            status: None,
            after: PageId(0),
            offset: 0,
            limit: u32::MAX,
        }
    }
}

async fn file(
    service: &Service,
    run: &Run,
    path: &Path,
    format: ExportFormat,
    fields: Fields,
) -> anyhow::Result<Written> {
    let mut file = Output::create(path)?;
    let (store, pipeline) = (&service.store, &service.pipeline);
    let mut export = Export::new(store, pipeline, run, fields.spec(format), None).await?;
    while let Some(piece) = export.next().await? {
        file.put(&piece)?;
    }
    Ok(Written {
        pages: run.page_count,
        place: Some(file.finish()?),
    })
}

async fn standard(service: &Service, run: &Run, fields: Fields) -> anyhow::Result<Written> {
    let (store, pipeline) = (&service.store, &service.pipeline);
    let mut export = Export::new(store, pipeline, run, fields.spec(STANDARD), None).await?;
    while let Some(piece) = export.next().await? {
        out_bytes(&piece)?;
    }
    Ok(Written {
        pages: run.page_count,
        place: None,
    })
}

async fn folder(
    service: &Service,
    run: &Run,
    folder: &Path,
    fields: Fields,
) -> anyhow::Result<Written> {
    let (store, pipeline) = (&service.store, &service.pipeline);
    let spec = ExportSpec {
        include: Include {
            markdown: true,
            ..Include::default()
        },
        ..fields.spec(ExportFormat::Ndjson)
    };
    let mut names = Names::default();
    let mut written = 0;
    let mut pages = export_pages(store, pipeline, run, spec).await?;
    while let Some(page) = pages.try_next().await? {
        let Some(text) = markdown_file(&page) else {
            continue;
        };
        write_document(&folder.join(names.name(&page.url)), folder, &text)?;
        written += 1;
    }
    Ok(Written {
        pages: written,
        place: Some(folder.to_owned()),
    })
}

/// Writes a file, and the folders that it is in.
pub(super) fn write_document(path: &Path, folder: &Path, text: &str) -> anyhow::Result<()> {
    let dir = path.parent().unwrap_or(folder);
    let done = std::fs::create_dir_all(dir).and_then(|()| std::fs::write(path, text));
    if done.is_err() {
        // An incomplete document is worse than none.
        let _ = std::fs::remove_file(path);
    }
    done.with_context(|| format!("cannot write {}", path.display()))
}

/// Prints a line for each page.
async fn lines(service: &Service, run: &Run) -> anyhow::Result<Written> {
    let (mut after, mut pages) = (PageId(0), 0);
    loop {
        let range = PageRange {
            status: None,
            after,
            offset: 0,
            limit: CHUNK,
        };
        let items = service.store.run_pages(run.project, run.id, &range).await?;
        let Some(last) = items.last() else { break };
        after = last.id;
        for item in items {
            pages += 1;
            out!("{}\t{}", item.status, item.url)?;
        }
    }
    Ok(Written { pages, place: None })
}

/// A file that gets its name only when complete: until then an existing file of that
/// name is unchanged.
pub(super) struct Output {
    file: BufWriter<File>,
    path: PathBuf,
    /// Temporary path until then; `None` if the path is not a regular file (such as a pipe).
    part: Option<PathBuf>,
}

impl Output {
    pub(super) fn create(path: &Path) -> anyhow::Result<Self> {
        let part = path.file_name().filter(|_| !is_special(path)).map(|name| {
            let mut part = std::ffi::OsString::from(".");
            part.push(name);
            part.push(".part");
            path.with_file_name(part)
        });
        let file = File::create(part.as_deref().unwrap_or(path))
            .with_context(|| format!("cannot write {}", path.display()))?;
        Ok(Self {
            file: BufWriter::new(file),
            path: path.to_owned(),
            part,
        })
    }

    pub(super) fn put(&mut self, bytes: &[u8]) -> anyhow::Result<()> {
        self.file
            .write_all(bytes)
            .with_context(|| format!("cannot write {}", self.path.display()))
    }

    pub(super) fn finish(mut self) -> anyhow::Result<PathBuf> {
        let written = self.file.flush().and_then(|()| match self.part.take() {
            Some(part) => std::fs::rename(part, &self.path),
            None => Ok(()),
        });
        written.with_context(|| format!("cannot write {}", self.path.display()))?;
        Ok(self.path.clone())
    }
}

impl Drop for Output {
    fn drop(&mut self) {
        if let Some(part) = &self.part {
            // Incomplete. If it cannot be removed, the next attempt overwrites it.
            let _ = std::fs::remove_file(part);
        }
    }
}
