//! Whether a person asked to stop.

use rustix::process::{Pid, Signal, kill_process_group};
use std::collections::BTreeSet;
use std::sync::atomic::{AtomicBool, AtomicI32, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// Set once by a signal handler, read by whoever waits.
#[derive(Debug, Clone, Default)]
pub struct Interrupt {
    signal: Arc<AtomicI32>,
    groups: Arc<Mutex<BTreeSet<i32>>>,
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

    fn groups(&self) -> MutexGuard<'_, BTreeSet<i32>> {
        self.groups.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Names a process group that must not outlive this process.
    pub(crate) fn guard(&self, group: i32) {
        self.groups().insert(group);
    }

    /// That group has ended.
    pub(crate) fn unguard(&self, group: i32) {
        self.groups().remove(&group);
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

    /// Kills the groups that were named: for a process that is about to end at once.
    pub fn kill_guarded(&self) {
        for group in self.groups().iter().filter_map(|group| Pid::from_raw(*group)) {
            // It may have ended in this moment.
            let _ = kill_process_group(group, Signal::KILL);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::process::{CommandExt, ExitStatusExt};
    use std::process::{Child, Command};

    #[expect(clippy::disallowed_methods, reason = "tests start programs")]
    fn group() -> (Child, i32) {
        let child = Command::new("sleep").arg("600").process_group(0).spawn().unwrap();
        let group = i32::try_from(child.id()).unwrap();
        (child, group)
    }

    #[test]
    fn every_group_that_still_runs_is_killed_also_where_one_that_began_later_has_ended() {
        let interrupt = Interrupt::default();
        let [(mut first, one), (mut second, two), (mut third, three)] = [group(), group(), group()];
        for group in [one, two, three] {
            interrupt.guard(group);
        }
        interrupt.unguard(three);
        interrupt.kill_guarded();
        for child in [&mut first, &mut second] {
            assert_eq!(child.wait().unwrap().signal(), Some(9));
        }
        assert!(third.try_wait().unwrap().is_none(), "it is guarded no longer");
        third.kill().unwrap();
        third.wait().unwrap();
    }
}
