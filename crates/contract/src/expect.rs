//! Whether an answer is what a step expects.

use crate::list::{CodeRow, Expect};
use crate::value::Scope;
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};

/// An answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Answer {
    pub(crate) status: u16,
    pub(crate) bytes: Vec<u8>,
    /// A transport's headers, names in lower case.
    pub(crate) headers: BTreeMap<String, String>,
}

impl Answer {
    pub(crate) fn json(&self) -> Result<Value, String> {
        let object = kernel::json::object(&self.bytes);
        object.map(Value::Object).map_err(|_| format!("the answer is no JSON object: {self}"))
    }
}

impl std::fmt::Display for Answer {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} {}", self.status, String::from_utf8_lossy(&self.bytes))
    }
}

/// What a call said, of which a refusal may repeat nothing.
pub(crate) type Said = BTreeSet<String>;

/// Texts of fewer characters may stand in a refusal by chance.
const SECRET_CHARS: usize = 8;

/// The texts of a body that a refusal may not repeat: its longer strings, and every id.
pub(crate) fn said(body: &[u8]) -> Said {
    fn collect(value: &Value, said: &mut Said) {
        match value {
            Value::String(text) if text.chars().count() >= SECRET_CHARS => drop(said.insert(text.clone())),
            Value::Number(number) if number.to_string().len() >= SECRET_CHARS => {
                said.insert(number.to_string());
            }
            Value::Array(items) => items.iter().for_each(|item| collect(item, said)),
            Value::Object(members) => members.values().for_each(|item| collect(item, said)),
            _ => {}
        }
    }
    let mut all = Said::new();
    if let Ok(value) = serde_json::from_slice::<Value>(body) {
        collect(&value, &mut all);
    }
    all
}

/// Judges an answer.
///
/// # Errors
/// What is not as expected.
pub(crate) fn judge(
    expect: &Expect,
    answer: &Answer,
    said: &Said,
    codes: &BTreeMap<String, CodeRow>,
    scope: &Scope,
) -> Result<(), String> {
    match &expect.code {
        Some(code) => refusal(code, expect, answer, said, codes)?,
        None if expect.status == Some(answer.status) => {}
        None => {
            return Err(format!(
                "expected status {}, came {answer}",
                expect.status.map_or(String::new(), |s| s.to_string())
            ));
        }
    }
    if let Some(template) = &expect.has {
        matches(template, &answer.json()?, scope, "", Whole::No).map_err(|at| format!("{at} in {answer}"))?;
    }
    for (path, template) in &expect.at {
        let json = answer.json()?;
        let value = at(&json, path).ok_or_else(|| format!("no {path} in {answer}"))?;
        matches(template, value, scope, path, Whole::No).map_err(|at| format!("{at} in {answer}"))?;
    }
    if let Some(template) = &expect.is {
        matches(template, &answer.json()?, scope, "", Whole::Yes)
            .map_err(|at| format!("{at} in {answer}"))?;
    }
    if let Some(template) = &expect.text {
        let text = scope.text(template)?;
        if answer.bytes != text.as_bytes() {
            return Err(format!("expected the bytes {text}, came {answer}"));
        }
    }
    for (name, value) in &expect.headers {
        if answer.headers.get(name) != Some(value) {
            return Err(format!("expected the header {name}: {value}, came {:?}", answer.headers));
        }
    }
    Ok(())
}

