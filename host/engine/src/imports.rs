//! The imports that a component may have, and the exports that its kind needs.

use crate::api_version;
use crate::error::LoadError;
use crate::grants::{EffectivePermissions, Need};
use crate::inspect::Inspection;
use crate::kind::Kind;
use crate::manifest::{API_VERSION, HookPoint};

/// The calling convention, determined by a component's exports.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum World {
    Extractor,
    Actor,
    ActorSync,
    Fetcher,
    FetcherSync,
    Hook,
    DeliveryHook,
}

/// Determines the world by the exports, and checks every import against it and the grants.
pub(crate) fn check(found: &Inspection, grants: &EffectivePermissions) -> Result<World, LoadError> {
    let world = world(found)?;
    let mut refused: Vec<Refusal<'_>> = Vec::new();
    for import in &found.imports {
        if let Err(why) = allowed(import, world, grants) {
            // One import of a permission stands for all of them.
            let is_said = |earlier: &Refusal<'_>| matches!((&earlier.why, &why), (Why::Permission(a), Why::Permission(b)) if a == b);
            if !refused.iter().any(is_said) {
                refused.push(Refusal { import, why });
            }
        }
    }
    if refused.is_empty() {
        return Ok(world);
    }
    // A program that uses files also imports the clocks of their times: the files are the cause.
    refused.sort_by_key(|refusal| refusal.why != Why::Permission(Need::Wasi("filesystem")));
    let texts: Vec<String> = refused.iter().map(|one| one.told(grants)).collect();
    Err(LoadError::Import(texts.join("; ")))
}

/// An import that a plugin may not have.
struct Refusal<'a> {
    import: &'a str,
    why: Why<'a>,
}

#[derive(PartialEq, Eq)]
enum Why<'a> {
    /// It needs a permission.
    Permission(Need<'a>),
    /// The interface has another version here.
    Version,
    /// Plugins of this kind do not have it.
    World,
    /// No plugin has it.
    Unknown,
}

impl Refusal<'_> {
    fn told(&self, grants: &EffectivePermissions) -> String {
        let import = self.import;
        match self.why {
            Why::Permission(need) => {
                let hint = match need {
                    Need::Wasi("filesystem") => {
                        "; there are no files: the plugin or a library of it uses std::fs or its like"
                    }
                    _ => "",
                };
                let (permission, remedy) = (need.grant(), grants.remedy(need));
                format!("{import} (permission {permission}: {remedy}{hint})")
            }
            Why::Version => {
                let versions = api_version::supported();
                format!("{import}, but this host supports {versions}")
            }
            Why::World => format!("{import}, which plugins of this kind do not have"),
            Why::Unknown => format!("{import}, which is not part of the interface"),
        }
    }
}

/// Whether a component has imports that wait, so that it runs as a task.
pub(crate) fn may_wait(found: &Inspection) -> bool {
    let mut interfaces = found.imports.iter().filter_map(|import| ours(import));
    interfaces.any(|(interface, _)| interface == "state")
}

fn world(found: &Inspection) -> Result<World, LoadError> {
    let candidates: &[(&str, World)] = match found.manifest.kind {
        Kind::Extractor => &[("extracting", World::Extractor)],
        Kind::Actor => &[("acting", World::Actor), ("acting-sync", World::ActorSync)],
        Kind::Fetcher => &[
            ("fetching", World::Fetcher),
            ("fetching-sync", World::FetcherSync),
        ],
        Kind::Hook if found.manifest.hooks == [HookPoint::Deliver] => {
            &[("delivering", World::DeliveryHook)]
        }
        Kind::Hook => &[("hooking", World::Hook)],
    };
    let mut wrong_version = None;
    for export in &found.exports {
        let Some((interface, version)) = ours(export) else {
            continue;
        };
        let Some((_, world)) = candidates.iter().find(|(name, _)| *name == interface) else {
            continue;
        };
        if api_version::is_supported(version) {
            return Ok(*world);
        }
        wrong_version = Some(export);
    }
    let names: Vec<String> = candidates
        .iter()
        .map(|(name, _)| format!("orbweaver:plugin/{name}@{API_VERSION}"))
        .collect();
    Err(LoadError::Export(match wrong_version {
        Some(export) => format!(
            "{export}, but this host supports {}",
            api_version::supported()
        ),
        None => format!(
            "no {}, which a plugin of kind {} needs",
            names.join(" or "),
            found.manifest.kind
        ),
    }))
}

/// Splits `orbweaver:plugin/NAME@VERSION` into interface and version.
fn ours(name: &str) -> Option<(&str, &str)> {
    name.strip_prefix("orbweaver:plugin/")?.split_once('@')
}

