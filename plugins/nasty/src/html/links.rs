//! Links, `<base>` and addresses.

use crate::Pattern;

patterns! {
    "links": "", "<a href=/p/{i}>a {i}</a> ", "";
    "links-open": "", "<a href=/{i}>a", "";
    "links-empty": "", "<a href=/{i}></a>", "";
    "links-blocks": "", "<a href=/{i}><div>a</div>", "";
    "links-table-cell": "", "<table><tr><td><a href=x>", "";
    "links-titles": "", "<a href=x title=y>", "";
    "links-titles-tables": "", "<a href=x title=y><table>", "";
    "links-icons": "", "<a href=x><svg><title>a</title></svg></a>", "";
    "links-fragments": "", "<a href=#{i} id={i}>a</a>", "";
    "links-dots": "<a href='", "../", "'>a</a>";
    "links-dots-many": "", "<a href=../../../../../../../../{i}>a</a>", "";
    "links-percent": "<a href='/", "%2e", "'>a</a>";
    "links-tags": "<div class='{500*a }'>", "<a rel=tag href={i}>b</a>", "";
    "links-unicode": "", "<a href='/é{i}?ü#ß'>a</a>", "";
    "links-parentheses": "<a href='/", "(", "'>a</a>";
    "links-area": "", "<area href=/{i} alt=a>", "";
    "links-alts": "<a href=x>", "<img alt=a>", "";
    "links-heading": "<h1>", "<a href=#{i}>a</a>", "";
    "links-nested-lists": "", "<ul><li><a href=/{i}>a</a>", "";
    "links-nav": "", "<nav><ul><li><a href=/{i}>a</a></ul></nav>", "";
    "links-long-rel": "<a href=x rel='", " nofollow", "'>a</a>";
    "links-labels": "", "<a href=x aria-label=b><table>", "";
    "links-headings": "", "<a href=x><h1>a", "";
    "base-many": "", "<base href=/{i}/>", "";
    "base-unusable": "", "<base href='ftp:{i}'>", "";
    "base-long-links": "<base href='/{7000*y}/'>", "<a href={i}>", "";
    "base-long-links-text": "<base href='/{7000*y}/'>", "<a href={i}>a</a>", "";
    "base-long-images": "<base href='/{7000*y}/'>", "<img src={i} alt=a>", "";
    "base-long-srcset": "<base href='/{7000*y}/'><img srcset='", "{i} 1x,", "'>";
    "base-long-feeds": "<base href='/{7000*y}/'>", "<link rel=alternate type=application/rss+xml href={i}>", "";
    "base-long-hreflang": "<base href='/{7000*y}/'>", "<link rel=alternate hreflang=a{i} href={i}>", "";
    "base-long-microdata": "<base href='/{7000*y}/'>", "<div itemscope><a itemprop=b href={i}>", "";
    "base-long-microdata-flat": "<base href='/{7000*y}/'><div itemscope>", "<a itemprop=b href={i}></a>", "";
    "base-long-rdfa": "<base href='/{7000*y}/'>", "<a property=schema:b href={i}></a>", "";
    "base-long-rdfa-types": "<base href='/{7000*y}/'>", "<div typeof=a{i} vocab={i}></div>", "";
    "base-long-hentry": "<base href='/{7000*y}/'>", "<a class='h-card u-url' href={i}>b</a>", "";
    "base-long-noscript": "<base href='/{7000*y}/'><noscript>", "<img src={i}>", "</noscript>";
    "base-long-frames": "<base href='/{7000*y}/'>", "<iframe src={i}></iframe>", "";
    "base-long-media": "<base href='/{7000*y}/'>", "<video src={i}></video>", "";
    "base-long-article": "<base href='/{7000*y}/'><article>", "<p>Some words of an article, so that it counts, and <a href={i}>b</a> more.", "";
}
