//! The meaning of a date by the words beside it, in many languages.

mod words;

pub use words::{CHANGED, PUBLISHED};
use words::{DONE_BY, EDITED, ENDS, LABELS, OF_SUBJECT, RELEASED};

/// What a text says of the date beside it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DateMeaning {
    /// The content was published then.
    Published,
    /// It was changed then.
    Modified,
    /// Something else was, as the product that the page is about.
    Other,
    /// Nothing.
    Nothing,
}

/// A date near the headline.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Stamp {
    /// ISO 8601.
    pub date: String,
    /// What it is of.
    pub meaning: DateMeaning,
    /// 0 for a `time` element, 1 for an element with the class of a date, 2 for a text, 3 for a
    /// text with other facts.
    pub doubt: u8,
}

impl DateMeaning {
    /// Whether a property of Microdata is a date of what the page is about, and neither that of its
    /// publication nor that of a change: `birthDate`, `startDate`, `validThrough`.
    pub fn is_of_subject(properties: &str) -> bool {
        /// What the names that systems make up for the page's own dates have in them.
        const OF_PAGE: &[&str] = &["publi", "pub", "post", "modif", "updat", "creat", "upload"];
        properties.split_ascii_whitespace().any(|property| {
            let property = property.to_ascii_lowercase();
            let is_date = property.len() > 4
                && (property.ends_with("date") || property.ends_with("time"))
                || property.starts_with("valid");
            is_date && !OF_PAGE.iter().any(|word| property.contains(word))
        })
    }

    /// By the texts before the date, nearest first, and by the class of its element.
    pub fn by(labels: &[&str], updated: bool, published: bool) -> Self {
        /// A longer text is no label.
        const MAX_BYTES: usize = 160;
        for label in labels
            .iter()
            .filter(|label| !label.is_empty() && label.len() <= MAX_BYTES)
        {
            let label = label.to_lowercase();
            // Most words have a letter that the label has not.
            let mut bytes = [false; 256];
            for byte in label.bytes() {
                if let Some(seen) = bytes.get_mut(usize::from(byte)) {
                    *seen = true;
                }
            }
            let possible = |word: &&&str| {
                word.bytes()
                    .all(|b| bytes.get(usize::from(b)) == Some(&true))
            };
            // The word nearest to the date, if a label has both.
            let last = |words: &[&str]| {
                words
                    .iter()
                    .filter(possible)
                    .filter_map(|word| label.rfind(word))
                    .max()
            };
            if last(RELEASED).or(last(ENDS)).is_some() {
                return Self::Other;
            }
            let edited = EDITED
                .iter()
                .filter(possible)
                .filter_map(|word| beginning(&label, word));
            let (changed, published) = (last(CHANGED).max(edited.max()), last(PUBLISHED));
            // "Effective date:" has a word for the page's own date in it.
            let is_told = |word: &&str| !word.ends_with(':') && label.contains(*word);
            if of_subject(&label, possible)
                && changed.is_none()
                && !(published.is_some() && PUBLISHED.iter().any(is_told))
            {
                return Self::Other;
            }
            match (changed, published) {
                (Some(changed), Some(published)) if published > changed => return Self::Published,
                (Some(_), _) => return Self::Modified,
                (None, Some(_)) => return Self::Published,
                (None, None) => {}
            }
        }
        match (updated, published) {
            (true, false) => Self::Modified,
            (false, true) => Self::Published,
            _ => Self::Nothing,
        }
    }
}

/// Where one of `EDITED` begins a word, and nobody's name follows.
fn beginning(label: &str, word: &str) -> Option<usize> {
    /// Most words of a label: a sentence may tell of changes to anything.
    const MAX_WORDS: usize = 8;
    let begins = |at: &usize| {
        let before = label.get(..*at).unwrap_or("");
        let behind = label.get(at + word.len()..).unwrap_or("");
        let behind = behind.trim_start_matches(char::is_alphabetic);
        let next = behind.split_whitespace().next().unwrap_or("");
        !before.ends_with(char::is_alphabetic) && !DONE_BY.contains(&next)
    };
    let mut places = label.rmatch_indices(word).map(|(at, _)| at);
    let found = places.find(begins)?;
    (label.split_whitespace().take(MAX_WORDS + 1).count() <= MAX_WORDS).then_some(found)
}

