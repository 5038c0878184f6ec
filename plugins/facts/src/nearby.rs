//! Facts around the headline: bylines and dates.

mod byline;
mod date_lines;

use orbweaver_sdk::dom::{Node, View, attr, tag};
use orbweaver_sdk::text::{is_hidden, line};

use byline::{
    begins_as_byline, byline, introduces, labelled, looks_like_person, nickname, reporter,
    tells_of_others,
};
use date_lines::{has_year, is_line_of_facts, is_of_subject, stated};

use crate::Sources;
use crate::class::Class;
use crate::date_meaning::{DateMeaning, Stamp};
use crate::dates::{self, Manner};
use crate::footers::{is_footer, is_of_text, own_footer};
use crate::items;
use crate::linked::is_in_sentence;
use crate::marks::{Marks, time_value};
use crate::names;
use crate::profile::{leads_to_profile, leads_to_team};
use crate::stamps::{Dated, dated};
use crate::teasers::Teasers;
use crate::together::Place;

/// Nodes after and before the headline that are looked at.
const AFTER: u32 = 200;
const BEFORE: u32 = 60;
/// Nodes that are looked at from the beginning of the content, where there is no headline: menus
/// may come first.
const AFTER_START: u32 = 1_000;
/// Candidates that are kept of each kind.
const MAX_FOUND: usize = 12;
/// Longest text of one node that may hold a date or a byline, in bytes.
const MAX_TEXT: usize = 160;
/// Nodes of an element that holds a byline and little else.
const MAX_BYLINE_NODES: u32 = 60;
/// Longest text that begins with the introduction of a name, in bytes.
const MAX_BYLINE_TEXT: usize = 100;

/// Doubt that is added to what stands in the footer.
const FAR: u8 = 4;

/// A name near the headline.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Byline {
    /// The name or names.
    pub name: String,
    /// What makes it one; the lower, the surer.
    pub doubt: u8,
}

/// Names and dates around the headline, those after it first.
#[derive(Debug, Default)]
pub struct Nearby {
    /// Names.
    pub bylines: Vec<Byline>,
    /// Dates.
    pub stamps: Vec<Stamp>,
    /// The end of the last footer of a text.
    footer_end: u32,
    /// Where the last byline of each doubt stands, with its index.
    places: Vec<(u8, Place, usize)>,
}

impl Nearby {
    /// Looks around the headline, or at the beginning of the content where there is none.
    pub fn of(sources: &Sources<'_>, marks: &Marks, h1: Option<u32>) -> Self {
        let mut nearby = Self::default();
        let view = sources.view;
        let start = h1.unwrap_or(marks.content);
        let manner = Manner::of(sources.language);
        let teasers = Teasers::of(sources, h1);
        let after = if h1.is_some() { AFTER } else { AFTER_START };
        let end = start.saturating_add(after).min(view.len());
        nearby.look(view, (start, end), &teasers, manner);
        let before = (start.saturating_sub(BEFORE), start);
        nearby.look(view, before, &teasers, manner);
        nearby.look_under_text(view, (start, end), &teasers, manner);
        nearby.look_into_footer(view, h1, &teasers, manner);
        nearby
    }

    /// Looks into the footer of a text so long that it stands too far from the headline.
    fn look_under_text(
        &mut self,
        view: &View<'_>,
        (start, end): (u32, u32),
        teasers: &Teasers<'_>,
        manner: Manner<'_>,
    ) {
        let own = own_footer(view, start).filter(|footer| footer.id() >= end);
        let Some(footer) = own else { return };
        let mut found = Self {
            footer_end: footer.end(),
            ..Self::default()
        };
        let nodes = (footer.id() + 1, footer.end().min(footer.id() + AFTER));
        found.look(view, nodes, teasers, manner);
        let bylines = found.bylines.into_iter();
        self.bylines.extend(bylines.map(|byline| Byline {
            doubt: byline.doubt + FAR,
            ..byline
        }));
        let stamps = found.stamps.into_iter();
        self.stamps.extend(stamps.map(|stamp| Stamp {
            doubt: stamp.doubt + FAR,
            ..stamp
        }));
    }

