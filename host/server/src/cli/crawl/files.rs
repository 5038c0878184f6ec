//! File names for URLs: readable, safe on every file system, never outside the folder.

use std::collections::HashSet;
use std::path::PathBuf;

use percent_encoding::percent_decode_str;
use sha2::{Digest as _, Sha256};
use url::Url;

/// Longest part of a name, in characters.
const LONGEST: usize = 80;
/// Most nested folders.
const DEEPEST: usize = 12;

/// Assigns each URL a unique name.
#[derive(Debug, Default)]
pub(super) struct Names(HashSet<String>);

impl Names {
    /// A name such as `example.com/docs/intro.md`.
    pub(super) fn of(&mut self, url: &str) -> PathBuf {
        let mut parts = parts(url);
        let last = parts.pop().unwrap_or_default();
        let folder = parts.join("/");
        let mut name = format!("{folder}/{last}.md");
        // Some file systems ignore case.
        if !self.0.insert(name.to_lowercase()) {
            name = format!("{folder}/{last}-{}.md", short(url));
            self.0.insert(name.to_lowercase());
        }
        PathBuf::from(name)
    }
}

/// Folders, and the file as the last part.
fn parts(url: &str) -> Vec<String> {
    let Ok(parsed) = Url::parse(url) else {
        return vec!["pages".to_owned(), short(url)];
    };
    let port = parsed.port().map(|port| format!("_{port}"));
    let host = format!(
        "{}{}",
        parsed.host_str().unwrap_or("pages"),
        port.unwrap_or_default()
    );
    let mut path: Vec<&str> = parsed.path().split('/').skip(1).collect();
    let last = path.pop().unwrap_or_default();
    if path.len() > DEEPEST {
        return vec![safe(&host), short(url)];
    }
    let mut parts: Vec<String> = std::iter::once(safe(&host))
        .chain(path.into_iter().map(|part| {
            let part = safe(part);
            // A folder and a file cannot have the same name.
            if part.ends_with(".md") {
                part + "_"
            } else {
                part
            }
        }))
        .collect();
    let mut file = if last.is_empty() {
        "index".to_owned()
    } else {
        safe(last)
    };
    if parsed.query().is_some() {
        file = format!("{file}-{}", short(url));
    }
    parts.push(file);
    parts
}

fn safe(part: &str) -> String {
    let decoded = percent_decode_str(part).decode_utf8_lossy();
    let cleaned: String = decoded
        .chars()
        .map(|c| {
            if c.is_alphanumeric() || matches!(c, '-' | '_' | '.') {
                c
            } else {
                '_'
            }
        })
        .take(LONGEST)
        .collect();
    let shown = cleaned.trim_matches('.');
    if shown.is_empty() {
        return "_".to_owned();
    }
    // File systems limit names in bytes; a character of other scripts has up to four.
    if decoded.chars().count() > LONGEST || shown.len() > 200 {
        let start: String = shown.chars().take(40).collect();
        return format!("{start}-{}", short(part));
    }
    shown.to_owned()
}

fn short(text: &str) -> String {
    let mut digest = hex::encode(Sha256::digest(text.as_bytes()));
    digest.truncate(8);
    digest
}

#[cfg(test)]
mod tests {
    use super::*;

    fn name(url: &str) -> String {
        Names::default().of(url).display().to_string()
    }

    #[test]
    fn names_show_the_url_of_a_page() {
        assert_eq!(name("https://example.com/"), "example.com/index.md");
        assert_eq!(
            name("https://example.com/docs/"),
            "example.com/docs/index.md"
        );
        assert_eq!(
            name("http://127.0.0.1:8000/a.html"),
            "127.0.0.1_8000/a.html.md"
        );
        let query = name("https://example.com/a?b=1");
        assert!(
            query.starts_with("example.com/a-") && query.len() == 25,
            "{query}"
        );
        assert_eq!(
            name("https://example.com/%C3%BCber/%20x"),
            "example.com/über/_x.md"
        );
    }

    #[test]
    fn no_name_leaves_the_folder_or_is_too_long() {
        for url in [
            "https://example.com/%2e%2e/%2e%2e%2fetc%2fpasswd",
            "https://example.com/..%5c..%5cx/%00",
            "https://example.com/.ssh/.%2e",
            "mailto:x",
        ] {
            let name = name(url);
            assert!(
                name.split('/')
                    .all(|part| !part.is_empty() && !part.starts_with('.')),
                "{name}"
            );
        }
        let long = name(&format!("https://example.com/{}", "ü".repeat(500)));
        assert!(long.split('/').all(|part| part.len() <= 204), "{long}");
        let deep = name(&format!("https://example.com{}", "/a".repeat(500)));
        assert_eq!(deep.split('/').count(), 2, "{deep}");
    }

    #[test]
    fn two_pages_never_share_a_file() {
        let mut names = Names::default();
        let all: HashSet<String> = [
            "https://example.com/a",
            "https://example.com/A",
            "https://example.com/a?x",
            "https://example.com/a?y",
            "https://example.com/a%20b",
            "https://example.com/a_b",
            "https://example.com/a.md/b",
        ]
        .into_iter()
        .map(|url| names.of(url).display().to_string().to_lowercase())
        .collect();
        assert_eq!(all.len(), 7);
    }
}