/// Whether a label tells of a day of what the page is about. A longer text is a sentence, in which such
/// a word says nothing of the date behind it.
fn of_subject(label: &str, possible: impl Fn(&&&str) -> bool) -> bool {
    /// Most words of a label.
    const MAX_WORDS: usize = 5;
    /// Most characters where words are not divided.
    const MAX_DENSE: usize = 10;
    if label.split_whitespace().take(MAX_WORDS + 1).count() > MAX_WORDS {
        return false;
    }
    let whole = label.trim_matches(|c: char| !c.is_alphanumeric());
    if LABELS.contains(&whole) {
        return true;
    }
    let is_dense = |word: &str| word.starts_with(|c: char| c >= '\u{3000}');
    let stands_alone = |at: usize, word: &str| {
        let before = label.get(..at).unwrap_or("");
        let behind = label.get(at + word.len()..).unwrap_or("");
        is_dense(word) && label.chars().take(MAX_DENSE + 1).count() <= MAX_DENSE
            || !before.ends_with(char::is_alphanumeric)
                && !behind.starts_with(char::is_alphanumeric)
    };
    OF_SUBJECT
        .iter()
        .filter(|word| possible(word))
        .any(|word| label.rfind(word).is_some_and(|at| stands_alone(at, word)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_beside_a_date_tell_what_happened() {
        use DateMeaning::{Modified, Nothing, Other, Published};
        for (label, expected) in [
            ("Last updated:", Modified),
            ("Zuletzt aktualisiert am", Modified),
            ("Mis à jour le", Modified),
            ("Published on", Published),
            ("Veröffentlicht am", Published),
            ("Published by Ann, updated", Modified),
            ("Updated. First published", Published),
            ("Обновлено", Modified),
            ("最終更新日", Modified),
            ("公開日", Published),
            ("Release Date:", Other),
            ("発売日", Other),
            ("Offer ends on", Other),
            ("Valid until", Other),
            ("Press release, published", Published),
            // Changes.
            ("Letzte Änderung:", Modified),
            ("Geändert am", Modified),
            ("Bearbeitet am", Modified),
            ("Überarbeitet:", Modified),
            ("Sist endret:", Modified),
            ("Senast ändrad", Modified),
            ("Sidst ændret", Modified),
            ("Sidan redigerades senast den", Modified),
            ("Laatste wijziging:", Modified),
            ("Laatst bewerkt op", Modified),
            ("Data modyfikacji:", Modified),
            ("Ostatnia zmiana:", Modified),
            ("Poslední změna:", Modified),
            ("Posledná zmena:", Modified),
            ("Muokattu", Modified),
            ("Última edición:", Modified),
            ("Editado em", Modified),
            ("Отредактировано", Modified),
            ("Змінено", Modified),
            ("Последна промяна:", Modified),
            ("Zadnja izmjena:", Modified),
            ("Ažurirano:", Modified),
            ("Τελευταία τροποποίηση:", Modified),
            ("Son değişiklik:", Modified),
            ("Révisé le", Modified),
            ("Actualitzat el", Modified),
            ("改訂日：", Modified),
            ("آخر تعديل:", Modified),
            ("Last changed:", Modified),
            ("Edited:", Modified),
            ("Last amended", Modified),
            ("Edited by Ann Lee,", Nothing),
            ("Bearbeitet von Ann Lee,", Nothing),
            ("Länder und Ränder,", Nothing),
            ("Predigt vom", Nothing),
            ("verwendret", Nothing),
            // Days of the subject.
            ("Born", Other),
            ("Born:", Other),
            ("Ann Lee, born", Other),
            ("Died", Other),
            ("Founded:", Other),
            ("Geburtsdatum:", Other),
            ("Geboren am", Other),
            ("Née le", Other),
            ("Nacida el", Other),
            ("Родился", Other),
            ("生年月日：", Other),
            ("When:", Other),
            ("Effective date:", Other),
            ("Opened on", Other),
            ("Joined", Other),
            ("Registered:", Other),
            ("Ann Lee, registered nurse", Nothing),
            // Of a thread.
            ("Start date", Nothing),
            ("Borneo,", Nothing),
            ("新生児の出生率がまた低下した", Nothing),
            ("Effective Java", Nothing),
            ("When spiders weave,", Nothing),
            ("A spider that was born in the garden has left,", Nothing),
            ("Published by Newly Born Media", Published),
            ("Founded by weavers, published", Published),
            ("Date:", Published),
            ("By Ann Lee", Nothing),
            ("", Nothing),
        ] {
            assert_eq!(DateMeaning::by(&[label], false, false), expected, "{label}");
        }
        assert_eq!(DateMeaning::by(&[""], true, false), Modified);
        assert_eq!(DateMeaning::by(&["Posted"], true, false), Published);
        for (property, expected) in [
            ("birthDate", true),
            ("startDate", true),
            ("x validThrough", true),
            ("doorTime", true),
            ("datePublished", false),
            ("dateModified", false),
            ("uploadDate", false),
            ("publishDate", false),
            ("date", false),
            ("headline", false),
        ] {
            assert_eq!(DateMeaning::is_of_subject(property), expected, "{property}");
        }
    }
}
