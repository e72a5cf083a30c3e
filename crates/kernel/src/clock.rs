//! Time as the whole product knows it: milliseconds since the Unix epoch, from a clock that is passed in.

use std::fmt::Debug;
use std::time::{SystemTime, UNIX_EPOCH};

/// A point in time or a span, in milliseconds. Points count from the Unix epoch.
pub type Millis = i64;

/// Where "now" comes from. Nothing in the product asks the system or a database for the time; it asks
/// the clock that it was given, so that a test can move time.
pub trait Clock: Send + Sync + Debug {
    /// The present, in milliseconds since the Unix epoch. May go backwards: what needs monotonic time
    /// (a project's time) guards itself.
    fn now(&self) -> Millis;
}

/// The machine's own clock. The only place of the product that reads it.
#[derive(Debug, Clone, Copy, Default)]
pub struct SystemClock;

impl Clock for SystemClock {
    #[expect(clippy::disallowed_methods, reason = "this is the clock that everything else is passed")]
    fn now(&self) -> Millis {
        // A clock set before 1970 reads as 0; one past the year 292 million as the last instant.
        SystemTime::now()
            .duration_since(UNIX_EPOCH)
            .map_or(0, |d| Millis::try_from(d.as_millis()).unwrap_or(Millis::MAX))
    }
}
