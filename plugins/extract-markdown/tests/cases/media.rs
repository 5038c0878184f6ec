//! Links, images and other media.

use crate::check;

#[test]
fn links_lead_where_they_did() {
    check(&[
        (
            "<a href=/a title=T>x</a>",
            "[x](https://host.example/a \"T\")",
        ),
        ("<a href=/a title=x>x</a>", "[x](https://host.example/a)"),
        ("<a href=b?c#d>x</a>", "[x](https://host.example/dir/b?c#d)"),
        ("<a href=//o.example/a>x</a>", "[x](https://o.example/a)"),
        ("<a href='#f'>x</a>", "[x](#f)"),
        (
            "<a href=mailto:a@b.example>x</a>",
            "[x](mailto:a@b.example)",
        ),
        ("<a href='java\nscript:x'>x</a>", "x"),
        ("<a href=' javascript:x'>x</a>", "x"),
        ("<a href=''>x</a><a name=n>y</a>", "xy"),
        ("<a href=/a></a>x", "x"),
        ("<a href=/a> </a>x", "x"),
        (
            "<a href=/a><svg></svg></a> <a href=/b aria-label=B><svg></svg></a>",
            "[B](https://host.example/b)",
        ),
        (
            "<a href=/a>x</a><a href=/b>y</a>",
            "[x](https://host.example/a) [y](https://host.example/b)",
        ),
        (
            "<b><a href=/a>x</a></b><a href=/b>y</a>",
            "**[x](https://host.example/a)** [y](https://host.example/b)",
        ),
        (
            "<a href=/a><button>Buy</button></a> <button>Menu</button>",
            "[Buy](https://host.example/a)",
        ),
        (
            "<dl><dt>term<a href='#t' title='Link to this definition'>¶</a><dd>x</dl>",
            "term\n\n: x",
        ),
        ("<p>term<a class=headerlink href='#t'>¶</a></p>", "term"),
        ("<p>x<a href='#fnref1'>↩</a></p>", "x[↩](#fnref1)"),
        (
            "<p>Text<sup><a href='#n1'>[14]</a></sup>.</p>",
            "Text[\\[14\\]](#n1).",
        ),
        ("Hi!<a href=/a>x</a>", "Hi\\![x](https://host.example/a)"),
        ("<a href=/a(b>x</a>", "[x](<https://host.example/a(b>)"),
        ("<a href=/a><b>x</b></a>", "[**x**](https://host.example/a)"),
        (
            "<a href=/a><h2>x</h2><p>y</p></a>",
            "## [x](https://host.example/a)\n\n[y](https://host.example/a)",
        ),
        (
            "<a href=/a>a\n [b]</a>",
            "[a \\[b\\]](https://host.example/a)",
        ),
        (
            "<base href=/o/><a href=x>x</a>",
            "[x](https://host.example/o/x)",
        ),
        (
            "<map><area href=/a alt=A><area href=/b></map>",
            "[A](https://host.example/a)",
        ),
    ]);
}

