//! Messages about a missing permission: which one a plugin needs, and how to grant it.

use super::{EffectivePermissions, Permissions};

/// A permission that a plugin needs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Need<'a> {
    Http,
    Extract(&'a str),
    Render,
    CrawlData,
    State,
    Secret(&'a str),
    Wasi(&'a str),
}

impl Need<'_> {
    /// The form in which an operator grants it.
    pub fn grant(self) -> String {
        match self {
            Self::Http => "http".to_owned(),
            Self::Extract(role) => format!("extract={role}"),
            Self::Render => "render".to_owned(),
            Self::CrawlData => "crawl-data".to_owned(),
            Self::State => "state".to_owned(),
            Self::Secret(name) => format!("secret={name}"),
            Self::Wasi(capability) => format!("wasi={capability}"),
        }
    }

    /// The line with which a manifest requests it.
    fn line(self) -> String {
        match self {
            Self::Http => "http = [\"https://HOST\"]".to_owned(),
            Self::Extract(role) => format!("extract = [\"{role}\"]"),
            Self::Render => "render = true".to_owned(),
            Self::CrawlData => "crawl-data = true".to_owned(),
            Self::State => "state = true".to_owned(),
            Self::Secret(name) => format!("secrets = [\"{name}\"]"),
            Self::Wasi(capability) => format!("wasi = [\"{capability}\"]"),
        }
    }

    /// The setting of a tier that allows it to plugins of projects; `extract` is allowed to all.
    fn cap(self) -> Option<&'static str> {
        match self {
            Self::Http => Some("http"),
            Self::Extract(_) => None,
            Self::Render => Some("render"),
            Self::CrawlData => Some("crawl_data"),
            Self::State => Some("state"),
            Self::Secret(_) => Some("secrets"),
            Self::Wasi(_) => Some("wasi"),
        }
    }

    fn is_in(self, asked: &Permissions) -> bool {
        let has = |list: &[String], name: &str| list.iter().any(|one| one == name || one == "*");
        match self {
            Self::Http => !asked.http.is_empty(),
            Self::Extract(role) => has(&asked.extract, role),
            Self::Render => asked.render,
            Self::CrawlData => asked.crawl_data,
            Self::State => asked.state,
            Self::Secret(name) => has(&asked.secrets, name),
            Self::Wasi(capability) => has(&asked.wasi, capability),
        }
    }
}

impl EffectivePermissions {
    /// Why a permission is not there, and where to add it.
    pub fn remedy(&self, need: Need<'_>) -> String {
        let (grant, line) = (need.grant(), need.line());
        if self
            .accepted
            .as_ref()
            .is_some_and(|accepted| need.is_in(accepted))
        {
            return match need.cap() {
                Some(cap) => {
                    format!("the project's tier does not allow it (tiers.NAME.plugins.{cap})")
                }
                None => "the project's tier does not allow it".to_owned(),
            };
        }
        if need.is_in(&self.asked) {
            return format!(
                "it was not granted; add ?grant={grant} to the upload, or set plugins.grants for a \
                 plugin of the folder"
            );
        }
        let also = match need {
            // Granted to all.
            Need::Extract(_) => String::new(),
            _ => format!(", and ?grant={grant} to the upload"),
        };
        format!("the manifest does not ask for it; add `{line}` to its [permissions]{also}")
    }
}

impl Permissions {
    /// Whether a grant, as an operator writes it, gives a plugin something that its manifest asks for.
    pub fn ask_for(&self, grant: &str) -> bool {
        let need = match grant.split_once('=') {
            None => match grant {
                "http" => Need::Http,
                "render" => Need::Render,
                "crawl-data" => Need::CrawlData,
                "state" => Need::State,
                "secret" => return !self.secrets.is_empty(),
                "wasi" => return !self.wasi.is_empty(),
                _ => return true,
            },
            Some(("http", _)) => Need::Http,
            Some(("secret", name)) => Need::Secret(name),
            Some(("wasi", capability)) => Need::Wasi(capability),
            Some(_) => return true,
        };
        need.is_in(self)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_remedy_says_whether_the_manifest_or_the_upload_lacks_the_permission() {
        let asked = Permissions {
            state: true,
            secrets: vec!["crm".to_owned()],
            ..Permissions::default()
        };
        let got = EffectivePermissions::new(&asked, &Permissions::default()).unwrap();
        for (need, said) in [
            (
                Need::State,
                "it was not granted; add ?grant=state to the upload, or set plugins.grants for a plugin of \
                 the folder",
            ),
            (
                Need::Secret("crm"),
                "it was not granted; add ?grant=secret=crm to the upload, or set plugins.grants for a \
                 plugin of the folder",
            ),
            (
                Need::Secret("other"),
                "the manifest does not ask for it; add `secrets = [\"other\"]` to its [permissions], and \
                 ?grant=secret=other to the upload",
            ),
            (
                Need::Extract("links"),
                "the manifest does not ask for it; add `extract = [\"links\"]` to its [permissions]",
            ),
        ] {
            assert_eq!(got.remedy(need), said);
            let narrowed = got.narrowed(&Permissions::all()).unwrap();
            assert_eq!(narrowed.remedy(need), said, "of a project's plugin");
        }
        let all = Permissions::all();
        let accepted = EffectivePermissions::new(&all, &all).unwrap();
        let narrowed = accepted.narrowed(&Permissions::default()).unwrap();
        for (need, field) in [
            (Need::Http, "http"),
            (Need::Render, "render"),
            (Need::CrawlData, "crawl_data"),
            (Need::State, "state"),
            (Need::Secret("crm"), "secrets"),
            (Need::Wasi("clocks"), "wasi"),
        ] {
            let said = format!("the project's tier does not allow it (tiers.NAME.plugins.{field})");
            assert_eq!(narrowed.remedy(need), said);
        }
    }

    #[test]
    fn a_grant_is_in_vain_if_the_manifest_does_not_ask_for_it() {
        let asked = Permissions {
            http: vec!["https://a.example".to_owned()],
            secrets: vec!["crm".to_owned()],
            wasi: vec!["clocks".to_owned()],
            ..Permissions::default()
        };
        for (grant, is_asked) in [
            ("all", true),
            ("log", true),
            ("extract=links", true),
            ("http", true),
            ("http=https://b.example", true),
            ("secret=crm", true),
            ("secret", true),
            ("secret=other", false),
            ("wasi=clocks", true),
            ("wasi=random", false),
            ("state", false),
            ("render", false),
            ("crawl-data", false),
        ] {
            assert_eq!(asked.ask_for(grant), is_asked, "{grant}");
        }
    }
}
