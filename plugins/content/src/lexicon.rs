//! Words that every running text is full of, by which prose is told from labels.

use crate::word::Hash;

const SLOTS: usize = 2048;

/// Start of the hash of names and texts, FNV-1a of 32 bits.
pub const SEED: u32 = 0x811c_9dc5;

/// The hash with one byte more.
pub const fn step(hash: u32, byte: u8) -> u32 {
    (hash ^ byte as u32).wrapping_mul(0x0100_0193)
}

/// Function words, in small letters: articles, pronouns, prepositions, conjunctions and
/// auxiliary verbs. Words of several languages stand once.
#[rustfmt::skip]
const WORDS: &[&[&str]] = &[
    // English.
    &["the", "of", "and", "to", "a", "in", "is", "that", "it", "for", "was", "on", "are", "as",
      "with", "they", "be", "at", "this", "have", "from", "or", "had", "by", "but", "not", "what",
      "were", "we", "when", "your", "can", "said", "there", "an", "each", "which", "she", "do",
      "how", "their", "if", "will", "about", "then", "them", "these", "so", "some", "her", "would",
      "him", "into", "has", "could", "been", "its", "who", "than", "you", "he", "his", "i", "my",
      "our", "because", "while", "where", "just", "also", "very", "only", "any", "may", "should"],
    // German.
    &["der", "die", "und", "das", "von", "zu", "den", "mit", "sich", "des", "auf", "für", "ist",
      "im", "dem", "nicht", "ein", "eine", "als", "auch", "es", "werden", "aus", "er", "hat",
      "dass", "sie", "nach", "wird", "bei", "einer", "um", "am", "sind", "noch", "wie", "einem",
      "über", "einen", "so", "zum", "war", "haben", "nur", "oder", "aber", "vor", "zur", "bis",
      "mehr", "durch", "man", "wenn", "kann", "ich", "wir", "ihr"],
    // French.
    &["le", "la", "les", "et", "de", "du", "un", "une", "est", "dans", "que", "qui", "pour", "pas",
      "sur", "au", "plus", "par", "ce", "avec", "ne", "se", "sont", "il", "elle", "nous", "vous",
      "ou", "mais", "cette", "ses", "leur", "aux", "été", "ont", "être", "fait", "je", "d", "l",
      "qu", "n", "s", "c"],
    // Spanish, Portuguese, Italian.
    &["el", "los", "las", "y", "en", "del", "por", "con", "para", "una", "su", "al", "lo", "como",
      "más", "pero", "sus", "este", "ha", "sí", "porque", "esta", "entre", "cuando", "muy", "sin",
      "sobre", "también", "me", "hasta", "hay", "donde", "o", "os", "do", "da", "em", "um", "para",
      "é", "com", "não", "uma", "na", "no", "dos", "das", "mais", "foi", "ao", "pela", "pelo",
      "até", "isso", "ele", "ela", "são", "você", "di", "che", "il", "per", "sono", "gli", "della",
      "nel", "alla", "dei", "delle", "anche", "ma", "si", "più", "questo", "non", "è", "dal",
      "come"],
    // Dutch, Swedish, Danish, Norwegian, Finnish.
    &["het", "een", "van", "dat", "niet", "zijn", "op", "aan", "voor", "met", "ook", "maar",
      "naar", "dan", "nog", "wel", "bij", "uit", "kan", "deze", "och", "att", "det", "som", "på",
      "är", "av", "för", "med", "den", "till", "inte", "har", "om", "ett", "men", "jag", "från",
      "og", "til", "ikke", "af", "eller", "fra", "ja", "että", "ei", "oli", "mutta", "ovat",
      "hän"],
    // Polish, Czech, Hungarian, Romanian, Turkish, Indonesian, Vietnamese.
    &["w", "z", "się", "nie", "że", "jest", "jak", "od", "dla", "przez", "oraz", "tak", "ale",
      "po", "který", "která", "které", "jsem", "jsou", "ve", "pro", "také", "však", "az", "és",
      "hogy", "egy", "nem", "volt", "vagy", "și", "să", "cu", "pe", "din", "este", "care", "mai",
      "bir", "ve", "bu", "için", "çok", "ile", "daha", "olarak", "gibi", "olan", "değil", "ama",
      "yang", "dan", "di", "dengan", "untuk", "ini", "dari", "pada", "tidak", "dalam", "adalah",
      "là", "và", "của", "các", "có", "cho", "không", "một", "được", "trong", "những", "người"],
    // Russian, Ukrainian, Bulgarian, Greek.
    &["и", "в", "не", "на", "что", "с", "по", "как", "это", "из", "но", "за", "он", "от", "для",
      "его", "к", "а", "или", "так", "был", "также", "до", "при", "у", "если", "они", "мы", "я",
      "бы", "же", "то", "о", "со", "чтобы", "которые", "который", "була", "та", "що", "і", "й",
      "з", "як", "від", "це", "він", "са", "се", "да", "е", "който", "το", "και", "της", "να",
      "του", "η", "για", "με", "την", "από", "είναι", "ο", "που", "στο", "οι", "τα", "στην",
      "δεν", "σε"],
    // Arabic, Persian, Hebrew, Urdu.
    &["في", "من", "على", "إلى", "أن", "عن", "مع", "هذا", "هذه", "التي", "الذي", "كان", "ما", "لا",
      "بعد", "قد", "أو", "بين", "كما", "ذلك", "و", "ان", "هو", "هي", "كانت", "که", "به", "از",
      "را", "این", "با", "است", "برای", "آن", "های", "می", "یک", "بر", "تا", "של", "את", "על",
      "לא", "הוא", "זה", "עם", "גם", "כי", "או", "היא", "אל", "יותר", "کے", "کی", "میں", "ہے",
      "کا", "سے", "اور", "کو", "نے", "ہیں"],
    // Hindi, Marathi, Nepali, Bengali, Tamil, Telugu, Korean.
    &["के", "में", "की", "है", "का", "से", "और", "को", "पर", "ने", "कि", "यह", "एक", "हैं", "था",
      "भी", "नहीं", "तो", "जो", "कर", "हो", "लिए", "आणि", "आहे", "या", "ही", "हे", "ও", "এই",
      "করে", "থেকে", "একটি", "এবং", "তার", "না", "হয়", "জন্য", "যে", "ஒரு", "என்று", "இந்த",
      "மற்றும்", "என்ற", "அந்த", "ఈ", "ఒక", "మరియు", "그", "이", "수", "있는", "및", "것", "등",
      "더", "있다", "한", "하는", "에서"],
];

