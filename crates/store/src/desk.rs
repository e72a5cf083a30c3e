//! The desk of a subject: calls in, groups out, and a bench for those that wait.

use crate::fault::Fault;
use crate::group::Group;
use crate::port::{Mapped, Ring, Rows, Source, Stmt, Work};
use kernel::{Key, Limits, Millis, Refusal};
use std::collections::{BTreeMap, HashSet, VecDeque};
use std::fmt;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::mpsc;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Instant;

/// What a call is answered: the body, or the refusal.
pub type Answer = Result<Vec<u8>, Refusal>;

/// Takes the answer. Called once, on the engine's thread, after the commit: it must not block.
pub type Reply = Box<dyn FnOnce(Answer) + Send>;

/// Whoever takes calls of a subject: a [`Desk`] that an engine serves, or the [`Model`](crate::Model).
pub trait Calls<S: Mapped>: Send + Sync {
    /// Takes a call in. `reply` is called once, whatever happens.
    fn submit(&self, call: S::Call, reply: Reply);

    /// Takes a call in and waits for its answer.
    ///
    /// # Errors
    /// The refusal.
    fn ask(&self, call: S::Call) -> Answer {
        let (send, receive) = mpsc::sync_channel(1);
        self.submit(call, Box::new(move |answer| drop(send.send(answer))));
        receive.recv().unwrap_or_else(|_| Err(Fault::Stopped.refusal()))
    }
}

/// A call at the desk.
pub(crate) struct Waiting<S: Mapped> {
    pub(crate) call: S::Call,
    pub(crate) keys: Vec<Key>,
    pub(crate) once: Option<String>,
    pub(crate) reply: Reply,
    /// Since when it waits to be decided.
    pub(crate) since: Instant,
    /// Whether it has to wait for its lock in a group of its own.
    pub(crate) alone: bool,
}

impl<S: Mapped> Waiting<S> {
    pub(crate) fn new(call: S::Call, reply: Reply) -> Self {
        let (keys, once) = (S::keys(&call), S::once(&call));
        Self { call, keys, once, reply, since: Instant::now(), alone: false }
    }

    /// Answers. A caller that panics in its reply harms nobody else.
    pub(crate) fn answer(self, answer: Answer) {
        let reply = self.reply;
        drop(catch_unwind(AssertUnwindSafe(|| reply(answer))));
    }
}

/// A call that waits for something to happen.
pub(crate) struct Parked<S: Mapped> {
    pub(crate) waiting: Waiting<S>,
    pub(crate) until: Millis,
    /// For each of its keys, the mark that it was decided on.
    pub(crate) marks: Vec<i64>,
}

struct Inner<S: Mapped> {
    queue: VecDeque<Waiting<S>>,
    parked: Vec<Parked<S>>,
    closed: Option<Fault>,
    ring: Option<Ring>,
}

pub(crate) struct Shared<S: Mapped> {
    inner: Mutex<Inner<S>>,
    pub(crate) limits: Limits,
}

/// The desk of one subject. Clones are the same desk.
pub struct Desk<S: Mapped>(Arc<Shared<S>>);

impl<S: Mapped> Clone for Desk<S> {
    fn clone(&self) -> Self {
        Self(Arc::clone(&self.0))
    }
}

impl<S: Mapped> fmt::Debug for Desk<S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let inner = self.0.lock();
        f.debug_struct("Desk")
            .field("waiting", &inner.queue.len())
            .field("parked", &inner.parked.len())
            .finish_non_exhaustive()
    }
}

impl<S: Mapped> Desk<S> {
    /// An empty desk. Calls wait until an engine serves it.
    #[must_use]
    pub fn new(limits: Limits) -> Self {
        let inner = Inner { queue: VecDeque::new(), parked: Vec::new(), closed: None, ring: None };
        Self(Arc::new(Shared { inner: Mutex::new(inner), limits }))
    }

    /// How many calls are parked.
    #[must_use]
    pub fn parked_count(&self) -> usize {
        self.0.lock().parked.len()
    }
}

impl<S: Mapped> Calls<S> for Desk<S> {
    fn submit(&self, call: S::Call, reply: Reply) {
        self.0.queue(vec![Waiting::new(call, reply)]);
    }
}

