//! A case fails on an implementation that answers something else.

use crate::implementation::{Fresh, Implementation, Opened};
use crate::list::List;
use crate::run::run;
use crate::{Clock, Facts};
use client::{Signals, Unreached};
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::{self, Receiver, Sender};
use std::sync::{Arc, Mutex};

/// What is answered, by the number of the call, its name and body, and the time.
type Answers = fn(usize, &str, &[u8], i64) -> (u16, Vec<u8>);

/// Answers by a plain function.
struct Fake {
    answer: Answers,
    clock: Arc<Clock>,
    calls: AtomicUsize,
    parked: Arc<AtomicUsize>,
    /// Calls named `wait` are answered when one named `go` is made.
    gate: (Sender<()>, Mutex<Receiver<()>>),
}

impl Signals for Fake {
    fn post(&self, call: &str, body: &[u8]) -> Result<(u16, Vec<u8>), Unreached> {
        let number = self.calls.fetch_add(1, Ordering::SeqCst);
        match call {
            "wait" => {
                self.parked.fetch_add(1, Ordering::SeqCst);
                self.gate.1.lock().unwrap().recv().unwrap();
                self.parked.fetch_sub(1, Ordering::SeqCst);
            }
            "go" => {
                self.gate.0.send(()).unwrap();
                while self.parked.load(Ordering::SeqCst) > 0 {
                    std::thread::yield_now();
                }
            }
            "nobody" => return Err(Unreached::Unknown("nobody answered".into())),
            _ => {}
        }
        Ok((self.answer)(number, call, body, self.clock.reads()))
    }
}

#[expect(clippy::needless_pass_by_value, reason = "every caller makes it on the spot")]
fn outcome(answer: Answers, steps: Value) -> Result<(), String> {
    let list = json!({
        "constants": { "leaseMs": 300 }, "ownConstants": {}, "noEdge": {},
        "calls": { "mint": { "request": false, "members": {}, "plain": { "a": "@a", "b": 2 } } },
        "codes": { "ticket_gone": { "status": 409, "retry": "never", "by": "rules" } },
        "cases": [{ "name": "one", "tags": ["http"], "steps": steps }],
    });
    let list = List::read(list.to_string().as_bytes()).unwrap();
    let open = move |fresh: &Fresh| {
        let (sender, receiver) = mpsc::channel();
        let fake = Fake {
            answer,
            clock: Arc::clone(&fresh.clock),
            calls: AtomicUsize::new(0),
            parked: Arc::default(),
            gate: (sender, Mutex::new(receiver)),
        };
        let parked = Arc::clone(&fake.parked);
        Ok(Opened {
            signals: Arc::new(fake),
            parked: Box::new(move || parked.load(Ordering::SeqCst)),
            http: Some(Box::new(|request| {
                let headers = BTreeMap::from([("retry-after".to_owned(), "60".to_owned())]);
                let said = format!("{} {} {:?}", request.method, request.path, request.headers.get("x"));
                let body = String::from_utf8_lossy(&request.body).into_owned();
                Ok((200, headers, json!({ "said": said, "body": body }).to_string().into_bytes()))
            })),
            keep: Box::new(()),
        })
    };
    let implementation =
        Implementation { name: "fake", facts: Facts::of_the_rules(), transport: true, open: Box::new(open) };
    run(&list, &list.cases[0], &implementation)
}

fn echo(number: usize, _: &str, body: &[u8], now: i64) -> (u16, Vec<u8>) {
    let said = String::from_utf8_lossy(body).into_owned();
    (200, json!({ "number": number, "now": now, "said": said }).to_string().into_bytes())
}

