//! Strict JSON: what a body may be, and one spelling of what was said.
//!
//! A repeated member, trailing input, a body that is no object, or nesting past serde's bound is refused
//! here, before any rule sees it. The canonical form (members sorted, no white space) is what a request
//! id is tied to.

use serde::de::{DeserializeSeed, Deserializer, Error, MapAccess, SeqAccess, Visitor};
use serde_json::{Map, Number, Value};
use sha2::{Digest, Sha256};
use std::cell::RefCell;
use std::fmt;

/// Reads a value none of whose objects repeats a member; keeps the name of one that is repeated.
#[derive(Clone, Copy)]
struct Strict<'a>(&'a RefCell<Option<String>>);

impl<'de> DeserializeSeed<'de> for Strict<'_> {
    type Value = Value;

    fn deserialize<D: Deserializer<'de>>(self, d: D) -> Result<Value, D::Error> {
        d.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Strict<'_> {
    type Value = Value;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a JSON value")
    }
    fn visit_unit<E>(self) -> Result<Value, E> {
        Ok(Value::Null)
    }
    fn visit_bool<E>(self, v: bool) -> Result<Value, E> {
        Ok(v.into())
    }
    fn visit_i64<E>(self, v: i64) -> Result<Value, E> {
        Ok(v.into())
    }
    fn visit_u64<E>(self, v: u64) -> Result<Value, E> {
        Ok(v.into())
    }
    fn visit_f64<E>(self, v: f64) -> Result<Value, E> {
        Ok(Number::from_f64(v).map_or(Value::Null, Value::Number))
    }
    fn visit_str<E>(self, v: &str) -> Result<Value, E> {
        Ok(v.into())
    }
    fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<Value, A::Error> {
        let mut items = Vec::new();
        while let Some(item) = seq.next_element_seed(self)? {
            items.push(item);
        }
        Ok(Value::Array(items))
    }
    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Value, A::Error> {
        let mut members = Map::new();
        while let Some(name) = map.next_key::<String>()? {
            if members.contains_key(&name) {
                self.0.replace(Some(name));
                return Err(A::Error::custom("a member is repeated"));
            }
            members.insert(name, map.next_value_seed(self)?);
        }
        Ok(Value::Object(members))
    }
}

/// Why a body is not a JSON object that a rule may look at.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum BodyFault {
    /// Not one JSON value of UTF-8 text: broken syntax, trailing input, or too deep.
    NotJson,
    /// A member is repeated; its name, where it may be shown (see [`shown`]).
    Repeated(Option<String>),
    /// JSON, but not an object.
    NotAnObject,
}

/// Reads a body: one JSON object, no member repeated at any depth, nothing behind it.
///
/// # Errors
/// [`BodyFault`], which carries nothing of the body but a member's name.
pub fn object(body: &[u8]) -> Result<Map<String, Value>, BodyFault> {
    let repeated = RefCell::new(None);
    let mut reader = serde_json::Deserializer::from_slice(body);
    let value = Strict(&repeated).deserialize(&mut reader).and_then(|value| reader.end().map(|()| value));
    match (value, repeated.into_inner()) {
        (Ok(Value::Object(members)), _) => Ok(members),
        (Ok(_), _) => Err(BodyFault::NotAnObject),
        (Err(_), Some(name)) => Err(BodyFault::Repeated(shown(&name).map(str::to_owned))),
        (Err(_), None) => Err(BodyFault::NotJson),
    }
}

/// A member's name, where a refusal may show it: a short word of letters, as the names of members are. So
/// no id and no text of the caller's own making comes back to be logged.
#[must_use]
pub fn shown(name: &str) -> Option<&str> {
    ((1..=24).contains(&name.len()) && name.bytes().all(|byte| byte.is_ascii_alphabetic())).then_some(name)
}

/// The canonical text of a value: members sorted by name at every depth, no white space.
#[must_use]
pub fn canonical(value: &Value) -> String {
    fn sorted(value: &Value) -> Value {
        match value {
            Value::Object(members) => {
                let mut names: Vec<&String> = members.keys().collect();
                names.sort_unstable();
                Value::Object(names.into_iter().map(|n| (n.clone(), sorted(&members[n]))).collect())
            }
            Value::Array(items) => Value::Array(items.iter().map(sorted).collect()),
            other => other.clone(),
        }
    }
    sorted(value).to_string()
}

/// The SHA-256 of a call's name and the canonical text of its members, in hexadecimal: what a request id
/// is tied to.
#[must_use]
pub fn fingerprint(call: &str, members: &Map<String, Value>) -> String {
    let mut hash = Sha256::new();
    hash.update(call.as_bytes());
    hash.update([0]);
    hash.update(canonical(&Value::Object(members.clone())).as_bytes());
    hash.finalize().iter().map(|b| format!("{b:02x}")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_repeated_member_is_refused_and_named_at_any_depth() {
        let named = |name: &str| Err(BodyFault::Repeated(Some(name.to_owned())));
        assert_eq!(object(br#"{"a":1,"a":1}"#), named("a"));
        assert_eq!(object(br#"{"a":{"b":1,"b":2}}"#), named("b"));
        assert_eq!(object(br#"{"a":[{"b":1,"b":2}]}"#), named("b"));
        assert_eq!(object(br#"{"a":1,"\u0061":1}"#), named("a"));
        assert_eq!(object(br#"{"a b":1,"a b":1}"#), Err(BodyFault::Repeated(None)));
    }

    #[test]
    fn only_a_word_of_letters_is_shown() {
        assert_eq!(shown("timeoutMs"), Some("timeoutMs"));
        assert_eq!(shown(&"x".repeat(24)).map(str::len), Some(24));
        for name in ["", "a b", "a1", "5f0c1a52", "\u{1b}", "\u{fc}", &"x".repeat(25)] {
            assert_eq!(shown(name), None, "{name}");
        }
    }

    #[test]
    fn trailing_input_and_other_values_are_refused() {
        assert_eq!(object(b"{} x"), Err(BodyFault::NotJson));
        assert_eq!(object(b"{}{}"), Err(BodyFault::NotJson));
        assert_eq!(object(b"[]"), Err(BodyFault::NotAnObject));
        assert_eq!(object(b"\"x\""), Err(BodyFault::NotAnObject));
        assert_eq!(object(b""), Err(BodyFault::NotJson));
        assert_eq!(object(b"{\"a\":\"\xff\"}"), Err(BodyFault::NotJson));
        let deep = format!("{{\"a\":{}{}}}", "[".repeat(10_000), "]".repeat(10_000));
        assert_eq!(object(deep.as_bytes()), Err(BodyFault::NotJson));
        assert!(object(b" {} \n").is_ok());
    }

    #[test]
    fn the_canonical_text_does_not_depend_on_order_or_white_space() {
        let a = object(br#"{"b":[1,{"y":2,"x":3}],"a":null}"#).unwrap();
        let b = object(b"{\"a\":null, \"b\":[1, {\"x\":3,\"y\":2}]}").unwrap();
        assert_eq!(fingerprint("mint", &a), fingerprint("mint", &b));
        assert_ne!(fingerprint("mint", &a), fingerprint("queue/enter", &a));
    }
}
