//! A deserializer that is stricter than serde's own about words and members, and reads whole numbers
//! as JSON Schema does.
//!
//! - A variant of an enum is a string. serde also takes `{"word": null}`, and of a number it says only
//!   that a value is expected.
//! - A member of a map or of a free value stands in it once. serde takes the last one.
//! - `3.0` is a whole number (JSON Schema 2020-12, section 4.2.3).

use std::collections::HashSet;
use std::fmt;

use serde::de::{
    DeserializeSeed, Deserializer, Error, IntoDeserializer as _, MapAccess, SeqAccess, Visitor,
};

/// Wraps a deserializer and, while it works, visitors, seeds and accesses.
pub(super) struct Strict<T>(pub(super) T);

macro_rules! forward {
    ($($name:ident => $wrapper:ident),* $(,)?) => {$(
        fn $name<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, D::Error> {
            self.0.$name($wrapper(visitor))
        }
    )*};
}

impl<'de, D: Deserializer<'de>> Deserializer<'de> for Strict<D> {
    type Error = D::Error;

    forward! {
        deserialize_any => Free,
        deserialize_map => Free,
        deserialize_bool => Strict,
        deserialize_i8 => Whole,
        deserialize_i16 => Whole,
        deserialize_i32 => Whole,
        deserialize_i64 => Whole,
        deserialize_i128 => Whole,
        deserialize_u8 => Whole,
        deserialize_u16 => Whole,
        deserialize_u32 => Whole,
        deserialize_u64 => Whole,
        deserialize_u128 => Whole,
        deserialize_f32 => Strict,
        deserialize_f64 => Strict,
        deserialize_char => Strict,
        deserialize_str => Strict,
        deserialize_string => Strict,
        deserialize_bytes => Strict,
        deserialize_byte_buf => Strict,
        deserialize_option => Strict,
        deserialize_unit => Strict,
        deserialize_seq => Strict,
        deserialize_identifier => Strict,
    }

    fn deserialize_ignored_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, D::Error> {
        self.0.deserialize_ignored_any(visitor)
    }

    fn deserialize_unit_struct<V: Visitor<'de>>(
        self,
        name: &'static str,
        visitor: V,
    ) -> Result<V::Value, D::Error> {
        self.0.deserialize_unit_struct(name, Strict(visitor))
    }

    fn deserialize_newtype_struct<V: Visitor<'de>>(
        self,
        name: &'static str,
        visitor: V,
    ) -> Result<V::Value, D::Error> {
        self.0.deserialize_newtype_struct(name, Strict(visitor))
    }

    fn deserialize_tuple<V: Visitor<'de>>(
        self,
        len: usize,
        visitor: V,
    ) -> Result<V::Value, D::Error> {
        self.0.deserialize_tuple(len, Strict(visitor))
    }

    fn deserialize_tuple_struct<V: Visitor<'de>>(
        self,
        name: &'static str,
        len: usize,
        visitor: V,
    ) -> Result<V::Value, D::Error> {
        self.0.deserialize_tuple_struct(name, len, Strict(visitor))
    }

    fn deserialize_struct<V: Visitor<'de>>(
        self,
        name: &'static str,
        fields: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, D::Error> {
        self.0.deserialize_struct(name, fields, Strict(visitor))
    }

    fn deserialize_enum<V: Visitor<'de>>(
        self,
        _name: &'static str,
        words: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, D::Error> {
        self.0.deserialize_any(Word { words, visitor })
    }

    fn is_human_readable(&self) -> bool {
        self.0.is_human_readable()
    }
}

macro_rules! visit {
    ($($name:ident: $kind:ty),* $(,)?) => {$(
        fn $name<E: Error>(self, value: $kind) -> Result<V::Value, E> {
            self.0.$name(value)
        }
    )*};
}

