//! What becomes of each element, one small page at a time. The pages stand at
//! `https://host.example/dir/page`.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "a helper that cannot do its work fails its test"
)]

mod media;
mod tables;

use orbweaver_extract_markdown::{Options, markdown};

fn convert(html: &str) -> String {
    let snapshot = orbweaver_sdk::dom::parse(html);
    let view = snapshot.view().expect("view");
    markdown(&view, "https://host.example/dir/page", &Options::default())
}

fn check(cases: &[(&str, &str)]) {
    for (html, expected) in cases {
        assert_eq!(convert(html), *expected, "{html}");
    }
}

#[test]
fn headings_are_one_line() {
    check(&[
        ("<h1>a</h1><h2>b</h2><h6>c</h6>", "# a\n\n## b\n\n###### c"),
        ("<h2>two<br>lines <em>x</em></h2>", "## two lines *x*"),
        ("<h2><div>a</div><div>b</div></h2>", "## a b"),
        ("<h2></h2><p>a</p>", "a"),
        ("<h2>C #</h2>", "## C \\#"),
        ("<h2>T <a class=headerlink href=#t>¶</a></h2>", "## T"),
        ("<h2 id=t><a href=#t>T</a></h2>", "## T"),
        (
            "<h2><a href=/t>T</a></h2>",
            "## [T](https://host.example/t)",
        ),
        ("<div role=heading aria-level=3>a</div>b", "### a\n\nb"),
        ("<h3><button>Question?</button></h3>", "### Question?"),
        (
            "<h3>Module web <button>Copy</button></h3>",
            "### Module web",
        ),
    ]);
}

#[test]
fn emphasis_stands_next_to_its_words() {
    check(&[
        ("a<b> b </b>c", "a **b** c"),
        ("<b>a</b><b>b</b>", "**ab**"),
        ("<b>a</b> <i>b</i>", "**a** *b*"),
        ("<b><b>a</b></b>", "**a**"),
        ("<b> </b>a", "a"),
        ("<b>a<i>b</i></b>", "**a*b***"),
        ("<b><p>a</p><p>b</p></b>", "**a**\n\n**b**"),
        ("<b>Note:</b>text", "<strong>Note:</strong>text"),
        ("<b>Note:</b> text", "**Note:** text"),
        ("x<i>“q”</i>", "x<em>“q”</em>"),
        ("<b style='font-weight: normal'>a</b>", "a"),
        ("<s>a</s> <strike>b</strike>", "~~a~~ ~~b~~"),
        (
            "x<sup>2</sup> H<sub>2</sub>O",
            "x<sup>2</sup> H<sub>2</sub>O",
        ),
        ("a<sup><a href=#f1>1</a></sup>", "a [1](#f1)"),
        ("<q>a</q>", "\"a\""),
        (
            "<var>a</var> <abbr title=t>b</abbr> <u>c</u> <mark>d</mark> <ins>e</ins>",
            "*a* b c d e",
        ),
    ]);
}

