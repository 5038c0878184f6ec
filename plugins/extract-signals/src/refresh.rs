//! Where a page leads by itself.

use orbweaver_markup::Refresh;
use orbweaver_sdk::Page;
use orbweaver_sdk::dom::{Namespace, View, attr, tag};
use orbweaver_sdk::json::Writer;
use orbweaver_sdk::urls::{Base, Resolved};

/// Writes the page's refresh: that of its header, else of its first `meta`, as a browser with scripts
/// obeys them. Null without one.
pub fn write(page: &Page<'_>, view: &View<'_>, w: &mut Writer) {
    let own = Base::new(page.final_url());
    let header = page.header("refresh").and_then(Refresh::parse);
    let (found, base) = match header {
        Some(refresh) => (Some(refresh), own.as_ref()),
        None => (in_metas(view), page.base()),
    };
    let Some(Refresh { seconds, url }) = found else {
        w.null();
        return;
    };
    // What is no address of the web stays as it is written.
    let url = url.map(|url| {
        let target = base.and_then(|base| base.join(&url));
        target.map_or(url, Resolved::into_string)
    });
    w.object(|w| {
        w.key("seconds").int(seconds);
        w.key("url").string_or_null(url.as_deref());
    });
}

fn in_metas(view: &View<'_>) -> Option<Refresh> {
    view.tagged_outside_templates(|id| id == tag::META)
        .filter(|node| node.namespace() == Namespace::Html)
        .filter(|node| {
            let pragma = node.attr(attr::HTTP_EQUIV).unwrap_or("");
            pragma.trim_ascii().eq_ignore_ascii_case("refresh")
        })
        .find_map(|node| Refresh::parse(node.attr(attr::CONTENT)?))
}
