//! The language of a text, where the page declares none.

mod foreign;
mod function_words;

use orbweaver_markup::{Token, Tokens, names};
use orbweaver_sdk::dom::{View, tag};
use orbweaver_sdk::text::is_hidden;

use function_words::Counts;

/// Bytes of text that are looked at. Trigrams of more do not change the answer.
const SAMPLE: usize = 600;
/// Parts of a long text that are looked at.
const PARTS: usize = 4;
/// Bytes of a part that are looked at for function words.
const GLANCE: usize = 500;
/// Bytes of a part that are looked at for trigrams, where function words leave a doubt: on 472 such
/// texts of real pages, the answers are those of the whole text.
const MAX_TRIGRAM_BYTES: usize = 4_000;
/// Letters below which no answer is given.
const FEWEST_LETTERS: usize = 40;
/// Nodes that are visited for the sample.
const MAX_NODES: usize = 4_000;
/// Text nodes shorter than this are rather labels of buttons, often in another language.
const SHORTEST: usize = 25;

/// The `lang` of the root element, as written, from the first bytes of a page: without parsing it.
/// `None` where it takes the whole document to know, as where `<html>` is not the first tag.
pub fn of_root(start: &[u8]) -> Option<&str> {
    let start = match str::from_utf8(start) {
        Ok(text) => text,
        // The last character may be cut.
        Err(error) => str::from_utf8(start.get(..error.valid_up_to())?).ok()?,
    };
    let mut tokens = Tokens::new(start.trim_start_matches('\u{feff}'));
    let is_space = |token: &Token<'_>| matches!(token, Token::Text(text) if text.trim().is_empty());
    let Token::Start(tag) = tokens.find(|token| !is_space(token))? else {
        return None;
    };
    let lang = tokens.attribute("lang")?.trim_ascii();
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_');
    let is_tag = !lang.is_empty() && lang.bytes().all(is_plain);
    (tag.name == names::HTML && is_tag).then_some(lang)
}

/// The BCP 47 tag of the language that the page's text is in; `None` where there is too little
/// text, or the answer is not reliable.
pub fn detect(view: &View<'_>) -> Option<&'static str> {
    of_text(&sample(view))
}

/// The BCP 47 tag of a text's language; see [`detect`].
pub fn of_text(text: &str) -> Option<&'static str> {
    let letters = text.chars().filter(|c| c.is_alphabetic());
    // Scripts without spaces say more in a letter.
    let weights = letters.map(|c| if is_dense(c) { 4 } else { 1 });
    if weights.take(FEWEST_LETTERS).sum::<usize>() < FEWEST_LETTERS {
        return None;
    }
    if foreign::is_foreign(parts(text, GLANCE)) {
        return None;
    }
    let mut counts = Counts::default();
    for part in parts(text, GLANCE) {
        counts.read(part);
    }
    counts.language().or_else(|| {
        let mut sample = String::new();
        for part in parts(text, MAX_TRIGRAM_BYTES) {
            sample.push_str(part);
            sample.push(' ');
        }
        let found = whatlang::detect(&sample).filter(whatlang::Info::is_reliable)?;
        tag_of(found.lang().code()).filter(|tag| !counts.rule_out(tag))
    })
}

/// A text in parts of about `len` bytes, [`PARTS`] of them, from its beginning to its end at equal
/// distances; all of it where it is not longer than they are together.
fn parts(text: &str, len: usize) -> impl Iterator<Item = &str> {
    let (count, len) = if text.len() <= PARTS * len {
        (1, text.len())
    } else {
        (PARTS, len)
    };
    let step = (text.len() - len) / (PARTS - 1);
    (0..count).filter_map(move |part| {
        let start = text.ceil_char_boundary(part * step);
        text.get(start..text.ceil_char_boundary(start + len))
    })
}

/// Running text of the page: of its main part first, else of all of it.
fn sample(view: &View<'_>) -> String {
    let mut text = String::new();
    let Some(body) = view.body() else {
        return text;
    };
    let main = view
        .elements()
        .take(MAX_NODES)
        .find(|node| matches!(node.tag(), tag::MAIN | tag::ARTICLE));
    for part in main.into_iter().chain([body]) {
        collect(view, part.id(), part.end(), &mut text);
        if text.len() >= SAMPLE {
            break;
        }
    }
    if text.len() < SAMPLE / 8 {
        // A page of labels alone: better those than nothing.
        for node in body
            .descendants()
            .take(MAX_NODES)
            .filter(|node| node.is_text())
        {
            push(node.text(), &mut text);
            if text.len() >= SAMPLE {
                break;
            }
        }
    }
    text
}

