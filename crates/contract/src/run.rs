//! Running a case on a fresh box.

use crate::expect::{self, Answer, Said};
use crate::implementation::{Fresh, Http, Implementation, Opened};
use crate::list::{Body, CallStep, Case, Expect, HttpStep, List, Piece, Step, Then};
use crate::value::{self, Scope};
use crate::{Clock, START};
use serde_json::{Map, Value};
use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::mpsc::{self, Receiver, TryRecvError};
use std::thread;
use std::time::{Duration, Instant};

/// How long an answer that must come is waited for; never a measure of speed.
const PATIENCE: Duration = Duration::from_secs(60);

/// A call that waits.
struct Waiting {
    answer: Receiver<Answer>,
    said: Said,
}

/// A step that has a label.
struct Kept {
    call: String,
    bytes: Vec<u8>,
    answer: Answer,
}

struct Run<'a> {
    list: &'a List,
    opened: Opened,
    clock: Arc<Clock>,
    scope: Scope,
    kept: BTreeMap<String, Kept>,
    waiting: BTreeMap<String, Waiting>,
}

/// Runs a case.
///
/// # Errors
/// The first step that did not come out as expected.
pub(crate) fn run(list: &List, case: &Case, implementation: &Implementation) -> Result<(), String> {
    let clock = Arc::new(Clock::new(START));
    let fresh = Fresh { clock: Arc::clone(&clock), settings: case.settings.clone() };
    let opened = (implementation.open)(&fresh)?;
    let mut scope = Scope::default();
    list.constants.iter().for_each(|(name, value)| scope.set(name, *value));
    scope.set("start", START);
    scope.set("now", START);
    let (kept, waiting) = (BTreeMap::new(), BTreeMap::new());
    Run { list, opened, clock, scope, kept, waiting }.steps(&case.steps, "")
}

