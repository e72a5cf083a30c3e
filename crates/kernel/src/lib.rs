//! What every part of signalbox stands on, and nothing that does I/O: the clock that is passed in,
//! ids, refusals, limits, strict JSON, and the shape that every rule has ([`rule`]).
//!
//! The rules crates (`landing`, later `operations` and `finalization`) depend on this crate alone.

pub mod clock;
pub mod ids;
pub mod json;
pub mod limits;
pub mod refusal;
pub mod rule;

pub use clock::{Clock, Millis, SystemClock};
pub use ids::Id;
pub use limits::Limits;
pub use refusal::{Code, Refusal, Retry};
pub use rule::{Decision, Key, Mode, Subject};
