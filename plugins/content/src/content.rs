//! The extraction itself, on a parsed page.

use orbweaver_sdk::dom::{Snapshot, View};
use orbweaver_sdk::urls::Base;

use crate::features::Matrix;
use crate::forest::Forest;
use crate::kind::{self, Kind, Votes};
use crate::measure::{Info, Measured};
use crate::page_type::{PageType, Types};
use crate::survey::Survey;
use crate::{
    beside, brief, choose, clean, comments, dealings, decide, gaps, html, measure, menus, parts,
    raw, repeated, sections, select, stated, text, usual,
};

/// What of a view's nodes is content.
pub struct Selection {
    /// The page's nodes, by id.
    pub info: Vec<Info>,
    /// The subtree that holds the content.
    pub root: u32,
}

impl Selection {
    /// Corrects what the rules found by what the models say.
    /// Returns what type of page they take it for.
    fn refine(&mut self, view: &View<'_>, votes: &Votes, kind: Kind, url: &str) -> Types {
        if view.len() > MAX_NODES {
            return Types::default();
        }
        let survey = Survey::of(view, &self.info, self.root, votes, kind, url);
        let chars = view
            .body()
            .map_or(0, |body| measure::get(&self.info, body.id()).chars);
        let types = if votes.is_clear_article() {
            Types::of_clear_article()
        } else if chars < NOTHING {
            Types::default()
        } else if votes.forum > 0 {
            Types::of(&survey.page)
        } else {
            Types::of(&survey.page).without_forum()
        };
        let count = survey.blocks.list.len();
        let fits = chars >= SHORT
            && count <= MAX_BLOCKS
            && survey.depth() <= DEEPEST
            && survey.texts() * REPEATED >= count;
        if !fits {
            return types;
        }
        let matrix = survey.matrix(view, &self.info, self.root, &types.bytes());
        let Some(forest) = Forest::of(include_bytes!("../models/blocks.bin")) else {
            return types;
        };
        let mut logits = forest.evaluate(&matrix);
        usual::lean(view, &self.info, &survey.blocks, &types, &mut logits);
        let lean = RULES * types.share(PageType::Article);
        let mut keep = decide::keep(&survey.blocks.list, &logits, &survey.kept, lean);
        comments::drop_comments(
            &self.info,
            &survey.blocks.list,
            &survey.kept,
            kind,
            &types,
            &mut keep,
        );
        let one_text = types.share(PageType::Article) + types.share(PageType::Documentation);
        if one_text < ONE_TEXT {
            repeated::drop_repeated(view, &self.info, &survey.blocks, &mut keep);
        }
        usual::drop_copies(&survey.blocks, &types, &mut keep);
        if one_text >= ONE_TEXT {
            gaps::fill(view, &self.info, &survey, &types, &mut keep);
        } else {
            beside::drop_beside(view, &self.info, &survey.blocks, &types, &mut keep);
        }
        dealings::drop_dealings(view, &self.info, &survey.blocks, &types, &mut keep);
        menus::drop_menus(view, &self.info, &survey.blocks, &mut keep);
        if keep.contains(&true) {
            self.root = select::apply(view, &mut self.info, &survey.blocks, &keep);
        }
        types
    }

    /// The content as plain text, one line a block.
    pub fn text(&self, view: &View<'_>) -> String {
        text::render(view, &self.info, self.root)
    }
}

/// The content found in a page.
pub struct Content {
    /// What kind of page the rules take it for.
    pub kind: Kind,
    /// What type of page it is, and how sure that is, 0 to 1; `None` where there is nothing to judge
    /// by.
    pub page_type: Option<(PageType, f32)>,
    /// What of the page is content.
    pub selection: Selection,
    /// The page that a `noscript` element holds, where that is the content.
    noscript: Option<Box<(Snapshot, Selection)>>,
}

/// Share of running text above which a page that says nothing of its kind is one text.
const RUNNING: f32 = 0.7;

