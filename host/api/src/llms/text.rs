//! A site's pages as llms.txt, after <https://llmstxt.org/>: a name, a summary, and sections
//! of links, one for each part of the site.

use std::collections::HashMap;

use url::Url;

/// A page of the site.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Entry {
    /// Its URL.
    pub url: String,
    /// Its title, as it stands in the page.
    pub title: Option<String>,
    /// Its description.
    pub description: Option<String>,
}

/// The section of pages that stand for themselves.
const PAGES: &str = "Pages";
/// Pages that a reader with little room can do without.
const OPTIONAL: &str = "Optional";
/// First parts of paths, or whole paths, that go under [`OPTIONAL`], as llmstxt.org has it.
const SECONDARY: [&str; 12] = [
    "imprint",
    "impressum",
    "privacy",
    "privacy-policy",
    "terms",
    "terms-of-service",
    "legal",
    "cookies",
    "cookie-policy",
    "login",
    "signup",
    "sitemap",
];
const MAX_TITLE: usize = 200;
const MAX_DESCRIPTION: usize = 400;

/// Writes the file. `pages` stand in the order in which they were found.
pub fn build(name: &str, summary: Option<&str>, pages: &[Entry]) -> String {
    let mut out = format!("# {}\n", line(name, MAX_TITLE));
    if let Some(summary) = summary
        .map(|text| line(text, 1_000))
        .filter(|text| !text.is_empty())
    {
        out.push_str(&format!("\n> {summary}\n"));
    }
    let suffix = common_suffix(pages);
    for (title, entries) in sections(pages) {
        out.push_str(&format!("\n## {title}\n\n"));
        for entry in entries {
            out.push_str(&item(entry, suffix.as_deref()));
        }
    }
    out
}

/// Pages by the first part of their paths, in the order of their first page; those parts
/// that have one page only are together, first.
fn sections(pages: &[Entry]) -> Vec<(String, Vec<&Entry>)> {
    let mut by_part: Vec<(String, Vec<&Entry>)> = Vec::new();
    let mut places: HashMap<String, usize> = HashMap::new();
    for page in pages {
        let part = first_part(&page.url).unwrap_or_default();
        let next = by_part.len();
        let at = *places.entry(part.clone()).or_insert(next);
        if at == next {
            by_part.push((part, Vec::new()));
        }
        if let Some((_, entries)) = by_part.get_mut(at) {
            entries.push(page);
        }
    }
    let (mut alone, mut optional, mut rest) = (Vec::new(), Vec::new(), Vec::new());
    for (part, entries) in by_part {
        let word = part
            .split('.')
            .next()
            .unwrap_or_default()
            .to_ascii_lowercase();
        if SECONDARY.contains(&word.as_str()) {
            optional.extend(entries);
        } else if part.is_empty() || entries.len() == 1 {
            alone.extend(entries);
        } else {
            rest.push((heading(&part), entries));
        }
    }
    let mut sections = Vec::new();
    if !alone.is_empty() {
        sections.push((PAGES.to_owned(), alone));
    }
    sections.extend(rest);
    if !optional.is_empty() {
        sections.push((OPTIONAL.to_owned(), optional));
    }
    sections
}

/// The first part of a URL's path; none of the root's.
fn first_part(url: &str) -> Option<String> {
    let url = Url::parse(url).ok()?;
    let part = url.path_segments()?.next()?;
    let decoded = percent_encoding::percent_decode_str(part).decode_utf8_lossy();
    Some(decoded.into_owned()).filter(|part| !part.is_empty())
}

/// `getting-started` as `Getting started`.
fn heading(part: &str) -> String {
    let words = line(&part.replace(['-', '_', '+'], " "), MAX_TITLE);
    let mut letters = words.chars();
    match letters.next() {
        Some(first) => first.to_uppercase().chain(letters).collect(),
        None => PAGES.to_owned(),
    }
}

