//! The rules over one slice in memory: what each call answers, and a simulation that a history checker
//! judges.

#![allow(
    unreachable_pub,
    missing_debug_implementations,
    reason = "everything here is this one test binary's own"
)]
#![allow(missing_docs, reason = "everything here is this one test binary's own")]
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "a test that meets the unexpected fails"
)]

mod holds;
mod rules;
mod simulation;

use kernel::{Decision, Id, Limits, Millis, Refusal, Subject};
use landing::{Call, Landing, Slice};
use serde_json::{Value, json};

/// A box in memory: one slice, and a clock that the test moves.
pub struct Model {
    pub slice: Slice,
    pub limits: Limits,
    pub now: Millis,
    pub project: Id,
}

/// What a call came to.
#[derive(Debug, PartialEq)]
pub enum Came {
    Answer(Value),
    Refused(u16, String),
    /// It waits, at the latest until then.
    Waits(Millis),
}

impl Came {
    pub fn answer(self) -> Value {
        match self {
            Came::Answer(value) => value,
            other => panic!("no answer: {other:?}"),
        }
    }
}

impl Default for Model {
    fn default() -> Self {
        let slice = Slice { box_id: "box".into(), ..Slice::default() };
        Self { slice, limits: Limits::default(), now: 1_000_000, project: id(1) }
    }
}

impl Model {
    pub fn new() -> Self {
        Self::default()
    }

    /// Makes a call for the project; `body` need not name it.
    pub fn call(&mut self, name: &str, body: Value) -> Came {
        let now = self.now;
        self.call_at(name, body, now)
    }

    /// Makes a call in a process whose clock shows `now`.
    pub fn call_at(&mut self, name: &str, mut body: Value, now: Millis) -> Came {
        if body.get("project").is_none() {
            body["project"] = self.project.as_str().into();
        }
        match Call::parse(name, body.to_string().as_bytes(), now, &self.limits) {
            Ok(call) => self.ask(&call, now),
            Err(refusal) => refused(&refusal),
        }
    }

    /// Asks the rule, as a store does.
    pub fn ask(&mut self, call: &Call, now: Millis) -> Came {
        let decision = match Landing::decide(&self.slice, call, now, &self.limits) {
            Ok(decision) => decision,
            Err(refusal) => return refused(&refusal),
        };
        let apply = |slice: &mut Slice, changes: &[landing::Change]| {
            let mut first = None;
            for (at, change) in changes.iter().enumerate() {
                let returned = Landing::apply(slice, change);
                if at == 0 {
                    first = returned;
                }
            }
            first
        };
        match decision {
            Decision::Answer { json, changes } => {
                apply(&mut self.slice, &changes);
                Came::Answer(serde_json::from_slice(&json).unwrap())
            }
            Decision::Returned { changes } => {
                let returned = apply(&mut self.slice, &changes);
                match Landing::finish(call, returned) {
                    Ok(json) => Came::Answer(serde_json::from_slice(&json).unwrap()),
                    Err(refusal) => refused(&refusal),
                }
            }
            Decision::Park { until, changes } => {
                apply(&mut self.slice, &changes);
                Came::Waits(until)
            }
        }
    }

    pub fn enter(&mut self, ticket: u64) -> Came {
        self.call("queue/enter", entry(ticket))
    }
}

pub fn entry(ticket: u64) -> Value {
    json!({ "ticket": id(ticket).as_str(), "branch": format!("b{ticket}"), "head": "a".repeat(40), "label": "somebody" })
}

/// A fixed id.
pub fn id(n: u64) -> Id {
    format!("00000000-0000-4000-8000-{n:012x}").parse().unwrap()
}

fn refused(refusal: &Refusal) -> Came {
    Came::Refused(refusal.code.status(), refusal.code.as_str().to_owned())
}
