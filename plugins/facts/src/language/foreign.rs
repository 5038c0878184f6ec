//! Letters of languages that cannot be told: their texts pass for those of neighbours that can.

/// Of so many letters, one that no language has that can be told: there is no answer. Names and
/// quotations have fewer.
const RATE: u32 = 60;
/// Such letters from which there is no answer.
const FEWEST: u32 = 2;

/// Whether parts of a text have letters in number that no language has which can be told.
pub(super) fn is_foreign<'t>(parts: impl Iterator<Item = &'t str>) -> bool {
    let (mut letters, mut foreign) = (0u32, 0u32);
    for part in parts {
        let mut last = ' ';
        for c in part.chars() {
            if c.is_ascii() {
                letters += u32::from(c.is_ascii_alphabetic());
            } else {
                letters += u32::from(c.is_alphabetic());
                foreign += u32::from(is_foreign_letter(c) || is_low_with_tone(last, c));
            }
            last = c;
        }
    }
    foreign >= FEWEST && foreign * RATE >= letters
}

fn is_foreign_letter(c: char) -> bool {
    match c {
        // Icelandic and Faroese, Maltese, Hausa and Yoruba and their neighbours.
        'þ' | 'Þ' | 'ð' | 'Ð' | 'ħ' | 'Ħ' | 'ġ' | 'Ġ' | 'ċ' | 'Ċ' | 'ŋ' | 'Ŋ' | 'ɓ' | 'Ɓ' | 'ɗ'
        | 'Ɗ' | 'ƙ' | 'Ƙ' | 'ƴ' | 'Ƴ' | 'ṣ' | 'Ṣ' | 'ǹ' | 'Ǹ' => true,
        // Those of Belarusian, Bulgarian, Macedonian, Russian, Serbian and Ukrainian.
        'А'..='я'
        | 'Ё'
        | 'ё'
        | 'І'
        | 'і'
        | 'Ї'
        | 'ї'
        | 'Є'
        | 'є'
        | 'Ґ'
        | 'ґ'
        | 'Ў'
        | 'ў'
        | 'Ђ'
        | 'ђ'
        | 'Ј'
        | 'ј'
        | 'Љ'
        | 'љ'
        | 'Њ'
        | 'њ'
        | 'Ћ'
        | 'ћ'
        | 'Џ'
        | 'џ'
        | 'Ѓ'
        | 'ѓ'
        | 'Ќ'
        | 'ќ'
        | 'Ѕ'
        | 'ѕ'
        | 'Ѐ'
        | 'ѐ'
        | 'Ѝ'
        | 'ѝ' => false,
        // The rest of Cyrillic: Kazakh, Kyrgyz, Mongolian, Tajik, Tatar, Uzbek and others.
        '\u{400}'..='\u{482}' | '\u{48a}'..='\u{52f}' => true,
        _ => false,
    }
}

/// Whether a mark of a tone stands on a letter with a dot below, as in Yoruba and Igbo: the dot is
/// itself a tone in Vietnamese.
fn is_low_with_tone(letter: char, mark: char) -> bool {
    matches!(mark, '\u{300}' | '\u{301}' | '\u{304}')
        && matches!(
            letter,
            '\u{323}' | 'ẹ' | 'Ẹ' | 'ọ' | 'Ọ' | 'ị' | 'Ị' | 'ụ' | 'Ụ' | 'ạ' | 'Ạ'
        )
}

#[cfg(test)]
mod tests {
    use super::super::of_text;

    #[test]
    fn languages_that_cannot_be_told_are_not_taken_for_their_neighbours() {
        for text in [
            // Kazakh
            "Қазақстан — Орталық Азиядағы мемлекет. Астанасы — Астана қаласы. Мемлекеттік тілі — қазақ \
             тілі, орыс тілі де ресми түрде қолданылады. Халқының саны жиырма миллионға жуық.",
            // Kyrgyz
            "Кыргызстан — Борбордук Азиядагы өлкө. Борбору — Бишкек шаары. Мамлекеттик тили — кыргыз \
             тили, ал эми орус тили расмий тил катары колдонулат.",
            // Icelandic
            "Ísland er eyríki í Norður-Atlantshafi. Höfuðborgin er Reykjavík og þar býr um þriðjungur \
             þjóðarinnar. Landið er þekkt fyrir eldfjöll, jökla og heita hveri sem draga að sér \
             ferðamenn allan ársins hring.",
            // Faroese
            "Føroyar eru eitt oyggjaland í Norðuratlantshavi. Høvuðsstaðurin er Tórshavn og har býr ein \
             triðingur av fólkinum. Landið er kent fyri fisk og seyð.",
            // Yoruba
            "Nàìjíríà jẹ́ orílẹ̀-èdè kan ní ìwọ̀ oòrùn Áfríkà. Olú ìlú rẹ̀ ni Àbújá. Èdè tí wọ́n ń sọ níbẹ̀ \
             pọ̀ gan-an.",
            // Galician
            "Galicia é unha comunidade autónoma española. A súa capital é Santiago de Compostela. As \
             linguas oficiais son o galego e o castelán, e a poboación supera os dous millóns e medio \
             de habitantes.",
            // Irish
            "Is oileán í Éire in iarthar na hEorpa. Is í Baile Átha Cliath an phríomhchathair. Is iad \
             an Ghaeilge agus an Béarla na teangacha oifigiúla, agus tá cúig mhilliún duine ina gcónaí \
             sa tír.",
            // Hausa
            "Najeriya kasa ce a yammacin Afirka. Babban birnin ta shi ne Abuja. Harsunan da ake magana \
             da su sun hada da Hausa, Yarbanci da Ibo, kuma tana da mutane da yawa.",
        ] {
            assert_eq!(of_text(text), None, "{text}");
        }
    }

    #[test]
    fn their_neighbours_are_told_with_names_and_words_of_them() {
        for (tag, text) in [
            (
                "ru",
                "Казахстан (Қазақстан) — государство в центре Евразии, бывшая республика Советского \
                 Союза. На севере и западе имеет общие границы с Россией, на востоке — с Китаем, на \
                 юге — с Кыргызстаном, Узбекистаном и Туркменистаном, большая часть земель степная.",
            ),
            (
                "uk",
                "Павук чекає посеред павутини, поки щось не торкнеться однієї з її ниток, а тоді біжить \
                 до неї, бо саме на це він чекав.",
            ),
            (
                "pt",
                "A aranha espera no meio da teia até que alguma coisa toque num dos seus fios, e então \
                 corre para lá, porque é isso que ela esperava desde a manhã com muita paciência.",
            ),
            (
                "vi",
                "Con nhện chờ ở giữa mạng cho đến khi có thứ gì đó chạm vào một trong những sợi tơ của \
                 nó, rồi nó chạy thật nhanh đến đó.",
            ),
            (
                "sv",
                "Spindeln väntar i mitten av nätet tills något rör vid en av dess trådar, och då \
                 springer den dit, för det är det den har väntat på.",
            ),
            (
                "en",
                "The town of Seyðisfjörður lies in a fjord in the east of the country, and the road to \
                 it is closed in winter for weeks when there is too much snow on the \
                 pass, and the ferry that comes once in the week is then the only way out of it.",
            ),
            (
                "it",
                "Il ragno aspetta al centro della tela finché qualcosa non tocca uno dei suoi fili, e \
                 allora corre da quella parte, perché è quello che aspettava.",
            ),
        ] {
            assert_eq!(of_text(text), Some(tag), "{text}");
        }
    }
}
