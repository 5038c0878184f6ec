//! Warnings about crawl options that have no effect.

use crate::request::CheckedCrawl;

/// A sentence for each option without effect, and for each path pattern that no path matches.
pub fn advice(checked: &CheckedCrawl) -> Vec<String> {
    let (spec, is_monitor) = (&checked.spec, checked.cron.is_some());
    let mut said = Vec::new();
    if is_monitor && checked.max_age_seconds.is_some() {
        said.push(
            "max_age_seconds has no effect with cron: a monitor's runs are always new".to_owned(),
        );
    }
    if !is_monitor && spec.return_only_changed {
        said.push(
            "return_only_changed has no effect without cron: a single run is compared with none"
                .to_owned(),
        );
    }
    let lists = [
        ("exclude_paths", &spec.exclude_paths),
        ("include_paths", &spec.include_paths),
    ];
    for (field, patterns) in lists {
        for (index, pattern) in patterns.iter().enumerate() {
            if let Some(c) = foreign(pattern) {
                let mut bytes = [0; 4];
                let bytes = c.encode_utf8(&mut bytes).bytes();
                let escaped: String = bytes.map(|byte| format!("%{byte:02X}")).collect();
                said.push(format!(
                    "{field}[{index}] has a character that no path has: write it as the paths do, \
                     {escaped}"
                ));
            }
        }
    }
    said
}

/// The first character of a pattern that URLs have in percent-encoded form only.
fn foreign(pattern: &str) -> Option<char> {
    // In the verbose mode white space is for people.
    let mut flags = pattern.split("(?").skip(1);
    let is_verbose = flags.any(|rest| {
        let letters = rest.split([':', ')', '-', '<', 'P']).next();
        letters.is_some_and(|letters| letters.contains('x'))
    });
    pattern.chars().find(|c| match c {
        ' ' | '\t' | '\n' | '\r' => !is_verbose,
        '"' => true,
        c => !c.is_ascii() || c.is_ascii_control(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::spec::CrawlSpec;

    fn said(cron: bool, change: impl FnOnce(&mut CheckedCrawl)) -> Vec<String> {
        let mut checked = CheckedCrawl {
            spec: CrawlSpec::new("https://a.example/"),
            cron: cron.then(|| "0 0 * * *".to_owned()),
            max_age_seconds: None,
            may_wait: false,
        };
        change(&mut checked);
        advice(&checked)
    }

    #[test]
    fn options_without_effect_are_named() {
        for cron in [false, true] {
            let said = |change: fn(&mut CheckedCrawl)| said(cron, change);
            assert_eq!(said(|_| {}).len(), 0);
            let with_age = said(|checked| checked.max_age_seconds = Some(5));
            assert_eq!(with_age.len(), usize::from(cron));
            assert!(
                with_age
                    .iter()
                    .all(|said| said.starts_with("max_age_seconds "))
            );
            let only_changed = said(|checked| checked.spec.return_only_changed = true);
            assert_eq!(only_changed.len(), usize::from(!cron));
        }
    }

    #[test]
    fn patterns_that_no_path_matches_are_named() {
        let exclude = |patterns: &[&str]| {
            let patterns = patterns.iter().map(|&pattern| pattern.to_owned());
            said(false, |checked| {
                checked.spec.exclude_paths = patterns.collect()
            })
        };
        assert_eq!(
            exclude(&["/a/", "ä"]),
            ["exclude_paths[1] has a character that no path has: write it as the paths do, %C3%A4"]
        );
        assert_eq!(exclude(&["e f"]).len(), 1);
        let fine = [
            "^/blog/[0-9]{4}/(?<name>[a-z-]+)\\.html$",
            "%C3%A4",
            "(?x) a b",
            "a\\sb",
        ];
        assert_eq!(exclude(&fine), [""; 0]);
    }
}