/// The shape of a refusal, and that it repeats nothing of the call.
fn refusal(
    code: &str,
    expect: &Expect,
    answer: &Answer,
    said: &Said,
    codes: &BTreeMap<String, CodeRow>,
) -> Result<(), String> {
    let row = codes.get(code).ok_or_else(|| format!("there is no code {code}"))?;
    let came = answer.json()?;
    if answer.status != row.status || came["error"] != code {
        return Err(format!("expected {} {code}, came {answer}", row.status));
    }
    let members = ["error", "detail", "retry", "retryAfterMs"];
    let members = &members[..if row.retry_after_ms.is_some() { 4 } else { 3 }];
    let has: BTreeSet<&str> = came.as_object().into_iter().flatten().map(|(name, _)| name.as_str()).collect();
    if has != members.iter().copied().collect() {
        return Err(format!("a refusal has the members {members:?}, not {answer}"));
    }
    if came["retry"] != row.retry || came.get("retryAfterMs").and_then(Value::as_i64) != row.retry_after_ms {
        return Err(format!("expected retry {} {:?}, came {answer}", row.retry, row.retry_after_ms));
    }
    let detail = came["detail"].as_str().unwrap_or_default();
    if detail.is_empty() || detail.chars().any(char::is_control) {
        return Err(format!("a detail is one line of text, not {answer}"));
    }
    if let Some(member) = &expect.member
        && detail.split_ascii_whitespace().next() != Some(member)
    {
        return Err(format!("expected a detail that begins with {member}, came {answer}"));
    }
    for says in &expect.says {
        if !detail.contains(says.as_str()) {
            return Err(format!("expected a detail that says “{says}”, came {answer}"));
        }
    }
    match said.iter().find(|said| detail.contains(said.as_str())) {
        Some(said) => Err(format!("the detail repeats “{said}” of the call: {answer}")),
        None => Ok(()),
    }
}

/// Whether an object may have members that the template does not name.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Whole {
    Yes,
    No,
}

/// Compares a value with a template, in which `{"$any": true}` is any value but null, `{"$absent": true}` is
/// none at all, and `{"$length": n}` is a list of n items.
fn matches(template: &Value, value: &Value, scope: &Scope, at: &str, whole: Whole) -> Result<(), String> {
    if let Some((name, of)) = matcher(template) {
        return match name {
            "$any" if !value.is_null() => Ok(()),
            "$length" if value.as_array().map(Vec::len) == usize::try_from(scope.integer(of)?).ok() => Ok(()),
            _ => Err(format!("{at} is not {template}")),
        };
    }
    match (template, value) {
        (Value::Object(expected), Value::Object(members)) if crate::value::generator(expected)?.is_none() => {
            for (name, expected) in expected {
                let at = format!("{at}/{name}");
                match (members.get(name), matcher(expected)) {
                    (None, Some(("$absent", _))) => {}
                    (Some(_), Some(("$absent", _))) => return Err(format!("{at} is there")),
                    (None, _) => return Err(format!("{at} is not there")),
                    (Some(value), _) => matches(expected, value, scope, &at, whole)?,
                }
            }
            match members.keys().find(|name| !expected.contains_key(*name)) {
                Some(name) if whole == Whole::Yes => Err(format!("{at}/{name} is there")),
                _ => Ok(()),
            }
        }
        (Value::Array(expected), Value::Array(items)) => {
            if expected.len() != items.len() {
                return Err(format!("{at} has {} items and not {}", items.len(), expected.len()));
            }
            let mut pairs = expected.iter().zip(items).enumerate();
            pairs.try_for_each(|(n, (expected, item))| {
                matches(expected, item, scope, &format!("{at}/{n}"), whole)
            })
        }
        (template, value) => {
            let expected = scope.make(template)?;
            if expected == *value { Ok(()) } else { Err(format!("{at} is {value} and not {expected}")) }
        }
    }
}

/// What an object of the form `{"$any": …}` asks of a value.
pub(crate) fn matcher(template: &Value) -> Option<(&str, &Value)> {
    let members = template.as_object().filter(|members| members.len() == 1)?;
    let (name, of) = members.iter().next()?;
    ["$any", "$absent", "$length"].contains(&name.as_str()).then_some((name.as_str(), of))
}

