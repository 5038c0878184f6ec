//! Lines that serve a page rather than say something of it: rows of buttons, what a shop says beside each
//! of its things, questions about the page.
//!
//! They stand in the middle of the content. The block model knows those of the sites that it was trained
//! on, and keeps many others.

use orbweaver_sdk::dom::{Node, View, tag};

use crate::blocks::{Block, Blocks};
use crate::measure::{Info, is_heading};
use crate::page_type::{PageType, Types};
use crate::sections::read_line;

/// How sure it must be that a page is of a type.
const SURE: f32 = 0.5;

/// The longest such line, in half words.
const MAX_LINE: u32 = 32;

/// The longest notice that is told by its end, in bytes.
const MAX_END: usize = 60;

/// What buttons of shops, lists and forums say, as whole words.
const DEEDS: &[&str] = &[
    // Shops.
    "add all three to cart",
    "add all to cart",
    "add to bag",
    "add to basket",
    "add to cart",
    "add to compare",
    "add to favorites",
    "add to favourites",
    "add to list",
    "add to registry",
    "add to shopping bag",
    "add to watchlist",
    "add to wish list",
    "add to wishlist",
    "book now",
    "buy it now",
    "buy now",
    "compare",
    "place hold",
    "quick buy",
    "quick look",
    "quick shop",
    "quick view",
    "see availability",
    "select options",
    "shop now",
    "view product",
    "write a review",
    // Lists.
    "load more",
    "load more comments",
    "more details",
    "more info",
    "more options",
    "read more",
    "see all",
    "see all reviews",
    "see details",
    "see more",
    "show more",
    "show on map",
    "view all",
    "view all reviews",
    "view details",
    "view more",
    "view more comments",
    // Forums.
    "award",
    "bookmark",
    "downvote",
    "embed",
    "give award",
    "helpful",
    "log in to reply",
    "permalink",
    "quote",
    "reply",
    "reply with quote",
    "report",
    "report abuse",
    "share",
    "upvote",
    // Other languages.
    "antworten",
    "auf den wunschzettel",
    "auf die merkliste",
    "in den warenkorb",
    "jetzt kaufen",
    "mehr erfahren",
    "mehr lesen",
    "melden",
    "merken",
    "teilen",
    "weiterlesen",
    "zitieren",
    "zur wunschliste hinzufügen",
    "ajouter au panier",
    "aperçu rapide",
    "citer",
    "en savoir plus",
    "lire la suite",
    "partager",
    "répondre",
    "signaler",
    "voir plus",
    "agregar al carrito",
    "añadir a la cesta",
    "añadir al carrito",
    "citar",
    "compartir",
    "leer más",
    "responder",
    "ver más",
    "adicionar ao carrinho",
    "compartilhar",
    "leia mais",
    "saiba mais",
    "aggiungi al carrello",
    "condividi",
    "leggi tutto",
    "rispondi",
    "beantwoorden",
    "delen",
    "in winkelwagen",
    "lees meer",
    "в корзину",
    "ответить",
    "подробнее",
    "поделиться",
    "читать далее",
    "カートに入れる",
    "かごに追加",
    "シェア",
    "もっと見る",
    "返信",
    "続きを読む",
    "加入购物车",
    "分享",
    "回复",
    "查看更多",
    "阅读更多",
    "더보기",
    "답글",
    "장바구니 담기",
];

/// What such buttons say that may be words of a text as well: it counts beside others only.
const WEAK: &[&str] = &[
    "call", "delete", "edit", "email", "follow", "hide", "like", "message", "parent", "pin",
    "print", "save", "website",
];

/// Starts of what a shop says beside each of its things, whatever it is.
const NOTICES: &[&str] = &[
    "be the first to review",
    "check availability",
    "currently unavailable",
    "eligible for return",
    "estimated delivery",
    "excluding sales tax",
    "free delivery",
    "get it as soon as",
    "get it by",
    "have one to sell",
    "hurry",
    "in stock",
    "no reviews yet",
    "or 4 interest-free",
    "order today",
    "other sellers on",
    "out of stock",
    "pay in 4",
    "pickup available",
    "pickup currently",
    "quantity",
    "report incorrect",
    "report this item",
    "returns & exchanges",
    "returns accepted",
    "secure checkout",
    "secure payment",
    "shipping calculated",
    "ships from",
    "ships within",
    "sold by",
    "sold out",
    "sort by",
    "tax excluded",
    "tax included",
    "taxes included",
    "usually ready in",
    "usually ships",
    "verified purchase",
    "view store information",
    "auf lager",
    "inkl. mwst",
    "inkl. ust",
    "kostenloser versand",
    "lieferzeit",
    "nicht vorrätig",
    "sofort lieferbar",
    "zzgl. versand",
    "derniers articles en stock",
    "en stock",
    "livraison gratuite",
    "livraison offerte",
    "rupture de stock",
    "ttc livraison",
    "agotado",
    "envío gratis",
    "spedizione gratuita",
    "在庫あり",
    "送料無料",
];

/// Ends of such lines.
const NOTICE_ENDS: &[&str] = &[
    "calculated at checkout",
    "in their carts",
    "left in stock",
    "people found this helpful",
    "verified purchase",
];