fn collect(view: &View<'_>, from: u32, to: u32, text: &mut String) {
    let mut id = from;
    for _ in 0..MAX_NODES {
        let Some(node) = view.node(id).filter(|node| node.id() < to) else {
            return;
        };
        id += 1;
        if node.is_text() {
            let run = node.text().trim();
            if run.len() >= SHORTEST {
                push(run, text);
            }
            if text.len() >= SAMPLE {
                return;
            }
        } else if is_hidden(node.tag())
            || matches!(
                node.tag(),
                tag::NAV | tag::FOOTER | tag::CODE | tag::PRE | tag::ASIDE | tag::FORM
            )
        {
            id = node.end();
        }
    }
}

/// Appends the beginning of a run.
fn push(run: &str, text: &mut String) {
    let room = SAMPLE.saturating_sub(text.len());
    let mut end = run.len().min(room);
    while !run.is_char_boundary(end) {
        end -= 1;
    }
    text.push_str(run.get(..end).unwrap_or(""));
    text.push(' ');
}

fn is_dense(c: char) -> bool {
    matches!(c, '\u{3040}'..='\u{30ff}' | '\u{3400}'..='\u{9fff}' | '\u{ac00}'..='\u{d7a3}')
}

/// The BCP 47 tag of an ISO 639-3 code.
fn tag_of(code: &str) -> Option<&'static str> {
    const TAGS: &[(&str, &str)] = &[
        ("afr", "af"),
        ("aka", "ak"),
        ("amh", "am"),
        ("ara", "ar"),
        ("aze", "az"),
        ("bel", "be"),
        ("ben", "bn"),
        ("bul", "bg"),
        ("cat", "ca"),
        ("ces", "cs"),
        ("cmn", "zh"),
        ("cym", "cy"),
        ("dan", "da"),
        ("deu", "de"),
        ("ell", "el"),
        ("eng", "en"),
        ("epo", "eo"),
        ("est", "et"),
        ("fin", "fi"),
        ("fra", "fr"),
        ("guj", "gu"),
        ("heb", "he"),
        ("hin", "hi"),
        ("hrv", "hr"),
        ("hun", "hu"),
        ("hye", "hy"),
        ("ind", "id"),
        ("ita", "it"),
        ("jav", "jv"),
        ("jpn", "ja"),
        ("kan", "kn"),
        ("kat", "ka"),
        ("khm", "km"),
        ("kor", "ko"),
        ("lat", "la"),
        ("lav", "lv"),
        ("lit", "lt"),
        ("mal", "ml"),
        ("mar", "mr"),
        ("mkd", "mk"),
        ("mya", "my"),
        ("nep", "ne"),
        ("nld", "nl"),
        ("nob", "nb"),
        ("ori", "or"),
        ("pan", "pa"),
        ("pes", "fa"),
        ("pol", "pl"),
        ("por", "pt"),
        ("ron", "ro"),
        ("rus", "ru"),
        ("sin", "si"),
        ("slk", "sk"),
        ("slv", "sl"),
        ("sna", "sn"),
        ("spa", "es"),
        ("srp", "sr"),
        ("swe", "sv"),
        ("tam", "ta"),
        ("tel", "te"),
        ("tgl", "tl"),
        ("tha", "th"),
        ("tuk", "tk"),
        ("tur", "tr"),
        ("ukr", "uk"),
        ("urd", "ur"),
        ("uzb", "uz"),
        ("vie", "vi"),
        ("yid", "yi"),
        ("zul", "zu"),
    ];
    TAGS.iter()
        .find(|(known, _)| *known == code)
        .map(|(_, tag)| *tag)
}

#[cfg(test)]
mod tests {
    use orbweaver_sdk::head::Head;
    use orbweaver_sdk::testing::Document;

    use super::*;

    #[test]
    fn the_first_tag_says_what_the_document_says() {
        for (expected, html) in [
            (Some("en"), "<html lang=en>"),
            (
                Some("de-AT"),
                "\u{feff}<!DOCTYPE html>\n<!-- <html lang=fr> --><HTML class='a>b' LANG=' de-AT '>",
            ),
            (
                Some("en_GB"),
                "<?xml version='1.0'?><html xml:lang=fr lang=en_GB lang=it>",
            ),
            // The whole document is needed.
            (None, "<html><head>"),
            (None, "<html xml:lang=fr><head>"),
            (None, "<html lang=''><head>"),
            (None, "<html lang='&#101;n'><head>"),
            (None, "text<html lang=en>"),
            (None, "<p><html lang=en>"),
            (None, "</html><html lang=en>"),
            (None, "<svg lang=en>"),
            (None, "<title><html lang=en></title>"),
            (None, ""),
        ] {
            assert_eq!(of_root(html.as_bytes()), expected, "{html}");
            let Some(expected) = expected else { continue };
            let document = Document::new("https://example.org/", html);
            let page = document.page();
            let head = Head::of(&page).unwrap();
            assert_eq!(head.lang, Some(expected), "{html}");
        }
    }

