//! Metas, titles, style sheets and scripts.

use crate::Pattern;

patterns! {
    "metas": "", "<meta name=a{i} content=b>", "";
    "metas-same": "", "<meta name=description content='b {i}'>", "";
    "metas-og": "", "<meta property=og:image content=/{i}>", "";
    "metas-og-names": "", "<meta property=og:a{i} content=b>", "";
    "metas-names": "<meta name='", " a{i}", "' content=b>";
    "metas-names-long-content": "<meta content='{2000*y}' name='", " a{i}", "'>";
    "metas-og-names-long-content": "<meta content='{2000*y}' property='", " og:a{i}", "'>";
    "metas-dc-names-long-content": "<meta content='{2000*y}' name='", " dc.a{i}", "'>";
    "metas-robots": "", "<meta name=robots content='a{i}, b'>", "";
    "metas-robots-date": "<meta name=robots content='", " ", "unavailable_after: ", "1,", "'>";
    "metas-robots-list": "<meta name=robots content='", "a{i},", "'>";
    "metas-keywords": "<meta name=keywords content='", "a,", "'>";
    "metas-refresh": "", "<meta http-equiv=refresh content='1;url=a'>", "";
    "metas-authors": "", "<meta name=author content='A B {i}'>", "";
    "links-canonical": "", "<link rel=canonical href=/{i}>", "";
    "links-rel": "<link href=a rel='", " a{i}", "'>";
    "titles": "", "<title>a</title>", "";
    "title-open": "", "<title>a", "";
    "title-long": "<title>", "a ", "</title>";
    "title-bars": "<title>", "a | ", "</title>";
    "title-dashes": "<title>a", " - a", "</title><h1>a</h1>";
    "styles": "", "<style>a{}</style>", "";
    "style-open": "<style>", "</style ", "";
    "scripts": "", "<script>a</script>", "";
    "script-open": "<script>", "</script ", "";
    "script-escaped": "<script>", "<!--<script>", "";
    "script-comments": "<script>", "<!--", "";
    "script-dashes": "<script><!--", "-", "";
    "script-ends": "<script>", "</script", "";
    "heads": "", "<head>", "";
    "bodies": "", "</body>", "";
    "htmls": "", "</html>", "";
    "title-parts": "<h1>a</h1><title>", "a | b - ", "</title>";
    "titles-headings": "<title>a - b</title>", "<h1>a b</h1>", "";
}
