//! What wakes a lane: calls of its own process, and a doorbell file beside the state that other processes
//! ring after a commit that somebody may wait for.
//!
//! The doorbell is a file of its own because the log's writes can be seen before the commit is, and nothing
//! is written when it becomes visible. A ring that is missed only costs time: a lane with parked calls looks
//! at the file every 20 ms.

use std::fs::{File, OpenOptions};
use std::os::unix::fs::{FileExt, OpenOptionsExt};
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Condvar, Mutex, PoisonError};
use std::time::Duration;

/// See the module.
pub(super) struct Bell {
    /// Whether the lane sleeps, or is about to, so that a call has to ring.
    asleep: AtomicBool,
    /// What other processes watch.
    rope: Option<File>,
    pillow: Pillow,
}

/// What the lane sleeps on.
enum Pillow {
    #[cfg(target_os = "linux")]
    Poll(linux::Poll),
    /// Anywhere else: a condition variable, which does not hear the doorbell.
    Condvar(Mutex<bool>, Condvar),
}

impl Bell {
    /// A bell whose doorbell is the file at `path`, made where it is missing.
    pub(super) fn new(path: &Path) -> Self {
        let rope = OpenOptions::new().write(true).create(true).truncate(false).mode(0o600).open(path).ok();
        #[cfg(target_os = "linux")]
        let pillow = linux::Poll::new(path).map_or_else(Pillow::condvar, Pillow::Poll);
        #[cfg(not(target_os = "linux"))]
        let pillow = Pillow::condvar();
        Self { asleep: AtomicBool::new(false), rope, pillow }
    }

    /// Wakes the lane of this process, if it sleeps.
    pub(super) fn ring(&self) {
        if self.asleep.swap(false, Ordering::SeqCst) {
            match &self.pillow {
                #[cfg(target_os = "linux")]
                Pillow::Poll(poll) => poll.wake(),
                Pillow::Condvar(rung, condvar) => {
                    *rung.lock().unwrap_or_else(PoisonError::into_inner) = true;
                    condvar.notify_all();
                }
            }
        }
    }

    /// Wakes the lanes of every process that has parked calls.
    pub(super) fn shout(&self) {
        if let Some(rope) = &self.rope {
            // Not rung: they look at the file themselves.
            drop(rope.write_at(b"!", 0));
        }
    }

    /// Between this and [`Bell::sleep`] the lane looks once more whether there is something to do.
    pub(super) fn about_to_sleep(&self) {
        self.asleep.store(true, Ordering::SeqCst);
    }

    pub(super) fn awake(&self) {
        self.asleep.store(false, Ordering::SeqCst);
    }

    /// Sleeps until rung (with `listen` also by other processes) or until the time has passed.
    pub(super) fn sleep(&self, most: Option<Duration>, listen: bool) {
        match &self.pillow {
            #[cfg(target_os = "linux")]
            Pillow::Poll(poll) => poll.sleep(most, listen),
            Pillow::Condvar(rung, condvar) => {
                let rung = rung.lock().unwrap_or_else(PoisonError::into_inner);
                let most = most.unwrap_or(Duration::MAX);
                let (mut rung, _) = condvar
                    .wait_timeout_while(rung, most, |rung| !*rung)
                    .unwrap_or_else(PoisonError::into_inner);
                *rung = false;
            }
        }
        self.awake();
    }
}

impl Pillow {
    fn condvar() -> Self {
        Self::Condvar(Mutex::new(false), Condvar::new())
    }
}

#[cfg(target_os = "linux")]
mod linux {
    use rustix::event::{EventfdFlags, PollFd, PollFlags, Timespec, eventfd, poll};
    use rustix::fd::OwnedFd;
    use rustix::fs::inotify;
    use std::path::Path;
    use std::time::Duration;

    /// An event counter of this process, and a watch on the doorbell.
    pub(super) struct Poll {
        event: OwnedFd,
        watch: Option<OwnedFd>,
    }

    impl Poll {
        pub(super) fn new(path: &Path) -> Option<Self> {
            let event = eventfd(0, EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK).ok()?;
            Some(Self { event, watch: watch(path) })
        }

        pub(super) fn wake(&self) {
            // Fails only where the counter is full, and then the lane wakes all the same.
            let _ = rustix::io::write(&self.event, &1u64.to_ne_bytes());
        }

        pub(super) fn sleep(&self, most: Option<Duration>, listen: bool) {
            let mut fds = vec![PollFd::new(&self.event, PollFlags::IN)];
            fds.extend(self.watch.iter().filter(|_| listen).map(|watch| PollFd::new(watch, PollFlags::IN)));
            let most = most.and_then(|most| Timespec::try_from(most).ok());
            // An interrupted sleep is a short one.
            let _ = poll(&mut fds, most.as_ref());
            let mut bytes = [0; 4096];
            let _ = rustix::io::read(&self.event, &mut bytes[..8]);
            if let Some(watch) = self.watch.as_ref().filter(|_| listen) {
                let _ = rustix::io::read(watch, &mut bytes);
            }
        }
    }

    fn watch(path: &Path) -> Option<OwnedFd> {
        let flags = inotify::CreateFlags::CLOEXEC | inotify::CreateFlags::NONBLOCK;
        let watch = inotify::init(flags).ok()?;
        inotify::add_watch(&watch, path, inotify::WatchFlags::MODIFY).ok()?;
        Some(watch)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::Arc;
    use std::thread;

    fn bells(path: &Path) -> [Bell; 2] {
        let portable =
            Bell { asleep: AtomicBool::new(false), rope: Bell::new(path).rope, pillow: Pillow::condvar() };
        [Bell::new(path), portable]
    }

    #[test]
    fn a_ring_wakes_a_lane_that_sleeps_and_one_that_is_about_to() {
        let dir = tempfile::tempdir().unwrap();
        for bell in bells(&dir.path().join("bell")) {
            let bell = Arc::new(bell);
            bell.about_to_sleep();
            bell.ring();
            bell.sleep(None, false);
            let sleeper = Arc::clone(&bell);
            bell.about_to_sleep();
            let thread = thread::spawn(move || sleeper.sleep(None, true));
            bell.ring();
            thread.join().unwrap();
        }
    }

    #[test]
    fn a_shout_wakes_the_lane_of_another_process_that_listens() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("bell");
        let (here, there) = (Bell::new(&path), Bell::new(&path));
        there.about_to_sleep();
        here.shout();
        there.sleep(None, true);
    }
}
