//! The parsed document of a page for plugins that do not read the snapshot: the functions of the
//! interface `dom`. All of them are bounded: a search by its work, a result by its size.

use orbweaver_dom::{Node, Selector, View, Work, html, text};

use crate::error::{CodedError, ErrorCode};
use crate::page::Page;

/// Longest selector, in bytes.
const MAX_CSS_BYTES: usize = 4_096;
/// Most elements of one result.
const MAX_ELEMENTS: usize = 100_000;
/// Most bytes of one element as HTML.
const MAX_HTML_BYTES: usize = 32 << 20;
/// Work of one search: about 100 ms.
const SEARCH: u64 = 12_000_000;
/// Work of a search that may run on a thread of tasks: less than a millisecond.
const QUICK_SEARCH: u64 = 60_000;
/// Snapshots up to this size are read on a thread of tasks; a read of all of it takes less than a
/// millisecond.
const QUICK_BYTES: usize = 256 << 10;

/// A search for elements.
#[derive(Clone, Debug)]
pub(crate) struct Search {
    selector: Selector,
    root: Option<u32>,
    limit: usize,
}

impl Search {
    /// A search in the whole document, or below `root`.
    pub fn new(css: &str, root: Option<u32>, limit: u32) -> Result<Self, CodedError> {
        if css.len() > MAX_CSS_BYTES {
            return Err(CodedError::invalid(format!(
                "css: must have at most {MAX_CSS_BYTES} bytes"
            )));
        }
        let selector = Selector::parse(css);
        Ok(Self {
            selector: selector.map_err(|error| CodedError::invalid(format!("css: {error}")))?,
            root,
            limit: (limit as usize).min(MAX_ELEMENTS),
        })
    }

    /// Searches. CPU-bound: at most about 100 ms.
    pub fn run(&self, page: &Page) -> Result<Vec<u32>, CodedError> {
        self.run_within(page, SEARCH)?.ok_or_else(|| {
            CodedError::new(
                ErrorCode::Budget,
                "css: the search costs too much on this page",
            )
        })
    }

    /// As [`run`](Self::run), if that is done within a millisecond; else `None`.
    pub fn run_quickly(&self, page: &Page) -> Result<Option<Vec<u32>>, CodedError> {
        match is_quick(page) {
            true => self.run_within(page, QUICK_SEARCH),
            false => Ok(None),
        }
    }

    fn run_within(&self, page: &Page, units: u64) -> Result<Option<Vec<u32>>, CodedError> {
        let view = view(page)?;
        let found = match self.root {
            None => view.select(&self.selector),
            Some(root) => element(&view, root)?.select(&self.selector),
        };
        let mut found = found.within(Work::units(units));
        let elements: Vec<u32> = found
            .by_ref()
            .take(self.limit)
            .map(|node| node.id())
            .collect();
        Ok((!found.is_cut()).then_some(elements))
    }
}

/// Whether any function but a search is done within a millisecond.
pub(crate) fn is_quick(page: &Page) -> bool {
    page.snapshot().size() <= QUICK_BYTES
}

/// What a function reads of an element.
#[derive(Clone, Debug)]
pub(crate) enum Read {
    Name,
    Text,
    TextContent,
    Html,
}

impl Read {
    /// The text that is asked for. CPU-bound: linear in the page's size.
    pub fn of(&self, page: &Page, id: u32) -> Result<String, CodedError> {
        let view = view(page)?;
        let node = element(&view, id)?;
        Ok(match self {
            Self::Name => node.name().to_owned(),
            Self::Text => text::line(node),
            Self::TextContent => node.text_content(),
            Self::Html => html::outer(node, MAX_HTML_BYTES).ok_or_else(|| {
                CodedError::new(
                    ErrorCode::TooLarge,
                    format!("element: more than {MAX_HTML_BYTES} bytes of HTML"),
                )
            })?,
        })
    }
}

/// An attribute's value.
pub(crate) fn attr(page: &Page, id: u32, name: &str) -> Result<Option<String>, CodedError> {
    let view = view(page)?;
    let value = element(&view, id)?.attr_named(name);
    Ok(value.map(str::to_owned))
}

/// Names and values of all attributes.
pub(crate) fn attrs(page: &Page, id: u32) -> Result<Vec<(String, String)>, CodedError> {
    let view = view(page)?;
    let attrs = element(&view, id)?.attrs();
    Ok(attrs
        .map(|attr| (attr.name().to_owned(), attr.value().to_owned()))
        .collect())
}

/// The element around this one.
pub(crate) fn parent(page: &Page, id: u32) -> Result<Option<u32>, CodedError> {
    let view = view(page)?;
    let parent = element(&view, id)?.parent();
    Ok(parent.filter(Node::is_element).map(|node| node.id()))
}

/// The elements directly inside.
pub(crate) fn children(page: &Page, id: u32) -> Result<Vec<u32>, CodedError> {
    let view = view(page)?;
    let children = element(&view, id)?.child_elements();
    Ok(children.take(MAX_ELEMENTS).map(|node| node.id()).collect())
}

fn view(page: &Page) -> Result<View<'_>, CodedError> {
    let view = page.snapshot().view();
    // The host wrote it.
    view.map_err(|error| CodedError::failed(error.to_string()))
}

