//! The small language of values: names in strings, and generators for what is large.
//!
//! A value of the list is JSON, in which
//! - a string `${sum}` is the value of the sum (one name may be of any type; a sum is of integers), and
//!   `${sum}` inside a longer string is its text;
//! - a string `@name` is the id of that name;
//! - an object whose only member begins with `$` is a generator: see [`GENERATORS`].

use serde_json::{Map, Value};
use std::collections::{BTreeMap, BTreeSet};

/// What a generator is called. `contract/README.md` says what each makes.
pub(crate) const GENERATORS: &[&str] = &["$times", "$list", "$members", "$join", "$text"];

/// The counter of `$list` and `$members`, and of `times` where it names no other.
pub(crate) const COUNTER: &str = "i";

/// What names stand for.
#[derive(Debug, Clone, Default)]
pub(crate) struct Scope(BTreeMap<String, Value>);

impl Scope {
    pub(crate) fn set(&mut self, name: &str, value: impl Into<Value>) {
        self.0.insert(name.to_owned(), value.into());
    }

    fn with_counter(&self, n: i64) -> Self {
        let mut inner = self.clone();
        inner.set(COUNTER, n);
        inner
    }

    /// What a template makes.
    pub(crate) fn make(&self, template: &Value) -> Result<Value, String> {
        match template {
            Value::String(text) => self.string(text),
            Value::Array(items) => items.iter().map(|item| self.make(item)).collect(),
            Value::Object(members) => match generator(members)? {
                Some((name, of)) => self.generate(name, of),
                None => {
                    let made = members.iter().map(|(name, of)| Ok((name.clone(), self.make(of)?)));
                    made.collect::<Result<Map<_, _>, String>>().map(Value::Object)
                }
            },
            other => Ok(other.clone()),
        }
    }

    /// What a template makes, which must be an integer.
    pub(crate) fn integer(&self, template: &Value) -> Result<i64, String> {
        self.make(template)?.as_i64().ok_or_else(|| format!("{template} is no integer"))
    }

    /// What a template makes, which must be text.
    pub(crate) fn text(&self, template: &Value) -> Result<String, String> {
        match self.make(template)? {
            Value::String(text) => Ok(text),
            other => Err(format!("{other} is no text")),
        }
    }

    fn generate(&self, name: &str, of: &Value) -> Result<Value, String> {
        if name == "$text" {
            return match of {
                Value::String(_) => Ok(of.clone()),
                _ => Err("$text takes a string".into()),
            };
        }
        let items = of.as_array().ok_or_else(|| format!("{name} takes an array"))?;
        if name == "$join" {
            let parts = items.iter().map(|item| self.text(item));
            return parts.collect::<Result<String, _>>().map(Value::String);
        }
        let count = items.first().map_or(Err(format!("{name} takes how many")), |n| self.integer(n))?;
        match (name, &items[1..]) {
            ("$times", [text]) => {
                let times = usize::try_from(count).map_err(|_| "$times takes a count from 0")?;
                Ok(self.text(text)?.repeat(times).into())
            }
            ("$list", [item]) => (1..=count).map(|n| self.with_counter(n).make(item)).collect(),
            ("$members", [name, item]) => {
                let member = |n| {
                    let inner = self.with_counter(n);
                    Ok((inner.text(name)?, inner.make(item)?))
                };
                (1..=count).map(member).collect::<Result<Map<_, _>, String>>().map(Value::Object)
            }
            _ => Err(format!("{name} takes other parameters")),
        }
    }

    fn string(&self, text: &str) -> Result<Value, String> {
        if let Some(sum) = whole(text) {
            return self.sum(sum);
        }
        let mut made = String::new();
        let mut rest = text;
        while let Some((before, after)) = rest.split_once("${") {
            let (sum, after) = after.split_once('}').ok_or_else(|| format!("{text} has an open ${{"))?;
            made.push_str(before);
            match self.sum(sum)? {
                Value::String(text) => made.push_str(&text),
                other => made.push_str(&other.to_string()),
            }
            rest = after;
        }
        made.push_str(rest);
        Ok(id(&made).unwrap_or(made).into())
    }

    fn sum(&self, sum: &str) -> Result<Value, String> {
        let terms = terms(sum)?;
        if let [(1, term)] = terms[..] {
            return self.term(term);
        }
        let mut total = 0;
        for (sign, term) in terms {
            let value = self.term(term)?.as_i64().ok_or_else(|| format!("{term} is no integer"))?;
            total += sign * value;
        }
        Ok(total.into())
    }

    fn term(&self, term: &str) -> Result<Value, String> {
        if let Ok(n) = term.parse::<i64>() {
            return Ok(n.into());
        }
        id(term)
            .map(Value::String)
            .or_else(|| self.0.get(term).cloned())
            .ok_or_else(|| format!("nothing is named {term}"))
    }
}

/// The sum that is the whole string.
fn whole(text: &str) -> Option<&str> {
    let sum = text.strip_prefix("${")?.strip_suffix('}')?;
    (!sum.contains('}')).then_some(sum)
}

/// The terms of `a + b - 1`, each with its sign.
fn terms(sum: &str) -> Result<Vec<(i64, &str)>, String> {
    let mut terms = Vec::new();
    let mut sign = Some(1);
    for word in sum.split_ascii_whitespace() {
        match (sign, word) {
            (None, "+") => sign = Some(1),
            (None, "-") => sign = Some(-1),
            (Some(sign_of), word) if word != "+" && word != "-" => {
                terms.push((sign_of, word));
                sign = None;
            }
            _ => return Err(format!("{sum} is no sum")),
        }
    }
    if sign.is_some() {
        return Err(format!("{sum} is no sum"));
    }
    Ok(terms)
}