    /// Looks into the page's own footer for when the page was changed; other dates there are of the
    /// site.
    fn look_into_footer(
        &mut self,
        view: &View<'_>,
        h1: Option<u32>,
        teasers: &Teasers<'_>,
        manner: Manner<'_>,
    ) {
        /// Nodes at the end of the document among which the footer is searched, and nodes of it that
        /// are looked at.
        const LAST: u32 = 4_000;
        const MAX_NODES: u32 = 1_000;
        let mut id = view.len().saturating_sub(LAST);
        while let Some(node) = view.node(id) {
            id += 1;
            let is_empty = node.end() == id;
            if is_empty || !is_footer(node, h1) {
                continue;
            }
            id = node.end();
            let mut found = Self::default();
            let nodes = (node.id() + 1, id.min(node.id() + MAX_NODES));
            found.look(view, nodes, teasers, manner);
            let changes = found.stamps.into_iter();
            let changes = changes.filter(|stamp| stamp.meaning == DateMeaning::Modified);
            self.stamps.extend(changes.map(|stamp| Stamp {
                doubt: stamp.doubt + FAR,
                ..stamp
            }));
        }
    }

    fn look(
        &mut self,
        view: &View<'_>,
        (from, to): (u32, u32),
        teasers: &Teasers<'_>,
        manner: Manner<'_>,
    ) {
        let mut id = from;
        // The text before a date tells what happened then.
        let mut label = "";
        let mut introduced = false;
        let mut heading_end = 0;
        while let Some(node) = view.node(id).filter(|node| node.id() < to) {
            id += 1;
            if node.is_text() {
                let text = node.text().trim();
                self.text(text, label, introduced, manner);
                if introduces(text)
                    && let Some(around) = node.parent()
                {
                    self.listed(around);
                }
                if !text.is_empty() {
                    // What the page is called says nothing of its dates.
                    label = if node.id() < heading_end { "" } else { text };
                    introduced = introduces(text);
                }
                continue;
            }
            if !node.is_element() {
                continue;
            }
            let skipped = match node.tag() {
                // Quotations and embedded posts have authors and dates of their own.
                tag::NAV | tag::SVG | tag::BLOCKQUOTE => true,
                tag::FOOTER => !is_of_text(node, from, to),
                other => is_hidden(other),
            };
            if skipped {
                id = node.end();
                continue;
            }
            if node.tag() == tag::FOOTER {
                self.footer_end = node.end();
            }
            if node.tag() == tag::H1 {
                heading_end = node.end();
            }
            if is_of_subject(node) || teasers.is_teaser(node) {
                id = node.end();
                continue;
            }
            let class = Class::of(node);
            if class.elsewhere || items::is_answer(node) {
                id = node.end();
                continue;
            }
            if node.tag() == tag::TIME || is_time(node) {
                self.time(node, &class, label, manner);
            } else {
                if introduced && matches!(node.tag(), tag::UL | tag::OL) {
                    self.listed(node);
                }
                self.element(node, &class, label, manner);
            }
        }
    }

    fn time(&mut self, node: Node<'_>, class: &Class, label: &str, manner: Manner<'_>) {
        if self.stamps.len() >= MAX_FOUND {
            return;
        }
        let value = time_value(node).or_else(|| node.attr_named("ts").map(str::to_owned));
        let Some(date) = value.and_then(|value| dates::read(&value, manner)) else {
            return;
        };
        let inside = if node.end() - node.id() <= 8 {
            line(node)
        } else {
            String::new()
        };
        self.stamp(
            date,
            DateMeaning::by(&[label, &inside], class.updated, class.published),
            0,
        );
    }

    /// Adds the authors of a list that a text of its own introduces: "Author(s)", or "By" before
    /// elements with a name each.
    fn listed(&mut self, list: Node<'_>) {
        if list.end() - list.id() <= MAX_BYLINE_NODES && self.bylines.len() < MAX_FOUND {
            let name = byline(list).filter(|name| name.contains(", "));
            let name = name.filter(|name| name.split(", ").all(names::is_person));
            self.bylines
                .extend(name.map(|name| Byline { name, doubt: 4 }));
        }
    }

    fn element(&mut self, node: Node<'_>, class: &Class, label: &str, manner: Manner<'_>) {
        let nodes = node.end() - node.id();
        if nodes > MAX_BYLINE_NODES || self.bylines.len() >= MAX_FOUND {
            return;
        }
        // Footers link to the people that a text is about.
        let in_footer = node.id() < self.footer_end;
        let profile = node.tag() == tag::A && !in_footer && leads_to_profile(node);
        if (class.author || profile)
            && !tells_of_others(label)
            && let Some(name) = byline(node)
            && (class.author || passes(node, &name))
        {
            let doubt = match (class.author, profile) {
                (true, true) => 1,
                (true, false) => 2,
                (false, _) => 3,
            };
            self.byline(node, name, doubt);
        }
        if (class.dated || class.author) && nodes <= 12 && self.stamps.len() < MAX_FOUND {
            let text = line(node);
            // What is said of an author has days of other things in it; a byline does not.
            if !class.dated && !begins_as_byline(&text) {
                return;
            }
            // The text may be the time of day alone.
            if let Some(date) = stated(node, manner) {
                let meaning = DateMeaning::by(&[label, &text], class.updated, class.published);
                self.stamp(date, meaning, 1);
            } else if text.len() <= MAX_TEXT && has_year(&text) {
                for Dated { date, meaning, .. } in
                    dated(&text, label, (class.updated, class.published), manner)
                {
                    self.stamp(date, meaning, 1);
                }
            }
        }
    }