    #[test]
    fn a_tag_that_is_cut_says_nothing() {
        let html = "<!DOCTYPE html><html class=\"a\" lang=\"en-GB\" dir=ltr>é".as_bytes();
        for end in 0..=html.len() {
            let found = of_root(&html[..end]);
            let whole = html[15.min(end)..end].contains(&b'>');
            assert_eq!(found, whole.then_some("en-GB"), "{end}");
        }
    }

    #[test]
    fn other_encodings_are_left_to_the_parser() {
        let wide: Vec<u8> = "<html lang=en>"
            .encode_utf16()
            .flat_map(u16::to_le_bytes)
            .collect();
        assert_eq!(of_root(&wide), None);
        assert_eq!(of_root(b"<html lang=en><title>caf\xe9"), Some("en"));
        assert_eq!(of_root(b"\xe9<html lang=en>"), None);
    }

    #[test]
    fn every_language_that_can_be_detected_has_a_tag() {
        for language in whatlang::Lang::all() {
            assert!(tag_of(language.code()).is_some(), "{language:?}");
        }
    }

    #[test]
    fn languages_are_told_apart() {
        for (tag, text) in [
            (
                "en",
                "The spider waits in the middle of the web until something touches one of its threads.",
            ),
            (
                "de",
                "Die Spinne wartet in der Mitte des Netzes, bis etwas einen ihrer Fäden berührt.",
            ),
            (
                "fr",
                "L'araignée attend au milieu de la toile jusqu'à ce que quelque chose touche un de ses fils.",
            ),
            (
                "es",
                "La araña espera en el centro de la telaraña hasta que algo toca uno de sus hilos.",
            ),
            (
                "ru",
                "Паук ждёт в середине паутины, пока что-нибудь не коснётся одной из нитей.",
            ),
            (
                "pl",
                "Pająk czeka pośrodku sieci, aż coś dotknie jednej z jego nici, a potem biegnie szybko.",
            ),
            ("ja", "クモは巣の真ん中で、何かが糸に触れるのを待っている。"),
            ("zh", "蜘蛛在网的中央等待，直到有东西碰到它的一根丝线。"),
            (
                "ko",
                "거미는 거미줄 한가운데에서 무언가가 실에 닿을 때까지 기다린다.",
            ),
            ("th", "แมงมุมรออยู่กลางใยจนกว่าจะมีอะไรมาแตะเส้นใยของมัน"),
            (
                "el",
                "Η αράχνη περιμένει στη μέση του ιστού μέχρι κάτι να αγγίξει ένα από τα νήματά της.",
            ),
        ] {
            assert_eq!(of_text(text), Some(tag), "{text}");
        }
    }

    #[test]
    fn a_long_text_is_looked_at_from_its_beginning_to_its_end() {
        let text = "añb".repeat(20);
        assert_eq!(parts(&text, 20).collect::<String>(), text);
        let parts: Vec<&str> = parts(&text, 5).collect();
        assert_eq!(parts.len(), 4);
        assert!(text.starts_with(parts[0]) && text.ends_with(parts[3]));
        assert!(parts.iter().all(|part| (5..=6).contains(&part.len())));
        // A preface in another language does not decide.
        let preface = "The spider waits in the middle of the web until something touches it. ";
        let rest =
            "Die Spinne wartet in der Mitte des Netzes, bis etwas einen ihrer Fäden berührt. ";
        assert_eq!(
            of_text(&(preface.repeat(8) + &rest.repeat(200))),
            Some("de")
        );
    }

    #[test]
    fn too_little_text_has_no_language() {
        for text in [
            "",
            "Hello",
            "1234567890 1234567890 1234567890 1234567890 12345",
            "OK OK",
        ] {
            assert_eq!(of_text(text), None, "{text}");
        }
    }

    #[test]
    fn the_text_is_taken_from_the_content() {
        let html = "<nav>Home page About us Contact Imprint and other things to read in English here</nav>
            <main><p>Die Spinne wartet in der Mitte des Netzes, bis etwas einen ihrer Fäden berührt.</p></main>
            <script>the script and the words of it are English and many</script>";
        let snapshot = orbweaver_sdk::dom::parse(html);
        assert_eq!(detect(&snapshot.view().expect("view")), Some("de"));
    }
}
