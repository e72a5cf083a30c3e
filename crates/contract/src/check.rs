//! Whether the list holds together, covers what it says, and is what an implementation says of itself.

use crate::coverage;
use crate::facts::Facts;
use crate::list::{Body, By, CallStep, Case, Expect, HttpStep, List, Piece, Step, Then};
use crate::value::{self, COUNTER};
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};

/// The fewest cases that the list may have.
pub(crate) const CASES_MIN: usize = 120;

/// Checks the list by itself. Gives everything that is wrong with it.
#[must_use]
pub(crate) fn list(list: &List) -> Vec<String> {
    let mut found = Vec::new();
    if list.cases.len() < CASES_MIN {
        found.push(format!("there are {} cases, and not {CASES_MIN} or more", list.cases.len()));
    }
    let mut names = BTreeSet::new();
    for case in &list.cases {
        if !names.insert(&case.name) {
            found.push(format!("two cases are called “{}”", case.name));
        }
        let mut walk = Walk::new(list, case);
        if let Err(error) = walk.steps(&case.steps).and_then(|()| walk.end()) {
            found.push(format!("“{}”: {error}", case.name));
        }
    }
    found.extend(coverage::gaps(list));
    found
}

/// Compares the list with what an implementation says of itself.
#[must_use]
pub(crate) fn facts(list: &List, facts: &Facts, transport: bool) -> Vec<String> {
    let mut found = Vec::new();
    differ("constant", &list.constants, &facts.constants, &mut found);
    let calls = list.calls.iter().map(|(name, row)| (name.clone(), (row.request, row.members.clone())));
    differ("call", &calls.collect(), &facts.calls, &mut found);
    let row = |name: &String| {
        let row = list.codes.get(name)?;
        Some((row.status, row.retry.clone(), row.retry_after_ms))
    };
    for (name, stands) in &facts.codes {
        match row(name) {
            None => found.push(format!("the list has no code {name}")),
            Some(row) if row != *stands => {
                found.push(format!("the code {name} is {stands:?} and in the list {row:?}"));
            }
            Some(_) => {}
        }
    }
    let missing = list.codes.iter().filter(|(name, row)| {
        (transport || row.by != By::Transport) && !facts.codes.contains_key(name.as_str())
    });
    found.extend(missing.map(|(name, _)| format!("the implementation has no code {name}")));
    found
}

fn differ<T: PartialEq + std::fmt::Debug>(
    what: &str,
    listed: &BTreeMap<String, T>,
    stands: &BTreeMap<String, T>,
    found: &mut Vec<String>,
) {
    let names: BTreeSet<&String> = listed.keys().chain(stands.keys()).collect();
    for name in names {
        let (listed, stands) = (listed.get(name), stands.get(name));
        if listed != stands {
            found.push(format!(
                "the {what} {name} is {stands:?} in the implementation and {listed:?} in the list"
            ));
        }
    }
}

/// What is known on the way through the steps of a case.
struct Walk<'a> {
    list: &'a List,
    case: &'a Case,
    /// What names may stand in a template.
    names: BTreeSet<String>,
    /// The names that steps bound, and whether one was used.
    bound: BTreeMap<String, bool>,
    /// The labels of answers, and whether one was used.
    labels: BTreeMap<String, bool>,
    waiting: BTreeSet<String>,
    /// Whether some step expects more than a status.
    tells: bool,
}

impl<'a> Walk<'a> {
    fn new(list: &'a List, case: &'a Case) -> Self {
        let mut names: BTreeSet<String> = list.constants.keys().cloned().collect();
        names.extend(["start".to_owned(), "now".to_owned()]);
        let (bound, labels) = (BTreeMap::new(), BTreeMap::new());
        Self { list, case, names, bound, labels, waiting: BTreeSet::new(), tells: false }
    }

    fn steps(&mut self, steps: &[Step]) -> Result<(), String> {
        if steps.is_empty() {
            return Err("there are no steps".into());
        }
        steps
            .iter()
            .enumerate()
            .try_for_each(|(n, step)| self.step(step).map_err(|error| format!("step {}: {error}", n + 1)))
    }

    fn end(&self) -> Result<(), String> {
        let edges = self.case.edges.iter().find(|name| !self.list.constants.contains_key(*name));
        if let Some(name) = edges {
            return Err(format!("there is no constant {name}"));
        }
        if let Some(label) = self.waiting.first() {
            return Err(format!("nobody asks what {label} was answered"));
        }
        let unused = self.bound.iter().chain(&self.labels).find(|(_, used)| !**used);
        if let Some((name, _)) = unused {
            return Err(format!("nothing uses {name}"));
        }
        match self.tells {
            true => Ok(()),
            false => Err("no step expects more than a status".into()),
        }
    }