fn allowed<'a>(
    import: &'a str,
    world: World,
    grants: &EffectivePermissions,
) -> Result<(), Why<'a>> {
    let needs = |need: Need<'a>| Err(Why::Permission(need));
    if let Some((interface, version)) = ours(import) {
        if !api_version::is_supported(version) {
            return Err(Why::Version);
        }
        let is_actor = matches!(world, World::Actor | World::ActorSync);
        let is_fetcher = matches!(world, World::Fetcher | World::FetcherSync);
        let calls_host = is_actor || is_fetcher;
        return match interface {
            "types" | "pages" | "dom" | "log" => Ok(()),
            "inputs" if matches!(world, World::Extractor | World::Hook) => Ok(()),
            // Not refused here but denied at each call: tool chains without tree shaking import
            // them whether the plugin calls them or not.
            "requests" | "parsing" | "batch" | "extraction" | "extraction-sync" | "state"
                if calls_host =>
            {
                Ok(())
            }
            "job" if is_actor => Ok(()),
            "crawl" if world == World::Hook => Ok(()),
            // Refused here, because a hook that has it waits for the database on every page.
            "state" if world == World::Hook && grants.state => Ok(()),
            "state" if world == World::Hook => needs(Need::State),
            "crawl-data" if world == World::ActorSync => Ok(()),
            "crawl-data" if is_actor && grants.crawl_data => Ok(()),
            "crawl-data" if is_actor => needs(Need::CrawlData),
            "http" if calls_host && !grants.http.is_empty() => Ok(()),
            "http" if calls_host => needs(Need::Http),
            "rendering" if calls_host && grants.render => Ok(()),
            "rendering" if calls_host => needs(Need::Render),
            _ => Err(Why::World),
        };
    }
    let Some((package, version)) = import.split_once('@') else {
        return Err(Why::Unknown);
    };
    if !version.starts_with("0.2.") {
        return Err(Why::Unknown);
    }
    let Some((package, interface)) = package.split_once('/') else {
        return Err(Why::Unknown);
    };
    match (package, interface) {
        ("wasi:cli", _) | ("wasi:io", "error" | "poll" | "streams") => Ok(()),
        ("wasi:random", "insecure-seed") => Ok(()),
        ("wasi:clocks" | "wasi:random" | "wasi:filesystem" | "wasi:sockets", _) => {
            let capability = package.trim_start_matches("wasi:");
            if grants.has_wasi(capability) {
                Ok(())
            } else {
                needs(Need::Wasi(capability))
            }
        }
        _ => Err(Why::Unknown),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::grants::Permissions;
    use crate::inspect::Shape;
    use crate::manifest::Manifest;

    fn component(kind: &str, imports: &[&str], exports: &[&str]) -> Inspection {
        let more = match kind {
            "fetcher" => "[fetcher]\ndomains = [\"a.org\"]",
            "hook" => "hooks = [\"record\"]",
            _ => "",
        };
        let own = |names: &[&str]| names.iter().map(|s| (*s).to_owned()).collect();
        Inspection {
            manifest: Manifest::parse(&format!(
                "name = \"x\"\nkind = \"{kind}\"\nversion = \"1\"\napi = \"1.0.0\"\n{more}"
            ))
            .unwrap(),
            imports: own(imports),
            exports: own(exports),
            size: 0,
            digest: String::new(),
            shape: Shape::default(),
        }
    }

    fn granted(names: &[&str]) -> EffectivePermissions {
        EffectivePermissions::new(
            &Permissions::all(),
            &Permissions::from_names(names).unwrap(),
        )
        .unwrap()
    }

    #[test]
    fn the_default_imports_need_no_grant() {
        let plugin = component(
            "extractor",
            &[
                "orbweaver:plugin/pages@1.0.0",
                "orbweaver:plugin/log@1.0.0",
                "wasi:cli/environment@0.2.6",
                "wasi:io/streams@0.2.0",
                "wasi:random/insecure-seed@0.2.6",
            ],
            &["orbweaver:plugin/extracting@1.0.0"],
        );
        assert_eq!(check(&plugin, &granted(&[])).unwrap(), World::Extractor);
    }

    #[test]
    fn refusals_name_the_import() {
        for import in [
            "wasi:clocks/wall-clock@0.2.6",
            "wasi:random/random@0.2.6",
            "wasi:filesystem/types@0.2.6",
            "wasi:http/outgoing-handler@0.2.6",
            "wasi:clocks/system-clock@0.3.0",
            "orbweaver:plugin/http@1.0.0",
            "orbweaver:plugin/state@1.1.0",
            "orbweaver:plugin/crawl@1.1.0",
            "orbweaver:plugin/pages@1.2.0",
            "orbweaver:plugin/pages@0.9.0",
            "evil:corp/backdoor",
        ] {
            let plugin = component(
                "extractor",
                &[import],
                &["orbweaver:plugin/extracting@1.0.0"],
            );
            let error = check(&plugin, &granted(&[])).unwrap_err();
            assert!(
                matches!(&error, LoadError::Import(name) if name.starts_with(import)),
                "{error}"
            );
        }
    }

    #[test]
    fn all_permissions_that_are_missing_are_named_at_once() {
        let imports = [
            "wasi:clocks/wall-clock@0.2.6",
            "wasi:clocks/monotonic-clock@0.2.6",
            "orbweaver:plugin/http@1.0.0",
            "orbweaver:plugin/state@1.1.0",
            "evil:corp/backdoor",
        ];
        let plugin = component("actor", &imports, &["orbweaver:plugin/acting@1.0.0"]);
        let error = check(&plugin, &granted(&[])).unwrap_err().to_string();
        assert_eq!(
            error,
            "imports wasi:clocks/wall-clock@0.2.6 (permission wasi=clocks: it was not granted; add \
             ?grant=wasi=clocks to the upload, or set plugins.grants for a plugin of the folder); \
             orbweaver:plugin/http@1.0.0 (permission http: it was not granted; add ?grant=http to the \
             upload, or set plugins.grants for a plugin of the folder); evil:corp/backdoor, which is not \
             part of the interface"
        );
    }

    #[test]
    fn files_are_named_before_the_clocks_that_come_with_them() {
        let imports = [
            "wasi:clocks/wall-clock@0.2.6",
            "wasi:filesystem/types@0.2.6",
            "wasi:filesystem/preopens@0.2.6",
        ];
        let plugin = component(
            "extractor",
            &imports,
            &["orbweaver:plugin/extracting@1.0.0"],
        );
        let error = check(&plugin, &granted(&[])).unwrap_err().to_string();
        assert!(
            error.contains("wasi:filesystem/types") && error.contains("std::fs"),
            "{error}"
        );
        let error = check(&plugin, &granted(&["wasi=filesystem"]))
            .unwrap_err()
            .to_string();
        assert!(error.contains("wasi=clocks"), "{error}");
    }

    #[test]
    fn a_grant_allows_exactly_its_imports() {
        let exports = ["orbweaver:plugin/acting@1.0.0"];
        let http = component("actor", &["orbweaver:plugin/http@1.0.0"], &exports);
        assert!(check(&http, &granted(&[])).is_err());
        assert_eq!(check(&http, &granted(&["http"])).unwrap(), World::Actor);
        let render = component("actor", &["orbweaver:plugin/rendering@1.0.0"], &exports);
        assert!(check(&render, &granted(&["http"])).is_err());
        assert!(check(&render, &granted(&["render"])).is_ok());
        let clocks = component("actor", &["wasi:clocks/wall-clock@0.2.6"], &exports);
        assert!(check(&clocks, &granted(&["wasi=random"])).is_err());
        assert!(check(&clocks, &granted(&["wasi=clocks"])).is_ok());
    }

    #[test]
    fn a_hook_imports_state_with_its_permission_only_and_then_waits() {
        let exports = ["orbweaver:plugin/hooking@1.1.0"];
        let plain = component("hook", &["orbweaver:plugin/crawl@1.1.0"], &exports);
        assert_eq!(check(&plain, &granted(&[])).unwrap(), World::Hook);
        assert!(!may_wait(&plain));
        let state = component("hook", &["orbweaver:plugin/state@1.1.0"], &exports);
        let error = check(&state, &granted(&[])).unwrap_err().to_string();
        assert!(
            error.contains("orbweaver:plugin/state@1.1.0 (permission state: "),
            "{error}"
        );
        assert_eq!(check(&state, &granted(&["state"])).unwrap(), World::Hook);
        assert!(may_wait(&state));
        for interface in ["http", "batch", "job", "crawl-data", "extraction"] {
            let import = format!("orbweaver:plugin/{interface}@1.1.0");
            let other = component("hook", &[&import], &exports);
            assert!(check(&other, &granted(&["all"])).is_err(), "{import}");
        }
    }

    #[test]
    fn the_export_must_match_the_kind_and_version() {
        let none = component("fetcher", &[], &["orbweaver:plugin/acting@1.0.0"]);
        assert!(matches!(
            check(&none, &granted(&[])),
            Err(LoadError::Export(_))
        ));
        let newer = component("actor", &[], &["orbweaver:plugin/acting@9.0.0"]);
        let error = check(&newer, &granted(&[])).unwrap_err().to_string();
        assert!(
            error.contains("@9.0.0") && error.contains("versions 1.0.0 to 1.1.0"),
            "{error}"
        );
        for (kind, export, world) in [
            ("actor", "acting-sync", World::ActorSync),
            ("fetcher", "fetching-sync", World::FetcherSync),
        ] {
            let sync = component(kind, &[], &[&format!("orbweaver:plugin/{export}@1.0.0")]);
            assert_eq!(check(&sync, &granted(&[])).unwrap(), world);
        }
    }
}
