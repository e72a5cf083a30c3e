//! The clock of a case: it moves when a step says so.

use kernel::Millis;
use std::sync::atomic::{AtomicI64, Ordering};

/// A clock that only the case moves.
#[derive(Debug)]
pub struct Clock(AtomicI64);

impl Clock {
    /// A clock that shows `start`.
    #[must_use]
    pub fn new(start: Millis) -> Self {
        Self(AtomicI64::new(start))
    }

    /// What it shows.
    #[must_use]
    pub fn reads(&self) -> Millis {
        self.0.load(Ordering::SeqCst)
    }

    pub(crate) fn advance(&self, by: Millis) {
        self.0.fetch_add(by, Ordering::SeqCst);
    }
}

impl kernel::Clock for Clock {
    fn now(&self) -> Millis {
        self.reads()
    }
}