/// Characters that are content enough on any page.
const ENOUGH: u32 = 250;

/// Characters that are enough where most others of the page are links: some pages say little, and
/// have long menus.
const LITTLE: u32 = 100;

/// How sure it must be that a page is an article for it to be read as one text.
const ARTICLE: f32 = 0.7;

/// How far the rules' verdict shifts the odds of a block of an article, a logit: they know
/// articles best. On other pages it is one feature of the block model.
const RULES: f32 = 0.8;

/// How sure it must be that a page is an article or documentation for its text to stay as it is where
/// it repeats itself, and whole where the block model drops parts of it: there, an author wrote it.
const ONE_TEXT: f32 = 0.5;

/// The largest page that the models are asked about, in nodes: what they read of each takes
/// memory, and pages for people are smaller.
const MAX_NODES: u32 = 400_000;

/// Pages of fewer characters have nothing by which the page model could tell their type.
const NOTHING: u32 = 40;

/// Pages of fewer characters are left to the rules: the block model has seen hardly any, and
/// on so short a page one wrong block is much of it.
const SHORT: u32 = 1_000;

/// The deepest page that the block model is asked about, in levels below the root: pages for
/// people have some dozens.
const DEEPEST: u16 = 200;

/// How often a page's texts may stand in it on average for the block model to be asked: what
/// repeats one text over and over is no page for people.
const REPEATED: usize = 5;

/// The most blocks that the block model is asked about, at about two hundred bytes each.
const MAX_BLOCKS: usize = 16_000;

/// How far the rules are trusted.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Trust {
    /// In everything.
    Full,
    /// Not in what class names and ids say.
    Elements,
    /// Nor in what is hidden: a script may show it.
    Nothing,
}

impl Content {
    /// Finds the content of a page. Where the rules leave nearly nothing of a page that has
    /// text, it is searched again with fewer of them.
    pub fn of(view: &View<'_>, url: &str) -> Self {
        let votes = kind::votes(view, url);
        let mut content = Self::by_rules(view, votes.winner());
        let kind = content.kind;
        let refine =
            |view: &View<'_>, selection: &mut Selection| selection.refine(view, &votes, kind, url);
        let types = match content.noscript.as_deref_mut() {
            Some((snapshot, selection)) => snapshot.view().map(|view| refine(&view, selection)),
            None => Ok(refine(view, &mut content.selection)),
        };
        let types = types.unwrap_or_default();
        if types.share(PageType::Article) >= ARTICLE {
            content.believe(view);
        }
        content.complete(view);
        content.page_type = types.best();
        content
    }

    /// Corrects a text by what the page states to be its text.
    fn believe(&mut self, view: &View<'_>) {
        let Selection { info, root } = &mut self.selection;
        if self.noscript.is_none()
            && view.len() <= MAX_NODES
            && let Some(new) = stated::apply(view, info, *root)
        {
            *root = new;
        }
    }

    /// Adds the parts that the page states of its subject, where they are not content yet.
    fn complete(&mut self, view: &View<'_>) {
        let Selection { info, root } = &mut self.selection;
        if self.noscript.is_none()
            && view.len() <= MAX_NODES
            && let Some(new) = parts::apply(view, info, *root)
        {
            *root = new;
        }
    }

    fn by_rules(view: &View<'_>, votes: Option<Kind>) -> Self {
        let mut found = Found::of(view, votes, Trust::Full);
        for trust in [Trust::Elements, Trust::Nothing] {
            if found.is_enough() {
                break;
            }
            let other = Found::of(view, votes, trust);
            if other.kept > found.kept * 2 {
                found = other;
            }
        }
        // Without scripts the page may be another: forums that are applications keep their
        // threads in a `noscript`.
        let mut kind = found.kind;
        let mut noscript = None;
        if let Some(snapshot) = raw::noscript(view, found.kept as usize) {
            let other = snapshot
                .view()
                .ok()
                .map(|view| Found::of(&view, votes, Trust::Full))
                .filter(|other| other.kept > found.kept * 2);
            if let Some(other) = other {
                kind = other.kind;
                noscript = Some(Box::new((snapshot, other.selection())));
            }
        }
        Self {
            kind,
            page_type: None,
            selection: found.selection(),
            noscript,
        }
    }

