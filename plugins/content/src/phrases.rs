//! Lines that announce something other than the content: "Related articles", "Leave a
//! comment", "Sign up for our newsletter".

use orbweaver_sdk::text::ByFirstByte;

/// What a line announces.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum Announces {
    /// Links to other content.
    Related,
    /// Reader comments.
    Comments,
    /// Opinions of buyers.
    Reviews,
    /// Sharing, following, subscribing.
    Subscribe,
    /// The author.
    Author,
    /// Tags and categories.
    Tags,
    /// An advertisement.
    Ad,
}

use Announces::{Ad, Author, Comments, Related, Reviews, Subscribe, Tags};

/// How much of the line the phrase must be.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Match {
    /// All of it.
    Whole,
    /// Its start.
    Start,
}
use Match::{Start, Whole};

/// Sorted by first letter; see [`find`].
const PHRASES: &[(&str, Match, Announces)] = &[
    ("about the author", Start, Author),
    ("about author", Whole, Author),
    ("add a comment", Start, Comments),
    ("add comment", Whole, Comments),
    ("additional reading", Whole, Related),
    ("advert", Whole, Ad),
    ("advertisement", Whole, Ad),
    ("advertisement - continue", Start, Ad),
    ("advertising", Whole, Ad),
    ("already have an account", Start, Subscribe),
    ("also on", Start, Related),
    ("also read", Start, Related),
    ("also see", Whole, Related),
    ("anzeige", Whole, Ad),
    ("around the web", Start, Related),
    ("artículos relacionados", Whole, Related),
    ("articles liés", Start, Related),
    ("ähnliche", Start, Related),
    ("be the first to comment", Start, Comments),
    ("comentarios", Whole, Comments),
    ("comentários", Whole, Comments),
    ("comment", Whole, Comments),
    ("comments", Whole, Comments),
    ("comments are closed", Start, Comments),
    ("commentaires", Whole, Comments),
    ("compare with similar", Start, Related),
    ("complete the look", Start, Related),
    ("continue reading", Whole, Related),
    ("customer reviews", Start, Reviews),
    ("customer questions", Start, Reviews),
    ("customers also", Start, Related),
    ("customers who", Start, Related),
    ("das könnte sie", Start, Related),
    ("deja un comentario", Start, Comments),
    ("discover more", Whole, Related),
    ("don't miss", Whole, Related),
    ("don’t miss", Whole, Related),
    ("editor's picks", Whole, Related),
    ("editors' picks", Whole, Related),
    ("explore more", Start, Related),
    ("filed under", Start, Tags),
    ("follow me on", Start, Subscribe),
    ("follow us", Start, Subscribe),
    ("frequently bought together", Start, Related),
    ("from around the web", Start, Related),
    ("get the latest", Start, Subscribe),
    ("inspired by your", Start, Related),
    ("join the conversation", Start, Comments),
    ("join the discussion", Start, Comments),
    ("keep reading", Whole, Related),
    ("kommentare", Whole, Comments),
    ("latest articles", Whole, Related),
    ("latest headlines", Whole, Related),
    ("latest news", Whole, Related),
    ("latest posts", Whole, Related),
    ("latest stories", Whole, Related),
    ("leave a comment", Start, Comments),
    ("leave a reply", Start, Comments),
    ("leia também", Start, Related),
    ("leia mais", Start, Related),
    ("lire aussi", Start, Related),
    ("lesen sie auch", Start, Related),
    ("leggi anche", Start, Related),
    ("más noticias", Whole, Related),
    ("mehr zum thema", Start, Related),
    ("mais lidas", Whole, Related),
    ("more articles", Start, Related),
    ("more by", Start, Related),
    ("more from", Start, Related),
    ("more great", Start, Related),
    ("more in", Start, Related),
    ("more like this", Start, Related),
    ("more news", Whole, Related),
    ("more on", Start, Related),
    ("more posts", Start, Related),
    ("more stories", Start, Related),
    ("more to explore", Start, Related),
    ("more to read", Start, Related),
    ("most popular", Start, Related),
    ("most read", Start, Related),
    ("most viewed", Start, Related),
    ("must read", Whole, Related),
    ("newsletter", Whole, Subscribe),
    ("next article", Whole, Related),
    ("next post", Start, Related),
    ("noticias relacionadas", Whole, Related),
    ("notícias relacionadas", Whole, Related),
    ("other articles", Start, Related),
    ("other posts", Start, Related),
    ("others also", Start, Related),
    ("our newsletter", Start, Subscribe),
    ("outras notícias", Start, Related),
    ("people also", Start, Related),
    ("people who viewed", Start, Related),
    ("popular articles", Whole, Related),
    ("popular now", Whole, Related),
    ("popular posts", Whole, Related),
    ("popular stories", Whole, Related),
    ("post a comment", Start, Comments),
    ("post navigation", Whole, Related),
    ("posted in", Start, Tags),
    ("previous article", Whole, Related),
    ("previous post", Start, Related),
    ("product reviews", Start, Reviews),
    ("products related to", Start, Related),
    ("promoted", Whole, Ad),
    ("ratings & reviews", Start, Reviews),
    ("ratings and reviews", Start, Reviews),
    ("read also", Start, Related),
    ("read more", Start, Related),
    ("read next", Start, Related),
    ("readers also", Start, Related),
    ("recent articles", Whole, Related),
    ("recent posts", Whole, Related),
    ("recently viewed", Start, Related),
    ("recommended", Whole, Related),
    ("recommended articles", Start, Related),
    ("recommended for you", Start, Related),
    ("recommended reading", Start, Related),
    ("recommended stories", Start, Related),
    ("related", Whole, Related),
    ("related article", Start, Related),
    ("related content", Start, Related),
    ("related coverage", Start, Related),
    ("related expert", Start, Related),
    ("related items", Start, Related),
    ("related link", Start, Related),
    ("related news", Start, Related),
    ("related post", Start, Related),
    ("related product", Start, Related),
    ("related reading", Start, Related),
    ("related resources", Start, Related),
    ("related searches", Start, Related),
    ("related stories", Start, Related),
    ("related story", Start, Related),
    ("related thread", Start, Related),
    ("related topics", Start, Related),
    ("related video", Start, Related),
    ("related:", Start, Related),
    ("reviews", Whole, Reviews),
    ("see also:", Start, Related),
    ("see more:", Start, Related),
    ("share", Whole, Subscribe),
    ("share on", Start, Subscribe),
    ("share this", Start, Subscribe),
    ("share:", Start, Subscribe),
    ("sign up for", Start, Subscribe),
    ("similar items", Start, Related),
    ("similar posts", Start, Related),
    ("similar products", Start, Related),
    ("similar threads", Start, Related),
    ("similar topics", Start, Related),
    ("sponsored", Whole, Ad),
    ("sponsored content", Start, Ad),
    ("sponsored links", Start, Ad),
    ("stay connected", Whole, Subscribe),
    ("story continues below", Start, Ad),
    ("subscribe", Whole, Subscribe),
    ("subscribe to", Start, Subscribe),
    ("suggested", Whole, Related),
    ("tag", Whole, Tags),
    ("tagged", Start, Tags),
    ("tags", Whole, Tags),
    ("tags:", Start, Tags),
    ("this slideshow requires", Start, Ad),
    ("top stories", Whole, Related),
    ("topics", Whole, Tags),
    ("trending", Whole, Related),
    ("trending now", Start, Related),
    ("trending stories", Start, Related),
    ("up next", Start, Related),
    ("ver também", Start, Related),
    ("veja também", Start, Related),
    ("view comments", Start, Comments),
    ("watch next", Start, Related),
    ("we also recommend", Start, Related),
    ("we recommend", Whole, Related),
    ("weitere artikel", Start, Related),
    ("what to read next", Start, Related),
    ("write a review", Start, Reviews),
    ("you may also", Start, Related),
    ("you may be interested", Start, Related),
    ("you may like", Start, Related),
    ("you might also", Start, Related),
    ("you might be interested", Start, Related),
    ("you might like", Start, Related),
    ("you'll also love", Start, Related),
    ("your recently viewed", Start, Related),
    ("zum thema", Whole, Related),
    ("комментарии", Start, Comments),
    ("похожие", Start, Related),
    ("читайте также", Start, Related),
    ("читать также", Start, Related),
    ("смотрите также", Start, Related),
];

