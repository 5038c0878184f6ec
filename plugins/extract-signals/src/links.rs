//! Counts links.

use orbweaver_sdk::Page;
use orbweaver_sdk::dom::{View, attr, tag};
use orbweaver_sdk::json::Writer;
use orbweaver_sdk::robots::rel_forbids_following;
use orbweaver_sdk::urls::{Base, Resolved};

/// Counts links to `http` and `https` URLs, including repeats, like the `links` role. A link is
/// internal if it has the page's host, ignoring a leading `www.`, and port: http and https on their
/// default ports are one site.
pub fn count(page: &Page<'_>, views: &[&View<'_>], page_nofollow: bool, w: &mut Writer) {
    let (mut internal, mut nofollow, mut total) = (0_u64, 0_u64, 0_u64);
    let own = Base::new(page.final_url());
    if let Some(base) = page.base() {
        let own = own.as_ref().unwrap_or(base).url();
        let site = (without_www(own.host()), own.port());
        let mut to = Resolved::default();
        let links = views
            .iter()
            .flat_map(|view| view.tagged_outside_templates(|id| matches!(id, tag::A | tag::AREA)));
        for node in links {
            let href = node
                .attr(attr::HREF)
                .or_else(|| node.attr(attr::XLINK_HREF));
            if !href.is_some_and(|href| base.join_into(href, &mut to)) {
                continue;
            }
            total += 1;
            internal += u64::from((without_www(to.host()), to.port()) == site);
            let rel = node.attr(attr::REL).unwrap_or("");
            nofollow += u64::from(page_nofollow || rel_forbids_following(rel));
        }
    }
    w.key("internal").int(internal);
    w.key("external").int(total - internal);
    w.key("nofollow").int(nofollow);
    w.key("total").int(total);
}

fn without_www(host: &str) -> &str {
    host.strip_prefix("www.").unwrap_or(host)
}
