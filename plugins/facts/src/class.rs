//! What the class names of elements say of names and dates in them.

use orbweaver_sdk::dom::{Node, attr, tag};

use crate::text::{CLASS_WORD_BYTES, class_words};

/// What class, id, property and relation of an element say.
#[derive(Default)]
pub struct Class {
    /// An author's name.
    pub author: bool,
    /// A date of some kind.
    pub dated: bool,
    /// When the text was changed.
    pub updated: bool,
    /// When it was published.
    pub published: bool,
    /// Another page's facts, readers' own, or those of what the page is about.
    pub elsewhere: bool,
}

impl Class {
    /// Of an element.
    pub fn of(node: Node<'_>) -> Self {
        let mut said = 0;
        for attribute in node.attrs() {
            let is_class = matches!(
                attribute.id(),
                attr::CLASS | attr::ID | attr::ITEMPROP | attr::REL
            );
            // Sites whose classes are made up by programs name their elements for tests.
            if is_class || FOR_TESTS.contains(&attribute.name()) {
                said |= class_words(attribute.value())
                    .map(meaning)
                    .fold(0, |all, one| all | one);
            }
        }
        // The page itself may be called by any of these words.
        let whole = matches!(
            node.tag(),
            tag::BODY | tag::HTML | tag::MAIN | tag::ARTICLE | tag::H1
        );
        Self {
            // A table with the class of a person tells of what the page is about.
            author: said & AUTHOR != 0 && said & BESIDE == 0 && node.tag() != tag::TABLE,
            dated: said & DATED != 0,
            updated: said & UPDATED != 0,
            published: said & PUBLISHED != 0,
            elsewhere: said & ELSEWHERE != 0 && !whole,
        }
    }
}

/// Attributes with the names that tests know elements by.
const FOR_TESTS: &[&str] = &[
    "data-testid",
    "data-test-id",
    "data-test",
    "data-qa",
    "data-cy",
];

const AUTHOR: u8 = 1;
const DATED: u8 = 2;
const UPDATED: u8 = 4;
const PUBLISHED: u8 = 8;
const ELSEWHERE: u8 = 16;
/// Stands beside an author's name, but is none.
const BESIDE: u8 = 32;

/// What a word of a class name says.
fn meaning(word: &[u8]) -> u8 {
    let mut lower = [0; CLASS_WORD_BYTES];
    let Some(lower) = lower.get_mut(..word.len()) else {
        return 0;
    };
    lower.copy_from_slice(word);
    lower.make_ascii_lowercase();
    match &*lower {
        b"author" | b"authors" | b"bylines" | b"writer" | b"username" | b"bigusername"
        | b"contributor" | b"contributors" | b"creator" | b"poster" | b"postauthor"
        | b"authorname" | b"articleauthor" | b"vcard" => AUTHOR,
        b"byline" => AUTHOR | DATED,
        b"date" | b"dates" | b"datetime" | b"time" | b"timestamp" | b"dateline" | b"meta"
        | b"dt" => DATED,
        b"published" | b"publish" | b"pubdate" | b"posted" | b"created" => DATED | PUBLISHED,
        b"updated" | b"modified" | b"revised" | b"lastmod" | b"edited" | b"update" => {
            DATED | UPDATED
        }
        b"comments" | b"recommended" | b"recommendations" | b"sidebar" | b"newsletter"
        | b"cookie" | b"breadcrumb" | b"breadcrumbs" | b"popular" | b"trending" | b"navbar"
        | b"menu" | b"related" | b"infobox" | b"reviews" | b"commentlist" | b"testimonial"
        | b"testimonials" => ELSEWHERE,
        b"bio" | b"avatar" | b"image" | b"img" | b"photo" | b"picture" | b"social" | b"count"
        | b"share" | b"follow" | b"description" | b"role" | b"job" | b"position" | b"category"
        | b"categories" | b"kicker" | b"rubric" => BESIDE,
        _ => 0,
    }
}
