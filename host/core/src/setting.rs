//! Settings structs: one declaration gives default, help text, path and type
//! ([`settings!`](crate::settings)). Also types that settings of several crates share.

use std::borrow::Cow;
use std::fmt::Display;
use std::net::IpAddr;
use std::str::FromStr;
use std::time::Duration;

use ipnet::IpNet;
use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize};
use url::Url;

/// Declares a settings struct: its fields with help texts, types and defaults.
///
/// The struct implements `Clone`, `Debug`, `Default`, [`Settings`] and serde's traits. An
/// unknown setting is an error; a missing one has its default. A field's doc comment is also
/// the help text that `orbweaver config` prints, so it is plain text.
///
/// ```
/// orbweaver_core::settings! {
///     /// `[http]`: this server's own HTTP.
///     #[derive(PartialEq)]
///     pub struct HttpConfig {
///         /// Largest request body, in bytes.
///         pub max_body_bytes: usize = 16 << 20,
///         /// Address to listen on.
///         #[flag = "--listen"]
///         pub listen: Option<std::net::SocketAddr>,
///         /// Paths that are not logged.
///         #[serde(deserialize_with = "orbweaver_core::setting::list")]
///         pub quiet: Vec<String>,
///     }
/// }
/// assert_eq!(HttpConfig::default().max_body_bytes, 16_777_216);
/// ```
///
/// After the doc comment, a field may have, in this order:
/// - `#[flag = "--name"]`: a command-line flag that also sets it.
/// - `#[section]`: the field is a settings struct and is described by its own fields;
///   with `#[section = function]`, `function(path, &mut descriptions)` describes it.
/// - `#[internal]`: it cannot be set in a configuration file.
/// - `#[serde(…)]`: passed to serde.
///
/// A field without `= default` has its type's default.
#[macro_export]
macro_rules! settings {
    (@default) => { ::std::default::Default::default() };
    (@default $default:expr) => { $default };
    (@describe $prefix:ident $all:ident $field:ident $type:ty,
        [$($help:literal)+] [$($flag:literal)?] [] []) => {
        $all.push($crate::setting::SettingInfo::new(
            $prefix,
            stringify!($field),
            &[$($help),+],
            $crate::settings!(@flag $($flag)?),
        ));
    };
    (@describe $prefix:ident $all:ident $field:ident $type:ty,
        [$($help:literal)+] [] [section] []) => {
        <$type as $crate::setting::Settings>::describe(
            &$crate::setting::join($prefix, stringify!($field)),
            $all,
        );
    };
    (@describe $prefix:ident $all:ident $field:ident $type:ty,
        [$($help:literal)+] [] [section $describe:path] []) => {
        $describe(&$crate::setting::join($prefix, stringify!($field)), $all);
    };
    (@describe $prefix:ident $all:ident $field:ident $type:ty,
        [$($help:literal)+] [] [] [internal]) => {};
    (@flag) => { None };
    (@flag $flag:literal) => { Some($flag) };
    (
        $(#[doc = $about:literal])+
        $(#[derive($($derive:path),+)])?
        pub struct $name:ident {
            $(
                $(#[doc = $help:literal])+
                $(#[flag = $flag:literal])?
                $(#[section $(= $describe:path)?])?
                $(#[internal $($internal:tt)?])?
                $(#[serde($($serde:tt)+)])?
                pub $field:ident: $type:ty $(= $default:expr)?
            ),+ $(,)?
        }
    ) => {
        $(#[doc = $about])+
        #[derive(Clone, Debug, ::serde::Serialize, ::serde::Deserialize)]
        $(#[derive($($derive),+)])?
        #[serde(default, deny_unknown_fields)]
        pub struct $name {
            $(
                $(#[doc = $help])+
                $(#[serde(skip)] $($internal)?)?
                $(#[serde($($serde)+)])?
                pub $field: $type,
            )+
        }

        impl ::std::default::Default for $name {
            fn default() -> Self {
                Self {
                    $($field: $crate::settings!(@default $($default)?),)+
                }
            }
        }

        impl $crate::setting::Settings for $name {
            fn describe(prefix: &str, all: &mut Vec<$crate::setting::SettingInfo>) {
                $(
                    $crate::settings!(@describe prefix all $field $type,
                        [$($help)+] [$($flag)?]
                        [$(section $($describe)?)?] [$(internal $($internal)?)?]);
                )+
            }
        }
    };
}

/// A settings struct that can list its settings.
pub trait Settings {
    /// Appends the struct's settings to `all`, in the order of the configuration file. `prefix`
    /// is the path of the struct itself: empty, or for example `fetch.limits`.
    fn describe(prefix: &str, all: &mut Vec<SettingInfo>);
}

/// A setting, or a table of settings described as a whole.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SettingInfo {
    /// Its path, such as `http.shutdown_ms`.
    pub path: String,
    /// The command-line flag that sets it, such as `--listen`.
    pub flag: Option<&'static str>,
    /// Its help text.
    pub help: String,
}

impl SettingInfo {
    /// The setting `name` of the struct at `prefix`, with the lines of its doc comment.
    pub fn new(prefix: &str, name: &str, help: &[&str], flag: Option<&'static str>) -> Self {
        let lines: Vec<&str> = help.iter().map(|line| line.trim()).collect();
        Self {
            path: join(prefix, name),
            flag,
            help: lines.join(" "),
        }
    }
}

/// The path of `name` in the struct at `prefix`.
pub fn join(prefix: &str, name: &str) -> String {
    if prefix.is_empty() {
        name.to_owned()
    } else {
        format!("{prefix}.{name}")
    }
}

/// A setting that breaks a rule.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{setting}: {rule}")]
pub struct InvalidSetting {
    /// The setting's path, such as `http.shutdown_ms`.
    pub setting: &'static str,
    /// The rule.
    pub rule: String,
}

impl InvalidSetting {
    /// Names a setting and the rule that it breaks.
    pub fn new(setting: &'static str, rule: impl Into<String>) -> Self {
        Self {
            setting,
            rule: rule.into(),
        }
    }

    /// Checks that a rule holds.
    ///
    /// # Errors
    /// The setting and the rule, if the rule does not hold.
    pub fn unless(holds: bool, setting: &'static str, rule: impl Into<String>) -> Result<(), Self> {
        if holds {
            Ok(())
        } else {
            Err(Self::new(setting, rule))
        }
    }
}

/// A duration in milliseconds, written as a whole number.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Millis(pub u64);

impl Millis {
    /// As a [`Duration`].
    pub const fn as_duration(self) -> Duration {
        Duration::from_millis(self.0)
    }
}

/// A duration in seconds, written as a whole number.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Seconds(pub u32);

impl Seconds {
    /// As a [`Duration`].
    pub const fn as_duration(self) -> Duration {
        Duration::from_secs(self.0 as u64)
    }
}

/// An http or https URL, kept as written.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(transparent)]
pub struct HttpUrl(Cow<'static, str>);

impl HttpUrl {
    /// A valid URL for use as a default; it is not checked.
    pub const fn constant(url: &'static str) -> Self {
        Self(Cow::Borrowed(url))
    }

    /// The URL as written.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// The URL without trailing slashes, to append a path to.
    pub fn base(&self) -> &str {
        self.0.trim_end_matches('/')
    }
}

/// The text is not an http or https URL.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("must be an http or https URL")]
pub struct NotHttpUrl;

impl FromStr for HttpUrl {
    type Err = NotHttpUrl;

    fn from_str(text: &str) -> Result<Self, NotHttpUrl> {
        match Url::parse(text) {
            Ok(url) if matches!(url.scheme(), "http" | "https") && url.has_host() => {
                Ok(Self(Cow::Owned(text.to_owned())))
            }
            _ => Err(NotHttpUrl),
        }
    }
}

impl<'de> Deserialize<'de> for HttpUrl {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        String::deserialize(deserializer)?
            .parse()
            .map_err(D::Error::custom)
    }
}

/// Parses a list of words: a list, or one comma-separated string, in brackets or without, because
/// environment variables have no lists.
///
/// # Errors
/// When the value is neither, or a word is not a valid `T`.
pub fn list<'de, T, D>(deserializer: D) -> Result<Vec<T>, D::Error>
where
    T: FromStr<Err: Display>,
    D: Deserializer<'de>,
{
    words(deserializer)?
        .iter()
        .map(|word| word.parse().map_err(D::Error::custom))
        .collect()
}

/// Same as [`list`], for networks; a single address means the network of that one address.
///
/// # Errors
/// When an item is not a network; names the first such item.
pub fn nets<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<IpNet>, D::Error> {
    let parse = |net: &String| {
        net.parse::<IpNet>()
            .or_else(|_| net.parse::<IpAddr>().map(IpNet::from))
            .map_err(|_| {
                D::Error::custom(format!(
                    "`{net}` is not a network such as 10.0.0.0/8 or fd00::/8"
                ))
            })
    };
    words(deserializer)?.iter().map(parse).collect()
}

/// Same as [`list`], for whole numbers in seconds.
///
/// # Errors
/// When the value is not a list of whole numbers.
pub fn seconds<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<Seconds>, D::Error> {
    #[derive(Deserialize)]
    #[serde(untagged)]
    enum Either {
        List(Vec<Seconds>),
        One(Seconds),
        Commas(String),
    }
    let wrong = || D::Error::custom("must be a list of whole numbers");
    match Either::deserialize(deserializer).map_err(|_| wrong())? {
        Either::List(list) => Ok(list),
        Either::One(number) => Ok(vec![number]),
        Either::Commas(text) => split(&text)
            .map(|item| item.parse().map(Seconds).map_err(|_| wrong()))
            .collect(),
    }
}

fn words<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<String>, D::Error> {
    #[derive(Deserialize)]
    #[serde(untagged)]
    enum Either {
        List(Vec<String>),
        Commas(String),
    }
    let wrong = |_| D::Error::custom("must be a list of texts, or one text with commas");
    Ok(match Either::deserialize(deserializer).map_err(wrong)? {
        Either::List(list) => list,
        Either::Commas(text) => {
            let inner = text.trim().strip_prefix('[');
            let inner = inner.and_then(|text| text.strip_suffix(']'));
            split(inner.unwrap_or(&text)).map(str::to_owned).collect()
        }
    })
}

fn split(text: &str) -> impl Iterator<Item = &str> {
    text.split(',')
        .map(str::trim)
        .filter(|item| !item.is_empty())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    settings! {
        /// Settings of a shop.
        pub struct Shop {
            /// Goods on offer,
            /// by name.
            #[flag = "--goods"]
            #[serde(deserialize_with = "list")]
            pub goods: Vec<String>,
            /// Longest visit.
            pub visit_ms: Millis = Millis(5_000),
            /// Networks of customers.
            #[serde(deserialize_with = "nets")]
            pub from: Vec<IpNet>,
            /// Waits for delivery.
            #[serde(deserialize_with = "seconds")]
            pub waits: Vec<Seconds> = vec![Seconds(1), Seconds(2)],
            /// Where the shop is.
            pub site: Option<HttpUrl>,
            /// Whether it is open on Sundays.
            #[internal]
            pub sundays: bool = true,
            /// `[till]`.
            #[section]
            pub till: Till,
            /// `[desks]`.
            #[section = describe_desks]
            pub desks: std::collections::BTreeMap<String, u32>,
        }
    }

    settings! {
        /// Settings of a till.
        #[derive(Copy, PartialEq)]
        pub struct Till {
            /// Coins in it.
            pub coins: u32 = 7,
        }
    }

    fn describe_desks(prefix: &str, all: &mut Vec<SettingInfo>) {
        all.push(SettingInfo::new(prefix, "first", &["The first."], None));
    }

    fn read(value: serde_json::Value) -> Result<Shop, String> {
        serde_json::from_value(value).map_err(|error| error.to_string())
    }

    #[test]
    fn a_declaration_describes_every_setting_in_its_order() {
        let mut all = Vec::new();
        Shop::describe("", &mut all);
        let paths: Vec<&str> = all.iter().map(|setting| setting.path.as_str()).collect();
        let expected = [
            "goods",
            "visit_ms",
            "from",
            "waits",
            "site",
            "till.coins",
            "desks.first",
        ];
        assert_eq!(paths, expected);
        assert_eq!(all[0].help, "Goods on offer, by name.");
        assert_eq!(all[0].flag, Some("--goods"));
        assert_eq!(all[1].flag, None);
    }

    #[test]
    fn missing_settings_take_their_defaults_and_unknown_ones_are_refused() {
        let shop = read(json!({"visit_ms": 20, "till": {}})).unwrap();
        assert_eq!(shop.visit_ms.as_duration(), Duration::from_millis(20));
        assert_eq!(shop.waits, [Seconds(1), Seconds(2)]);
        assert_eq!(shop.till, Till { coins: 7 });
        assert!(shop.sundays && shop.goods.is_empty());
        for wrong in [json!({"good": []}), json!({"sundays": false})] {
            assert!(read(wrong).unwrap_err().contains("unknown field"));
        }
    }

    #[test]
    fn lists_are_lists_or_strings_with_commas() {
        for value in [json!(["10.0.0.0/8", "::1"]), json!("10.0.0.0/8, ::1")] {
            let shop = read(json!({"from": value})).unwrap();
            let expected = ["10.0.0.0/8", "::1/128"].map(|net| net.parse::<IpNet>().unwrap());
            assert_eq!(shop.from, expected);
        }
        for (value, waits) in [
            (json!([1, 60]), vec![1, 60]),
            (json!("1, 60"), vec![1, 60]),
            (json!(5), vec![5]),
        ] {
            let waits: Vec<Seconds> = waits.into_iter().map(Seconds).collect();
            assert_eq!(read(json!({"waits": value})).unwrap().waits, waits);
        }
        for goods in ["a,b", "[a, b]"] {
            assert_eq!(read(json!({"goods": goods})).unwrap().goods, ["a", "b"]);
        }
    }

    #[test]
    fn wrong_values_are_refused_with_their_rule() {
        for (value, rule) in [
            (
                json!({"from": ["10.0.0.0/33"]}),
                "`10.0.0.0/33` is not a network such as",
            ),
            (json!({"waits": ["soon"]}), "a list of whole numbers"),
            (json!({"site": "ftp://a/"}), "an http or https URL"),
            (json!({"site": "a"}), "an http or https URL"),
            (json!({"visit_ms": -1}), "u64"),
        ] {
            let error = read(value).unwrap_err();
            assert!(error.contains(rule), "{error}");
        }
    }

    #[test]
    fn urls_stay_as_they_were_written() {
        let shop = read(json!({"site": "https://a.example/x/"})).unwrap();
        let site = shop.site.clone().unwrap();
        assert_eq!(site.as_str(), "https://a.example/x/");
        assert_eq!(site.base(), "https://a.example/x");
        let written = serde_json::to_value(&shop).unwrap();
        assert_eq!(written["site"], "https://a.example/x/");
    }
}
