//! Whether a person asked to stop.

use rustix::process::{Pid, Signal, kill_process_group};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicI32, Ordering};

/// Set once by a signal handler, read by whoever waits.
#[derive(Debug, Clone, Default)]
pub struct Interrupt {
    signal: Arc<AtomicI32>,
    group: Arc<AtomicI32>,
    relays: Arc<AtomicBool>,
}

impl Interrupt {
    /// Where the handler stores the signal's number (0: none).
    #[must_use]
    pub fn cell(&self) -> Arc<AtomicI32> {
        Arc::clone(&self.signal)
    }

    /// The signal that asked to stop.
    #[must_use]
    pub fn signal(&self) -> Option<i32> {
        Some(self.signal.load(Ordering::Relaxed)).filter(|signal| *signal != 0)
    }

    /// The exit code of a command that was stopped: 128 and the signal's number.
    #[must_use]
    pub fn exit(&self) -> u8 {
        u8::try_from(128 + self.signal().unwrap_or(2)).unwrap_or(130)
    }

    /// Names the process group that must not outlive this process.
    pub(crate) fn guard(&self, group: i32) {
        self.group.store(group, Ordering::Relaxed);
    }

    /// That group has ended. One that was named since stays named.
    pub(crate) fn unguard(&self, group: i32) {
        let _ = self.group.compare_exchange(group, 0, Ordering::Relaxed, Ordering::Relaxed);
    }

    /// Whether signals are for a command that runs here: each is passed on to it, and none ends this process.
    #[must_use]
    pub fn relays(&self) -> bool {
        self.relays.load(Ordering::Relaxed)
    }

    /// From now on signals are for a command that runs here, or are no longer.
    pub(crate) fn relay(&self, on: bool) {
        self.relays.store(on, Ordering::Relaxed);
    }

    /// The signal that is to be passed on; it is then forgotten.
    pub(crate) fn take(&self) -> Option<i32> {
        Some(self.signal.swap(0, Ordering::Relaxed)).filter(|signal| *signal != 0)
    }

    /// Kills the group that was named: for a process that is about to end at once.
    pub fn kill_guarded(&self) {
        if let Some(group) = Pid::from_raw(self.group.load(Ordering::Relaxed)) {
            // It may have ended in this moment.
            let _ = kill_process_group(group, Signal::KILL);
        }
    }
}
