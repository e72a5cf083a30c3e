//! The contract: one list of cases (`contract/landing.json`), one runner, any number of implementations.
//!
//! The list is data that knows no programming language; `contract/README.md` says how to read it. An
//! implementation is bytes in and bytes out ([`client::Signals`]), and a clock that the case moves
//! ([`Implementation`]). [`main`] makes every case a test of its own on each implementation.

mod check;
mod clock;
mod coverage;
mod expect;
mod facts;
mod implementation;
mod list;
mod parse;
mod read;
mod run;
mod suite;
mod value;

pub use clock::Clock;
pub use facts::Facts;
pub use implementation::{Fresh, Http, Implementation, Open, Opened, Transport};
pub use list::{List, Settings};
pub use suite::main;

use kernel::Millis;

/// The list.
pub const LIST: &str = include_str!("../../../contract/landing.json");

/// What a case's clock shows at first, in milliseconds since 1970: a time in the year 2027.
pub const START: Millis = 1_800_000_000_000;

#[cfg(test)]
mod tests;
