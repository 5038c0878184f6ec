//! The common languages of Latin script by their function words: a look at a few hundred words,
//! where trigrams of some forty languages cost more than all else that is read of a small page.
//!
//! An answer is given only where it leaves no doubt; all else is for trigrams.

/// The languages that are told, by bit, with words that make up a fifth and more of their running
/// text. A word of several languages stands in each. The last ones are never told: they are there
/// because they have many words of another one. From the place [`UNKNOWN`] on, they are those that
/// trigrams do not know.
const LANGUAGES: [(&str, &str); 16] = [
    (
        "en",
        "the of and to in is that for it with as was on are be this by at from or an have not \
         which you but has their they his he were been will can would who its more when there if \
         she what about her we all one your our my so up out do no than i a these into",
    ),
    (
        "de",
        "der die und das in den von zu ist mit sich des auf für nicht ein eine als auch es an \
         werden aus er hat dass sie nach wird bei einer um am sind noch wie einem über so zum war \
         haben nur oder aber vor zur bis mehr durch man sein wurde im dem wir ich einen",
    ),
    (
        "fr",
        "de la le et les des en un du une que est pour qui dans a par plus pas au sur ne se ce il \
         sont avec son ou aux mais comme cette été nous elle leur ses vous je on sa à l d qu",
    ),
    (
        "es",
        "de la que el en y a los se del las por un con no una su para es al lo como más o pero sus \
         le ha me si sin sobre este ya entre cuando todo esta ser son dos también fue era muy hasta \
         desde nos",
    ),
    (
        "it",
        "di e il la che in a un per è del non una sono della le i da si con come anche dei più nel \
         al ha alla gli lo se ma delle su questo essere dal suo era o ed nella l d un",
    ),
    (
        "pt",
        "de a o que e do da em um para é com não uma os no se na por mais as dos como mas foi ao \
         ele das tem à seu sua ou ser quando muito há nos já está eu também só pelo pela até",
    ),
    (
        "nl",
        "de en van het een in is dat op te zijn met voor niet aan er om ook als dan maar bij uit \
         nog door over naar heeft worden hij ze wordt deze was meer kan je of tot die we al",
    ),
    (
        "pl",
        "w i na z się do nie jest to że o jak a od po za przez są ale dla czy był tym oraz tylko \
         być może już co ich jego który ze",
    ),
    (
        "sv",
        "och att det i en som på är av för den med till inte har de om ett han men var jag sig \
         från vi så kan när man nu under efter ska",
    ),
    (
        "da",
        "og i at det en den til er som på de med af for ikke der var fra et har om vi men kan sig \
         han jeg du så",
    ),
    (
        "nb",
        "og i at det en den til er som på de med av for ikke der var fra et har om vi men kan seg \
         han jeg du så",
    ),
    (
        "ca",
        "de la i el que en els a les del un per una amb és no al com més o es ha va dels són",
    ),
    (
        "af",
        "die van en in is nie vir wat n hy sy ek hulle ons word sal",
    ),
    (
        "gl",
        "de a o que e do da en unha un para con non os as no na por máis como foi ao dos das seu súa \
         é son ou cando moi hai xa tamén só pola polo ata está ten á se nos nas dun dunha nun nunha \
         cos coa aos eu isto ser dous sobre entre pero",
    ),
    (
        "ga",
        "an na agus is í ar ag tá sa a go do le ina é iad ó mar bhí ach nach gur sé sí siad leis seo \
         sin níl atá raibh bhfuil den faoi chun gach eile nó as in",
    ),
    (
        "ha",
        "da a ta na ya ne ce shi su sun ake kuma tana yana wannan cewa domin don ga wani wata an zai \
         ba ko daga cikin yi ana mai sai amma ita kan duk yadda lokacin",
    ),
];

/// Languages of [`LANGUAGES`] before those that trigrams do not know.
const UNKNOWN: usize = 13;

/// Languages of [`LANGUAGES`] that are told.
const TOLD: usize = 9;

/// Function words from which there is an answer.
const FEWEST: u32 = 12;

/// Slots of the table; the words fill about two fifths.
const SLOTS: usize = 1024;

/// A word of at most eight bytes as a number, and the languages that have it.
#[derive(Clone, Copy)]
struct Slot {
    word: u64,
    languages: u16,
}

static TABLE: [Slot; SLOTS] = table();

#[expect(
    clippy::indexing_slicing,
    reason = "evaluated by the compiler, which refuses an index out of bounds"
)]
const fn table() -> [Slot; SLOTS] {
    let mut table = [Slot {
        word: 0,
        languages: 0,
    }; SLOTS];
    let mut language = 0;
    while language < LANGUAGES.len() {
        let bytes = LANGUAGES[language].1.as_bytes();
        let (mut at, mut word) = (0, 0);
        while at <= bytes.len() {
            if at < bytes.len() && bytes[at] != b' ' {
                assert!(word >> 56 == 0, "a word is longer than eight bytes");
                word = word << 8 | bytes[at] as u64;
            } else if word != 0 {
                let mut slot = first_slot(word);
                while table[slot].word != 0 && table[slot].word != word {
                    slot = (slot + 1) % SLOTS;
                }
                table[slot].word = word;
                table[slot].languages |= 1 << language;
                word = 0;
            }
            at += 1;
        }
        language += 1;
    }
    table
}

const fn first_slot(word: u64) -> usize {
    (word.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 54) as usize
}

