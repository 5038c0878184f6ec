//! Writes a run's pages: as lines of JSON, as Markdown files, or as one line per page.

use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::{Path, PathBuf};

use anyhow::{Context as _, bail};
use bytes::Bytes;
use chrono::SecondsFormat;
use futures::{StreamExt as _, stream};
use orbweaver_core::ids::{PageId, ProjectId};
use orbweaver_store::crawl::{PageItem, PageRange, Run};
use serde::Deserialize;
use serde_json::{Value, json};

use super::files::Names;
use crate::service::Service;
use orbweaver_pipeline::{ExtractorOptions, Parts, StoredError};

/// Pages read per query.
const CHUNK: u32 = 500;
/// Pages extracted in parallel.
const AT_ONCE: usize = 8;

/// Output of the pages.
#[derive(Debug)]
pub(super) enum Target {
    /// A file with one JSON object per line.
    Lines(PathBuf),
    /// A line of CSV for each, and one of names.
    Csv(PathBuf),
    /// A Markdown file for each.
    Folder(PathBuf),
}

/// Result of writing.
#[derive(Debug)]
pub(super) struct Done {
    pub(super) pages: usize,
    pub(super) place: Option<PathBuf>,
}

impl Target {
    /// By the name: what ends like a file of lines is one. Tried now, so that a path that
    /// cannot be written shows before the crawl and not after it. A file that is there is
    /// replaced only by `force`.
    pub(super) fn at(path: &Path, force: bool) -> anyhow::Result<Self> {
        let is_folder = path.is_dir() || path.as_os_str().as_encoded_bytes().ends_with(b"/");
        let extension = path.extension().filter(|_| !is_folder);
        let extension = extension.map(|extension| extension.to_string_lossy().to_lowercase());
        let file = match extension.as_deref() {
            Some("ndjson" | "jsonl" | "json") => Some(Self::Lines(path.to_owned())),
            Some("csv") => Some(Self::Csv(path.to_owned())),
            Some(other) => bail!(
                "--out {}: .{other} is no kind of file that can be written; give a name that ends \
                 with .ndjson or .csv, or a folder's with a slash at its end",
                path.display()
            ),
            None => None,
        };
        if let Some(file) = file {
            // A pipe or a device holds nothing that could be lost.
            if !force && path.metadata().is_ok_and(|known| known.is_file()) {
                bail!("{} exists; --force replaces it", path.display());
            }
            drop(Lines::create(path)?);
            return Ok(file);
        }
        std::fs::create_dir_all(path)
            .with_context(|| format!("cannot create the folder {}", path.display()))?;
        Ok(Self::Folder(path.to_owned()))
    }
}

/// A page to write.
struct Content {
    item: PageItem,
    /// The answer of GET /v1/pages/{id}?format=markdown.
    json: Option<Bytes>,
}

#[derive(Deserialize)]
struct Markdown {
    markdown: Option<String>,
    metadata: Option<Value>,
}

/// Writes every page of the run.
pub(super) async fn write(
    service: &Service,
    project: ProjectId,
    run: &Run,
    target: Option<&Target>,
) -> anyhow::Result<Done> {
    let mut sink = Sink::open(target)?;
    let mut after = PageId(0);
    loop {
        let range = PageRange {
            status: None,
            after,
            offset: 0,
            limit: CHUNK,
        };
        let items = service.store.run_pages(project, run.id, &range).await?;
        let Some(last) = items.last() else { break };
        after = last.id;
        let wants_content = matches!(target, Some(Target::Lines(_) | Target::Folder(_)));
        let mut pages = stream::iter(items)
            .map(|item| read(service, project, item, wants_content))
            .buffered(AT_ONCE);
        while let Some(page) = pages.next().await {
            sink.put(&page?)?;
        }
    }
    sink.finish()
}

async fn read(
    service: &Service,
    project: ProjectId,
    item: PageItem,
    wants_content: bool,
) -> anyhow::Result<Content> {
    let record = if wants_content {
        service.store.page(project, item.id).await?
    } else {
        None
    };
    let Some(record) = record else {
        return Ok(Content { item, json: None });
    };
    let parts = Parts {
        markdown: true,
        ..Parts::default()
    };
    let no_options = ExtractorOptions::new();
    let stored = service
        .pipeline
        .stored(&service.store, project, record, parts, &no_options);
    match stored.await {
        Ok(json) => Ok(Content {
            item,
            json: Some(json),
        }),
        Err(StoredError::NoBody) => Ok(Content { item, json: None }),
        Err(error) => Err(error.into()),
    }
}

/// A file of lines that gets its name only when complete: until then an existing file of that
/// name is unchanged.
struct Lines {
    file: BufWriter<File>,
    path: PathBuf,
    /// Temporary path until then; `None` if the path is not a regular file (such as a pipe).
    part: Option<PathBuf>,
}