/// Starts of questions about a page.
const QUESTIONS: &[&str] = &[
    "did this answer your question",
    "did this page help",
    "how helpful was this",
    "is this page helpful",
    "is this page useful",
    "rate this article",
    "rate this page",
    "report a problem with this page",
    "was this answer helpful",
    "was this article helpful",
    "was this content helpful",
    "was this helpful",
    "was this information helpful",
    "was this page helpful",
    "war das hilfreich",
    "war diese seite hilfreich",
    "war dieser artikel hilfreich",
    "cet article vous a-t-il",
    "cette page vous a-t-elle",
    "¿le ha resultado útil",
    "¿te ha sido útil",
    "este artigo foi útil",
    "この記事は役に立ちましたか",
    "このページは役に立ちましたか",
    "本文对您有帮助吗",
    "这篇文章对您有帮助吗",
];

/// Drops such lines of the chosen blocks.
pub fn drop_dealings(
    view: &View<'_>,
    info: &[Info],
    blocks: &Blocks,
    types: &Types,
    keep: &mut [bool],
) {
    let is_product = types.share(PageType::Product) >= SURE;
    // A manual explains buttons, and an article may be one of few words.
    let one_text = types.share(PageType::Article) + types.share(PageType::Documentation);
    let has_rows = one_text < SURE;
    let mut line = String::with_capacity(256);
    for (block, keep) in blocks.list.iter().zip(keep) {
        if !*keep || block.halves > MAX_LINE {
            continue;
        }
        let Some(node) = view.node(block.node).filter(|node| !is_name(*node)) else {
            continue;
        };
        read_line(node, info, &mut line);
        *keep = !(is_question(&line)
            || has_rows && is_row(&line, block)
            || is_product && is_notice(&line));
    }
}

/// Whether a line is of a heading, or the name of what stands beside it.
fn is_name(node: Node<'_>) -> bool {
    let mut around = std::iter::once(node).chain(node.ancestors().take(2));
    around.any(|around| is_heading(around.tag()) || matches!(around.tag(), tag::DT | tag::TH))
}

/// Whether a line in small letters is made of what buttons say, and of numbers: of two buttons, or of a
/// link that is one.
fn is_row(line: &str, block: &Block) -> bool {
    let mut deeds = 0;
    let mut rest = line;
    loop {
        rest = rest.trim_start_matches(|c: char| !c.is_alphabetic());
        if rest.is_empty() {
            break;
        }
        let longest = |among: &[&str]| {
            let begins = |deed: &&&str| {
                let next = rest
                    .strip_prefix(**deed)
                    .map(|behind| behind.chars().next());
                next.is_some_and(|next| next.is_none_or(|c| !c.is_alphabetic()))
            };
            among.iter().filter(begins).map(|deed| deed.len()).max()
        };
        let found = longest(DEEDS);
        deeds += u32::from(found.is_some());
        let Some(length) = found.or_else(|| longest(WEAK)) else {
            return false;
        };
        rest = rest.get(length..).unwrap_or_default();
    }
    deeds >= 2 || deeds == 1 && block.link * 10 >= block.chars * 9
}

/// Whether a line in small letters is what a shop says beside each of its things.
fn is_notice(line: &str) -> bool {
    let bare = line.trim_matches(|c: char| !c.is_alphanumeric());
    let is_count = bare.starts_with(|c: char| c.is_ascii_digit()) && bare.ends_with(" in stock");
    is_count
        || NOTICES.iter().any(|head| bare.starts_with(head))
        || bare.len() < MAX_END && NOTICE_ENDS.iter().any(|tail| bare.ends_with(tail))
}

/// Whether a line in small letters asks about the page.
fn is_question(line: &str) -> bool {
    QUESTIONS.iter().any(|head| line.starts_with(head))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing;

    /// The texts of the blocks that are kept on a page of this type where all are chosen.
    fn kept(kind: PageType, html: &str) -> Vec<String> {
        let types = Types::only(kind);
        testing::kept(html, |view, info, blocks, keep| {
            drop_dealings(view, info, blocks, &types, keep);
        })
    }

    #[test]
    fn rows_of_buttons_are_told_from_lines_of_the_text() {
        let row = "<p>Oak bench<div><a href=/w>Add to Wish List</a> <a href=/c>Add to Compare</a></div>\
                   <div><span>Upvote</span> <span>44</span> <span>Reply</span> <span>Save</span></div>\
                   <div><a href=/r>Read more</a></div>";
        assert_eq!(kept(PageType::Collection, row), ["Oak bench"]);
        assert_eq!(kept(PageType::Article, row).len(), 4, "one text");
        let text = "<h3>Reply</h3><p>Save $50<p>Share<p>Reply to Ann, please<p>Compare two of them";
        assert_eq!(kept(PageType::Forum, text).len(), 5);
    }

    #[test]
    fn what_a_shop_says_of_everything_is_left_out() {
        let html = "<p>Solid ash, 48 cm<p>Tax included. Shipping calculated at checkout.<p>23 in stock\
                    <p>Only 4 left in stock<p>It was tested in stock cars";
        let all = ["Solid ash, 48 cm", "It was tested in stock cars"];
        assert_eq!(kept(PageType::Product, html), all);
        assert_eq!(kept(PageType::Service, html).len(), 5);
    }

    #[test]
    fn questions_about_the_page_are_left_out() {
        let html =
            "<p>Open the lid.<p>Was this article helpful?<p>War dieser Artikel hilfreich? Ja Nein";
        assert_eq!(kept(PageType::Documentation, html), ["Open the lid."]);
    }
}