/// The languages that have the word, as bits.
fn languages_of(word: u64) -> u16 {
    let mut slot = first_slot(word);
    loop {
        match TABLE.get(slot) {
            Some(found) if found.word == word => return found.languages,
            Some(found) if found.word != 0 => slot = (slot + 1) % SLOTS,
            _ => return 0,
        }
    }
}

/// Words counted in some texts of a page.
#[derive(Default)]
pub(super) struct Counts {
    words: u32,
    /// Characters of other scripts, and signs.
    foreign: u32,
    of: [u32; LANGUAGES.len()],
}

impl Counts {
    /// Counts the words of a text. Letters of other scripts count as words of none.
    pub(super) fn read(&mut self, text: &str) {
        let (mut word, mut len) = (0u64, 0u32);
        for byte in text.bytes().chain([b' ']) {
            // First bytes of characters from the Cyrillic ones on.
            self.foreign += u32::from(byte >= 0xd0);
            if byte.is_ascii_alphabetic() || byte >= 0x80 {
                word = word << 8 | u64::from(byte.to_ascii_lowercase());
                len += 1;
            } else if len > 0 {
                self.words += 1;
                let mut languages = if len <= 8 { languages_of(word) } else { 0 };
                while languages != 0 {
                    if let Some(count) = self.of.get_mut(languages.trailing_zeros() as usize) {
                        *count += 1;
                    }
                    languages &= languages - 1;
                }
                (word, len) = (0, 0);
            }
        }
    }

    /// Whether the text is rather in a language that trigrams do not know than in the one with
    /// this tag.
    pub(super) fn rule_out(&self, tag: &str) -> bool {
        /// Words from which such a language is taken for the text's.
        const FEWEST: u32 = 8;
        let told = LANGUAGES.iter().position(|(known, _)| *known == tag);
        let told = told.and_then(|at| self.of.get(at)).copied().unwrap_or(0);
        let unknown = self.of.iter().skip(UNKNOWN).max().copied().unwrap_or(0);
        unknown >= FEWEST && unknown * 5 >= self.words && unknown >= told + 2
    }

    /// The BCP 47 tag of the language whose words stand out; `None` where it is in doubt.
    pub(super) fn language(&self) -> Option<&'static str> {
        let known = || self.of.iter().take(UNKNOWN);
        let most = *known().max()?;
        let best = known().position(|count| *count == most)?;
        let others = known().enumerate().filter(|(at, _)| *at != best);
        let second = others.map(|(_, count)| *count).max()?;
        let is_clear = best < TOLD
            && most >= FEWEST
            && most * 5 >= self.words
            && most * 2 >= second * 3
            && self.foreign <= self.words;
        LANGUAGES
            .get(best)
            .map(|(tag, _)| *tag)
            .filter(|tag| is_clear && !self.rule_out(tag))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn language(text: &str) -> Option<&'static str> {
        let mut counts = Counts::default();
        counts.read(text);
        counts.language()
    }

    #[test]
    fn every_word_is_found_under_its_languages() {
        for (language, (tag, words)) in LANGUAGES.iter().enumerate() {
            for word in words.split(' ').filter(|word| !word.is_empty()) {
                let key = word.bytes().fold(0, |key, byte| key << 8 | u64::from(byte));
                assert!(languages_of(key) >> language & 1 == 1, "{tag} {word}");
            }
        }
        assert_eq!(languages_of(u64::from_be_bytes(*b"\0\0weaver")), 0);
    }

    #[test]
    fn running_text_is_told_and_what_leaves_a_doubt_is_not() {
        for (expected, text) in [
            (
                Some("en"),
                "The spider waits in the middle of the web until something touches one of its \
                 threads, and then it runs to it, for that is what it has been waiting for.",
            ),
            (
                Some("de"),
                "Die Spinne wartet in der Mitte des Netzes, bis etwas einen ihrer Fäden berührt, \
                 und dann läuft sie zu ihm, denn das ist es, auf was sie gewartet hat.",
            ),
            (
                Some("pl"),
                "Pająk czeka w środku sieci, aż coś dotknie jej nici, a wtedy biegnie do niej, bo \
                 to jest to, na co czekał, i nie ma już czasu, jak to się mówi, ale to za mało.",
            ),
            // Danish and Norwegian have the same words.
            (
                None,
                "Edderkoppen venter i midten af nettet til noget rører en af dens tråde, og så \
                 løber den til det, for det er det den har ventet på, og det er ikke for lidt.",
            ),
            // Afrikaans has many words of Dutch.
            (
                None,
                "Die spinnekop wag in die middel van die web totdat iets aan een van die drade raak, \
                 en dan hardloop sy daarheen, want dit is waarop sy gewag het, en dit is nie te min \
                 om te eet nie.",
            ),
            // Names and numbers.
            (
                None,
                "Weaver 12, Nest 4, Roof 3, Tube 9, Twig 8, Leaf 1, Grass 7, the end of it",
            ),
            // English words among Chinese ones.
            (
                None,
                "蜘蛛在网的中央等待 the 直到有东西碰到它的一根丝线 of 蜘蛛在网的中央等待 and 直到有东西 \
                 to 蜘蛛在网 in 蜘蛛 is 网的 that 中央 for 等待 it 直到 with 东西 as 碰到 was 丝线 on 它",
            ),
            (None, ""),
        ] {
            assert_eq!(language(text), expected, "{text}");
        }
    }
}
