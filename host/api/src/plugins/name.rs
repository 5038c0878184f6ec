//! `{name}` in a path: NAME, or `actor-NAME`, `extract-NAME`, `site-NAME`, `hook-NAME`
//! where several kinds share it.

use orbweaver_engine::Kind;

/// Whether `given` may stand for a plugin of this kind and name.
pub(super) fn means(given: &str, kind: Kind, name: &str) -> bool {
    given == name || given.strip_prefix(kind.file_prefix()) == Some(name)
}

/// The plugin that `given` stands for, among these. The error for an ambiguous name says how to be clear.
pub(super) fn find(
    given: &str,
    plugins: &[(Kind, String)],
) -> Result<Option<(Kind, String)>, String> {
    let named: Vec<_> = plugins.iter().filter(|(_, name)| name == given).collect();
    match named.as_slice() {
        [one] => return Ok(Some((*one).clone())),
        [] => {}
        several => {
            let words: Vec<String> = several
                .iter()
                .map(|(kind, name)| format!("{}{name}", kind.file_prefix()))
                .collect();
            return Err(format!(
                "several plugins have it; say {}",
                words.join(" or ")
            ));
        }
    }
    let prefixed = Kind::ALL.into_iter().find_map(|kind| {
        let name = given.strip_prefix(kind.file_prefix())?;
        plugins
            .iter()
            .find(|(known, other)| *known == kind && other == name)
            .cloned()
    });
    Ok(prefixed)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_shared_name_needs_its_prefix() {
        let plugins = [
            (Kind::Extractor, "article".to_owned()),
            (Kind::Actor, "article".to_owned()),
            (Kind::Fetcher, "news".to_owned()),
        ];
        assert_eq!(find("news", &plugins), Ok(Some(plugins[2].clone())));
        assert_eq!(find("site-news", &plugins), Ok(Some(plugins[2].clone())));
        assert_eq!(find("actor-news", &plugins), Ok(None));
        assert_eq!(
            find("actor-article", &plugins),
            Ok(Some(plugins[1].clone()))
        );
        let error = find("article", &plugins).unwrap_err();
        assert!(
            error.contains("extract-article or actor-article"),
            "{error}"
        );
    }
}