#[test]
fn code_keeps_what_is_in_it() {
    check(&[
        ("<code>a*b</code> <kbd>c</kbd>", "`a*b` `c`"),
        ("<code>a`b</code>", "``a`b``"),
        ("<code>`a`</code>", "`` `a` ``"),
        (
            "<code>a <a href=/t>T</a>&lt;U></code>",
            "`a` [`T`](https://host.example/t)`<U>`",
        ),
        ("<code> </code>a", "a"),
        ("<b><code>a</code></b>", "**`a`**"),
        ("<pre>\n  a\n\n\tb  \n</pre>", "```\n  a\n\n\tb\n```"),
        (
            "<pre><code>~~~\n```\n````</code></pre>",
            "`````\n~~~\n```\n````\n`````",
        ),
        (
            "<pre><code class='hljs language-rust'>a</code></pre>",
            "```rust\na\n```",
        ),
        ("<pre class=lang-c++>a</pre>", "```c++\na\n```"),
        ("<pre data-lang=toml>a</pre>", "```toml\na\n```"),
        (
            "<div class='mw-highlight mw-highlight-lang-lua mw-content-ltr'><pre>a</pre></div>",
            "```lua\na\n```",
        ),
        (
            "<pre class=e data-enlighter-language=php>a</pre>",
            "```php\na\n```",
        ),
        (
            "<pre class='sp-pre-placeholder sp-javascript'>a</pre>",
            "```javascript\na\n```",
        ),
        (
            "<pre class='lang:python decode:true'>a</pre>",
            "```python\na\n```",
        ),
        (
            "<div class='highlight-python notranslate'><table class=highlighttable><tr><td class=linenos><pre>1</pre>\
             <td class=code><div class=highlight><pre>a</pre></div></table></div>",
            "```python\na\n```",
        ),
        (
            "<pre><span class=line><span class=ln>1</span>a</span></pre>",
            "```\na\n```",
        ),
        ("<pre><span class=ln>a</span></pre>", "```\na\n```"),
        (
            "<pre class='sourceCode haskell'>a</pre>",
            "```haskell\na\n```",
        ),
        (
            "<pre class='sourceCode python code-with-copy'><code class='sourceCode python'>a</code></pre>",
            "```python\na\n```",
        ),
        (
            "<pre class='highlightjs highlight'><code class='language-java hljs' data-lang=java>a</code></pre>",
            "```java\na\n```",
        ),
        (
            "<pre class='rouge highlight'><code data-lang=ruby>a</code></pre>",
            "```ruby\na\n```",
        ),
        (
            "<pre class='hljs wp-block-code'><code class=language-go>a</code></pre>",
            "```go\na\n```",
        ),
        ("<pre class=code-block>a</pre>", "```\na\n```"),
        ("<pre class='hljs dark'>a</pre>", "```\na\n```"),
        ("<pre class='highlight chroma copy'>a</pre>", "```\na\n```"),
        (
            "<div class=highlight-wrapper><pre>a</pre></div>",
            "```\na\n```",
        ),
        ("<div class=lang-en><pre>a</pre></div>", "```\na\n```"),
        ("<div data-lang=en><pre>a</pre></div>", "```\na\n```"),
        (
            "<div class='highlight-promql notranslate'><div class=highlight><pre>a</pre></div></div>",
            "```promql\na\n```",
        ),
        (
            "<div class='language-js wrapper'><pre>a</pre></div>",
            "```js\na\n```",
        ),
        (
            "<table class='highlight tab-size js-file-line-container' data-tagsearch-lang=Rust>\
             <tr><td class=blob-num></td><td class=blob-code>a</td></tr></table>",
            "```rust\na\n```",
        ),
        (
            "<figure class='highlight python'><table><tr><td class=gutter><pre>1</pre></td>\
             <td class=code><pre>a</pre></td></tr></table></figure>",
            "```python\na\n```",
        ),
        ("<pre class='code php'>a</pre>", "```php\na\n```"),
        ("<pre class='src src-python'>a</pre>", "```python\na\n```"),
        (
            "<div class='highlight hl-ipython3'><pre>a</pre></div>",
            "```ipython3\na\n```",
        ),
        (
            "<table class=crayon-table><tr><td class=crayon-nums><div class=crayon-num>1</div>\
             <div class=crayon-num>2</div></td><td class=crayon-code><div class=crayon-line>a {</div>\
             <div class=crayon-line>&nbsp; b</div></td></tr></table>",
            "```\na {\n  b\n```",
        ),
        (
            "<div class='syntaxhighlighter php'><table><tr><td class=gutter><div class='line number1'>1</div></td>\
             <td class=code><div class=container><div class='line number1'>a;</div></div></td></tr></table></div>",
            "```\na;\n```",
        ),
        (
            "<div class='syntaxhighlighter java'><table><tr><td class=code><div class=container>\
             <div class='line'><code class='java keyword'>if</code> <code class='java plain'>(a)</code></div>\
             <div class='line'><code class='java spaces'>&nbsp;&nbsp;</code><code class='java plain'>b(</code><code>c);</code></div>\
             </div></td></tr></table></div>",
            "```\nif (a)\n  b(c);\n```",
        ),
        (
            "<table><tr><td class=line_numbers><pre>1\n2</pre></td><td class=code><pre class=php>a\nb</pre></td></tr></table>",
            "```\na\nb\n```",
        ),
        (
            "<p><label for=a>C</label><label for=b>C++</label></p>",
            "C C++",
        ),
        ("<pre class='brush: js; x'>a</pre>", "```js\na\n```"),
        (
            "<div class='highlight highlight-source-shell'><pre>a</pre></div>",
            "```shell\na\n```",
        ),
        (
            "<div class='highlight-default notranslate'><pre>a</pre></div>",
            "```\na\n```",
        ),
        (
            "<pre><span class=lineno>1</span>a<br>b&nbsp;c</pre>",
            "```\na\nb c\n```",
        ),
        ("<pre><div>a</div><div>b</div></pre>", "```\na\nb\n```"),
        ("<pre><code>a</code><code>b</code></pre>", "```\na\nb\n```"),
        ("<pre> \n </pre>a", "a"),
        (
            "<table><tr><td class=gutter><pre>1\n2</pre><td class=code><pre>a\nb</pre></table>",
            "```\na\nb\n```",
        ),
        (
            "<table><tr><th>A<tr><td><pre>a|b\nc</pre></table>",
            "| A |\n| --- |\n| `a\\|b`<br>`c` |",
        ),
    ]);
}