fn element<'a>(view: &'a View<'a>, id: u32) -> Result<Node<'a>, CodedError> {
    view.node(id)
        .filter(Node::is_element)
        .ok_or_else(|| CodedError::invalid(format!("element: {id} is no element of this page")))
}

#[cfg(test)]
mod tests {
    use super::*;

    const HTML: &str = "<base href='/b/'><ul class=x><li id=1>one <b>bold</b><script>s</script>\
                        <li>two</ul><p title='t'>p";

    fn found(page: &Page, css: &str) -> Vec<u32> {
        Search::new(css, None, 100).unwrap().run(page).unwrap()
    }

    #[test]
    fn elements_are_found_and_read() {
        let page = Page::from_html("https://a.org/x", HTML);
        let items = found(&page, "ul.x > li");
        assert_eq!(items.len(), 2);
        assert_eq!(Read::Text.of(&page, items[0]).unwrap(), "one bold");
        assert_eq!(Read::TextContent.of(&page, items[0]).unwrap(), "one bolds");
        assert_eq!(Read::Name.of(&page, items[1]).unwrap(), "li");
        assert_eq!(Read::Html.of(&page, items[1]).unwrap(), "<li>two</li>");
        assert_eq!(attr(&page, items[0], "id").unwrap().as_deref(), Some("1"));
        assert_eq!(attr(&page, items[0], "class").unwrap(), None);
        let list = parent(&page, items[0]).unwrap().unwrap();
        assert_eq!(children(&page, list).unwrap(), items);
        assert_eq!(attrs(&page, list).unwrap(), [("class".into(), "x".into())]);
        let inside = Search::new(":scope > b", Some(items[0]), 10).unwrap();
        assert_eq!(inside.run(&page).unwrap().len(), 1);
        assert_eq!(page.resolve("../c#d").as_deref(), Some("https://a.org/c#d"));
        assert_eq!(page.resolve("mailto:a@b.c"), None);
        let base = "<template><base href=/t/></template><svg><base href=/s/></svg><base href=/b/>";
        let page = Page::from_html("https://a.org/x", base);
        assert_eq!(page.resolve("c").as_deref(), Some("https://a.org/b/c"));
    }

    #[test]
    fn the_first_elements_are_returned_and_outermost_ones_have_no_parent() {
        let page = Page::from_html("https://a.org/", HTML);
        let all = found(&page, "*");
        let first = Search::new("*", None, 3).unwrap().run(&page).unwrap();
        assert_eq!(first, all[..3]);
        assert_eq!(parent(&page, all[0]).unwrap(), None);
    }

    #[test]
    fn wrong_arguments_name_the_field() {
        let page = Page::from_html("https://a.org/", HTML);
        let long = "a".repeat(MAX_CSS_BYTES + 1);
        for css in ["", "p >", "::before", "p:hover", long.as_str()] {
            let error = Search::new(css, None, 1).unwrap_err();
            assert_eq!(error.code, ErrorCode::InvalidInput, "{css}");
            assert_eq!(error.field.as_deref(), Some("css"), "{css}");
        }
        // The document, which is no element; one of another page.
        for id in [0, 1_000_000, u32::MAX] {
            let inside = Search::new("p", Some(id), 1).unwrap();
            let errors = [
                Read::Text.of(&page, id).unwrap_err(),
                attr(&page, id, "a").unwrap_err(),
                inside.run(&page).unwrap_err(),
            ];
            for error in errors {
                assert_eq!(error.field.as_deref(), Some("element"), "{id}");
            }
        }
    }

    #[test]
    fn a_search_that_costs_too_much_ends_early() {
        let siblings = "<p>x</p>".repeat(60_000);
        let deep = "<div><i></i>".repeat(400) + &"<b></b>".repeat(60_000);
        let class = "a ".repeat(3_000_000);
        let wide = format!("<div class='{class}'>{}", "<p><b>".repeat(20_000));
        for (html, css) in [
            (siblings.as_str(), "p ~ p ~ p ~ i, p:has(~ i)"),
            (&siblings, "p:nth-last-child(2n of :not(i ~ p))"),
            (&deep, "div:has(i ~ u) b"),
            (&wide, ".b b"),
        ] {
            let page = Page::from_html("https://a.org/", html);
            page.snapshot();
            let begun = std::time::Instant::now();
            let found = Search::new(css, None, 10).unwrap().run(&page);
            let took = begun.elapsed();
            assert!(took.as_secs() < 3, "{css}: {took:?}");
            let code = found.map_err(|error| error.code);
            assert_eq!(code, Err(ErrorCode::Budget), "{css}");
        }
    }

    #[test]
    fn an_ordinary_search_on_a_large_page_fits() {
        let row = "<tr><td class='a b'>1</td><td><a href='/x'>two</a></td></tr>";
        let html = format!("<table><tbody>{}", row.repeat(50_000));
        let page = Page::from_html("https://a.org/", &html);
        for css in [
            "table tbody tr > td a[href^='/']",
            "td.b",
            "tr:nth-child(odd)",
        ] {
            let search = Search::new(css, None, u32::MAX).unwrap();
            assert!(search.run(&page).unwrap().len() >= 25_000, "{css}");
            assert_eq!(search.run_quickly(&page), Ok(None), "{css}");
        }
    }
}