    /// Adds a byline, or its name to the one that it goes on with: authors have links of their own.
    fn byline(&mut self, node: Node<'_>, name: String, doubt: u8) {
        let known = self.places.iter().rposition(|(other, ..)| *other == doubt);
        let known = known.and_then(|at| self.places.get_mut(at));
        if let Some((_, place, at)) = known
            && place.goes_on_with(node)
            && let Some(byline) = self.bylines.get_mut(*at)
            && names::is_person(&name)
            && byline
                .name
                .split(", ")
                .all(|other| names::is_person(other) && other != name)
        {
            byline.name.push_str(", ");
            byline.name.push_str(&name);
            *place = Place::of(node);
            return;
        }
        self.places
            .push((doubt, Place::of(node), self.bylines.len()));
        self.bylines.push(Byline { name, doubt });
    }

    fn text(&mut self, text: &str, label: &str, introduced: bool, manner: Manner<'_>) {
        if text.len() > MAX_TEXT || text.len() < 4 {
            return;
        }
        if text.len() <= MAX_BYLINE_TEXT && self.bylines.len() < MAX_FOUND {
            // The introduction may stand in a text of its own, before this one.
            let rest = names::strip_introduction(text)
                .or_else(|| labelled(text))
                .or_else(|| reporter(text))
                .or(introduced.then_some(text));
            if let Some(rest) = rest.filter(|rest| looks_like_person(rest))
                && let Some(name) = names::bare(rest)
            {
                self.bylines.push(Byline { name, doubt: 4 });
            } else if let Some(name) = rest.and_then(|rest| nickname(rest, text, label)) {
                self.bylines.push(Byline { name, doubt: 5 });
            }
        }
        if self.stamps.len() < MAX_FOUND && has_year(text) {
            let mut all = dated(text, label, (false, false), manner).into_iter();
            let Some(first) = all.next() else { return };
            let before = text.get(..first.start).unwrap_or("");
            let meaning = first.meaning;
            // A date alone, or one that is told what it is of; not one in a sentence.
            let alone = before.trim().is_empty() && text.len() - first.end <= 20;
            let doubt = if alone || meaning != DateMeaning::Nothing && before.chars().count() <= 60
            {
                2
            } else if is_line_of_facts(text, before) || begins_as_byline(before) {
                3
            } else {
                return;
            };
            self.stamp(first.date, meaning, doubt);
            for other in all {
                self.stamp(other.date, other.meaning, doubt);
            }
        }
    }

    fn stamp(&mut self, date: String, meaning: DateMeaning, doubt: u8) {
        if self.stamps.len() < MAX_FOUND {
            self.stamps.push(Stamp {
                date,
                meaning,
                doubt,
            });
        }
    }
}

/// Whether the text of a link to somebody's page is a name, where nothing else says so: a link of a
/// sentence, a question and the name of a club are none.
fn passes(link: Node<'_>, name: &str) -> bool {
    let is_nickname = |name: &str| !name.contains(' ') && !leads_to_team(link);
    let is_name = |name: &str| names::is_person(name) || is_nickname(name) || !name.is_ascii();
    name.split(", ").all(is_name) && !is_in_sentence(link)
}