#[test]
fn lists_nest() {
    check(&[
        ("<ul><li>a<li>b</ul>", "- a\n- b"),
        ("<ol start=9><li>a<li>b</ol>", "9. a\n10. b"),
        ("<ol reversed><li>a<li>b</ol>", "2. a\n1. b"),
        ("<ol><li value=7>a<li>b</ol>", "7. a\n8. b"),
        ("<ol><li>a<ul><li>b</ul></ol>", "1. a\n   - b"),
        ("<ul><li>a<ol start=3><li>b</ol></ul>", "- a\n\n  3. b"),
        ("<ul><li>a<ul><li>b</ul>c</ul>", "- a\n  - b\n\n  c"),
        ("<ul><li>a<ul></ul><ul><li>b</ul></ul>", "- a\n  - b"),
        ("<ul><li>a</li><ul><li>b</ul><li>c</ul>", "- a\n  - b\n- c"),
        ("<ul><ul><ul><li>a</ul></ul></ul>", "- a"),
        ("<p>a</p><ol><ol><li>b</ol></ol>", "a\n\n1. b"),
        (
            "<ul><li>a</li><ul><ul><ul><li>b</ul></ul></ul></ul>",
            "- a\n  - b",
        ),
        ("<ul><li><p>a</p><li><p>b</p></ul>", "- a\n- b"),
        ("<ul><li><p>a</p><p>b</p><li>c</ul>", "- a\n\n  b\n\n- c"),
        ("<ul><li></li><li>a</ul>", "- a"),
        ("<ul><li>a</ul><ul><li>b</ul>", "- a\n\n* b"),
        ("<ol><li>a</ol><ol><li>b</ol>", "1. a\n\n1) b"),
        (
            "<ul><li>a<pre>b\n\nc</pre></ul>",
            "- a\n\n  ```\n  b\n\n  c\n  ```",
        ),
        ("<ul><li><blockquote>a</blockquote></ul>", "- > a"),
        ("<ul><li><h3>a</h3>b</ul>", "- ### a\n\n  b"),
        (
            "<ul><li><input type=checkbox checked> a<li><label><input type=checkbox>b</label></ul>",
            "- [x] a\n- [ ] b",
        ),
        ("<p><input type=checkbox> a", "a"),
        ("<li>a</li><li>b</li>", "- a\n- b"),
        ("<p>x</p><ul><li>a</ul><p>y</p>", "x\n\n- a\n\ny"),
        ("<menu><li>a</menu>", "- a"),
        ("<ul><li>a<hr>b</ul>", "- a\n\n  ---\n\n  b"),
        ("<ul><li><hr></ul>", "- ___"),
    ]);
}

#[test]
fn quotes_nest() {
    check(&[
        ("<blockquote><p>a</p><p>b</p></blockquote>", "> a\n>\n> b"),
        (
            "<blockquote>a<blockquote>b</blockquote>c</blockquote>",
            "> a\n>\n> > b\n>\n> c",
        ),
        (
            "<blockquote>a</blockquote><blockquote>b</blockquote>",
            "> a\n\n> b",
        ),
        (
            "<blockquote><ul><li>a<li>b</ul></blockquote>c",
            "> - a\n> - b\n\nc",
        ),
        (
            "<blockquote><pre>a\n\nb</pre></blockquote>",
            "> ```\n> a\n>\n> b\n> ```",
        ),
        ("<blockquote></blockquote>a", "a"),
        (
            "<blockquote><div><cite>bob wrote:</cite>Hello</div></blockquote>",
            "> *bob wrote:*\n>\n> Hello",
        ),
        (
            "<blockquote>Hello <cite>bob</cite>, too</blockquote>",
            "> Hello *bob*, too",
        ),
    ]);
}

#[test]
fn breaks_end_lines() {
    check(&[
        ("a<br>b", "a  \nb"),
        ("a<br><br>b", "a\n\nb"),
        ("<p><br>a<br></p>b", "a\n\nb"),
        ("a<br>\n b", "a  \nb"),
        ("<b>a<br>b</b>", "**a  \nb**"),
        ("<b>a<br></b>b", "**a**  \nb"),
        ("<blockquote>a<br>b</blockquote>", "> a  \n> b"),
        ("a<br>---", "a  \n\\---"),
        ("a<wbr>b", "ab"),
    ]);
}

