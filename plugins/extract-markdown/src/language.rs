//! The language that a block of code names.
//!
//! Sites name it in three ways, and what is said more clearly is asked first wherever it stands: an
//! attribute or a class `language-…`, the prefixes of single highlighters, and a word beside the class
//! of a highlighter. The last two are also used for the look of a block (`highlight dark`,
//! `code-wrapper`), so there only names of languages count.

use std::borrow::Cow;

use orbweaver_sdk::dom::{Node, attr, tag};

/// Prefixes that say it of any word.
const STATED: &[&str] = &["language-", "lang-"];
/// Prefixes of highlighters whose other classes do not begin so.
const OWN: &[&str] = &["highlight-source-", "mw-highlight-lang-", "brush:", "lang:"];
/// Prefixes that begin other classes, too.
const SHARED: &[&str] = &["highlight-", "code-", "sp-", "src-", "hl-"];

/// Classes of highlighters, beside which a bare word may name the language.
const HIGHLIGHTERS: &[&str] = &[
    "CodeRay",
    "chroma",
    "code",
    "codehilite",
    "highlight",
    "highlightjs",
    "hljs",
    "prettyprint",
    "rouge",
    "sourceCode",
    "src",
];

/// The language that a block of code names: on a `<code>` in it, on itself, or on the boxes that
/// highlighters put around it. Empty if none is named.
pub(crate) fn of(block: Node<'_>) -> Cow<'_, str> {
    let inner = block.child_elements().find(|n| n.tag() == tag::CODE);
    let near = || inner.into_iter().chain([block]);
    let is_numbered = |n: Node<'_>| {
        let classes = n.attr(attr::CLASS).unwrap_or("");
        match n.tag() {
            tag::TABLE => classes.contains("highlighttable") || classes.contains("rouge-table"),
            tag::TD => classes.split_ascii_whitespace().any(|c| c == "code"),
            _ => false,
        }
    };
    // A table of line numbers and code stands between the code and the box.
    let is_listing = block.tag() == tag::TABLE || block.ancestors().take(6).any(is_numbered);
    let levels = if is_listing { 8 } else { 3 };
    let around = || {
        let boxes = block.ancestors().take(levels);
        boxes.filter(|n| matches!(n.tag(), tag::DIV | tag::FIGURE | tag::TD))
    };
    let found = near()
        .find_map(|n| stated(n, false))
        .or_else(|| around().find_map(|n| stated(n, true)))
        .or_else(|| near().find_map(prefixed))
        .or_else(|| around().find_map(prefixed))
        .or_else(|| near().find_map(beside))
        .or_else(|| {
            // Hexo's.
            let figure = around().find(|n| n.tag() == tag::FIGURE);
            figure.and_then(beside)
        });
    found.unwrap_or_default()
}

/// What an element states in an attribute or a class that is made for it. Of a box, whose words may be
/// about its text, only names of languages count.
fn stated(node: Node<'_>, is_box: bool) -> Option<Cow<'_, str>> {
    let named = [attr::DATA_LANG, attr::DATA_LANGUAGE, attr::LANGUAGE];
    let known = named.into_iter().filter_map(|name| node.attr(name));
    let others = ["data-enlighter-language", "data-tagsearch-lang"];
    let others = others.into_iter().filter_map(|name| node.attr_named(name));
    let fits = |name: &&str| !is_box || is_language(name);
    if let Some(language) = known.chain(others).filter_map(clean).find(fits) {
        return Some(lower_case(language));
    }
    let classes = node.attr(attr::CLASS)?;
    let found = STATED.iter().find_map(|prefix| {
        let names = rests(classes, prefix).filter_map(clean);
        names
            .filter(|name| !is_box || *prefix == "language-" || is_language(name))
            .find(|name| is_language(name) || !is_look(name))
    })?;
    Some(Cow::Borrowed(found))
}

/// What the prefixes of highlighters say.
fn prefixed(node: Node<'_>) -> Option<Cow<'_, str>> {
    let classes = node.attr(attr::CLASS)?;
    let own = OWN.iter().find_map(|prefix| {
        let mut tokens = classes.split_ascii_whitespace();
        let rest = match rests(classes, prefix).next()? {
            // SyntaxHighlighter's `brush: js;`
            "" => tokens.by_ref().skip_while(|t| t != prefix).nth(1)?,
            rest => rest,
        };
        clean(rest.trim_end_matches(';'))
    });
    let found = own.or_else(|| {
        let mut shared = SHARED.iter().flat_map(|prefix| rests(classes, prefix));
        shared.find(|rest| is_language(rest))
    });
    let rust = || classes.contains("rust-example-rendered").then_some("rust");
    // Sphinx's, which says so of any name.
    let sphinx = || {
        let mut words = classes.split_ascii_whitespace();
        let is_its = words.any(|word| word == "notranslate");
        rests(classes, "highlight-")
            .filter(|_| is_its)
            .find_map(clean)
    };
    found.or_else(sphinx).or_else(rust).map(Cow::Borrowed)
}

/// A name of a language beside the class of a highlighter: Pandoc's `sourceCode python`, highlight.js's
/// `hljs python`, Rouge's `highlight python`, DokuWiki's `code php`.
fn beside(node: Node<'_>) -> Option<Cow<'_, str>> {
    let classes = node.attr(attr::CLASS)?;
    let mut words = classes.split_ascii_whitespace();
    if !words.any(|word| HIGHLIGHTERS.contains(&word)) {
        return None;
    }
    let mut words = classes.split_ascii_whitespace();
    words.find(|word| is_language(word)).map(Cow::Borrowed)
}

/// What follows a prefix in each of the classes that begin with it.
fn rests<'a>(classes: &'a str, prefix: &str) -> impl Iterator<Item = &'a str> {
    let words = classes.split_ascii_whitespace();
    words.filter_map(move |word| word.strip_prefix(prefix))
}

/// A name that can be one: a fence's info string takes no spaces or backticks.
fn clean(name: &str) -> Option<&str> {
    let name = name.trim_ascii();
    let fits = (1..=24).contains(&name.len())
        && name
            .bytes()
            .all(|b| b.is_ascii_alphanumeric() || b"+#._-".contains(&b));
    let unknown = [
        "none",
        "plain",
        "text-plain",
        "auto",
        "undefined",
        "nohighlight",
        "default",
        "source",
        "highlight",
    ];
    (fits && !unknown.contains(&name)).then_some(name)
}

/// Words after `lang-` and `language-` that are about the box.
fn is_look(word: &str) -> bool {
    matches!(
        word,
        "block" | "box" | "container" | "label" | "name" | "switcher" | "tab" | "wrapper"
    )
}

fn lower_case(name: &str) -> Cow<'_, str> {
    if is_language(name) && name.bytes().any(|b| b.is_ascii_uppercase()) {
        Cow::Owned(name.to_ascii_lowercase())
    } else {
        Cow::Borrowed(name)
    }
}

