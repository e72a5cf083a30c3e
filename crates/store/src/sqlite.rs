//! The engine over one SQLite file: one thread, the *lane*, owns the connection that writes, pulls groups
//! from its desks and runs each as one `BEGIN IMMEDIATE … COMMIT`. No transaction is open while the lane
//! waits, and a lane with nothing parked sleeps until it is rung.

mod bell;
pub(crate) mod connect;
mod lane;
pub(crate) mod schema;

use crate::fault::Fault;
use crate::open_error::OpenError;
use crate::port::Source;
use crate::state_file::StateFile;
use bell::Bell;
use kernel::Clock;
use lane::Lane;
#[cfg(test)]
pub(crate) use lane::query;
use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{self, JoinHandle};

/// What an engine does, for tests that watch it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Event {
    /// A transaction began.
    Begin,
    /// A statement ran in it.
    Statement(String),
    /// It was committed.
    Commit,
    /// It was rolled back, or had nothing to commit.
    Rollback,
}

/// Hears what an engine does.
pub type Recorder = Arc<dyn Fn(Event) + Send + Sync>;

/// An engine that serves its desks until it is dropped. Dropping it answers every call, parked ones too,
/// and waits for the lane.
pub struct Sqlite {
    bell: Arc<Bell>,
    stop: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

impl fmt::Debug for Sqlite {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Sqlite").finish_non_exhaustive()
    }
}

impl Sqlite {
    /// Starts an engine on a state file.
    ///
    /// # Errors
    /// [`OpenError`] where the file cannot be opened any more, or no thread can be had.
    pub fn start(
        file: &StateFile,
        sources: Vec<Arc<dyn Source>>,
        clock: Arc<dyn Clock>,
    ) -> Result<Self, OpenError> {
        Self::start_recorded(file, sources, clock, None)
    }

    /// Starts an engine that reports what it does.
    ///
    /// # Errors
    /// As [`Sqlite::start`].
    pub fn start_recorded(
        file: &StateFile,
        sources: Vec<Arc<dyn Source>>,
        clock: Arc<dyn Clock>,
        recorder: Option<Recorder>,
    ) -> Result<Self, OpenError> {
        let opened = (file.path(), file.connect()?);
        let bell = Arc::new(Bell::new(&file.dir().join("state.bell")));
        let stop = Arc::new(AtomicBool::new(false));
        for source in &sources {
            let bell = Arc::clone(&bell);
            source.attach(Arc::new(move || bell.ring()));
        }
        let lane = Lane::new(opened, sources, clock, Arc::clone(&bell), Arc::clone(&stop), recorder);
        let thread = thread::Builder::new()
            .name("sqlite".into())
            .spawn(move || lane.run())
            .map_err(|_| OpenError::Io)?;
        Ok(Self { bell, stop, thread: Some(thread) })
    }
}

impl Drop for Sqlite {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::SeqCst);
        self.bell.ring();
        if let Some(thread) = self.thread.take() {
            // A lane that panicked has closed its desks on the way out; there is nothing to add.
            drop(thread.join());
        }
    }
}

/// Closes the desks however the lane ends, so that no caller waits for ever.
struct Closing(Vec<Arc<dyn Source>>);

impl Drop for Closing {
    fn drop(&mut self) {
        for source in &self.0 {
            source.close(&Fault::Stopped);
        }
    }
}
