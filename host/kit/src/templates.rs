//! The texts of new projects, for each kind of plugin and each language.

use orbweaver_engine::Kind;

use crate::project::Language;

/// A page of the web, or of the fixtures.
const PAGE: &str = include_str!("../templates/fixtures/page.html");

/// A call of the fixtures: its name, the call and the expected answer.
pub(crate) type CaseTexts = (&'static str, &'static str, &'static str);

/// What the projects of a kind have in every language.
pub(crate) struct KindTexts {
    pub manifest: &'static str,
    pub cases: &'static [CaseTexts],
    /// The page of the calls, as a file of the fixtures.
    pub page: Option<&'static str>,
    /// What the web answers to the calls' request: its URL, its content type and its body.
    pub web: Option<(&'static str, &'static str, &'static str)>,
}

impl KindTexts {
    /// The texts of a kind.
    pub const fn of(kind: Kind) -> Self {
        match kind {
            Kind::Extractor => Self {
                manifest: include_str!("../templates/extractor.plugin.toml"),
                cases: &[(
                    "first",
                    include_str!("../templates/fixtures/extractor.case.json"),
                    include_str!("../templates/fixtures/extractor.expected.json"),
                )],
                page: Some(PAGE),
                web: None,
            },
            Kind::Actor => Self {
                manifest: include_str!("../templates/actor.plugin.toml"),
                cases: &[(
                    "first",
                    include_str!("../templates/fixtures/actor.case.json"),
                    include_str!("../templates/fixtures/actor.expected.json"),
                )],
                page: None,
                web: Some(("https://example.com/", "text/html", PAGE)),
            },
            Kind::Fetcher => Self {
                manifest: include_str!("../templates/fetcher.plugin.toml"),
                cases: &[
                    (
                        "first",
                        include_str!("../templates/fixtures/fetcher.case.json"),
                        include_str!("../templates/fixtures/fetcher.expected.json"),
                    ),
                    (
                        "unknown-path",
                        include_str!("../templates/fixtures/fetcher.unknown-path.case.json"),
                        include_str!("../templates/fixtures/fetcher.unknown-path.expected.json"),
                    ),
                ],
                page: None,
                web: Some((
                    "https://example.com/posts.json",
                    "application/json",
                    include_str!("../templates/fixtures/posts.json"),
                )),
            },
            Kind::Hook => Self {
                manifest: include_str!("../templates/hook.plugin.toml"),
                cases: &[(
                    "first",
                    include_str!("../templates/fixtures/hook.case.json"),
                    include_str!("../templates/fixtures/hook.expected.json"),
                )],
                page: Some(PAGE),
                web: None,
            },
        }
    }
}

/// The sources of a project: path in the project and text of each file. `README.md` and `.gitignore` are
/// among them; the Rust SDK, or the interface's WIT, is not.
pub(crate) fn sources(language: Language, kind: Kind) -> Vec<(&'static str, &'static str)> {
    match language {
        Language::Rust => rust(kind).to_vec(),
        Language::JavaScript => javascript(kind),
        Language::Python => python(kind),
    }
}

fn rust(kind: Kind) -> [(&'static str, &'static str); 4] {
    let code = match kind {
        Kind::Extractor => include_str!("../templates/rust/extractor.rs"),
        Kind::Actor => include_str!("../templates/rust/actor.rs"),
        Kind::Fetcher => include_str!("../templates/rust/fetcher.rs"),
        Kind::Hook => include_str!("../templates/rust/hook.rs"),
    };
    [
        (
            "Cargo.toml",
            include_str!("../templates/rust/Cargo.template.toml"),
        ),
        ("src/lib.rs", code),
        ("README.md", include_str!("../templates/rust/README.md")),
        (".gitignore", "/build\n/target\n"),
    ]
}

/// The document of both scripting languages.
const SCRIPTED: (&str, &str) = ("README.md", include_str!("../templates/scripted.README.md"));

fn javascript(kind: Kind) -> Vec<(&'static str, &'static str)> {
    /// The tool chain with QuickJS. Its components are small, and cannot be called with a page.
    const QUICKJS: [(&str, &str); 2] = [
        (
            "package.json",
            include_str!("../templates/javascript/quickjs.package.json"),
        ),
        (
            "build.mjs",
            include_str!("../templates/javascript/quickjs.build.mjs"),
        ),
    ];
    /// The tool chain with SpiderMonkey, for plugins that are called with a page.
    const SPIDERMONKEY: [(&str, &str); 2] = [
        (
            "package.json",
            include_str!("../templates/javascript/spidermonkey.package.json"),
        ),
        (
            "build.mjs",
            include_str!("../templates/javascript/spidermonkey.build.mjs"),
        ),
    ];
    let (tools, code) = match kind {
        Kind::Extractor => (
            SPIDERMONKEY,
            include_str!("../templates/javascript/extractor.js"),
        ),
        Kind::Hook => (
            SPIDERMONKEY,
            include_str!("../templates/javascript/hook.js"),
        ),
        Kind::Actor => (QUICKJS, include_str!("../templates/javascript/actor.js")),
        Kind::Fetcher => (QUICKJS, include_str!("../templates/javascript/fetcher.js")),
    };
    let mut files = tools.to_vec();
    files.extend([
        ("src/plugin.js", code),
        (
            "src/orbweaver/errors.js",
            include_str!("../templates/javascript/errors.js"),
        ),
        SCRIPTED,
        (".gitignore", "/build\n/node_modules\n"),
    ]);
    if has_web(kind) {
        files.push((
            "src/orbweaver/http.js",
            include_str!("../templates/javascript/http.js"),
        ));
    }
    files
}

fn python(kind: Kind) -> Vec<(&'static str, &'static str)> {
    let code = match kind {
        Kind::Extractor => include_str!("../templates/python/extractor.py"),
        Kind::Actor => include_str!("../templates/python/actor.py"),
        Kind::Fetcher => include_str!("../templates/python/fetcher.py"),
        Kind::Hook => include_str!("../templates/python/hook.py"),
    };
    let mut files = vec![
        (
            "requirements.txt",
            include_str!("../templates/python/requirements.txt"),
        ),
        ("src/plugin.py", code),
        (
            "src/orbweaver/errors.py",
            include_str!("../templates/python/errors.py"),
        ),
        SCRIPTED,
        (".gitignore", "/.venv\n/build\n__pycache__\n"),
    ];
    if has_web(kind) {
        files.push((
            "src/orbweaver/web.py",
            include_str!("../templates/python/web.py"),
        ));
    }
    files
}

/// Whether plugins of a kind may send requests.
const fn has_web(kind: Kind) -> bool {
    matches!(kind, Kind::Actor | Kind::Fetcher)
}

/// The WIT world of a project in a scripting language: what its code imports and exports, no more.
pub(crate) fn world(language: Language, kind: Kind) -> String {
    let mut uses = vec!["import log"];
    uses.extend(match (language, kind) {
        (_, Kind::Extractor) => &["import dom", "export extracting"][..],
        (_, Kind::Hook) => &["import dom", "export hooking"],
        (Language::Python, Kind::Actor) => &["import http", "import extraction", "export acting"],
        (Language::Python, Kind::Fetcher) => &["import http", "export fetching"],
        (_, Kind::Actor) => &[
            "import batch",
            "import extraction-sync",
            "export acting-sync",
        ],
        (_, Kind::Fetcher) => &["import batch", "export fetching-sync"],
    });
    let line = |part: &str| {
        let (word, interface) = part.split_once(' ').unwrap_or((part, ""));
        format!("    {word} orbweaver:plugin/{interface}@1.1.0;\n")
    };
    let lines: String = uses.into_iter().map(line).collect();
    include_str!("../templates/world.wit").replace("{{uses}}", &lines)
}
