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

/// Found by their first letters; see [`find`].
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
    ("artículos relacionados", Start, Related),
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
    ("noticias relacionadas", Start, Related),
    ("notícias relacionadas", Start, Related),
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
    // French.
    ("à lire aussi", Start, Related),
    ("a lire aussi", Start, Related),
    ("à lire également", Start, Related),
    ("à voir aussi", Start, Related),
    ("articles similaires", Start, Related),
    ("dans la même rubrique", Start, Related),
    ("lire également", Start, Related),
    ("lisez aussi", Start, Related),
    ("sur le même sujet", Start, Related),
    ("voir aussi", Start, Related),
    // Spanish and Portuguese.
    ("lee también", Start, Related),
    ("lea también", Start, Related),
    ("le puede interesar", Start, Related),
    ("te puede interesar", Start, Related),
    ("también te puede", Start, Related),
    ("artigos relacionados", Start, Related),
    ("saiba mais", Start, Related),
    ("veja mais", Start, Related),
    // Italian, Dutch and the languages of the north.
    ("articoli correlati", Start, Related),
    ("potrebbe interessarti", Start, Related),
    ("lees ook", Start, Related),
    ("lees meer:", Start, Related),
    ("läs också", Start, Related),
    ("läs även", Start, Related),
    ("læs også", Start, Related),
    ("les også", Start, Related),
    ("lue myös", Start, Related),
    // Polish, Czech, Slovak, Hungarian, Romanian.
    ("czytaj także", Start, Related),
    ("czytaj też", Start, Related),
    ("czytaj również", Start, Related),
    ("przeczytaj także", Start, Related),
    ("zobacz także", Start, Related),
    ("zobacz też", Start, Related),
    ("čtěte také", Start, Related),
    ("přečtěte si také", Start, Related),
    ("čítajte aj", Start, Related),
    ("kapcsolódó", Start, Related),
    ("citește și", Start, Related),
    ("citiți și", Start, Related),
    // Turkish, whose capital İ is two characters in lower case.
    ("i\u{307}lgili haber", Start, Related),
    ("ilgili haber", Start, Related),
    ("i\u{307}lgili yazı", Start, Related),
    ("ilgili yazı", Start, Related),
    ("bunlar da ilginizi", Start, Related),
    // Greek, Bulgarian.
    ("διαβάστε επίσης", Start, Related),
    ("διαβάστε ακόμη", Start, Related),
    ("διαβάστε ακόμα", Start, Related),
    ("прочетете още", Start, Related),
    // Vietnamese, Indonesian.
    ("bài viết liên quan", Start, Related),
    ("đọc thêm", Start, Related),
    ("tin liên quan", Start, Related),
    ("xem thêm", Start, Related),
    ("artikel terkait", Start, Related),
    ("baca juga", Start, Related),
    ("berita terkait", Start, Related),
    // Japanese.
    ("あわせて読みたい", Start, Related),
    ("合わせて読みたい", Start, Related),
    ("おすすめ記事", Start, Related),
    ("関連リンク", Start, Related),
    ("関連記事", Start, Related),
    ("こちらの記事も", Start, Related),
    ("この記事を読んだ", Start, Related),
    ("人気記事", Start, Related),
    // Chinese.
    ("相关文章", Start, Related),
    ("相關文章", Start, Related),
    ("相关新闻", Start, Related),
    ("相關新聞", Start, Related),
    ("相关阅读", Start, Related),
    ("相關閱讀", Start, Related),
    ("推荐阅读", Start, Related),
    ("推薦閱讀", Start, Related),
    ("延伸阅读", Start, Related),
    ("延伸閱讀", Start, Related),
    ("猜你喜欢", Start, Related),
    ("你可能感兴趣", Start, Related),
    ("您可能感兴趣", Start, Related),
    ("你可能也", Start, Related),
    // Korean.
    ("관련기사", Start, Related),
    ("관련 기사", Start, Related),
    ("추천 기사", Start, Related),
    ("함께 보면", Start, Related),
    // Thai.
    ("ข่าวที่เกี่ยวข้อง", Start, Related),
    ("บทความที่เกี่ยวข้อง", Start, Related),
    ("อ่านข่าวเพิ่มเติม", Start, Related),
    ("อ่านเพิ่มเติม", Start, Related),
    // Arabic, Persian, Hebrew.
    ("اقرأ أيض", Start, Related),
    ("إقرأ أيض", Start, Related),
    ("اقرأ المزيد", Start, Related),
    ("أخبار ذات صلة", Start, Related),
    ("مقالات ذات صلة", Start, Related),
    ("بیشتر بخوانید", Start, Related),
    ("קראו גם", Start, Related),
    ("כתבות נוספות", Start, Related),
    // Hindi, whose letter is one character or two.
    ("यह भी पढ", Start, Related),
    ("यह भी प\u{95d}", Start, Related),
    ("ये भी पढ", Start, Related),
    ("ये भी प\u{95d}", Start, Related),
    ("इसे भी पढ", Start, Related),
    ("इसे भी प\u{95d}", Start, Related),
    ("संबंधित खबर", Start, Related),
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