/// Open addressing; 0 is an empty slot.
static TABLE: [u32; SLOTS] = {
    let mut slots = [0; SLOTS];
    let mut i = 0;
    while i < WORDS.len() {
        let mut j = 0;
        while j < WORDS[i].len() {
            let key = Hash::of(WORDS[i][j].as_bytes());
            let mut at = place(key);
            while slots[at] != 0 && slots[at] != key {
                at = (at + 1) % SLOTS;
            }
            slots[at] = key;
            j += 1;
        }
        i += 1;
    }
    slots
};

const fn place(key: u32) -> usize {
    (key ^ key >> 15) as usize % SLOTS
}

/// Whether a word's hash is that of a function word.
pub fn is_stop_word(key: u32) -> bool {
    let mut at = place(key);
    loop {
        match TABLE.get(at % SLOTS) {
            Some(&slot) if slot == key => return true,
            Some(0) | None => return false,
            _ => at += 1,
        }
    }
}

/// Characters that serve as function words in scripts without spaces: Chinese and Japanese
/// particles.
pub fn is_particle(c: char) -> bool {
    matches!(
        c,
        '的' | '了'
            | '是'
            | '在'
            | '不'
            | '和'
            | '有'
            | '我'
            | '他'
            | '这'
            | '個'
            | '个'
            | '們'
            | '们'
            | '也'
            | '就'
            | '都'
            | '而'
            | '與'
            | '与'
            | '這'
            | '為'
            | '为'
            | '对'
            | '對'
            | 'の'
            | 'は'
            | 'を'
            | 'に'
            | 'が'
            | 'で'
            | 'と'
            | 'も'
            | 'た'
            | 'て'
            | 'し'
            | 'な'
            | 'ま'
            | 'す'
            | 'る'
    )
}