/// What a value of any kind may be, apart from objects and fractions.
macro_rules! visit_others {
    () => {
        type Value = V::Value;

        fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
            self.0.expecting(formatter)
        }

        visit! {
            visit_bool: bool,
            visit_i64: i64,
            visit_i128: i128,
            visit_u64: u64,
            visit_u128: u128,
            visit_str: &str,
            visit_borrowed_str: &'de str,
            visit_string: String,
            visit_bytes: &[u8],
            visit_borrowed_bytes: &'de [u8],
            visit_byte_buf: Vec<u8>,
        }

        fn visit_none<E: Error>(self) -> Result<V::Value, E> {
            self.0.visit_none()
        }

        fn visit_unit<E: Error>(self) -> Result<V::Value, E> {
            self.0.visit_unit()
        }

        fn visit_some<D: Deserializer<'de>>(self, inner: D) -> Result<V::Value, D::Error> {
            self.0.visit_some(Strict(inner))
        }

        fn visit_newtype_struct<D: Deserializer<'de>>(
            self,
            inner: D,
        ) -> Result<V::Value, D::Error> {
            self.0.visit_newtype_struct(Strict(inner))
        }

        fn visit_seq<A: SeqAccess<'de>>(self, items: A) -> Result<V::Value, A::Error> {
            self.0.visit_seq(Strict(items))
        }
    };
}

impl<'de, V: Visitor<'de>> Visitor<'de> for Strict<V> {
    visit_others!();

    visit! { visit_f64: f64 }

    fn visit_map<A: MapAccess<'de>>(self, members: A) -> Result<V::Value, A::Error> {
        self.0.visit_map(Strict(members))
    }
}

/// A visitor of a map or of a value of any kind. A struct's visitor refuses a second member itself.
struct Free<V>(V);

impl<'de, V: Visitor<'de>> Visitor<'de> for Free<V> {
    visit_others!();

    visit! { visit_f64: f64 }

    fn visit_map<A: MapAccess<'de>>(self, members: A) -> Result<V::Value, A::Error> {
        self.0.visit_map(Once {
            members,
            seen: HashSet::new(),
        })
    }
}

/// A visitor of a whole number.
struct Whole<V>(V);

impl<'de, V: Visitor<'de>> Visitor<'de> for Whole<V> {
    visit_others!();

    fn visit_f64<E: Error>(self, value: f64) -> Result<V::Value, E> {
        // Every whole number that `f64` has below 2^63 is an `i64`.
        if value.fract() == 0.0 && value.abs() < 9_223_372_036_854_775_808.0 {
            #[expect(clippy::cast_possible_truncation, reason = "whole, and within i64")]
            let whole = value as i64;
            return match u64::try_from(whole) {
                Ok(whole) => self.0.visit_u64(whole),
                Err(_) => self.0.visit_i64(whole),
            };
        }
        self.0.visit_f64(value)
    }

    fn visit_map<A: MapAccess<'de>>(self, members: A) -> Result<V::Value, A::Error> {
        self.0.visit_map(Strict(members))
    }
}

/// A visitor of an enum, of which a string names the variant.
struct Word<V> {
    words: &'static [&'static str],
    visitor: V,
}

impl<'de, V: Visitor<'de>> Visitor<'de> for Word<V> {
    type Value = V::Value;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.words {
            [first, second] => write!(formatter, "`{first}` or `{second}`"),
            [first] => write!(formatter, "`{first}`"),
            words => write!(formatter, "one of `{}`", words.join("`, `")),
        }
    }

    fn visit_str<E: Error>(self, word: &str) -> Result<V::Value, E> {
        self.visitor.visit_enum(word.into_deserializer())
    }
}

impl<'de, S: DeserializeSeed<'de>> DeserializeSeed<'de> for Strict<S> {
    type Value = S::Value;

    fn deserialize<D: Deserializer<'de>>(self, inner: D) -> Result<S::Value, D::Error> {
        self.0.deserialize(Strict(inner))
    }
}

impl<'de, A: SeqAccess<'de>> SeqAccess<'de> for Strict<A> {
    type Error = A::Error;

    fn next_element_seed<S: DeserializeSeed<'de>>(
        &mut self,
        seed: S,
    ) -> Result<Option<S::Value>, A::Error> {
        self.0.next_element_seed(Strict(seed))
    }

    fn size_hint(&self) -> Option<usize> {
        self.0.size_hint()
    }
}

impl<'de, A: MapAccess<'de>> MapAccess<'de> for Strict<A> {
    type Error = A::Error;

    fn next_key_seed<S: DeserializeSeed<'de>>(
        &mut self,
        seed: S,
    ) -> Result<Option<S::Value>, A::Error> {
        self.0.next_key_seed(seed)
    }

    fn next_value_seed<S: DeserializeSeed<'de>>(&mut self, seed: S) -> Result<S::Value, A::Error> {
        self.0.next_value_seed(Strict(seed))
    }

    fn size_hint(&self) -> Option<usize> {
        self.0.size_hint()
    }
}

