use super::*;

/// Formats tokens: `<name attribute="value" …>`, `</name>`, quoted texts; `/` for no content.
fn read(html: &str) -> String {
    let mut tokens = Tokens::new(html);
    let mut out = Vec::new();
    while let Some(token) = tokens.next() {
        out.push(match token {
            Token::Text(text) => format!("'{text}'"),
            Token::Verbatim(text) => format!("={text}="),
            Token::Title(text) => format!("#{text}#"),
            Token::Start(tag) => {
                let mut out = String::from("<");
                for attribute in &tokens.attributes {
                    let part = |range: &Range<usize>| html.get(range.clone()).unwrap();
                    out += &format!("{}={};", part(&attribute.name), part(&attribute.value));
                }
                out + match (tag.empty, tag.foreign) {
                    (false, false) => ">",
                    (false, true) => "*>",
                    (true, false) => "/>",
                    (true, true) => "*/>",
                }
            }
            Token::End(_) => "</>".to_owned(),
        });
    }
    out.join(" ")
}

#[test]
fn tags_and_their_attributes_are_read_as_written() {
    for (html, expected) in [
        ("a<b>c</b>d", "'a' <> 'c' </> 'd'"),
        (
            "<a href=x/y title='a>b' ALT=\"\" disabled>",
            "<href=x/y;title=a>b;ALT=;disabled=;>",
        ),
        ("<a href = 'x' b= c =d>", "<href=x;b=c;=d=;>"),
        ("<a\nhref\t=\n\"x\"rel=y/>", "<href=x;rel=y/;>"),
        ("<a/href=x / b>", "<href=x;b=;>"),
        ("<a b=>x", "<b=;> 'x'"),
        ("<br/><br / ><p/>", "</> </> <>"),
        ("</b x='>'>y</b\n>", "</> 'y' </>"),
        ("<é>x</é>", "'<é>x'"),
        ("<a=b>x", "<> 'x'"),
        ("<p<b>x", "<> 'x'"),
        ("<img src=\"a\"alt='b'>", "<src=a;alt=b;/>"),
    ] {
        assert_eq!(read(html), expected, "{html}");
    }
    let mut tokens = Tokens::new("<a HREF=1 href=2 HiDDen>");
    let Some(Token::Start(tag)) = tokens.next() else {
        panic!("no tag");
    };
    assert_eq!(tokens.attribute("href"), Some("1"));
    assert_eq!(tokens.attribute("hrefs"), None);
    assert!(tag.hidden && tag.name == names::A);
}

#[test]
fn other_text_with_angle_brackets_is_text_or_dropped() {
    for (html, expected) in [
        ("a < b <3 <", "'a < b <3 <'"),
        ("a</", "'a</'"),
        ("a</>b</ c>d<?php ?>e", "'a' 'b' 'd' 'e'"),
        ("<!doctype html>a<!x'>'b>", "'a' ''b>'"),
        ("a<b", "'a'"),
        ("a<b c='", "'a'"),
        ("a<b c='x' d", "'a'"),
        ("a</b c", "'a'"),
        ("a<!", "'a'"),
        ("<![CDATA[x]]>y", "'y'"),
        ("", ""),
    ] {
        assert_eq!(read(html), expected, "{html}");
    }
}

#[test]
fn comments_end_as_in_a_browser() {
    for (html, rest) in [
        ("<!-- <a> -->x", "'x'"),
        ("<!-->x", "'x'"),
        ("<!--->x", "'x'"),
        ("<!---->x", "'x'"),
        ("<!--a--->x", "'x'"),
        ("<!--a--!>x", "'x'"),
        ("<!--a->b-->x", "'x'"),
        ("<!---!>b-->x", "'x'"),
        ("<!--!>b-->x", "'x'"),
        ("<!-- open <a>", ""),
        ("<!-", ""),
    ] {
        assert_eq!(read(html), rest, "{html}");
    }
}

#[test]
fn raw_text_ends_at_its_own_end_tag() {
    for (html, expected) in [
        (
            "<title>a<b></titles></TITLE >x",
            "<> #a<b></titles># </> 'x'",
        ),
        ("<title>open", "<> #open#"),
        ("<style><a></style>x", "<> </> 'x'"),
        ("<textarea><a></textarea/>x", "<> </> 'x'"),
        ("<noscript><a></noscript>x", "<> </> 'x'"),
        ("<script>'</scripts>'<b></script>x", "<> </> 'x'"),
        ("<script><!--</script>x", "<> </> 'x'"),
        (
            "<script><!-- <script> </script> --></script>x",
            "<> </> 'x'",
        ),
        ("<script><!-- <script></script></script>x", "<> </> 'x'"),
        ("<script><!--><script></script>x", "<> </> 'x'"),
        ("<script><!-- --> <script></script>x", "<> </> 'x'"),
        ("<script><!-- <script> </script>x", "<>"),
        ("<script>open<a>", "<>"),
        ("<plaintext>a</plaintext><b>", "<> =a</plaintext><b>="),
        ("<title></title>x", "<> </> 'x'"),
    ] {
        assert_eq!(read(html), expected, "{html}");
    }
}

#[test]
fn svg_and_mathml_are_not_html() {
    for (html, expected) in [
        (
            "<svg><title>a<b>c</title></svg><title>d</title>",
            "<*> <*> 'a' <> 'c' </> </> <> #d# </>",
        ),
        ("<svg><style>a<p>b", "<*> <*> 'a' <> 'b'"),
        ("<svg><path/><![CDATA[<a>]]></svg>", "<*> <*/> =<a>= </>"),
        ("<svg/><style><a></style>", "<*/> <> </>"),
        (
            "<svg><foreignObject><style><a></style></foreignObject><style><a>",
            "<*> <*> <> </> </> <*> <*>",
        ),
        ("<svg><font><style><a>", "<*> <*> <*> <*>"),
        ("<svg><font color=x><style><a>", "<*> <color=x;> <>"),
        (
            "<math><mi><style><a></style></mi><style><a>",
            "<*> <*> <> </> </> <*> <*>",
        ),
        (
            "<math><annotation-xml encoding='text/HTML'><style><a>",
            "<*> <encoding=text/HTML;*> <>",
        ),
        ("<math><annotation-xml><style><a>", "<*> <*> <*> <*>"),
        ("<svg></p><style><a>", "<*> </> <>"),
        (
            "<svg><svg></svg><style><a></svg></svg><style><a>",
            "<*> <*> </> <*> <*> </> </> <>",
        ),
    ] {
        assert_eq!(read(html), expected, "{html}");
    }
}