impl Lines {
    fn create(path: &Path) -> anyhow::Result<Self> {
        let special = path.metadata().is_ok_and(|known| !known.is_file());
        let part = path.file_name().filter(|_| !special).map(|name| {
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

    fn put(&mut self, line: &[u8]) -> anyhow::Result<()> {
        self.file
            .write_all(line)
            .and_then(|()| self.file.write_all(b"\n"))
            .with_context(|| format!("cannot write {}", self.path.display()))
    }

    fn finish(mut self) -> anyhow::Result<PathBuf> {
        let written = self.file.flush().and_then(|()| match self.part.take() {
            Some(part) => std::fs::rename(part, &self.path),
            None => Ok(()),
        });
        written.with_context(|| format!("cannot write {}", self.path.display()))?;
        Ok(self.path.clone())
    }
}

impl Write for Lines {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.file.write(bytes)
    }

    fn flush(&mut self) -> std::io::Result<()> {
        self.file.flush()
    }
}

impl Drop for Lines {
    fn drop(&mut self) {
        if let Some(part) = &self.part {
            // Incomplete. If it cannot be removed, the next attempt overwrites it.
            let _ = std::fs::remove_file(part);
        }
    }
}

enum Sink {
    Lines(Lines, usize),
    Csv(Box<csv::Writer<Lines>>, usize),
    Folder(Names, PathBuf, usize),
    People(usize),
}

impl Sink {
    fn open(target: Option<&Target>) -> anyhow::Result<Self> {
        Ok(match target {
            None => Self::People(0),
            Some(Target::Folder(folder)) => Self::Folder(Names::default(), folder.clone(), 0),
            Some(Target::Lines(path)) => Self::Lines(Lines::create(path)?, 0),
            Some(Target::Csv(path)) => {
                let mut lines = csv::Writer::from_writer(Lines::create(path)?);
                lines.write_record(["id", "url", "status", "bytes", "fetched_at"])?;
                Self::Csv(Box::new(lines), 0)
            }
        })
    }

    fn put(&mut self, page: &Content) -> anyhow::Result<()> {
        match self {
            Self::People(count) => {
                *count += 1;
                let mut out = std::io::stdout().lock();
                // A closed pipe (`| head`) is not an error.
                let _ = writeln!(out, "{}\t{}", page.item.status, page.item.url);
            }
            Self::Lines(lines, count) => {
                *count += 1;
                match &page.json {
                    Some(line) => lines.put(line)?,
                    None => lines.put(bare(&page.item).as_bytes())?,
                }
            }
            Self::Csv(lines, count) => {
                *count += 1;
                let item = &page.item;
                lines.write_record([
                    item.id.to_string(),
                    item.url.clone(),
                    item.status.to_string(),
                    item.bytes.to_string(),
                    item.fetched_at.to_rfc3339_opts(SecondsFormat::AutoSi, true),
                ])?;
            }
            Self::Folder(names, folder, count) => {
                let Some(text) = page.json.as_deref().and_then(|json| document(page, json)) else {
                    return Ok(());
                };
                *count += 1;
                let path = folder.join(names.of(&page.item.url));
                let dir = path.parent().unwrap_or(folder);
                let written =
                    std::fs::create_dir_all(dir).and_then(|()| std::fs::write(&path, text));
                if written.is_err() {
                    // An incomplete document is worse than none.
                    let _ = std::fs::remove_file(&path);
                }
                written.with_context(|| format!("cannot write {}", path.display()))?;
            }
        }
        Ok(())
    }

    fn finish(self) -> anyhow::Result<Done> {
        Ok(match self {
            Self::People(pages) => Done { pages, place: None },
            Self::Folder(_, place, pages) => Done {
                pages,
                place: Some(place),
            },
            Self::Lines(lines, pages) => Done {
                pages,
                place: Some(lines.finish()?),
            },
            Self::Csv(lines, pages) => {
                let lines = lines.into_inner().map_err(|error| error.into_error());
                Done {
                    pages,
                    place: Some(lines.context("cannot write the file")?.finish()?),
                }
            }
        })
    }
}

fn bare(item: &PageItem) -> String {
    json!({
        "id": item.id,
        "url": item.url,
        "status": item.status,
        "bytes": item.bytes,
        "fetched_at": item.fetched_at,
    })
    .to_string()
}

/// A Markdown file with front matter; `None` for an error page or one without Markdown.
fn document(page: &Content, json: &[u8]) -> Option<String> {
    let content: Markdown = serde_json::from_slice(json).ok()?;
    let markdown = content.markdown.filter(|_| page.item.status < 300)?;
    let title = content
        .metadata
        .as_ref()
        .and_then(|metadata| metadata.get("title"))
        .and_then(Value::as_str)
        .unwrap_or_default();
    // JSON strings are valid double-quoted YAML strings.
    Some(format!(
        "---\nurl: {}\ntitle: {}\nfetched_at: {}\n---\n\n{}\n",
        Value::from(page.item.url.as_str()),
        Value::from(title),
        page.item.fetched_at.to_rfc3339(),
        markdown.trim_end()
    ))
}