#[test]
fn definitions_and_details_are_apart() {
    check(&[
        ("<dl><dt>a<dd>b<dd>c</dl>", "a\n\n: b\n\n: c"),
        ("<dl><dt>a<dd><p>b</p><p>c</p></dl>", "a\n\n: b\n\nc"),
        ("<dl><dt>a<dd>b<br>c</dl>", "a\n\n: b  \nc"),
        (
            "<dl><dt>a<dd><pre>b</pre>c<dd>d<pre>e</pre></dl>",
            "a\n\n```\nb\n```\n\nc\n\n: d\n\n```\ne\n```",
        ),
        ("<dl><dt>a<dd><dl><dt>b<dd>c</dl></dl>", "a\n\n: b\n\n: c"),
        ("<dl><dd><dl><dd><dl><dd>a</dl></dl></dl>", ": a"),
        ("<dl><dd><ul><li>a</ul>b</dl>", "- a\n\nb"),
        ("<dl><dd><ul></ul>b<h3>c</h3></dl>", ": b\n\n### c"),
        ("<dl><dd><h3>a</h3><hr></dl>", "### a\n\n---"),
        ("<dl><dd><blockquote>a</blockquote></dl>", "> a"),
        (
            "<dl><dd><table><tr><th>a<tr><td>b</table></dl>",
            "| a |\n| --- |\n| b |",
        ),
        (
            "<ul><li><dl><dt>a<dd>b<dd><pre>c</pre></dl></ul>",
            "- a\n\n  : b\n\n  ```\n  c\n  ```",
        ),
        ("<details><summary>a</summary>b</details>", "a\n\nb"),
        ("<address>a</address>b<center>c</center>", "a\n\nb\n\nc"),
    ]);
}

#[test]
fn what_no_reader_sees_is_left_out() {
    check(&[
        (
            "a<script>b</script><style>c</style><template>d</template><svg><title>e</title></svg>",
            "a",
        ),
        ("<p hidden>a</p>b", "b"),
        ("<p>a</p><p>\u{200d}</p><p>&#8203;</p><p>b</p>", "a\n\nb"),
        (
            "<span class='material-icons md-18'>menu</span>a<i class=material-symbols-outlined>close</i>",
            "a",
        ),
        ("<p style='color:red; DISPLAY : none'>a</p>b", "b"),
        ("<p style=visibility:hidden>a</p>b", "b"),
        ("<p hidden=until-found>a</p>", "a"),
        ("<div hidden id=S:1>a</div>", "a"),
        (
            "<div role=tabpanel hidden>a</div><div class=accordion__panel style=display:none>b</div>",
            "a\n\nb",
        ),
        ("<body style=visibility:hidden>a", "a"),
        ("<div aria-hidden=true>a</div>b", "b"),
        (
            "<i aria-hidden=true>★</i>b <span aria-hidden=true>c</span>",
            "b c",
        ),
        (
            "<select><option>a</select><textarea>b</textarea><button>c</button><input value=d>e",
            "e",
        ),
        ("<dialog>a</dialog><dialog open>b</dialog>", "b"),
        ("<!-- a -->b", "b"),
    ]);
}

#[test]
fn content_that_only_scripts_show_is_better_than_nothing() {
    check(&[
        ("<div style=display:none><p>a</p></div>", "a"),
        (
            "<noscript><h1>T</h1><p>a &amp; <a href=/x>b</a></noscript>",
            "# T\n\na & [b](https://host.example/x)",
        ),
        (
            "<noscript><ul><li>a<li><b>b</b></ul><pre>c &lt; d</pre></noscript>",
            "- a\n- **b**\n\n```\nc < d\n```",
        ),
    ]);
}

#[test]
fn formulas_are_tex() {
    check(&[
        (
            "<span class=katex><span class=katex-mathml><math><semantics><mi>x</mi><annotation \
             encoding=application/x-tex>x_1*y</annotation></semantics></math></span><span class=katex-html \
             aria-hidden=true>x1y</span></span>",
            "$x_1*y$",
        ),
        (
            "a <math display=block alttext='x^2'><mi>x</mi></math> b",
            "a\n\n$$x^2$$\n\nb",
        ),
        ("a <script type=math/tex>a_b</script>", "a $a_b$"),
        (
            "<math><mfrac><mi>a</mi><mi>b</mi></mfrac></math>",
            "$\\frac{a}{b}$",
        ),
        (
            "<math><msubsup><mi>x</mi><mn>1</mn><mn>2</mn></msubsup><mo>+</mo><msqrt><mi>y</mi></msqrt></math>",
            "${x}_{1}^{2}+\\sqrt{y}$",
        ),
        (
            "<span style='display: none'><math alttext='{\\displaystyle y}'><mi>y</mi></math></span><img \
             class=mwe-math-fallback-image-inline aria-hidden=true src=/y.svg>",
            "$y$",
        ),
    ]);
}