/// The id that `@name` stands for: the bytes of the name in hexadecimal, from the right, in a fixed UUID.
pub(crate) fn id(text: &str) -> Option<String> {
    let name = text.strip_prefix('@')?;
    let fits = (1..=6).contains(&name.len())
        && name.bytes().all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit());
    let hex: String = name.bytes().map(|byte| format!("{byte:02x}")).collect();
    fits.then(|| format!("00000000-0000-4000-8000-{hex:0>12}"))
}

/// The generator that an object is, with its parameters.
pub(crate) fn generator(members: &Map<String, Value>) -> Result<Option<(&str, &Value)>, String> {
    let Some(name) = members.keys().find(|name| name.starts_with('$')) else { return Ok(None) };
    if members.len() > 1 {
        return Err(format!("{name} stands beside other members"));
    }
    if !GENERATORS.contains(&name.as_str()) {
        return Err(format!("there is no generator {name}"));
    }
    Ok(members.iter().next().map(|(name, of)| (name.as_str(), of)))
}

/// A sum that some template contains: the names in it, and what is added to them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Sum {
    /// The names.
    pub(crate) names: BTreeSet<String>,
    /// What the integers in it come to.
    pub(crate) offset: i64,
}

/// Every sum of a template.
pub(crate) fn sums(template: &Value) -> Result<Vec<Sum>, String> {
    match template {
        Value::String(text) => {
            let mut sums = Vec::new();
            for part in text.split("${").skip(1) {
                let (sum, _) = part.split_once('}').ok_or_else(|| format!("{text} has an open ${{"))?;
                let mut found = Sum { names: BTreeSet::new(), offset: 0 };
                for (sign, term) in terms(sum)? {
                    match term.parse::<i64>() {
                        Ok(n) => found.offset += sign * n,
                        Err(_) if term.starts_with('@') => {}
                        Err(_) => drop(found.names.insert(term.to_owned())),
                    }
                }
                sums.push(found);
            }
            Ok(sums)
        }
        Value::Array(items) => all(items.iter()),
        Value::Object(members) => match members.iter().next() {
            Some((name, _)) if name == "$text" => Ok(Vec::new()),
            _ => all(members.values()),
        },
        _ => Ok(Vec::new()),
    }
}

fn all<'a>(templates: impl Iterator<Item = &'a Value>) -> Result<Vec<Sum>, String> {
    let found: Result<Vec<_>, _> = templates.map(sums).collect();
    Ok(found?.into_iter().flatten().collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn scope() -> Scope {
        let mut scope = Scope::default();
        scope.set("leaseMs", 300);
        scope.set("mark", "4.1");
        scope
    }

    #[test]
    fn a_sum_alone_keeps_its_type_and_inside_a_text_is_text() {
        let made = |template| scope().make(&template).unwrap();
        assert_eq!(made(json!("${leaseMs}")), json!(300));
        assert_eq!(made(json!("${leaseMs - 1 + leaseMs}")), json!(599));
        assert_eq!(made(json!("${mark}")), json!("4.1"));
        assert_eq!(made(json!("${leaseMs}/${mark}")), json!("300/4.1"));
        assert_eq!(made(json!("${@p}x")), json!("00000000-0000-4000-8000-000000000070x"));
        assert_eq!(made(json!({ "$text": "${leaseMs}" })), json!("${leaseMs}"));
    }

    #[test]
    fn an_id_is_its_name_in_hexadecimal_and_other_texts_are_themselves() {
        let made = |text: &str| scope().make(&json!(text)).unwrap();
        assert_eq!(made("@t12"), json!("00000000-0000-4000-8000-000000743132"));
        assert!(made("@abcdef").as_str().unwrap().parse::<kernel::Id>().is_ok());
        for plain in ["@", "@UP", "@toolong", "a@b", "@a b"] {
            assert_eq!(made(plain), json!(plain));
        }
    }

    #[test]
    fn generators_make_what_is_large() {
        let made = |template| scope().make(&template).unwrap();
        assert_eq!(made(json!({ "$times": [3, "ab"] })), json!("ababab"));
        assert_eq!(made(json!({ "$list": [2, "src/${i}"] })), json!(["src/1", "src/2"]));
        assert_eq!(made(json!({ "$list": [2, "@t${i}"] })), json!([id("@t1"), id("@t2")]));
        assert_eq!(made(json!({ "$members": [2, "n${i}", "${i}"] })), json!({ "n1": 1, "n2": 2 }));
        assert_eq!(made(json!({ "$join": ["a", { "$times": ["${leaseMs - 298}", "b"] }] })), json!("abb"));
    }

    #[test]
    fn what_is_wrong_in_a_template_is_said() {
        for wrong in [
            json!("${nobody}"),
            json!("${leaseMs +}"),
            json!("${}"),
            json!("${mark + 1}"),
            json!("${leaseMs"),
            json!({ "$times": ["x", 3] }),
            json!({ "$times": [-1, "x"] }),
            json!({ "$list": [3] }),
            json!({ "$list": [1, "x"], "more": 1 }),
            json!({ "$other": 1 }),
            json!({ "$text": 1 }),
            json!({ "$join": [1] }),
        ] {
            assert!(scope().make(&wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn the_sums_of_a_template_are_found_wherever_they_stand() {
        let template =
            json!({ "a": ["${now + leaseMs - 1}", { "$times": ["${n}", "x"] }], "b": { "$text": "${z}" } });
        let sums = sums(&template).unwrap();
        assert_eq!(sums.len(), 2);
        assert_eq!((sums[0].names.len(), sums[0].offset), (2, -1));
        assert!(sums[1].names.contains("n"));
    }
}