/// Whether a word is a known name of a language, in any case.
fn is_language(word: &str) -> bool {
    let lower = word.bytes().map(|b| b.to_ascii_lowercase());
    let compare = |known: &&str| known.bytes().cmp(lower.clone());
    LANGUAGES.binary_search_by(compare).is_ok()
}

/// Names and usual short names of languages, as Linguist, Pygments, Prism and highlight.js have them.
/// Those that are also usual class names (`processing`, `rest`, `node`) are left out.
#[rustfmt::skip]
const LANGUAGES: &[&str] = &[
    "abap", "actionscript", "ada", "agda", "apache", "apacheconf", "apex", "apl", "applescript",
    "arduino", "armasm", "asciidoc", "asm", "asp", "aspx", "assembly", "astro", "autohotkey", "awk",
    "bash", "basic", "bat", "batch", "batchfile", "bibtex", "bicep", "brainfuck", "c", "c#", "c++",
    "caddyfile", "cfml", "clj", "clojure", "cmake", "cmd", "cobol", "coffee", "coffeescript",
    "console", "cpp", "crystal", "cs", "csharp", "cshtml", "css", "csv", "cuda", "cxx", "cypher",
    "cython", "d", "dart", "delphi", "diff", "django", "docker", "dockerfile", "dos", "dot", "edn",
    "ejs", "elisp", "elixir", "elm", "emacs-lisp", "erb", "erl", "erlang", "ex", "exs", "f#", "fish",
    "forth", "fortran", "fs", "fsharp", "gdscript", "gherkin", "git", "glsl", "go", "golang",
    "gradle", "graphql", "groovy", "haml", "handlebars", "haskell", "haxe", "hbs", "hcl", "hlsl",
    "hpp", "hs", "htm", "html", "htmldjango", "http", "idris", "ini", "ipython", "ipython2",
    "ipython3", "java", "javascript", "jinja", "jinja2", "jl", "js", "json", "json5", "jsonc",
    "jsonl", "jsonnet", "jsp", "jsx", "julia", "kotlin", "kt", "kts", "latex", "lean", "less", "liquid",
    "lisp", "livescript", "llvm", "lua", "makefile", "markdown", "markup", "mathematica", "matlab",
    "md", "mdx", "mermaid", "mips", "mjs", "mysql", "nasm", "nginx", "nim", "nix", "objc",
    "objective-c", "objectivec", "objectpascal", "ocaml", "octave", "odin", "pascal", "patch", "perl",
    "pgsql", "php", "pl", "plaintext", "plpgsql", "plsql", "postgres", "postgresql", "powershell",
    "prolog", "properties", "proto", "protobuf", "ps1", "pug", "puppet", "purescript", "py", "py3",
    "pycon", "pytb", "python", "python2", "python3", "qml", "r", "racket", "rb", "reasonml", "regex",
    "rego", "rs", "rst", "ruby", "rust", "sas", "sass", "scala", "scheme", "scss", "sed", "sh",
    "sh-session", "shell", "shell-session", "shellsession", "smalltalk", "sol", "solidity", "sparql",
    "sql", "sqlite", "stata", "svelte", "swift", "systemverilog", "tcl", "terraform", "tex", "text",
    "tf", "thrift", "toml", "ts", "tsql", "tsx", "turtle", "twig", "txt", "typescript", "vala", "vb",
    "vbnet", "vbscript", "verilog", "vhdl", "vim", "viml", "visualbasic", "vue", "wasm", "wat",
    "wgsl", "x86asm", "xhtml", "xml", "xquery", "xsl", "xslt", "yaml", "yml", "zig", "zsh",
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_languages_are_in_order_and_found_in_any_case() {
        assert!(LANGUAGES.is_sorted());
        for known in ["abap", "c++", "Rust", "JavaScript", "zsh"] {
            assert!(is_language(known), "{known}");
        }
        for other in ["", "dark", "with-copy", "block", "rustic", "zzz"] {
            assert!(!is_language(other), "{other}");
        }
    }
}
