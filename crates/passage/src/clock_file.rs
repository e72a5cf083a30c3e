//! A clock that a test moves: a file that holds the time in milliseconds.

use kernel::{Clock, Millis};
use std::path::PathBuf;
use std::sync::atomic::{AtomicI64, Ordering};

/// Reads the time from a file each time it is asked; while the file cannot be read (it is being
/// replaced) the last value stands.
#[derive(Debug)]
pub struct ClockFile {
    path: PathBuf,
    last: AtomicI64,
}

impl ClockFile {
    /// A clock over that file.
    #[must_use]
    pub fn new(path: PathBuf) -> Self {
        Self { path, last: AtomicI64::new(0) }
    }
}

impl Clock for ClockFile {
    fn now(&self) -> Millis {
        if let Some(now) = std::fs::read_to_string(&self.path).ok().and_then(|t| t.trim().parse().ok()) {
            self.last.store(now, Ordering::Relaxed);
        }
        self.last.load(Ordering::Relaxed)
    }
}