fn item(entry: &Entry, suffix: Option<&str>) -> String {
    let title = entry.title.as_deref().map(str::trim).unwrap_or_default();
    let title = match suffix {
        Some(suffix) => title.strip_suffix(suffix).unwrap_or(title),
        None => title,
    };
    let title = line(title, MAX_TITLE);
    let title = if title.is_empty() {
        line(&entry.url, MAX_TITLE)
    } else {
        title
    };
    // Characters that would end the link early.
    let title = title.replace('[', "(").replace(']', ")");
    let url = entry
        .url
        .replace('(', "%28")
        .replace(')', "%29")
        .replace(' ', "%20");
    let description = entry
        .description
        .as_deref()
        .map(|text| line(text, MAX_DESCRIPTION))
        .filter(|text| !text.is_empty());
    match description {
        Some(description) => format!("- [{title}]({url}): {description}\n"),
        None => format!("- [{title}]({url})\n"),
    }
}

/// What most sites put behind every title: ` | Name`, ` – Name`.
fn common_suffix(pages: &[Entry]) -> Option<String> {
    let mut counts: HashMap<&str, usize> = HashMap::new();
    let titles: Vec<&str> = pages
        .iter()
        .filter_map(|page| page.title.as_deref().map(str::trim))
        .filter(|title| !title.is_empty())
        .collect();
    for title in &titles {
        let cut = [" | ", " - ", " – ", " — ", " · ", " :: "]
            .iter()
            .filter_map(|mark| title.rfind(mark))
            .max();
        if let Some(suffix) = cut.and_then(|at| title.get(at..)) {
            *counts.entry(suffix).or_default() += 1;
        }
    }
    let (suffix, count) = counts
        .into_iter()
        .max_by_key(|(suffix, count)| (*count, suffix.len()))?;
    // Of most pages, and of more than one: a single title's end belongs to it.
    (count > 1 && count * 2 > titles.len()).then(|| suffix.to_owned())
}

/// One line, white space collapsed, at most `max` bytes.
fn line(text: &str, max: usize) -> String {
    let mut line = text.split_whitespace().collect::<Vec<_>>().join(" ");
    if line.len() > max {
        let mut end = max;
        while !line.is_char_boundary(end) {
            end -= 1;
        }
        line.truncate(end);
        line.push('…');
    }
    line
}

#[cfg(test)]
mod tests {
    use super::*;

    fn page(path: &str, title: &str, description: &str) -> Entry {
        let some = |text: &str| Some(text.to_owned()).filter(|text| !text.is_empty());
        Entry {
            url: format!("https://a.example{path}"),
            title: some(title),
            description: some(description),
        }
    }

    #[test]
    fn sections_follow_the_paths() {
        let pages = [
            page("/", "Home | Acme", "All of it."),
            page("/docs/", "Docs | Acme", ""),
            page("/about", "About\n us | Acme", "Who  we\nare"),
            page("/docs/getting-started", "", ""),
            page("/privacy", "Privacy | Acme", ""),
            page("/how-to/a_(b)", "A [b] | Acme", ""),
            page("/how-to/c", "C", ""),
        ];
        assert_eq!(
            build("Acme", Some(" Makes\n things "), &pages),
            "# Acme\n\
             \n> Makes things\n\
             \n## Pages\n\n\
             - [Home](https://a.example/): All of it.\n\
             - [About us](https://a.example/about): Who we are\n\
             \n## Docs\n\n\
             - [Docs](https://a.example/docs/)\n\
             - [https://a.example/docs/getting-started](https://a.example/docs/getting-started)\n\
             \n## How to\n\n\
             - [A (b)](https://a.example/how-to/a_%28b%29)\n\
             - [C](https://a.example/how-to/c)\n\
             \n## Optional\n\n\
             - [Privacy](https://a.example/privacy)\n"
        );
    }

    #[test]
    fn a_titles_end_is_dropped_only_where_most_share_it() {
        let pages = [page("/", "One - A", ""), page("/b", "Two - B", "")];
        assert_eq!(common_suffix(&pages), None);
        assert_eq!(build("X", None, &[]), "# X\n");
    }
}