    fn step(&mut self, step: &Step) -> Result<(), String> {
        match step {
            Step::Call(call) => self.call(call),
            Step::Repeat { of, expect } => {
                self.label(of)?;
                self.tells |= expect.is_none();
                expect.as_ref().map_or(Ok(()), |expect| self.expect(expect, None))
            }
            Step::Answers { of, expect } => {
                if !self.waiting.remove(of) {
                    return Err(format!("nothing waits as {of}"));
                }
                self.expect(expect, None)
            }
            Step::Waiting(labels) => match labels.iter().find(|label| !self.waiting.contains(*label)) {
                Some(label) => Err(format!("nothing waits as {label}")),
                None => Ok(()),
            },
            Step::Advance(by) => self.template(by),
            Step::Times { count, counter, steps } => {
                self.template(count)?;
                if counter == COUNTER && self.names.contains(counter) {
                    return Err("a loop in a loop counts by another name".into());
                }
                let fresh = self.names.insert(counter.clone());
                self.steps(steps)?;
                if fresh {
                    self.names.remove(counter);
                }
                Ok(())
            }
            Step::Http(step) => self.http(step),
        }
    }

    fn call(&mut self, step: &CallStep) -> Result<(), String> {
        match &step.body {
            Body::With(with) => {
                let row = self.list.calls.get(&step.call);
                let row = row.ok_or_else(|| format!("the table has no call {}", step.call))?;
                self.template(&Value::Object(row.plain.clone()))?;
                let mut with = with.values().filter(|value| crate::expect::matcher(value).is_none());
                with.try_for_each(|value| self.template(value))?;
            }
            Body::Whole(whole) => self.template(whole)?,
            Body::Raw(pieces) => {
                for piece in pieces {
                    match piece {
                        Piece::Text(text) => self.template(text)?,
                        Piece::Bytes(_) => {}
                    }
                }
            }
        }
        step.pad_to.as_ref().map_or(Ok(()), |length| self.template(length))?;
        if step.copies < 1 {
            return Err("no copy is sent".into());
        }
        match &step.then {
            Then::Waits(label) => {
                if step.label.is_some() || step.copies != 1 {
                    return Err("a call that waits has no other label and no copies".into());
                }
                self.tells = true;
                self.waiting.insert(label.clone());
                Ok(())
            }
            Then::Answers(expect) => {
                self.expect(expect, Some(&step.call))?;
                match &step.label {
                    Some(label) if self.labels.insert(label.clone(), false).is_some() => {
                        Err(format!("two steps are called {label}"))
                    }
                    _ => Ok(()),
                }
            }
        }
    }

    fn http(&mut self, step: &HttpStep) -> Result<(), String> {
        if !self.case.needs_transport() {
            return Err("only a case tagged http may speak to the transport".into());
        }
        step.body.as_ref().map_or(Ok(()), |body| self.template(body))?;
        self.expect(&step.expect, None)
    }

    fn expect(&mut self, expect: &Expect, call: Option<&str>) -> Result<(), String> {
        if let Some(code) = &expect.code {
            if !self.list.codes.contains_key(code) {
                return Err(format!("the table has no code {code}"));
            }
            if code == "invalid_request" && expect.member.is_none() && expect.says.is_empty() {
                return Err("an invalid request names its member, or says something else".into());
            }
        } else if expect.member.is_some() || !expect.says.is_empty() {
            return Err("only a refusal names a member or says something".into());
        }
        if let (Some(member), Some(call)) = (&expect.member, call) {
            let row = self.list.calls.get(call);
            let known = |row: &crate::list::CallRow| {
                row.members.contains_key(member) || (member == "request" && row.request)
            };
            if member != "project" && !row.is_some_and(known) {
                return Err(format!("{call} has no member {member}"));
            }
        }
        let whole = [&expect.has, &expect.is, &expect.text].into_iter().flatten();
        for template in whole.chain(expect.at.values()) {
            self.template(template)?;
            self.tells = true;
        }
        self.tells |= expect.code.is_some();
        if let Some(label) = &expect.same {
            self.label(label)?;
            self.tells = true;
        }
        for name in expect.bind.keys() {
            self.names.insert(name.clone());
            self.bound.entry(name.clone()).or_insert(false);
        }
        Ok(())
    }

    fn label(&mut self, label: &str) -> Result<(), String> {
        let used = self.labels.get_mut(label).ok_or_else(|| format!("no earlier step is called {label}"))?;
        *used = true;
        Ok(())
    }

    /// Every name of a template must be known.
    fn template(&mut self, template: &Value) -> Result<(), String> {
        let counts = counts(template);
        for sum in value::sums(template)? {
            for name in sum.names {
                if !(self.names.contains(&name) || counts && name == COUNTER) {
                    return Err(format!("nothing is named {name}"));
                }
                if let Some(used) = self.bound.get_mut(&name) {
                    *used = true;
                }
            }
        }
        Ok(())
    }
}

/// Whether a generator with a counter is in the template.
fn counts(template: &Value) -> bool {
    match template {
        Value::Array(items) => items.iter().any(counts),
        Value::Object(members) => {
            members.keys().any(|name| name == "$list" || name == "$members") || members.values().any(counts)
        }
        _ => false,
    }
}