/// Members of a map, each of which may come once.
struct Once<A> {
    members: A,
    seen: HashSet<String>,
}

impl<'de, A: MapAccess<'de>> MapAccess<'de> for Once<A> {
    type Error = A::Error;

    fn next_key_seed<S: DeserializeSeed<'de>>(
        &mut self,
        seed: S,
    ) -> Result<Option<S::Value>, A::Error> {
        let Some(name) = self.members.next_key::<String>()? else {
            return Ok(None);
        };
        let is_first = self.seen.insert(name.clone());
        // Read before it is refused, so that the refusal has its path.
        let key = seed.deserialize(name.into_deserializer())?;
        match is_first {
            true => Ok(Some(key)),
            false => Err(A::Error::custom("is given twice")),
        }
    }

    fn next_value_seed<S: DeserializeSeed<'de>>(&mut self, seed: S) -> Result<S::Value, A::Error> {
        self.members.next_value_seed(Strict(seed))
    }

    fn size_hint(&self) -> Option<usize> {
        self.members.size_hint()
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use serde::Deserialize;
    use serde_json::Value;
    use serde_json::value::RawValue;

    use super::*;

    #[derive(Debug, PartialEq, Deserialize)]
    #[serde(rename_all = "lowercase")]
    enum Kind {
        Url,
        Sitemap,
    }

    #[derive(Debug, Default, Deserialize)]
    #[serde(default)]
    struct Sample {
        kind: Option<Kind>,
        kinds: Vec<Kind>,
        by_name: BTreeMap<String, Kind>,
        small: Option<u8>,
        signed: Option<i32>,
        free: Value,
        raw: Option<Box<RawValue>>,
    }

    fn read(json: &str) -> Result<Sample, String> {
        let mut inner = serde_json::Deserializer::from_str(json);
        Sample::deserialize(Strict(&mut inner)).map_err(|error| error.to_string())
    }

    #[test]
    fn a_word_is_a_string_wherever_it_stands() {
        let good = read(r#"{"kind":"url","kinds":["sitemap"],"by_name":{"a":"\u0075rl"}}"#);
        let good = good.expect("words");
        assert_eq!(good.kind, Some(Kind::Url));
        assert_eq!(good.kinds, [Kind::Sitemap]);
        assert_eq!(good.by_name["a"], Kind::Url);
        assert_eq!(read(r#"{"kind":null}"#).expect("null").kind, None);
        for value in ["5", "1.5", "true", "[]", "{}", r#"{"url":null}"#] {
            for json in [
                format!(r#"{{"kind":{value}}}"#),
                format!(r#"{{"kinds":[{value}]}}"#),
                format!(r#"{{"by_name":{{"a":{value}}}}}"#),
            ] {
                let why = read(&json).expect_err("no word");
                assert!(why.contains("expected `url` or `sitemap`"), "{json}: {why}");
            }
        }
    }

    #[test]
    fn a_whole_number_may_have_a_fraction_of_zero() {
        let read_it = read(r#"{"small":200.0,"signed":-3.0,"free":2.0}"#).expect("numbers");
        assert_eq!((read_it.small, read_it.signed), (Some(200), Some(-3)));
        assert_eq!(read_it.free, Value::from(2.0));
        for json in [
            r#"{"small":1.5}"#,
            r#"{"small":256.0}"#,
            r#"{"small":-1.0}"#,
            r#"{"signed":1e300}"#,
        ] {
            read(json).expect_err(json);
        }
    }

    #[test]
    fn a_member_stands_once_in_whatever_holds_it() {
        for json in [
            r#"{"small":1,"small":2}"#,
            r#"{"free":{"a":1,"a":2}}"#,
            r#"{"free":[{"b":{"a":1,"\u0061":2}}]}"#,
            r#"{"by_name":{"a":"url","a":"url"}}"#,
        ] {
            let why = read(json).expect_err(json);
            let said = why.contains("is given twice") || why.contains("duplicate field");
            assert!(said, "{json}: {why}");
        }
        let raw = read(r#"{"raw":{"a":[1.50]},"free":{"a":1,"b":{"a":1}}}"#).expect("members");
        assert_eq!(raw.raw.expect("raw").get(), r#"{"a":[1.50]}"#);
        assert_eq!(raw.free["b"]["a"], 1);
    }
}
