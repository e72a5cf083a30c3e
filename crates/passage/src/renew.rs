//! The thread that shows that a passage lives, and does nothing else.

use crate::site::Site;
use client::{CallError, Signals, Stay, TicketView, Typed};
use kernel::{Clock, Code, Id, Millis};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::Duration;

/// How often a caller renews at the least, in milliseconds (source: `renewMs`).
const RENEW_MS: Millis = 60_000;

/// How often the thread looks at the clock. A clock may jump (a laptop wakes), so it looks often.
const LOOK: Duration = Duration::from_millis(100);

/// Renews a turn until it is stopped or the turn is lost.
#[derive(Debug)]
pub struct Renewer {
    shared: Arc<Shared>,
    thread: Option<JoinHandle<()>>,
}

#[derive(Debug)]
struct Shared {
    inner: Mutex<Inner>,
    bell: Condvar,
}

#[derive(Debug)]
struct Inner {
    step: String,
    due: bool,
    stop: bool,
    lost: bool,
    last: Millis,
}

/// How often a lease of that length is renewed.
#[must_use]
pub fn interval(lease: Millis) -> Millis {
    (lease / 5).clamp(1, RENEW_MS)
}

struct Task {
    signals: Arc<dyn Signals>,
    project: Id,
    clock: Arc<dyn Clock>,
    stay: Stay,
    turn_no: i64,
    interval: Millis,
}

impl Renewer {
    /// Starts renewing a turn that `view` shows.
    #[must_use]
    pub fn start(site: &Site, stay: &Stay, turn_no: i64, view: &TicketView) -> Self {
        let task = Task {
            signals: Arc::clone(&site.signals),
            project: site.project.clone(),
            clock: Arc::clone(&site.clock),
            stay: stay.clone(),
            turn_no,
            interval: interval(view.lease_until - view.touched_at),
        };
        let inner =
            Inner { step: String::new(), due: false, stop: false, lost: false, last: view.touched_at };
        let shared = Arc::new(Shared { inner: Mutex::new(inner), bell: Condvar::new() });
        let of_thread = Arc::clone(&shared);
        let thread = std::thread::Builder::new().name("renew".into()).spawn(move || task.run(&of_thread));
        if thread.is_err() {
            shared.lock().lost = true;
        }
        Self { shared, thread: thread.ok() }
    }

    /// Says what the passage does now; others see it.
    pub fn step(&self, step: &str) {
        let mut inner = self.shared.lock();
        step.clone_into(&mut inner.step);
        inner.due = true;
        self.shared.bell.notify_all();
    }

    /// Whether the turn is lost.
    #[must_use]
    pub fn lost(&self) -> bool {
        self.shared.lock().lost
    }

    /// When the box was last seen to agree that the turn is ours.
    #[must_use]
    pub fn last(&self) -> Millis {
        self.shared.lock().last
    }

    /// Ends the thread and waits for it.
    pub fn stop(&mut self) {
        self.shared.lock().stop = true;
        self.shared.bell.notify_all();
        if let Some(thread) = self.thread.take() {
            // A thread that panicked has ended too.
            let _ = thread.join();
        }
    }
}

impl Drop for Renewer {
    fn drop(&mut self) {
        self.stop();
    }
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, Inner> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Task {
    fn run(&self, shared: &Shared) {
        loop {
            let step = {
                let mut inner = shared.lock();
                loop {
                    if inner.stop || inner.lost {
                        return;
                    }
                    let now = self.clock.now();
                    // A clock that was set back must not end the renewals.
                    if inner.due || now - inner.last >= self.interval || now < inner.last {
                        inner.due = false;
                        break inner.step.clone();
                    }
                    inner = shared.bell.wait_timeout(inner, LOOK).map_or_else(|e| e.into_inner().0, |r| r.0);
                }
            };
            self.renew(shared, &step);
        }
    }

    fn renew(&self, shared: &Shared, step: &str) {
        let asked = self.clock.now();
        let calls = Typed::new(self.signals.as_ref(), &self.project);
        let answer = calls.renew(&self.stay, Some(step));
        let mut inner = shared.lock();
        match answer {
            Ok(view) if view.turn && view.turn_no == Some(self.turn_no) => inner.last = asked,
            Ok(_) => inner.lost = true,
            Err(CallError::Refused { code, .. })
                if code == Code::TicketGone.as_str() || code == Code::ProjectRetired.as_str() =>
            {
                inner.lost = true;
            }
            // No answer: whether the turn is lost is not known. It is asked again, and confirmed before
            // anything is pushed.
            Err(_) => {
                inner.due = true;
                drop(shared.bell.wait_timeout(inner, LOOK));
            }
        }
    }
}
