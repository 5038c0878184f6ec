//! What a page states of a recipe: schema.org's `Recipe`, in JSON-LD or microdata.

use orbweaver_sdk::dom::{View, attr};
use orbweaver_sdk::jsonld;

use crate::statements::{Reader, blocks_with, markup};

/// What is stated: the keys of it, and whether it is a list of a few words each.
pub const KINDS: [(&[&str], bool); 2] = [
    (&["recipeIngredient", "ingredients"], true),
    (&["recipeInstructions"], false),
];

/// Members of stated objects that are no text of the page.
const NO_TEXT: [&str; 6] = ["@type", "@id", "@context", "url", "image", "video"];

/// Most words that are read of a statement, and most values in it.
const MAX_WORDS: usize = 10_000;
const MAX_VALUES: usize = 4_000;

/// The fewest words that are believed.
const MIN_WORDS: usize = 6;

/// The words of one statement.
#[derive(Default)]
pub struct Stated {
    /// Runs of words, and single words, sorted.
    pub runs: Vec<u32>,
    pub words: Vec<u32>,
    /// How many words it has.
    pub count: usize,
}

impl Stated {
    /// Reads one stated text.
    fn read(&mut self, text: &str) {
        let mut reader = Reader::default();
        let mut push = |word, run| {
            if self.words.len() < MAX_WORDS {
                self.words.push(word);
                self.runs.extend(run);
            }
        };
        markup(text, &mut |text| reader.read(text, &mut push));
    }

    /// Reads all texts of a JSON value.
    fn read_json(&mut self, json: &str) {
        let mut waiting = vec![json];
        let mut left = MAX_VALUES;
        while let Some(value) = waiting.pop().filter(|_| left > 0) {
            left -= 1;
            match value.as_bytes().first() {
                Some(b'"') => {
                    if let Some(text) = jsonld::string(value) {
                        self.read(&text);
                    }
                }
                Some(b'[') => waiting.extend(jsonld::elements(value)),
                Some(b'{') => waiting.extend(
                    jsonld::members(value)
                        .filter(|(key, _)| !NO_TEXT.contains(&key.trim_matches('"')))
                        .map(|(_, value)| value),
                ),
                _ => {}
            }
        }
    }

    fn finish(mut self) -> Option<Self> {
        self.count = self.words.len();
        for list in [&mut self.runs, &mut self.words] {
            list.sort_unstable();
            list.dedup();
        }
        (self.count >= MIN_WORDS).then_some(self)
    }
}

/// What the page states, by kind.
pub fn stated(view: &View<'_>) -> [Option<Stated>; KINDS.len()] {
    let mut found = KINDS.map(|_| Stated::default());
    for block in blocks_with(view, "\"recipeIn") {
        let objects = block.objects();
        let Some(recipe) = objects.iter().find(|object| object.is("Recipe")) else {
            continue;
        };
        for (kind, stated) in KINDS.iter().zip(&mut found) {
            let value = kind.0.iter().find_map(|key| recipe.get(key));
            if let Some(value) = value.filter(|_| stated.words.is_empty()) {
                stated.read_json(value);
            }
        }
    }
    if found.iter().all(|stated| stated.words.is_empty()) {
        read_microdata(view, &mut found);
    }
    found.map(Stated::finish)
}

/// Reads the elements that are marked as parts, none of them inside another.
fn read_microdata(view: &View<'_>, found: &mut [Stated; KINDS.len()]) {
    let mut id = 0;
    while let Some(node) = view.node(id) {
        id += 1;
        let Some(name) = node.attr(attr::ITEMPROP) else {
            continue;
        };
        for (kind, stated) in KINDS.iter().zip(found.iter_mut()) {
            if kind.0.contains(&name) {
                stated.read(&node.text_content());
                id = node.end();
            }
        }
    }
}