static BY_FIRST: ByFirstByte<{ PHRASES.len() }> = {
    let mut texts = [""; PHRASES.len()];
    let mut place = 0;
    while place < PHRASES.len() {
        texts[place] = PHRASES[place].0;
        place += 1;
    }
    ByFirstByte::of(&texts)
};

/// What a line announces; `line` in lower case, without white space around it.
pub fn find(line: &str) -> Option<Announces> {
    let line = line.trim_start_matches(|c: char| !c.is_alphabetic());
    let bare = line.trim_end_matches(|c: char| !c.is_alphanumeric());
    let [first, second, ..] = *line.as_bytes() else {
        return None;
    };
    BY_FIRST
        .group(first)
        .filter_map(|place| PHRASES.get(place))
        .filter(|(phrase, ..)| phrase.as_bytes().get(1) == Some(&second))
        .find_map(|&(phrase, how, what)| {
            let hit = match how {
                Whole => bare == phrase,
                Start => line.starts_with(phrase),
            };
            hit.then_some(what)
        })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_phrase_is_found_where_it_is_the_line_or_begins_it() {
        for &(phrase, how, _) in PHRASES {
            let first = |line: &str| {
                let hits = |&&(other, how, _): &&(&str, Match, Announces)| match how {
                    Whole => other == phrase && line == phrase,
                    Start => line.starts_with(other),
                };
                PHRASES.iter().find(hits).map(|found| found.2)
            };
            assert_eq!(find(phrase), first(phrase), "{phrase}");
            assert_eq!(find(&format!("– {phrase} …")), first(phrase), "{phrase}");
            let longer = format!("{phrase} of the week");
            assert_eq!(find(&longer), first(&longer), "{phrase}");
            assert!(how == Whole || find(&longer).is_some(), "{phrase}");
        }
        assert_eq!(find(""), None);
        assert_eq!(find("t"), None);
        assert_eq!(find("7"), None);
    }
}
