//! Putting JSON objects together from parts that are JSON already.

use serde::Serialize;

/// An object under construction. Keys are ours and need no escaping.
pub struct Object(String);

impl Object {
    /// An empty object with room for so many bytes of JSON.
    pub fn with_capacity(bytes: usize) -> Self {
        let mut text = String::with_capacity(bytes);
        text.push('{');
        Self(text)
    }

    /// A member whose value is JSON text.
    pub fn raw(&mut self, key: &'static str, json: &str) {
        self.key(key);
        self.0.push_str(json);
    }

    /// A member whose value is serialised here.
    pub fn value<T: Serialize + ?Sized>(&mut self, key: &'static str, value: &T) {
        // Only maps with keys that are no strings can fail, and none is ever given.
        let json = serde_json::to_string(value).unwrap_or_else(|_| "null".to_owned());
        self.raw(key, &json);
    }

    /// The object as JSON text.
    pub fn finish(mut self) -> String {
        self.0.push('}');
        self.0
    }

    fn key(&mut self, key: &'static str) {
        if self.0.len() > 1 {
            self.0.push(',');
        }
        self.0.push('"');
        self.0.push_str(key);
        self.0.push_str("\":");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn members_stand_as_given() {
        let mut object = Object::with_capacity(64);
        object.raw("a", "[1, 2]");
        object.value("b", "x\"y");
        object.value("c", &Option::<u8>::None);
        assert_eq!(object.finish(), r#"{"a":[1, 2],"b":"x\"y","c":null}"#);
        assert_eq!(Object::with_capacity(0).finish(), "{}");
    }
}
