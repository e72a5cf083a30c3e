//! Whether a person asked to stop.

use std::sync::Arc;
use std::sync::atomic::{AtomicI32, Ordering};

/// Set once by a signal handler, read by whoever waits.
#[derive(Debug, Clone, Default)]
pub struct Interrupt(Arc<AtomicI32>);

impl Interrupt {
    /// Where the handler stores the signal's number (0: none).
    #[must_use]
    pub fn cell(&self) -> Arc<AtomicI32> {
        Arc::clone(&self.0)
    }

    /// The signal that asked to stop.
    #[must_use]
    pub fn signal(&self) -> Option<i32> {
        Some(self.0.load(Ordering::Relaxed)).filter(|signal| *signal != 0)
    }
}