impl Run<'_> {
    fn steps(&mut self, steps: &[Step], outer: &str) -> Result<(), String> {
        for (n, step) in steps.iter().enumerate() {
            let at = format!("{outer}step {}", n + 1);
            self.step(step, &at).map_err(|error| match error.starts_with("step ") {
                true => error,
                false => format!("{at}: {error}"),
            })?;
        }
        Ok(())
    }

    fn step(&mut self, step: &Step, at: &str) -> Result<(), String> {
        match step {
            Step::Call(call) => self.call(call),
            Step::Repeat { of, expect } => self.repeat(of, expect.as_ref()),
            Step::Answers { of, expect } => {
                let waiting = self.waiting.remove(of).ok_or_else(|| format!("nothing waits as {of}"))?;
                let answer = waiting.answer.recv_timeout(PATIENCE);
                let answer = answer.map_err(|_| format!("{of} was not answered"))?;
                self.judge(expect, &answer, &waiting.said)
            }
            Step::Waiting(labels) => {
                self.go_past()?;
                self.settle()?;
                labels.iter().try_for_each(|label| self.still_waits(label))
            }
            Step::Advance(by) => {
                self.clock.advance(self.scope.integer(by)?);
                self.scope.set("now", self.clock.reads());
                Ok(())
            }
            Step::Times { count, counter, steps } => {
                for n in 1..=self.scope.integer(count)? {
                    self.scope.set(counter, n);
                    self.steps(steps, &format!("{at}, {counter} = {n}, "))?;
                }
                Ok(())
            }
            Step::Http(step) => self.http(step),
        }
    }

    fn call(&mut self, step: &CallStep) -> Result<(), String> {
        let bytes = self.bytes(step)?;
        let said = expect::said(&bytes);
        match &step.then {
            Then::Waits(label) => {
                let answer = self.send(&step.call, &bytes);
                self.waiting.insert(label.clone(), Waiting { answer, said });
                self.settle()?;
                self.still_waits(label)
            }
            Then::Answers(expect) => {
                let answers: Vec<_> = (0..step.copies).map(|_| self.send(&step.call, &bytes)).collect();
                let answers = answers.into_iter().map(|answer| answer.recv_timeout(PATIENCE));
                let answers: Vec<_> = answers.collect::<Result<_, _>>().map_err(|_| "no answer came")?;
                for answer in &answers {
                    self.judge(expect, answer, &said)?;
                    if answer != &answers[0] {
                        return Err(format!("two copies got {answer} and {}", answers[0]));
                    }
                }
                if let Some(label) = &step.label {
                    let answer = answers.into_iter().next().ok_or("no copy was sent")?;
                    self.kept.insert(label.clone(), Kept { call: step.call.clone(), bytes, answer });
                }
                Ok(())
            }
        }
    }

    /// Sends a call from a thread of its own.
    fn send(&self, call: &str, bytes: &[u8]) -> Receiver<Answer> {
        let (send, receive) = mpsc::channel();
        let (signals, call, bytes) = (Arc::clone(&self.opened.signals), call.to_owned(), bytes.to_vec());
        thread::spawn(move || {
            let (status, bytes) = match signals.post(&call, &bytes) {
                Ok(answered) => answered,
                Err(unreached) => (0, unreached.to_string().into_bytes()),
            };
            // A case that failed no longer listens.
            drop(send.send(Answer { status, bytes, headers: BTreeMap::new() }));
        });
        receive
    }

    /// Lets the implementation do what the steps so far have moved it to do: by the second answer to a call
    /// of somebody else, which changes nothing, it has looked at everything that was before.
    fn go_past(&self) -> Result<(), String> {
        let project = value::id("@nobody").ok_or("no id")?;
        let body = serde_json::json!({ "project": project }).to_string();
        for _ in 0..2 {
            let answer = self.send("hold/list", body.as_bytes()).recv_timeout(PATIENCE);
            answer.map_err(|_| "no answer came")?;
        }
        Ok(())
    }

    /// Waits until every call that was sent is parked or answered.
    fn settle(&mut self) -> Result<(), String> {
        let end = Instant::now() + PATIENCE;
        while (self.opened.parked)() < self.waiting.len() {
            for label in self.waiting.keys() {
                self.still_waits(label)?;
            }
            if Instant::now() > end {
                return Err("a call neither waits nor is answered".into());
            }
            thread::yield_now();
        }
        Ok(())
    }

    fn still_waits(&self, label: &str) -> Result<(), String> {
        let waiting = self.waiting.get(label).ok_or_else(|| format!("nothing waits as {label}"))?;
        match waiting.answer.try_recv() {
            Err(TryRecvError::Empty) => Ok(()),
            Err(TryRecvError::Disconnected) => Err(format!("{label} ended without an answer")),
            Ok(answer) => Err(format!("{label} was to wait, and was answered {answer}")),
        }
    }

    fn repeat(&mut self, of: &str, expect: Option<&Expect>) -> Result<(), String> {
        let kept = self.kept.get(of).ok_or_else(|| format!("no step is called {of}"))?;
        let answer = self.send(&kept.call, &kept.bytes).recv_timeout(PATIENCE);
        let answer = answer.map_err(|_| "no answer came")?;
        match expect {
            Some(expect) => self.judge(expect, &answer, &expect::said(&kept.bytes)),
            None if answer == kept.answer => Ok(()),
            None => Err(format!("the repeat got {answer}, and {of} had got {}", kept.answer)),
        }
    }

    fn judge(&mut self, expect: &Expect, answer: &Answer, said: &Said) -> Result<(), String> {
        expect::judge(expect, answer, said, &self.list.codes, &self.scope)?;
        if let Some(label) = &expect.same {
            let kept = self.kept.get(label).ok_or_else(|| format!("no step is called {label}"))?;
            if kept.answer != *answer {
                return Err(format!("came {answer}, and {label} had got {}", kept.answer));
            }
        }
        for (name, path) in &expect.bind {
            let json = answer.json()?;
            let value = expect::at(&json, path).ok_or_else(|| format!("no {path} in {answer}"))?;
            self.scope.set(name, value.clone());
        }
        Ok(())
    }

    fn bytes(&self, step: &CallStep) -> Result<Vec<u8>, String> {
        let mut bytes = match &step.body {
            Body::With(with) => self.laid_over(&step.call, with)?.to_string().into_bytes(),
            Body::Whole(whole) => self.scope.make(whole)?.to_string().into_bytes(),
            Body::Raw(pieces) => {
                let mut bytes = Vec::new();
                for piece in pieces {
                    match piece {
                        Piece::Text(text) => bytes.extend(self.scope.text(text)?.into_bytes()),
                        Piece::Bytes(more) => bytes.extend(more),
                    }
                }
                bytes
            }
        };
        if let Some(length) = &step.pad_to {
            let length = usize::try_from(self.scope.integer(length)?).unwrap_or(0);
            if length < bytes.len() {
                return Err(format!("the body has {} bytes already", bytes.len()));
            }
            bytes.resize(length, b' ');
        }
        Ok(bytes)
    }

    fn laid_over(&self, call: &str, with: &Map<String, Value>) -> Result<Value, String> {
        let row = self.list.calls.get(call).ok_or_else(|| format!("the list has no call {call}"))?;
        let mut body = row.plain.clone();
        for (name, value) in with {
            match expect::matcher(value) {
                Some(("$absent", _)) => drop(body.shift_remove(name)),
                _ => drop(body.insert(name.clone(), value.clone())),
            }
        }
        self.scope.make(&Value::Object(body))
    }

    fn http(&mut self, step: &HttpStep) -> Result<(), String> {
        let body = match step.body.as_ref().map(|body| self.scope.make(body)).transpose()? {
            None => Vec::new(),
            Some(Value::String(text)) => text.into_bytes(),
            Some(other) => other.to_string().into_bytes(),
        };
        let said = expect::said(&body);
        let request = Http {
            method: step.method.clone(),
            path: step.path.clone(),
            headers: step.headers.clone(),
            body,
        };
        let transport = self.opened.http.as_ref().ok_or("this implementation has no transport")?;
        let (status, headers, bytes) = transport(&request)?;
        self.judge(&step.expect, &Answer { status, bytes, headers }, &said)
    }
}