/// The value at a path such as `tickets.0.entry`.
pub(crate) fn at<'a>(value: &'a Value, path: &str) -> Option<&'a Value> {
    path.split('.').try_fold(value, |value, step| match value {
        Value::Array(items) => items.get(step.parse::<usize>().ok()?),
        other => other.get(step),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn met(template: &Value, value: &Value, whole: Whole) -> bool {
        matches(template, value, &Scope::default(), "", whole).is_ok()
    }

    #[test]
    fn members_that_are_not_named_matter_only_in_a_whole_answer() {
        let value = json!({ "a": 1, "b": [{ "c": 2, "d": null }] });
        assert!(met(&json!({ "b": [{ "c": 2 }] }), &value, Whole::No));
        assert!(!met(&json!({ "b": [{ "c": 2 }] }), &value, Whole::Yes));
        assert!(met(&value, &value, Whole::Yes));
        assert!(!met(&json!({ "b": [{ "c": 3 }] }), &value, Whole::No));
        assert!(!met(&json!({ "b": [] }), &value, Whole::No));
        assert!(!met(&json!({ "e": 1 }), &value, Whole::No));
    }

    #[test]
    fn a_matcher_stands_for_more_than_one_value() {
        let value = json!({ "a": [1, 2], "n": null });
        assert!(met(&json!({ "a": { "$length": 2 }, "z": { "$absent": true } }), &value, Whole::No));
        assert!(met(&json!({ "a": { "$any": true } }), &value, Whole::No));
        for wrong in [
            json!({ "a": { "$length": 1 } }),
            json!({ "a": { "$absent": true } }),
            json!({ "n": { "$any": true } }),
            json!({ "z": { "$any": true } }),
        ] {
            assert!(!met(&wrong, &value, Whole::No), "{wrong}");
        }
    }

    fn judged(expect: &Expect, status: u16, body: &Value) -> Result<(), String> {
        let codes = BTreeMap::from([(
            "queue_full".to_owned(),
            CodeRow {
                status: 409,
                retry: "after".into(),
                retry_after_ms: Some(7),
                by: crate::list::By::Rules,
            },
        )]);
        let answer = Answer { status, bytes: body.to_string().into_bytes(), headers: BTreeMap::new() };
        let said = said(br#"{"label":"a-long-label","list":["another one"],"n":123456789}"#);
        judge(expect, &answer, &said, &codes, &Scope::default())
    }

    #[test]
    fn a_refusal_has_its_status_its_shape_and_its_remedy_and_repeats_nothing() {
        let expect = Expect { code: Some("queue_full".into()), ..Expect::default() };
        let good = json!({ "error": "queue_full", "detail": "step is odd; go", "retry": "after", "retryAfterMs": 7 });
        judged(&expect, 409, &good).unwrap();
        let named = Expect { member: Some("step".into()), says: vec!["go".into()], ..expect.clone() };
        judged(&named, 409, &good).unwrap();
        assert!(judged(&Expect { member: Some("ste".into()), ..expect.clone() }, 409, &good).is_err());
        assert!(judged(&Expect { says: vec!["come".into()], ..expect.clone() }, 409, &good).is_err());
        assert!(judged(&expect, 400, &good).is_err());
        let spoiled = [
            ("error", json!("other")),
            ("detail", json!("")),
            ("detail", json!("two\nlines")),
            ("detail", json!("a-long-label is odd")),
            ("detail", json!("another one is odd")),
            ("detail", json!("123456789 is odd")),
            ("retry", json!("now")),
            ("retryAfterMs", json!(8)),
            ("more", json!(1)),
        ];
        for (member, value) in spoiled {
            let mut body = good.clone();
            body[member] = value;
            assert!(judged(&expect, 409, &body).is_err(), "{body}");
        }
    }

    #[test]
    fn an_answer_may_be_expected_byte_for_byte() {
        let expect = Expect { status: Some(200), text: Some(json!("{\"a\":1}")), ..Expect::default() };
        judged(&expect, 200, &json!({ "a": 1 })).unwrap();
        assert!(judged(&expect, 200, &json!({ "a": 2 })).is_err());
        assert!(judged(&expect, 201, &json!({ "a": 1 })).is_err());
    }

    #[test]
    fn a_path_leads_through_objects_and_lists() {
        let value = json!({ "tickets": [{ "entry": 4 }] });
        assert_eq!(at(&value, "tickets.0.entry"), Some(&json!(4)));
        assert_eq!(at(&value, "tickets.1.entry"), None);
    }
}