/// Whether an element of a component's own name has the time as `time` has it: `relative-time`,
/// `local-time`, `faceplate-timeago`.
fn is_time(node: Node<'_>) -> bool {
    let name = node.name();
    name.contains('-')
        && name.contains("time")
        && (node.has_attr(attr::DATETIME) || node.attr_named("ts").is_some())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bylines(html: &str) -> Vec<String> {
        let snapshot = orbweaver_sdk::dom::parse(html);
        let view = snapshot.view().expect("view");
        let mut nearby = Nearby::default();
        let teasers = Teasers::default();
        nearby.look(&view, (0, view.len()), &teasers, Manner::of("en"));
        nearby.bylines.sort_by_key(|byline| byline.doubt);
        nearby
            .bylines
            .into_iter()
            .map(|byline| byline.name)
            .collect()
    }

    #[test]
    fn bylines_are_read_however_they_are_cut_up() {
        for (html, expected) in [
            (
                "<div class=post-author>Written by<b>Ann Lee</b><i>Senior editor</i></div>",
                "Ann Lee",
            ),
            (
                "<p class=byline>By <a href=/authors/ann>Ann Lee</a>, <a href=/authors/bo>Bo Li</a> and <a>Cy D</a></p>",
                "Ann Lee, Bo Li, Cy D",
            ),
            (
                "<span class=entryAuthor>Ann Lee | 4 March 2024</span>",
                "Ann Lee",
            ),
            ("<p><a href='/author/ann-lee'>Ann Lee</a></p>", "Ann Lee"),
            ("<p>By Ann van der Lee</p>", "Ann van der Lee"),
            ("<p><span>By</span><span>Ann Lee</span></p>", "Ann Lee"),
            (
                "<p class=author>Posted\u{a0}by <b>Ann Lee</b></p>",
                "Ann Lee",
            ),
            (
                "<a class=username href=/u/x>orb_weaver42</a>",
                "orb_weaver42",
            ),
            ("<p>Von Anna Müller</p>", "Anna Müller"),
            ("<p>作者：王小明</p>", "王小明"),
            (
                "<p class=meta><a href=/author/ann>Ann Lee</a> and <a href=/author/bo>Bo Lim</a></p>",
                "Ann Lee, Bo Lim",
            ),
            (
                "<div class=authors><a href=/author/ann>Ann Lee</a><a href=/author/bo>Bo Lim</a></div>",
                "Ann Lee, Bo Lim",
            ),
            (
                "<ul class=authors><li>Ann Lee<li>Bo Lim</ul>",
                "Ann Lee, Bo Lim",
            ),
            (
                "<p><span class=author>Ann Lee</span>, <span class=author>Bo Lim</span> und <span class=author>Cy Day</span></p>",
                "Ann Lee, Bo Lim, Cy Day",
            ),
            (
                "<p class=byline><b>Ann Lee</b>, <i>Weaver News</i></p>",
                "Ann Lee",
            ),
            (
                "<div class=author><a href=/author/ann>Ann Lee</a><a href=/author/ann/posts>All posts</a></div>",
                "Ann Lee",
            ),
            // Teasers have authors of their own.
            (
                "<div><h3>One</h3><a href=/author/ann>Ann Lee</a></div><div><h3>Two</h3><a href=/author/bo>Bo Lim</a></div>",
                "Ann Lee",
            ),
            ("<p>By Jane Doe in London</p>", "Jane Doe"),
            ("<p>By Ann Lee and Bo Lim</p>", "Ann Lee, Bo Lim"),
            ("<p>By Jane Doe (Reuters)</p>", "Jane Doe"),
            (
                "<p>2024-03-03 来源：新华网 作者：王小明 编辑：李四</p>",
                "王小明",
            ),
            ("<p>来源：日报 | 作者: Ann Lee</p>", "Ann Lee"),
        ] {
            assert_eq!(
                bylines(html).first().map(String::as_str),
                Some(expected),
                "{html}"
            );
        }
    }

    #[test]
    fn what_stands_around_names_is_no_byline() {
        for html in [
            "<div class=author-bio>Ann Lee writes about webs.</div>",
            "<img class=author-avatar alt='Ann Lee'>",
            "<p>By the way, spiders are not insects.</p>",
            "<p>By Monday Ann was in London.</p>",
            "<p>By and large, Ann and Bo are in London</p>",
            "<div class=author>3 comments</div>",
            "<nav><a href=/author/ann>Ann Lee</a></nav>",
            "<div class=related><span class=author>Ann Lee</span></div>",
            "<a href=/authors/>All of them</a>",
            "<div class=author>Share</div>",
            "<table class='infobox vcard'><caption>Brass Lamp</caption></table>",
            "<div id=reviews><ol class=commentlist><li><b class=review__author>Ann Lee</b></ol></div>",
            "<blockquote>A good lamp. <cite class=author>Ann Lee</cite></blockquote>",
            "<div class=testimonial><span class=testimonial-author>Ann Lee</span></div>",
            "<p>本文作者是一位教师。</p>",
        ] {
            assert_eq!(bylines(html), Vec::<String>::new(), "{html}");
        }
    }
}
