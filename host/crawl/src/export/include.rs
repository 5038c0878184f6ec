//! What an export has of each page, besides the fields of every list.

use orbweaver_pipeline::Parts;

/// Fields that are added to each page.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Include {
    /// `title`.
    pub title: bool,
    /// `final_url`.
    pub final_url: bool,
    /// `depth`.
    pub depth: bool,
    /// `content_type`.
    pub content_type: bool,
    /// `content_hash`.
    pub content_hash: bool,
    /// `elapsed_ms`.
    pub elapsed_ms: bool,
    /// `redirects`.
    pub redirects: bool,
    /// `inlinks`.
    pub inlinks: bool,
    /// `markdown`.
    pub markdown: bool,
    /// `article`: `article_text` and `article_html`.
    pub article: bool,
    /// `html`.
    pub html: bool,
    /// `metadata`.
    pub metadata: bool,
    /// `signals`.
    pub signals: bool,
    /// `extensions`.
    pub extensions: bool,
    /// `extracted`: `extracted` and `extract_errors`.
    pub extracted: bool,
}

/// A name that is none of [`Include::NAMES`].
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{name} is unknown; known are {}", Include::NAMES.join(", "))]
pub struct UnknownInclude {
    name: String,
}

impl Include {
    /// The names, in the order of the columns of CSV.
    pub const NAMES: [&'static str; 15] = [
        "title",
        "final_url",
        "depth",
        "content_type",
        "content_hash",
        "elapsed_ms",
        "redirects",
        "inlinks",
        "markdown",
        "article",
        "html",
        "metadata",
        "signals",
        "extensions",
        "extracted",
    ];

    /// Reads a list of names, separated by commas.
    ///
    /// # Errors
    /// The first unknown name.
    pub fn parse(list: &str) -> Result<Self, UnknownInclude> {
        let mut include = Self::default();
        for name in list
            .split(',')
            .map(str::trim)
            .filter(|name| !name.is_empty())
        {
            let Some(field) = include.field(name) else {
                let name = name.chars().filter(|c| !c.is_control()).take(64).collect();
                return Err(UnknownInclude { name });
            };
            *field = true;
        }
        Ok(include)
    }

    /// The names that are included, in the order of [`NAMES`](Self::NAMES).
    pub fn names(&self) -> Vec<&'static str> {
        let mut known = *self;
        let names = Self::NAMES.iter().copied();
        names
            .filter(|name| known.field(name).is_some_and(|is_asked| *is_asked))
            .collect()
    }

    fn field(&mut self, name: &str) -> Option<&mut bool> {
        Some(match name {
            "title" => &mut self.title,
            "final_url" => &mut self.final_url,
            "depth" => &mut self.depth,
            "content_type" => &mut self.content_type,
            "content_hash" => &mut self.content_hash,
            "elapsed_ms" => &mut self.elapsed_ms,
            "redirects" => &mut self.redirects,
            "inlinks" => &mut self.inlinks,
            "markdown" => &mut self.markdown,
            "article" => &mut self.article,
            "html" => &mut self.html,
            "metadata" => &mut self.metadata,
            "signals" => &mut self.signals,
            "extensions" => &mut self.extensions,
            "extracted" => &mut self.extracted,
            _ => return None,
        })
    }

    /// Whether the pages' bodies are needed.
    pub const fn needs_body(&self) -> bool {
        self.markdown || self.article || self.html
    }

    /// Whether more than the pages' rows is needed.
    pub const fn needs_content(&self) -> bool {
        self.needs_body() || self.metadata || self.signals || self.extensions || self.extracted
    }

    /// What is extracted of a page.
    pub const fn parts(&self, main_content: bool) -> Parts {
        Parts {
            html: self.html,
            markdown: self.markdown,
            main_content,
            article: self.article,
            metadata: self.metadata,
            signals: self.signals,
            content_hash: false,
        }
    }

    /// Names of the columns of CSV, behind those of every list.
    pub fn columns(&self) -> Vec<&'static str> {
        let names = self.names().into_iter();
        names
            .flat_map(|name| match name {
                "article" => vec!["article_text", "article_html"],
                "extracted" => vec!["extracted", "extract_errors"],
                name => vec![name],
            })
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_list_names_fields_and_columns() {
        let include = Include::parse("article, title,,depth,title").unwrap();
        assert!(include.title && include.depth && include.article && !include.html);
        let columns = ["title", "depth", "article_text", "article_html"];
        assert_eq!(include.columns(), columns);
        let all = Include::parse(&Include::NAMES.join(",")).unwrap();
        assert_eq!(all.columns().len(), Include::NAMES.len() + 2);
        let error = Include::parse("title,titel").unwrap_err().to_string();
        assert!(
            error.starts_with("titel is unknown; known are title, "),
            "{error}"
        );
    }
}
