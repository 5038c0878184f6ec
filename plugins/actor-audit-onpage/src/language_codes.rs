//! Valid language tags.

/// ISO 639-1.
const LANGUAGES: &str = " aa ab ae af ak am an ar as av ay az ba be bg bh bi bm bn bo br bs ca ce ch co cr cs cu cv cy da de dv dz ee el en eo es et eu fa ff fi fj fo fr fy ga gd gl gn gu gv ha he hi ho hr ht hu hy hz ia id ie ig ii ik in io is it iu iw ja ji jv jw ka kg ki kj kk kl km kn ko kr ks ku kv kw ky la lb lg li ln lo lt lu lv mg mh mi mk ml mn mo mr ms mt my na nb nd ne ng nl nn no nr nv ny oc oj om or os pa pi pl ps pt qu rm rn ro ru rw sa sc sd se sg sh si sk sl sm sn so sq sr ss st su sv sw ta te tg th ti tk tl tn to tr ts tt tw ty ug uk ur uz ve vi vo wa wo xh yi yo za zh zu ";

/// ISO 3166-1 alpha-2, with the exceptionally reserved EU and the user-assigned XK, both in use.
const REGIONS: &str = " ad ae af ag ai al am ao aq ar as at au aw ax az ba bb bd be bf bg bh bi bj bl bm bn bo bq br bs bt bv bw by bz ca cc cd cf cg ch ci ck cl cm cn co cr cu cv cw cx cy cz de dj dk dm do dz ec ee eg eh er es et eu fi fj fk fm fo fr ga gb gd ge gf gg gh gi gl gm gn gp gq gr gs gt gu gw gy hk hm hn hr ht hu id ie il im in io iq ir is it je jm jo jp ke kg kh ki km kn kp kr kw ky kz la lb lc li lk lr ls lt lu lv ly ma mc md me mf mg mh mk ml mm mn mo mp mq mr ms mt mu mv mw mx my mz na nc ne nf ng ni nl no np nr nu nz om pa pe pf pg ph pk pl pm pn pr ps pt pw py qa re ro rs ru rw sa sb sc sd se sg sh si sj sk sl sm sn so sr ss st sv sx sy sz tc td tf tg th tj tk tl tm tn to tr tt tv tw tz ua ug um us uy uz va vc ve vg vi vn vu wf ws xk ye yt za zm zw ";

fn has(list: &str, code: &str) -> bool {
    code.len() == 2
        && code.bytes().all(|b| b.is_ascii_lowercase())
        && list
            .as_bytes()
            .windows(4)
            .any(|w| w.get(1..3) == Some(code.as_bytes()))
}

/// The language of a tag, in lower case: `en` of `en-GB`.
pub fn primary(tag: &str) -> String {
    tag.split(['-', '_'])
        .next()
        .unwrap_or(tag)
        .to_ascii_lowercase()
}

/// Two codes of one language: the ISO 639 code that was replaced and the one in its place, or a
/// language and the one that most of its pages mean (IANA's registry, RFC 5646: `Preferred-Value`,
/// `Macrolanguage`).
const SAME: &[(&str, &str)] = &[
    ("cmn", "zh"),
    ("in", "id"),
    ("iw", "he"),
    ("ji", "yi"),
    ("jw", "jv"),
    ("mo", "ro"),
    ("nb", "no"),
    ("nn", "no"),
];

/// Whether two tags are of one language.
pub fn is_same_language(one: &str, other: &str) -> bool {
    let (one, other) = (primary(one), primary(other));
    let pairs = [(&*one, &*other), (&*other, &*one)];
    one == other || pairs.iter().any(|pair| SAME.contains(pair))
}

/// Whether a tag has the form of BCP 47 and its language and region exist. Languages of three
/// letters, and the parts after the region, are not checked.
pub fn is_language_tag(tag: &str) -> bool {
    let mut parts = tag.split('-').map(str::to_ascii_lowercase);
    let language = parts.next().unwrap_or_default();
    let letters = |text: &str| text.bytes().all(|b| b.is_ascii_alphabetic());
    let known = match language.len() {
        2 => has(LANGUAGES, &language),
        3 => letters(&language),
        1 => return matches!(language.as_str(), "x" | "i") && tag.len() > 2,
        _ => false,
    };
    if !known {
        return false;
    }
    for (at, part) in parts.enumerate() {
        let fits = match part.len() {
            1 => return true,
            2 => has(REGIONS, &part),
            3 => part.bytes().all(|b| b.is_ascii_digit()) || letters(&part) && at < 3,
            4 => letters(&part) || part.bytes().next().is_some_and(|b| b.is_ascii_digit()),
            5..=8 => part.bytes().all(|b| b.is_ascii_alphanumeric()),
            _ => false,
        };
        if !fits {
            return false;
        }
    }
    true
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn existing_tags_are_distinguished_from_others() {
        for tag in [
            "en",
            "EN-gb",
            "zh-Hant-TW",
            "es-419",
            "fil",
            "sr-Latn",
            "de-CH-1996",
            "x-klingon",
            "en-US-u-hc-h12",
        ] {
            assert!(is_language_tag(tag), "{tag}");
        }
        for tag in [
            "",
            "en-UK",
            "english",
            "en_US",
            "zz",
            "e",
            "en-",
            "de-DEU1234567",
            "x",
        ] {
            assert!(!is_language_tag(tag), "{tag}");
        }
        assert_eq!(primary("pt-BR"), "pt");
    }

    #[test]
    fn a_language_may_have_two_codes() {
        for (one, other) in [
            ("en-GB", "EN"),
            ("nb-NO", "no"),
            ("no", "nn"),
            ("iw", "he-IL"),
            ("id", "in"),
            ("yi", "ji"),
            ("cmn-Hans", "zh-CN"),
            ("zh-cmn", "zh"),
        ] {
            assert!(is_same_language(one, other), "{one} {other}");
            assert!(is_same_language(other, one), "{other} {one}");
        }
        for (one, other) in [("nb", "nn"), ("en", "de"), ("iw", "id"), ("yue", "zh-CN")] {
            assert!(!is_same_language(one, other), "{one} {other}");
        }
    }
}
