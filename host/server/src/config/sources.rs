//! The sources of settings beside defaults and flags: variables, whose values have no types, and empty
//! texts, which unset a setting.

use std::collections::BTreeMap;
use std::fmt;

use figment::providers::Env;
use figment::value::{Dict, Empty, Map, Value};
use figment::{Error, Metadata, Profile, Provider};
use orbweaver_core::setting::join;

use super::load::variable;

/// Prefix of the variables.
const PREFIX: &str = "ORBWEAVER_";
/// Settings that an empty text does not unset, but is wrong for: without them the service would run with
/// other data, with a secret that other nodes do not have, or without TLS, and nobody would notice.
const NEVER_EMPTY: [&str; 6] = [
    "database_url",
    "database.direct_url",
    "blobs",
    "secret_key",
    "tls_cert",
    "tls_key",
];

/// Most letters in which a variable may differ from the one that was meant; of a short name one less.
const MOST_WRONG: usize = 2;

/// A variable that looks as if it were to set something, and does not.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Misnamed {
    /// Its name.
    pub variable: String,
    /// The variable that was probably meant.
    pub nearest: Option<String>,
}

impl fmt::Display for Misnamed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("this variable sets nothing: there is no setting of its name; ")?;
        match &self.nearest {
            Some(nearest) => write!(f, "{nearest} may be meant"),
            None => f.write_str("`orbweaver config` lists them"),
        }
    }
}

/// Variables of this process that look as if they were to set something, and do not: of a section that is not
/// there, and like a setting but for its underscores or a letter or two.
pub(super) fn misnamed(defaults: &serde_json::Value) -> Vec<Misnamed> {
    let mut settings = Vec::new();
    paths(defaults, "", &mut settings);
    let env = Env::prefixed(PREFIX);
    let names = env.iter().map(|(path, _)| path.as_str().to_owned());
    let named = names.filter_map(|name| {
        let section = name.split_once("__").map(|(section, _)| section);
        if defaults.get(section.unwrap_or(&name)).is_some() {
            return None;
        }
        let nearest = nearest(&name, &settings).or_else(|| {
            // A setting of a table whose names are free, such as a tier.
            let (section, rest) = name.split_once("__")?;
            let sections = settings.iter().filter(|path| !path.contains('.'));
            let section = nearest(section, sections)?;
            Some(format!("{section}.{}", rest.replace("__", ".")))
        });
        (section.is_some() || nearest.is_some()).then(|| Misnamed {
            variable: format!("{PREFIX}{}", name.to_ascii_uppercase()),
            nearest: nearest.as_deref().map(variable),
        })
    });
    named.collect()
}

/// The paths of all settings, tables included.
fn paths(settings: &serde_json::Value, prefix: &str, found: &mut Vec<String>) {
    for (name, value) in settings.as_object().into_iter().flatten() {
        let path = join(prefix, name);
        paths(value, &path, found);
        found.push(path);
    }
}

/// The setting that a name is like.
fn nearest<'s>(name: &str, settings: impl IntoIterator<Item = &'s String>) -> Option<String> {
    let plain = |name: &str| name.replace(['_', '.'], "");
    let name = plain(name);
    let most = match name.len() {
        0..=5 => MOST_WRONG - 1,
        _ => MOST_WRONG,
    };
    let differ = |path: &String| strsim::osa_distance(&name, &plain(path));
    let nearest = settings
        .into_iter()
        .map(|path| (differ(path), path))
        .min()?;
    (nearest.0 <= most).then(|| nearest.1.clone())
}

/// The `ORBWEAVER_…` variables. What looks like a number, a truth value, a list or a table is taken for
/// one, until [`take_as_text`](Self::take_as_text) says otherwise.
pub(super) struct Variables(BTreeMap<String, Variable>);

struct Variable {
    text: String,
    is_text: bool,
}

impl Variables {
    /// The variables of this process that belong to a setting or a section of `defaults`. Others may be
    /// those of other programs (ORBWEAVER_FIXTURES …) and are ignored; an unknown key in the configuration
    /// file is an error.
    pub(super) fn read(defaults: &serde_json::Value) -> Self {
        let env = Env::prefixed(PREFIX).split("__");
        let is_known = |path: &str| {
            let first = path.split('.').next().unwrap_or_default();
            defaults.get(first).is_some()
        };
        let variables = env.iter().map(|(path, text)| {
            let variable = Variable {
                text,
                is_text: false,
            };
            (path.as_str().to_owned(), variable)
        });
        Self(variables.filter(|(path, _)| is_known(path)).collect())
    }

    /// Takes the variable of this setting as the text that it is: `0123` may be a password. False if there
    /// is no such variable, or it was taken so before.
    pub(super) fn take_as_text(&mut self, path: &str) -> bool {
        match self.0.get_mut(path) {
            Some(variable) => !std::mem::replace(&mut variable.is_text, true),
            None => false,
        }
    }
}

impl Provider for Variables {
    fn metadata(&self) -> Metadata {
        Metadata::named("environment variable")
    }

    fn data(&self) -> Result<Map<Profile, Dict>, Error> {
        let mut dict = Dict::new();
        // In the order of the paths: a variable of a table comes before those of what is in it.
        for (path, variable) in &self.0 {
            let text = variable.text.trim();
            let value = if variable.is_text {
                Value::from(text)
            } else {
                let Ok(guessed) = text.parse::<Value>();
                guessed
            };
            put(&mut dict, path, value);
        }
        Ok(Profile::Default.collect(dict))
    }
}

/// Puts a value at a path with dots.
fn put(dict: &mut Dict, path: &str, value: Value) {
    let Some((first, rest)) = path.split_once('.') else {
        dict.insert(path.to_owned(), value);
        return;
    };
    let at = dict
        .entry(first.to_owned())
        .or_insert_with(|| Value::from(Dict::new()));
    if !matches!(at, Value::Dict(..)) {
        *at = Value::from(Dict::new());
    }
    if let Value::Dict(_, inner) = at {
        put(inner, rest, value);
    }
}

/// A source in which an empty text unsets a setting that may be unset: `ORBWEAVER_CLOUD__BRAVE_KEY=` is no
/// key.
pub(super) struct Unsetting<'d, P> {
    /// The source.
    pub(super) source: P,
    /// All settings with their defaults; those that may be unset are null.
    pub(super) defaults: &'d serde_json::Value,
}

impl<P: Provider> Provider for Unsetting<'_, P> {
    fn metadata(&self) -> Metadata {
        self.source.metadata()
    }

    fn profile(&self) -> Option<Profile> {
        self.source.profile()
    }

    fn data(&self) -> Result<Map<Profile, Dict>, Error> {
        let mut data = self.source.data()?;
        for dict in data.values_mut() {
            unset(dict, self.defaults, "");
        }
        Ok(data)
    }
}

fn unset(dict: &mut Dict, defaults: &serde_json::Value, prefix: &str) {
    for (name, value) in dict {
        let Some(default) = defaults.get(name.as_str()) else {
            continue;
        };
        let path = join(prefix, name);
        if matches!(value, Value::String(_, text) if text.is_empty()) {
            if default.is_null() && !NEVER_EMPTY.contains(&path.as_str()) {
                *value = Value::from(Empty::None);
            }
        } else if let Value::Dict(_, inner) = value {
            unset(inner, default, &path);
        }
    }
}
