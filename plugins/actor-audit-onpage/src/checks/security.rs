//! Rules about security: headers, loaded resources and forms.

use orbweaver_sdk::dom::{Node, attr, tag};

use crate::facts::{Facts, opening};
use crate::report::Report;
use crate::rules;

/// Checks the headers, for any response.
pub fn check_headers(facts: &Facts<'_>, report: &mut Report) {
    let page = facts.page;
    let has = |name: &str| {
        page.header_values(name)
            .any(|value| !value.trim().is_empty())
    };
    if facts.is_https() && !facts.is_loopback() && !has("strict-transport-security") {
        report.add(&rules::HSTS, "The response has no Strict-Transport-Security header, so visits over HTTP can be intercepted. Add it.");
    }
    if !has("content-security-policy") && metas_policy(facts).is_none() {
        report.add(
            &rules::CSP,
            "The response has no Content-Security-Policy, so injected scripts can run. Add a policy.",
        );
    }
    let nosniff = page
        .header_values("x-content-type-options")
        .any(|v| v.trim().eq_ignore_ascii_case("nosniff"));
    if !nosniff {
        report.add(
            &rules::NOSNIFF,
            "The response has no X-Content-Type-Options header. Add it with the value nosniff.",
        );
    }
    let ancestors = page
        .header_values("content-security-policy")
        .any(|policy| policy.to_ascii_lowercase().contains("frame-ancestors"));
    if !has("x-frame-options") && !ancestors {
        report.add(
            &rules::FRAMING,
            "The response does not restrict which sites may frame the page. Add frame-ancestors to its Content-Security-Policy.",
        );
    }
}

/// A Content-Security-Policy in a meta element.
fn metas_policy<'p>(facts: &'p Facts<'_>) -> Option<&'p str> {
    let mut metas = facts.head.named(&["content-security-policy"]);
    let meta = metas.find(|meta| meta.attribute == attr::HTTP_EQUIV)?;
    Some(meta.content.trim())
}

/// Checks loaded resources and forms.
pub fn check(facts: &Facts<'_>, report: &mut Report) {
    if facts.is_https() {
        let upgraded = facts
            .page
            .header_values("content-security-policy")
            .chain(metas_policy(facts))
            .any(|policy| policy.contains("upgrade-insecure-requests"));
        if !upgraded {
            mixed(facts, report);
        }
        report.add_all(
            &rules::FORM_INSECURE,
            "A form sends its data over HTTP. Change its action to HTTPS.",
            facts
                .tagged(tag::FORM)
                .filter(|form| sends_plainly(facts, *form))
                .map(opening),
        );
    } else if facts.url.is_some() && !facts.is_loopback() {
        report.add_all(
            &rules::FORM_ON_HTTP,
            "The page has a form, but is served over HTTP. Serve it over HTTPS.",
            facts
                .tagged(tag::FORM)
                .filter(|form| takes_input(*form))
                .map(opening),
        );
    }
}

fn mixed(facts: &Facts<'_>, report: &mut Report) {
    let insecure = |reference: Option<&str>| {
        let url = reference.and_then(|reference| facts.resolve(reference));
        url.is_some_and(|url| url.scheme() == "http")
    };
    let active = |node: &Node<'_>| match node.tag() {
        tag::SCRIPT | tag::IFRAME | tag::EMBED => insecure(node.attr(attr::SRC)),
        tag::OBJECT => insecure(node.attr_named("data")),
        tag::LINK => {
            let rel = node.attr(attr::REL).unwrap_or("");
            rel.split_ascii_whitespace()
                .any(|r| r.eq_ignore_ascii_case("stylesheet"))
                && insecure(node.attr(attr::HREF))
        }
        _ => false,
    };
    report.add_all(
        &rules::MIXED_ACTIVE,
        "The page uses HTTPS, but loads scripts, styles or frames over HTTP, which browsers block. Load them over HTTPS.",
        facts
            .others
            .iter()
            .filter(|node| active(node))
            .map(|node| opening(*node)),
    );
    let candidates = |list: Option<&str>| {
        list.is_some_and(|list| {
            list.split(',')
                .any(|one| insecure(one.split_ascii_whitespace().next()))
        })
    };
    let passive = |node: &Node<'_>| match node.tag() {
        tag::IMG | tag::SOURCE => {
            insecure(node.attr(attr::SRC)) || candidates(node.attr(attr::SRCSET))
        }
        tag::AUDIO | tag::TRACK => insecure(node.attr(attr::SRC)),
        tag::VIDEO => insecure(node.attr(attr::SRC)) || insecure(node.attr(attr::POSTER)),
        _ => false,
    };
    report.add_all(
        &rules::MIXED_PASSIVE,
        "The page uses HTTPS, but loads images, audio or video over HTTP. Load them over HTTPS.",
        facts
            .others
            .iter()
            .chain(&facts.images)
            .filter(|node| passive(node))
            .map(|node| opening(*node)),
    );
}

fn sends_plainly(facts: &Facts<'_>, form: Node<'_>) -> bool {
    let action = |node: Node<'_>, name: &str| {
        let url = node
            .attr_named(name)
            .and_then(|action| facts.resolve(action));
        url.is_some_and(|url| url.scheme() == "http")
    };
    action(form, "action") || form.elements().any(|n| action(n, "formaction"))
}

/// Whether a form has an input field, other than a search field.
fn takes_input(form: Node<'_>) -> bool {
    form.elements().any(|field| match field.tag() {
        tag::TEXTAREA | tag::SELECT => true,
        tag::INPUT => !matches!(
            field
                .attr(attr::TYPE)
                .unwrap_or("text")
                .to_ascii_lowercase()
                .as_str(),
            "hidden" | "submit" | "button" | "image" | "reset" | "search"
        ),
        _ => false,
    })
}