#[test]
fn white_space_is_one_space_and_words_stay_apart() {
    check(&[
        ("a&nbsp;&nbsp;b\t\n c", "a b c"),
        ("<p>&nbsp;</p>a", "a"),
        ("a<span> b</span> <span>c</span>", "a b c"),
        ("<div>a</div>b<div>c</div>", "a\n\nb\n\nc"),
        ("<x-a>a</x-a><x-a>b</x-a>", "a b"),
        ("<span class=n>47</span><span class=u>km</span>", "47 km"),
        (
            "<a href=/a><span>Action</span></a><a href=/b>Shooter</a><span>12</span>",
            "[Action](https://host.example/a) [Shooter](https://host.example/b) 12",
        ),
        (
            "<span>foo</span><span>bar</span> <span class=d>O</span><span>nce</span>",
            "foobar Once",
        ),
        (
            "<span style='display:block'>a</span><span style='display:block'>b</span>",
            "a\n\nb",
        ),
        ("a\u{200b}b\u{feff}c\u{ad}d", "abcd"),
        ("中文\n换行 a", "中文换行 a"),
        ("<p dir=rtl>שלום\u{200f} עולם</p>", "שלום\u{200f} עולם"),
        (
            "<ruby>漢<rp>(</rp><rt>かん</rt><rp>)</rp></ruby>",
            "漢(かん)",
        ),
        ("a\u{0}b\u{1}", "ab"),
    ]);
}

#[test]
fn escapes_stand_only_where_needed() {
    check(&[
        (
            "snake_case 2 * 3 a|b C:\\dir #tag 1.5 ~5 - x [1] a&b",
            "snake_case 2 * 3 a|b C:\\dir #tag 1.5 ~5 - x [1] a&b",
        ),
        (
            "*a* _b_ `c` ~~d~~ &lt;e> &amp;amp; [f](g) \\*",
            "\\*a\\* \\_b\\_ \\`c\\` \\~\\~d\\~\\~ \\<e> \\&amp; \\[f\\](g) \\\\\\*",
        ),
        (
            "<p># a</p><p>> b</p><p>- c</p><p>1. d</p><p>2) e</p>",
            "\\# a\n\n\\> b\n\n\\- c\n\n1\\. d\n\n2\\) e",
        ),
        // In the pieces that frameworks write.
        (
            "<p>1<!-- -->. a<p>1<!-- -->2<!-- -->) b<p><b>1</b>. c<p>3 <!-- -->. d",
            "1\\. a\n\n12\\) b\n\n**1**. c\n\n3 . d",
        ),
        (
            "[a]<!-- -->(b) [c]<span>: d</span> <ruby>[e]<rt>f</rt></ruby> [g] (h) [i] <b>(j)</b>",
            "[a\\](b) [c\\]: d [e\\](f) [g] (h) [i] **(j)**",
        ),
        (
            "<a href=/c>[a]<!-- -->(b)</a> [a\\]<!-- -->(b)",
            "[\\[a\\](b)](https://host.example/c) [a\\\\\\](b)",
        ),
        ("&amp;<!-- -->amp; &amp;<!-- --> b;", "\\&amp; & b;"),
        (
            "\\&amp;<!-- -->amp; &amp;lt;<!-- -->b;",
            "\\\\\\&amp; \\&lt;b;",
        ),
        ("[<!-- -->x<!-- -->] a", "\\[x] a"),
        ("[<!-- -->y<!-- -->] a", "[y] a"),
        ("--&shy;- <p>&lt;&#8203;b>", "\\---\n\n\\<b>"),
    ]);
}

#[test]
fn data_of_scripts_is_no_text() {
    let json = format!("{{\"a\": 1, \"b\": \"{}\", \"c\": {{}}}}", "x".repeat(200));
    assert_eq!(convert(&format!("<div>{json}</div><p>a")), "a");
    assert_eq!(
        convert(&format!("<pre>{json}</pre>")),
        format!("```\n{json}\n```")
    );
    let short = "{\"a\": 1}";
    assert_eq!(convert(&format!("<p>{short}")), short);
}
