//! Strict JSON: what a body may be, and one spelling of what was said.
//!
//! A repeated member, trailing input, a body that is no object, or nesting past serde's bound is refused
//! here, before any rule sees it. The canonical form (members sorted, no white space) is what a request
//! id is tied to.

use serde::de::{Deserialize, Deserializer, Error, MapAccess, SeqAccess, Visitor};
use serde_json::{Map, Number, Value};
use sha2::{Digest, Sha256};
use std::fmt;

/// A value none of whose objects repeats a member.
struct Strict(Value);

impl<'de> Deserialize<'de> for Strict {
    fn deserialize<D: Deserializer<'de>>(d: D) -> Result<Self, D::Error> {
        struct V;
        impl<'de> Visitor<'de> for V {
            type Value = Strict;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a JSON value")
            }
            fn visit_unit<E>(self) -> Result<Strict, E> {
                Ok(Strict(Value::Null))
            }
            fn visit_bool<E>(self, v: bool) -> Result<Strict, E> {
                Ok(Strict(v.into()))
            }
            fn visit_i64<E>(self, v: i64) -> Result<Strict, E> {
                Ok(Strict(v.into()))
            }
            fn visit_u64<E>(self, v: u64) -> Result<Strict, E> {
                Ok(Strict(v.into()))
            }
            fn visit_f64<E>(self, v: f64) -> Result<Strict, E> {
                Ok(Strict(Number::from_f64(v).map_or(Value::Null, Value::Number)))
            }
            fn visit_str<E>(self, v: &str) -> Result<Strict, E> {
                Ok(Strict(v.into()))
            }
            fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<Strict, A::Error> {
                let mut items = Vec::new();
                while let Some(Strict(item)) = seq.next_element()? {
                    items.push(item);
                }
                Ok(Strict(Value::Array(items)))
            }
            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Strict, A::Error> {
                let mut members = Map::new();
                while let Some((name, Strict(value))) = map.next_entry::<String, Strict>()? {
                    if members.insert(name, value).is_some() {
                        return Err(A::Error::custom("a member is repeated"));
                    }
                }
                Ok(Strict(Value::Object(members)))
            }
        }
        d.deserialize_any(V)
    }
}

/// Why a body is not a JSON object that a rule may look at.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum BodyFault {
    /// Not one JSON value of UTF-8 text: broken syntax, trailing input, too deep, or a repeated member.
    NotStrictJson,
    /// JSON, but not an object.
    NotAnObject,
}

/// Reads a body: one JSON object, no member repeated at any depth, nothing behind it.
///
/// # Errors
/// [`BodyFault`], which carries nothing of the body.
pub fn object(body: &[u8]) -> Result<Map<String, Value>, BodyFault> {
    match serde_json::from_slice::<Strict>(body) {
        Ok(Strict(Value::Object(members))) => Ok(members),
        Ok(_) => Err(BodyFault::NotAnObject),
        Err(_) => Err(BodyFault::NotStrictJson),
    }
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
    fn a_repeated_member_is_refused_at_any_depth() {
        assert_eq!(object(br#"{"a":1,"a":1}"#), Err(BodyFault::NotStrictJson));
        assert_eq!(object(br#"{"a":{"b":1,"b":2}}"#), Err(BodyFault::NotStrictJson));
        assert_eq!(object(br#"{"a":[{"b":1,"b":2}]}"#), Err(BodyFault::NotStrictJson));
        assert_eq!(object(br#"{"a":1,"\u0061":1}"#), Err(BodyFault::NotStrictJson));
    }

    #[test]
    fn trailing_input_and_other_values_are_refused() {
        assert_eq!(object(b"{} x"), Err(BodyFault::NotStrictJson));
        assert_eq!(object(b"{}{}"), Err(BodyFault::NotStrictJson));
        assert_eq!(object(b"[]"), Err(BodyFault::NotAnObject));
        assert_eq!(object(b"\"x\""), Err(BodyFault::NotAnObject));
        assert_eq!(object(b""), Err(BodyFault::NotStrictJson));
        assert_eq!(object(b"{\"a\":\"\xff\"}"), Err(BodyFault::NotStrictJson));
        let deep = format!("{{\"a\":{}{}}}", "[".repeat(10_000), "]".repeat(10_000));
        assert_eq!(object(deep.as_bytes()), Err(BodyFault::NotStrictJson));
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
