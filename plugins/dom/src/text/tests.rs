use super::*;

#[test]
fn collapsing_does_not_depend_on_how_the_text_is_cut() {
    let cases = [
        ("  a  b\n\tc ", "a b c"),
        ("", ""),
        (" \u{a0} ", ""),
        ("a\u{a0}b\u{3000}c\u{2003}\u{2009}d", "a b c d"),
        ("é ü – “x”", "é ü – “x”"),
        ("a b c  d e\u{85}f", "a b c d e f"),
        ("日本 語\u{feff}", "日本 語\u{feff}"),
    ];
    for (text, expected) in cases {
        assert_eq!(collapse(text), expected, "{text:?}");
        assert_eq!(
            text.split_whitespace().collect::<Vec<_>>().join(" "),
            expected
        );
        for cut in (0..text.len()).filter(|&i| text.is_char_boundary(i)) {
            let (mut out, mut c) = (String::new(), Collapse::default());
            let (head, tail) = text.split_at(cut);
            c.push(head, &mut out);
            c.push(tail, &mut out);
            assert_eq!(out, expected, "{text:?} cut at {cut}");
        }
    }
}

#[test]
fn words_are_counted_in_any_script() {
    let cases = [
        ("", 0),
        ("one", 1),
        (" one  two\nthree ", 3),
        ("don't re-count and/or 3.14", 4),
        ("a — b & c * …", 3),
        ("東京タワー 2", 6),
        ("한국어 문서", 2),
        ("Hello世界", 3),
        ("привет мир", 2),
        ("ก 2", 2),
        ("abสะพานcd", 3),
        ("3 ភាសា.", 2),
    ];
    for (text, expected) in cases {
        assert_eq!(word_count(text), expected, "{text:?}");
    }
}

/// Sentences with the words that the dictionaries of ICU find in them.
#[test]
fn words_without_spaces_are_about_as_many_as_a_dictionary_finds() {
    let sentences = [
        (
            "สภาเมืองตัดสินใจเมื่อวันอังคารหลังจากการอภิปรายนานสามชั่วโมงว่าจะเก็บรักษาสะพานหินที่สร้างขึ้นเมื่อหนึ่งร้อยปีก่อนไว้ และให้ทั้งสองเมืองร่วมกันออกค่าใช้จ่ายในการซ่อมแซม",
            43,
        ),
        (
            "ພາສາລາວເປັນພາສາທາງການຂອງສາທາລະນະລັດ ປະຊາທິປະໄຕ ປະຊາຊົນລາວ ແລະຍັງມີຄົນເວົ້າຢູ່ພາກຕາເວັນອອກສຽງເໜືອຂອງປະເທດໄທ",
            21,
        ),
        (
            "ភាសាខ្មែរគឺជាភាសាកំណើតរបស់ជនជាតិខ្មែរ និងជាភាសាផ្លូវការរបស់ប្រទេសកម្ពុជា",
            13,
        ),
        (
            "မြန်မာဘာသာစကားသည် မြန်မာနိုင်ငံ၏ ရုံးသုံးဘာသာစကား ဖြစ်သည်။ ကောင်စီက တံတားဟောင်းကို ထိန်းသိမ်းထားရန် ဆုံးဖြတ်ခဲ့သည်။",
            18,
        ),
    ];
    for (text, words) in sentences {
        let found = word_count(text);
        assert!(
            found * 4 >= words * 3 && found * 3 <= words * 4,
            "{found} words instead of {words} in {text}"
        );
    }
}

#[test]
fn characters_are_counted_as_if_collapsed() {
    for text in ["", " a b ", "  日本  語 ", "a\n\n\tb"] {
        let mut counter = Counter::default();
        counter.push(text);
        assert_eq!(
            counter.chars(),
            collapse(text).chars().count() as u64,
            "{text:?}"
        );
    }
}

/// Texts of all kinds of characters, in all orders and at all places in a chunk.
fn mixed_texts() -> Vec<String> {
    let pieces = [
        " ",
        "  ",
        "\n",
        "\u{a0}",
        "\u{3000}",
        "a",
        "Z9",
        "-",
        "...",
        "é",
        "日",
        "ไทยก",
        "\u{85}",
        "\u{200b}",
        "word",
        "two words",
        "seven77",
    ];
    let mut texts = Vec::new();
    for before in 0..10 {
        for one in pieces {
            for two in pieces {
                for three in [" ", "x", "日", "\u{a0}y"] {
                    texts.push(format!("{}{one}{two}{three}", "ab".repeat(before)));
                    texts.push(format!("{one}{}{two}{three}  ", "a ".repeat(before)));
                }
            }
        }
    }
    texts
}

#[test]
fn stretches_joined_by_spaces_are_the_collapsed_text() {
    for text in mixed_texts() {
        let expected = text.split_whitespace().collect::<Vec<_>>().join(" ");
        let joined = stretches(&text).collect::<Vec<_>>().join(" ");
        assert_eq!(joined, expected, "{text:?}");
        assert_eq!(collapse(&text), expected, "{text:?}");
    }
    let plain = "A text as most are: one stretch, whatever its length.";
    assert_eq!(stretches(plain).collect::<Vec<_>>(), [plain]);
}

/// The definition of words and characters, one character at a time.
fn count_slowly(text: &str) -> (u64, u64) {
    let (mut words, mut in_word, mut parts) = (0, false, 0);
    for c in text.chars().chain([' ']) {
        let part = parts_of_word(c);
        if part == 0 && parts > 0 {
            words += words_of_parts(parts);
            parts = 0;
        }
        parts += part;
        let counts = is_wordless(c) || part == 0 && c.is_alphanumeric() && !in_word;
        words += u64::from(counts);
        in_word =
            !c.is_whitespace() && !is_wordless(c) && part == 0 && (in_word || c.is_alphanumeric());
    }
    let collapsed = text.split_whitespace().collect::<Vec<_>>().join(" ");
    (words, collapsed.chars().count() as u64)
}

#[test]
fn counts_do_not_depend_on_how_the_text_is_cut() {
    for text in mixed_texts() {
        let expected = count_slowly(&text);
        for cut in (0..=text.len()).filter(|&i| text.is_char_boundary(i)) {
            let mut counter = Counter::default();
            let (head, tail) = text.split_at(cut);
            counter.push(head);
            counter.push(tail);
            assert_eq!(
                (counter.words(), counter.chars()),
                expected,
                "{text:?} cut at {cut}"
            );
            // As in the sandbox.
            let mut counter = Counter::default();
            for part in [head, tail] {
                let counted = counter.wide_chunks(part.as_bytes());
                counter.push(part.get(counted..).unwrap_or_default());
            }
            assert_eq!(
                (counter.words(), counter.chars()),
                expected,
                "{text:?} cut at {cut}, sixteen at a time"
            );
        }
    }
}