impl<S: Mapped> Shared<S> {
    /// A panic under this lock leaves the lists whole: nothing of a caller or a rule runs under it.
    fn lock(&self) -> MutexGuard<'_, Inner<S>> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Lets calls wait to be decided, and wakes the engine.
    pub(crate) fn queue(&self, calls: Vec<Waiting<S>>) {
        let mut inner = self.lock();
        if let Some(fault) = inner.closed {
            drop(inner);
            calls.into_iter().for_each(|call| call.answer(Err(fault.refusal())));
            return;
        }
        inner.queue.extend(calls);
        let ring = inner.ring.clone();
        drop(inner);
        if let Some(ring) = ring {
            ring();
        }
    }

    pub(crate) fn park(&self, calls: Vec<Parked<S>>) {
        let mut inner = self.lock();
        if let Some(fault) = inner.closed {
            drop(inner);
            calls.into_iter().for_each(|parked| parked.waiting.answer(Err(fault.refusal())));
            return;
        }
        inner.parked.extend(calls);
    }

    /// Moves the parked calls that `chosen` picks to those that wait to be decided.
    fn rouse(&self, chosen: impl FnMut(&mut Parked<S>) -> bool) {
        let mut inner = self.lock();
        let calls: Vec<_> = inner.parked.extract_if(.., chosen).collect();
        let now = Instant::now();
        inner.queue.extend(calls.into_iter().map(|parked| Waiting { since: now, ..parked.waiting }));
    }

    /// Wakes the parked calls of these keys that were decided on other marks.
    pub(crate) fn heard(&self, marks: &BTreeMap<(&str, &str), i64>) {
        self.rouse(|parked| {
            parked
                .waiting
                .keys
                .iter()
                .zip(&parked.marks)
                .any(|(key, mark)| marks.get(&(key.kind, key.name.as_str())).is_some_and(|now| now != mark))
        });
    }
}

impl<S: Mapped> Source for Desk<S> {
    fn attach(&self, ring: Ring) {
        self.0.lock().ring = Some(ring);
    }

    fn take(&self, max: usize) -> Option<Box<dyn Work>> {
        let mut inner = self.0.lock();
        let mut group: Vec<Waiting<S>> = Vec::new();
        let mut left = VecDeque::new();
        let mut seen = HashSet::new();
        while let Some(call) = inner.queue.pop_front() {
            let apart = call.alone && !group.is_empty();
            if apart || call.once.as_ref().is_some_and(|once| seen.contains(once)) {
                left.push_back(call);
                continue;
            }
            seen.extend(call.once.clone());
            let alone = call.alone;
            group.push(call);
            if alone || group.len() >= max {
                break;
            }
        }
        left.append(&mut inner.queue);
        inner.queue = left;
        drop(inner);
        (!group.is_empty()).then(|| Box::new(Group::new(Arc::clone(&self.0), group)) as Box<dyn Work>)
    }

    fn oldest(&self) -> Option<Instant> {
        self.0.lock().queue.iter().map(|call| call.since).min()
    }

    fn expire(&self, before: Instant, fault: &Fault) {
        let mut inner = self.0.lock();
        let (old, rest) = inner.queue.drain(..).partition(|call| call.since <= before);
        inner.queue = rest;
        drop(inner);
        let old: VecDeque<Waiting<S>> = old;
        old.into_iter().for_each(|call| call.answer(Err(fault.refusal())));
    }

    fn due(&self, now: Millis) {
        self.0.rouse(|parked| now >= parked.until);
    }

    fn wake(&self, key: &Key) {
        self.0.rouse(|parked| parked.waiting.keys.iter().any(|k| k.kind == key.kind && k.name == key.name));
    }

    fn parked(&self) -> bool {
        !self.0.lock().parked.is_empty()
    }

    fn watch(&self) -> (Vec<Key>, Vec<Stmt>) {
        let inner = self.0.lock();
        let keys: HashSet<&Key> = inner.parked.iter().flat_map(|parked| &parked.waiting.keys).collect();
        keys.into_iter().map(|key| (key.clone(), S::watch(key))).unzip()
    }

    fn heard(&self, keys: &[Key], rows: &[Rows]) {
        let mark = |rows: &Rows| rows.first().and_then(|row| row.int(0).ok()).unwrap_or(0);
        let marks = keys.iter().zip(rows).map(|(key, rows)| ((key.kind, key.name.as_str()), mark(rows)));
        self.0.heard(&marks.collect());
    }

    fn close(&self, fault: &Fault) {
        let mut inner = self.0.lock();
        inner.closed = Some(*fault);
        inner.ring = None;
        let calls: Vec<_> = inner.queue.drain(..).collect();
        let parked: Vec<_> = inner.parked.drain(..).map(|parked| parked.waiting).collect();
        drop(inner);
        calls.into_iter().chain(parked).for_each(|call| call.answer(Err(fault.refusal())));
    }
}