#[test]
fn images_have_the_address_that_a_reader_would_load() {
    check(&[
        (
            "<img src=a.png alt=A title=T>",
            "![A](https://host.example/dir/a.png \"T\")",
        ),
        ("<img src=a.png>", "![](https://host.example/dir/a.png)"),
        (
            "<img src=data:image/gif;base64,R0 data-src=/b.png alt='[A]'>",
            "![\\[A\\]](https://host.example/b.png)",
        ),
        (
            "<img src=data:image/gif;base64,R0 nitro-lazy-src=/b.png>",
            "![](https://host.example/b.png)",
        ),
        // What a script shows when the picture fails to load, or until it has.
        (
            "<img data-fallback-src=/no.png data-error-src=/no.png src=/a.png>",
            "![](https://host.example/a.png)",
        ),
        (
            "<img data-lazy-placeholder-src=/no.png data-default-srcset=/no.png data-lazy-src=/a.png>",
            "![](https://host.example/a.png)",
        ),
        ("a<img data-fallback-src=/no.png>b", "ab"),
        // Of any other name only where there is nothing better.
        (
            "<img data-mobile-src=/b.png src=/a.png>",
            "![](https://host.example/a.png)",
        ),
        (
            "<img data-mobile-src=/b.png src=/spacer.gif>",
            "![](https://host.example/b.png)",
        ),
        (
            "<img data-mobile-src=/b.png src=data:image/gif;base64,R0>",
            "![](https://host.example/b.png)",
        ),
        (
            "<img srcset='/a.png 1x, /b.png 2x, /c.png'>",
            "![](https://host.example/b.png)",
        ),
        (
            "<img src=/spacer.gif srcset='/a.png 300w,/b.png 600w'>",
            "![](https://host.example/b.png)",
        ),
        (
            "<picture><source srcset=/a.webp><img alt=A></picture>",
            "![A](https://host.example/a.webp)",
        ),
        (
            "<picture><source srcset=/a.webp><img src=/a.png></picture>",
            "![](https://host.example/a.png)",
        ),
        ("a<img src=data:image/gif;base64,R0>b", "ab"),
        ("a<img src=data:image/gif;base64,R0 alt=A>b", "a A b"),
        ("a<img src=/p.gif width=40 height=1>", "a"),
        (
            "<img src=data:image/gif;base64,R0 alt=A><noscript><img src=/a.png alt=A></noscript>",
            "![A](https://host.example/a.png)",
        ),
        (
            "<img data-src=/a.png><noscript><img src=/a.png></noscript>",
            "![](https://host.example/a.png)",
        ),
        ("a<noscript>b<img src=/t.gif width=1></noscript>", "a"),
        (
            "<img src=data:image/gif;base64,R0><noscript><img src=/a.png style='border:none'></noscript>",
            "![](https://host.example/a.png)",
        ),
        (
            "a<noscript><img src=/a.png style='display: none'></noscript>",
            "a",
        ),
        (
            "<picture><source srcset='data:image/gif;base64,R0' data-srcset=/real.jpg><img src=/placeholder.svg></picture>",
            "![](https://host.example/real.jpg)",
        ),
        (
            "<img src=/img/clear.gif data-src-pc=/real.jpg>",
            "![](https://host.example/real.jpg)",
        ),
        // A picture of nothing.
        ("a<img src=/grey-placeholder.png>b", "ab"),
        ("a<img src='/img/clear.gif?v=1'>b", "ab"),
        (
            "<img src=/google-pixel.jpg><img src=/nuclear.gif>",
            "![](https://host.example/google-pixel.jpg)![](https://host.example/nuclear.gif)",
        ),
        ("<img srcset='#, # 2x' alt=A>", "A"),
        (
            "<img src=/a.jpg data-src='/b_{width}x.jpg'>",
            "![](https://host.example/a.jpg)",
        ),
        (
            "<amp-img src=/a.jpg width=1.33 height=1 alt=A></amp-img>",
            "![A](https://host.example/a.jpg)",
        ),
        (
            "<a href=/x><img src=/a.png alt=A></a>",
            "[![A](https://host.example/a.png)](https://host.example/x)",
        ),
        (
            "<figure><img src=/a.png><figcaption>C</figcaption></figure>",
            "![](https://host.example/a.png)\n\nC",
        ),
    ]);
}

#[test]
fn media_become_links() {
    check(&[
        (
            "a<iframe src=/f></iframe>b",
            "a\n\n<https://host.example/f>\n\nb",
        ),
        (
            "<iframe src=/f title=T></iframe>",
            "[T](https://host.example/f)",
        ),
        ("a<iframe src=/f width=0 height=0></iframe>", "a"),
        ("a<iframe src=about:blank></iframe>", "a"),
        (
            "<video src=/v.mp4></video>",
            "[Video](https://host.example/v.mp4)",
        ),
        (
            "<audio title=T><source src=/a.ogg>no</audio>",
            "[T](https://host.example/a.ogg)",
        ),
        ("<video>no video</video>", "no video"),
        (
            "a<amp-youtube data-videoid=x_1-Y></amp-youtube>b",
            "a\n\n[Video](https://www.youtube.com/watch?v=x_1-Y)\n\nb",
        ),
        (
            "<lite-youtube videoid=xyz playlabel='Webs'></lite-youtube>",
            "[Webs](https://www.youtube.com/watch?v=xyz)",
        ),
        ("<lite-youtube videoid='x y'></lite-youtube>", ""),
        (
            "<object data=/a.pdf></object>",
            "<https://host.example/a.pdf>",
        ),
    ]);
}