    /// What the rules alone find, with what the models read of it: for the trainer.
    pub fn survey<T>(
        view: &View<'_>,
        url: &str,
        read: impl FnOnce(&View<'_>, &Selection, &Survey, &Matrix) -> T,
    ) -> T {
        let votes = kind::votes(view, url);
        let content = Self::by_rules(view, votes.winner());
        content.rendered(view, |view, selection| {
            let Selection { info, root } = selection;
            let survey = Survey::of(view, info, *root, &votes, content.kind, url);
            let matrix = survey.matrix(view, info, *root, &Default::default());
            read(view, selection, &survey, &matrix)
        })
    }

    /// The content as plain text, one line a block. `view` is the page it was found in.
    pub fn text(&self, view: &View<'_>) -> String {
        self.rendered(view, |view, selection| selection.text(view))
    }

    /// The content as HTML of plain elements. `view` is the page it was found in.
    pub fn html(&self, view: &View<'_>, base: Option<&Base>) -> String {
        self.rendered(view, |view, s| html::render(view, &s.info, s.root, base))
    }

    /// Renders the content from the document that it stands in: the page, or what a
    /// `noscript` of it holds.
    pub fn rendered<T>(
        &self,
        view: &View<'_>,
        render: impl FnOnce(&View<'_>, &Selection) -> T,
    ) -> T {
        if let Some((snapshot, selection)) = self.noscript.as_deref()
            && let Ok(view) = snapshot.view()
        {
            return render(&view, selection);
        }
        render(view, &self.selection)
    }
}

/// A page's content before it is written.
struct Found {
    measured: Measured,
    root: u32,
    kind: Kind,
    /// The figures of the whole page, and the characters kept.
    all: Info,
    kept: u32,
}

impl Found {
    fn of(view: &View<'_>, votes: Option<Kind>, trust: Trust) -> Self {
        let one_text = matches!(votes, Some(Kind::Article | Kind::Documentation));
        let max_words = if one_text { 4 } else { 3 };
        let mut measured = measure::measure(view, trust == Trust::Nothing, max_words);
        choose::sum_up(view, &mut measured, votes, trust == Trust::Full);
        let body = view.body().map_or(0, |b| b.id());
        let all = measure::get(&measured.info, body);
        let kind = votes.unwrap_or(if all.prose as f32 > all.left as f32 * RUNNING {
            Kind::Article
        } else {
            Kind::Other
        });
        let root = match kind {
            Kind::Article | Kind::Documentation => {
                let root = choose::focus(view, &measured, kind);
                sections::drop_announced(view, &mut measured, root, kind);
                clean::focused(view, &mut measured, root, kind);
                root
            }
            _ => {
                let root = choose::broad(view, &measured);
                sections::drop_announced(view, &mut measured, root, kind);
                if matches!(kind, Kind::Other | Kind::Product) && all.chars < SHORT {
                    brief::drop_frame(view, &mut measured, root, kind);
                }
                clean::broad(view, &mut measured, root, kind);
                if kind == Kind::Forum {
                    clean::thread(view, &mut measured, root);
                }
                root
            }
        };
        let mut kept = text::count(view, &measured.info, root);
        let mut root = root;
        if kept == 0 && trust == Trust::Nothing {
            // Better all of the text than none.
            root = body;
            for me in &mut measured.info {
                me.state &= !measure::DROP;
            }
            kept = text::count(view, &measured.info, root);
        }
        Self {
            measured,
            root,
            kind,
            all,
            kept,
        }
    }

    fn selection(self) -> Selection {
        Selection {
            info: self.measured.info,
            root: self.root,
        }
    }

    fn is_enough(&self) -> bool {
        self.kept >= ENOUGH
            || self.kept > self.all.chars / 4
            || self.kept >= LITTLE && self.kept > self.all.chars.saturating_sub(self.all.link) / 4
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The text of a page of parts, in which a text is told by rules alone.
    fn text(html: &str) -> String {
        let snapshot = orbweaver_sdk::dom::parse(html);
        let view = snapshot.view().expect("view");
        Content::of(&view, "https://inn.example.org/").text(&view)
    }

    const INN: &str = "<h2>Rooms</h2><p>Eleven rooms of pine, each of them another one, and from most of \
                       them you see the lake behind the orchard.</p>";

    #[test]
    fn parts_of_a_page_that_are_called_widgets_stay() {
        let part = "<div class='elementor-widget elementor-widget-text-editor'>We have been here since 1874.</div>";
        assert!(text(&format!("{part}{INN}")).contains("since 1874"));
        let other = part.replace("elementor-", "");
        assert!(!text(&format!("{other}{INN}")).contains("since 1874"));
    }

    #[test]
    fn banners_of_known_makers_are_left_out() {
        for name in [
            "cmplz-message",
            "CybotCookiebotDialog",
            "tarteaucitronAlert",
            "cookie-law-info-bar",
            "our-site-gdpr-consent-popup",
        ] {
            let banner =
                format!("<div class={name}><p>We store files on your device, as all do.</p></div>");
            let found = text(&format!("{INN}{banner}"));
            assert!(
                found.contains("orchard") && !found.contains("files"),
                "{name}: {found}"
            );
        }
    }

    #[test]
    fn what_is_announced_is_left_out_of_pages_of_any_kind() {
        let long = INN.repeat(12);
        for line in [
            "Related services",
            "Similar homes",
            "Das könnte dir auch gefallen",
        ] {
            let others = "<h2>{}</h2><ul><li><a href=/y>A boat</a><li><a href=/z>A sauna</a></ul>";
            let html = format!("<body class=home>{long}{}", others.replace("{}", line));
            let found = text(&html);
            assert!(
                found.contains("orchard") && !found.contains("sauna"),
                "{line}: {found}"
            );
        }
    }

    #[test]
    fn an_archive_of_messages_keeps_the_message() {
        let list = "<ul><li>Previous message: <a href=1>Release 3</a><li>Next message: <a href=3>Gone</a>\
                    <li><b>Messages sorted by:</b> <a href=d>[ date ]</a> <a href=t>[ thread ]</a></ul>";
        let message = "<pre>Hi all,\n\nI would like to raise the requirement, since the old ones are no longer \
                       supported.\n\nMarta</pre>";
        let html = format!("<h1>Support</h1><b>Marta</b>{list}<hr>{message}<hr>{list}");
        let snapshot = orbweaver_sdk::dom::parse(&html);
        let view = snapshot.view().expect("view");
        let url = "https://orb.example.org/pipermail/orb/2026-March/2.html";
        let found = Content::of(&view, url).text(&view);
        assert!(found.contains("requirement"), "{found}");
        assert!(
            !found.contains("sorted by") && !found.contains("Gone"),
            "{found}"
        );
    }

    #[test]
    fn a_short_text_is_enough_beside_a_long_menu() {
        let is_enough = |text: &str, other: &str| {
            let html = format!(
                "<main><p>{text}</p></main><footer>{}</footer>",
                other.repeat(60)
            );
            let snapshot = orbweaver_sdk::dom::parse(&html);
            let view = snapshot.view().expect("view");
            Found::of(&view, None, Trust::Full).is_enough()
        };
        let text = "The office will be closed this Friday. Orders placed on Thursday will be sent on Monday, \
                    and those of Friday, too.";
        let menu = "<div><a href=/orb>Chapter of the long manual</a></div>";
        assert!(is_enough(text, menu));
        assert!(!is_enough(text, "<div>Orb Street 5</div>"));
        assert!(!is_enough("The office is closed.", menu));
    }
}
