//! The double: the rules over one slice in a mutex, with the same desk manners as an engine.

use crate::desk::{Answer, Calls, Parked, Reply, Waiting};
use crate::fault::Fault;
use crate::port::Mapped;
use kernel::{Clock, Decision, Key, Limits, Millis};
use std::collections::VecDeque;
use std::fmt;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::Duration;

/// How often the clock passed in is looked at while a call is parked: it may jump.
const LOOK: Duration = Duration::from_millis(20);

struct State<S: Mapped> {
    slice: S::Slice,
    parked: Vec<Parked<S>>,
    stopped: bool,
}

struct Inner<S: Mapped> {
    state: Mutex<State<S>>,
    changed: Condvar,
    limits: Limits,
    clock: Arc<dyn Clock>,
}

/// The rules over one slice in memory. Nothing outlives it. Dropping it answers the parked calls.
pub struct Model<S: Mapped> {
    inner: Arc<Inner<S>>,
    thread: Option<JoinHandle<()>>,
}

impl<S: Mapped> fmt::Debug for Model<S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Model").finish_non_exhaustive()
    }
}

/// Answers that go out when the lock is free.
type Outbox<S> = Vec<(Waiting<S>, Answer)>;

impl<S: Mapped> Model<S> {
    /// A model that begins with `slice`.
    #[must_use]
    pub fn new(slice: S::Slice, limits: Limits, clock: Arc<dyn Clock>) -> Self {
        let state = Mutex::new(State { slice, parked: Vec::new(), stopped: false });
        let inner = Arc::new(Inner { state, changed: Condvar::new(), limits, clock });
        let timer = Arc::clone(&inner);
        let thread = thread::Builder::new().name("model".into()).spawn(move || timer.look_after_parked());
        // Without the thread, parked calls are only asked again when something changes.
        Self { inner, thread: thread.ok() }
    }

    /// How many calls are parked.
    #[must_use]
    pub fn parked_count(&self) -> usize {
        self.inner.lock().parked.len()
    }

    /// Looks at the slice.
    pub fn with<T>(&self, look: impl FnOnce(&S::Slice) -> T) -> T {
        look(&self.inner.lock().slice)
    }
}

impl<S: Mapped> Calls<S> for Model<S> {
    fn submit(&self, call: S::Call, reply: Reply) {
        let mut state = self.inner.lock();
        let mut out = Vec::new();
        if state.stopped {
            out.push((Waiting::new(call, reply), Err(Fault::Stopped.refusal())));
        } else {
            // As in an engine, whose time has come goes first.
            let mut asked = self.inner.due(&mut state);
            asked.push_back(Waiting::new(call, reply));
            self.inner.ask(&mut state, asked, &mut out);
        }
        drop(state);
        self.inner.changed.notify_all();
        out.into_iter().for_each(|(waiting, answer)| waiting.answer(answer));
    }
}

impl<S: Mapped> Inner<S> {
    /// No code of a caller runs under this lock, and a rule that panics only borrows the slice.
    fn lock(&self) -> MutexGuard<'_, State<S>> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Decides the calls, and again every parked call whose mark has moved by it.
    fn ask(&self, state: &mut State<S>, mut calls: VecDeque<Waiting<S>>, out: &mut Outbox<S>) {
        while let Some(mut waiting) = calls.pop_front() {
            match self.decide(&mut state.slice, &waiting.call) {
                Ok(answer) => out.push((waiting, answer)),
                Err(until) => {
                    S::asked(&mut waiting.call);
                    let marks = marks::<S>(&state.slice, &waiting.keys);
                    state.parked.push(Parked { waiting, until, marks });
                }
            }
            let slice = &state.slice;
            let moved = |parked: &mut Parked<S>| parked.marks != marks::<S>(slice, &parked.waiting.keys);
            calls.extend(state.parked.extract_if(.., moved).map(|parked| parked.waiting));
        }
    }

    /// The answer, or the time until which the call waits.
    fn decide(&self, slice: &mut S::Slice, call: &S::Call) -> Result<Answer, Millis> {
        let now = self.clock.now();
        match catch_unwind(AssertUnwindSafe(|| S::decide(slice, call, now, &self.limits))) {
            Err(_) => Ok(Err(Fault::Defect.refusal())),
            Ok(Err(refusal)) => Ok(Err(refusal)),
            Ok(Ok(Decision::Answer { json, changes })) => {
                apply::<S>(slice, &changes);
                Ok(Ok(json))
            }
            Ok(Ok(Decision::Returned { changes })) => {
                let returned = apply::<S>(slice, &changes);
                Ok(S::finish(call, returned))
            }
            Ok(Ok(Decision::Park { until, changes })) => {
                apply::<S>(slice, &changes);
                Err(until)
            }
        }
    }

    /// The parked calls whose time has come.
    fn due(&self, state: &mut State<S>) -> VecDeque<Waiting<S>> {
        let now = self.clock.now();
        state.parked.extract_if(.., |parked| now >= parked.until).map(|parked| parked.waiting).collect()
    }

    fn look_after_parked(&self) {
        let mut state = self.lock();
        while !state.stopped {
            state = if state.parked.is_empty() {
                self.changed.wait(state).unwrap_or_else(PoisonError::into_inner)
            } else {
                self.changed.wait_timeout(state, LOOK).unwrap_or_else(PoisonError::into_inner).0
            };
            let due = self.due(&mut state);
            let mut out = Vec::new();
            self.ask(&mut state, due, &mut out);
            drop(state);
            out.into_iter().for_each(|(waiting, answer)| waiting.answer(answer));
            state = self.lock();
        }
    }
}

/// Gives what the first change returns.
fn apply<S: Mapped>(slice: &mut S::Slice, changes: &[S::Change]) -> Option<i64> {
    let returned: Vec<_> = changes.iter().map(|change| S::apply(slice, change)).collect();
    returned.first().copied().flatten()
}

fn marks<S: Mapped>(slice: &S::Slice, keys: &[Key]) -> Vec<i64> {
    keys.iter().map(|key| S::mark(slice, key)).collect()
}

impl<S: Mapped> Drop for Model<S> {
    fn drop(&mut self) {
        let mut state = self.inner.lock();
        state.stopped = true;
        let parked: Vec<_> = state.parked.drain(..).collect();
        drop(state);
        self.inner.changed.notify_all();
        if let Some(thread) = self.thread.take() {
            // The thread runs no code that may panic outside a guard; if it did, there is nothing to add.
            drop(thread.join());
        }
        parked.into_iter().for_each(|parked| parked.waiting.answer(Err(Fault::Stopped.refusal())));
    }
}
