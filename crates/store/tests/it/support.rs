//! What the tests share: a clock that only the test moves, and a box over a file.

use kernel::{Clock, Code, Id, Limits, Millis};
use landing::{Call, Landing};
use serde_json::{Value, json};
use std::path::Path;
use std::sync::atomic::{AtomicI64, Ordering};
use std::sync::mpsc::{self, Receiver};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};
use store::sqlite::{Event, Recorder};
use store::{Answer, Calls, Desk, OpenError, Options, Sqlite, StateFile};

pub(crate) const START: Millis = 1_800_000_000_000;

/// How long a test waits for what must come; never a measure of speed.
pub(crate) const PATIENCE: Duration = Duration::from_secs(30);

#[derive(Debug)]
pub(crate) struct ManualClock(AtomicI64);

impl ManualClock {
    pub(crate) fn new() -> Arc<Self> {
        Arc::new(Self(AtomicI64::new(START)))
    }

    pub(crate) fn set(&self, now: Millis) {
        self.0.store(now, Ordering::SeqCst);
    }

    pub(crate) fn advance(&self, by: Millis) {
        self.0.fetch_add(by, Ordering::SeqCst);
    }
}

impl Clock for ManualClock {
    fn now(&self) -> Millis {
        self.0.load(Ordering::SeqCst)
    }
}

/// What the engine of a box did.
#[derive(Clone, Default)]
pub(crate) struct Tape(Arc<Mutex<Vec<Event>>>);

impl Tape {
    fn recorder(&self) -> Recorder {
        let tape = self.clone();
        Arc::new(move |event| tape.0.lock().unwrap().push(event))
    }

    pub(crate) fn take(&self) -> Vec<Event> {
        std::mem::take(&mut self.0.lock().unwrap())
    }
}

/// One process's hold on a state file.
pub(crate) struct Open {
    pub(crate) desk: Desk<Landing>,
    pub(crate) file: StateFile,
    pub(crate) clock: Arc<dyn Clock>,
    pub(crate) limits: Limits,
    pub(crate) tape: Tape,
    pub(crate) engine: Option<Sqlite>,
}

impl Open {
    pub(crate) fn new(dir: &Path, clock: Arc<dyn Clock>) -> Self {
        Self::with(dir, clock, Limits::default(), &Options::default())
    }

    pub(crate) fn with(dir: &Path, clock: Arc<dyn Clock>, limits: Limits, options: &Options) -> Self {
        let file = unless_busy(
            || StateFile::create_or_open(dir, options, clock.as_ref()),
            |e| *e == OpenError::Busy,
        );
        let (desk, tape) = (Desk::new(limits.clone()), Tape::default());
        let sources: Vec<Arc<dyn store::port::Source>> = vec![Arc::new(desk.clone())];
        let engine =
            Sqlite::start_recorded(&file, sources, Arc::clone(&clock), Some(tape.recorder())).unwrap();
        Self { desk, file, clock, limits, tape, engine: Some(engine) }
    }

    pub(crate) fn call(&self, name: &str, mut body: Value) -> Call {
        body["project"] = self.file.project().as_str().into();
        Call::parse(name, body.to_string().as_bytes(), self.clock.now(), &self.limits).unwrap()
    }

    pub(crate) fn ask(&self, name: &str, body: Value) -> Answer {
        self.desk.ask(self.call(name, body))
    }

    /// The answer of a call that must succeed. A disk under load may take longer than the bounded wait;
    /// then nothing was changed, and the call is repeated as a caller would.
    #[expect(clippy::needless_pass_by_value, reason = "every caller makes it on the spot")]
    pub(crate) fn get(&self, name: &str, body: Value) -> Value {
        let answer = unless_busy(|| self.ask(name, body.clone()), |refusal| refusal.code == Code::Busy);
        serde_json::from_slice(&answer).unwrap()
    }

    pub(crate) fn send(&self, name: &str, body: Value) -> Receiver<Answer> {
        let (send, receive) = mpsc::channel();
        self.desk.submit(self.call(name, body), Box::new(move |answer| drop(send.send(answer))));
        receive
    }

    /// Enters with a fresh ticket; gives the members that name the stay, and the answer.
    pub(crate) fn enter(&self) -> (Value, Value) {
        let ticket = Id::random();
        let body = json!({
            "ticket": ticket.as_str(), "branch": "work", "head": "a".repeat(40), "label": "somebody",
        });
        let answer = self.get("queue/enter", body);
        (json!({ "ticket": ticket.as_str(), "entry": answer["entry"] }), answer)
    }

    pub(crate) fn leave(&self, stay: &Value) -> Value {
        self.get("queue/leave", and(stay, json!({ "outcome": "landed" })))
    }

    pub(crate) fn await_parked(&self, count: usize) {
        let end = Instant::now() + PATIENCE;
        while self.desk.parked_count() != count {
            assert!(Instant::now() < end, "{} calls parked, not {count}", self.desk.parked_count());
            std::thread::yield_now();
        }
    }
}

fn unless_busy<T, E: std::fmt::Debug>(
    mut attempt: impl FnMut() -> Result<T, E>,
    busy: impl Fn(&E) -> bool,
) -> T {
    let end = Instant::now() + PATIENCE;
    loop {
        match attempt() {
            Err(error) if busy(&error) && Instant::now() < end => {}
            other => return other.unwrap(),
        }
    }
}

/// The members of both.
#[expect(clippy::needless_pass_by_value, reason = "every caller makes it on the spot")]
pub(crate) fn and(a: &Value, b: Value) -> Value {
    let mut all = a.clone();
    all.as_object_mut().unwrap().extend(b.as_object().unwrap().clone());
    all
}

pub(crate) fn json(answer: &Answer) -> Value {
    serde_json::from_slice(answer.as_ref().unwrap()).unwrap()
}

pub(crate) fn code(answer: &Answer) -> &'static str {
    answer.as_ref().expect_err("a refusal").code.as_str()
}

/// A connection of somebody else, who keeps the file's lock until it is dropped.
pub(crate) fn occupied(file: &StateFile) -> rusqlite::Connection {
    let conn = rusqlite::Connection::open(file.dir().join("state.db")).unwrap();
    conn.execute_batch("BEGIN IMMEDIATE").unwrap();
    conn
}