fn same(_: usize, _: &str, _: &[u8], _: i64) -> (u16, Vec<u8>) {
    (200, br#"{"same":true}"#.to_vec())
}

#[track_caller]
fn fails(says: &str, answer: Answers, steps: Value) {
    let error = outcome(answer, steps).unwrap_err();
    assert!(error.contains(says), "expected “{says}”, came {error}");
}

#[test]
fn bodies_reach_the_implementation_as_they_are_written() {
    let said = |body: &str| json!({ "status": 200, "has": { "said": body } });
    let id = "00000000-0000-4000-8000-000000000061";
    let steps = json!([
        { "call": "mint", "expect": said(&format!("{{\"a\":\"{id}\",\"b\":2}}")) },
        { "call": "mint", "with": { "b": { "$absent": true }, "c": "${leaseMs}" }, "expect": said(&format!("{{\"a\":\"{id}\",\"c\":300}}")) },
        { "call": "odd", "body": { "x": { "$list": [2, "${i}"] } }, "expect": said("{\"x\":[1,2]}") },
        { "call": "odd", "raw": ["a", { "$hex": "620a" }, { "$times": [2, "c"] }], "expect": said("ab\ncc") },
        { "call": "odd", "raw": "{}", "padTo": 4, "expect": said("{}  ") },
    ]);
    outcome(echo, steps).unwrap();
    let short = json!([{ "call": "odd", "raw": "{}", "padTo": 1, "expect": { "status": 200 } }]);
    fails("has 2 bytes already", echo, short);
}

#[test]
fn the_clock_moves_and_values_are_carried_on() {
    let steps = json!([
        { "call": "mint", "expect": { "status": 200, "has": { "now": "${start}" }, "bind": { "then": "now" } } },
        { "advance": "${leaseMs - 1}" },
        { "times": 2, "counter": "n", "steps": [
            { "call": "mint", "expect": { "status": 200, "has": { "now": "${then + 299}", "number": "${n}" } } },
        ] },
        { "advance": -300 },
        { "call": "mint", "expect": { "status": 200, "has": { "now": "${now}" }, "at": { "now": "${start - 1}" } } },
    ]);
    outcome(echo, steps).unwrap();
    fails(
        "step 1, i = 2, step 1: /number is 1 and not 0",
        echo,
        json!([{ "times": 3, "steps": [{ "call": "mint", "expect": { "status": 200, "has": { "number": 0 } } }] }]),
    );
}

#[test]
fn a_wrong_answer_fails_the_case_and_says_which_step() {
    fails("step 1: expected status 409", same, json!([{ "call": "mint", "expect": { "status": 409 } }]));
    fails(
        "step 1: expected 409 ticket_gone",
        same,
        json!([{ "call": "mint", "expect": { "code": "ticket_gone" } }]),
    );
    fails(
        "/same is true",
        same,
        json!([{ "call": "mint", "expect": { "status": 200, "has": { "same": false } } }]),
    );
    fails("/same is there", same, json!([{ "call": "mint", "expect": { "status": 200, "is": {} } }]));
    fails(
        "no other in",
        same,
        json!([{ "call": "mint", "expect": { "status": 200, "at": { "other": 1 } } }]),
    );
    fails(
        "no other in",
        same,
        json!([{ "call": "mint", "expect": { "status": 200, "bind": { "x": "other" } } }]),
    );
    fails("nobody answered", same, json!([{ "call": "nobody", "raw": "", "expect": { "status": 200 } }]));
}

#[test]
fn a_repeat_and_every_copy_must_get_the_same_bytes() {
    let first = json!({ "call": "mint", "as": "a", "expect": { "status": 200 } });
    outcome(same, json!([first, { "repeat": "a" }])).unwrap();
    fails("step 2: the repeat got", echo, json!([first, { "repeat": "a" }]));
    outcome(echo, json!([first, { "repeat": "a", "expect": { "status": 200, "has": { "number": 1 } } }]))
        .unwrap();
    let other = json!({ "call": "mint", "expect": { "status": 200, "same": "a" } });
    fails("and a had got", echo, json!([first, other]));
    let copies = json!({ "call": "mint", "copies": 4, "expect": { "status": 200 } });
    outcome(same, json!([copies])).unwrap();
    fails("two copies got", echo, json!([copies]));
}

#[test]
fn a_call_that_waits_must_wait_and_then_answer() {
    let go = json!({ "call": "go", "raw": "", "expect": { "status": 200 } });
    let waits = json!({ "call": "wait", "raw": "", "waits": "w" });
    let answers = json!({ "answers": "w", "expect": { "status": 200, "has": { "number": 0 } } });
    outcome(echo, json!([waits, { "waiting": ["w"] }, go, answers])).unwrap();
    let at_once = json!({ "call": "mint", "waits": "w" });
    fails("w was to wait, and was answered", echo, json!([at_once, answers]));
    fails("w was to wait, and was answered", echo, json!([waits, go, { "waiting": ["w"] }]));
    let wrong = json!({ "answers": "w", "expect": { "status": 200, "has": { "number": 7 } } });
    fails("/number is 0 and not 7", echo, json!([waits, go, wrong]));
}

#[test]
fn a_transport_is_spoken_to_as_it_is_written() {
    let step = |expect: Value| json!([{ "http": "PUT", "path": "/mint", "headers": { "x": "y" }, "body": { "$times": [2, "z"] }, "expect": expect }]);
    let right = json!({ "status": 200, "has": { "said": "PUT /mint Some(\"y\")", "body": "zz" }, "headers": { "retry-after": "60" } });
    outcome(echo, step(right)).unwrap();
    fails(
        "expected the header retry-after: 61",
        echo,
        step(json!({ "status": 200, "headers": { "retry-after": "61" } })),
    );
}
