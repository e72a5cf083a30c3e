//! A box in this process, over the repository's state file.

use crate::signals::{Signals, Unreached};
use kernel::{Clock, Limits};
use landing::{Call, Landing};
use std::fmt;
use std::sync::{Arc, mpsc};
use store::port::Source;
use store::{Calls, Desk, OpenError, Reply, Sqlite, StateFile};

/// The calls of a state file, answered by an engine of this process. Other processes may have the same
/// file open. Dropping it answers every call that waits.
pub struct Local {
    // Dropped before the file: the engine ends first.
    _engine: Sqlite,
    desk: Desk<Landing>,
    clock: Arc<dyn Clock>,
    limits: Limits,
    file: StateFile,
}

impl fmt::Debug for Local {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Local").finish_non_exhaustive()
    }
}

impl Local {
    /// Starts answering calls over an open state file.
    ///
    /// # Errors
    /// [`OpenError`] where the engine cannot start.
    pub fn start(file: StateFile, clock: Arc<dyn Clock>) -> Result<Self, OpenError> {
        Self::with_limits(file, clock, Limits::default())
    }

    /// [`Local::start`] with other limits than the defaults. Lease and turn limit are the file's own.
    ///
    /// # Errors
    /// As [`Local::start`].
    pub fn with_limits(file: StateFile, clock: Arc<dyn Clock>, limits: Limits) -> Result<Self, OpenError> {
        let desk = Desk::new(limits.clone());
        let sources: Vec<Arc<dyn Source>> = vec![Arc::new(desk.clone())];
        let engine = Sqlite::start(&file, sources, Arc::clone(&clock))?;
        Ok(Self { _engine: engine, desk, clock, limits, file })
    }

    /// The state file.
    #[must_use]
    pub fn file(&self) -> &StateFile {
        &self.file
    }

    /// How many calls wait for something to happen.
    #[must_use]
    pub fn parked_count(&self) -> usize {
        self.desk.parked_count()
    }

    /// Makes a call without waiting: `reply` gets status and body when they are known.
    pub fn submit(&self, call: &str, body: &[u8], reply: impl FnOnce(u16, Vec<u8>) + Send + 'static) {
        let reply: Reply = Box::new(move |answer| match answer {
            Ok(json) => reply(200, json),
            Err(refusal) => reply(refusal.code.status(), refusal.body()),
        });
        match Call::parse(call, body, self.clock.now(), &self.limits) {
            Ok(call) => self.desk.submit(call, reply),
            Err(refusal) => reply(Err(refusal)),
        }
    }
}

impl Signals for Local {
    fn post(&self, call: &str, body: &[u8]) -> Result<(u16, Vec<u8>), Unreached> {
        let (send, receive) = mpsc::sync_channel(1);
        // A caller that is gone needs no answer.
        self.submit(call, body, move |status, body| drop(send.send((status, body))));
        receive.recv().map_err(|_| {
            Unreached::Unknown(
                "the state stopped answering in this process; repeat the same request".to_owned(),
            )
        })
    }
}
