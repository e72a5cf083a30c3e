//! The git crate against real git, in temporary directories.
#![expect(clippy::unwrap_used, reason = "helpers of tests stop where the scene cannot be set")]

mod checks;
mod here;
mod here_switched;
mod hooks;
mod killed;
mod lab;
mod merging;
mod reading;
mod remote;
mod repairing;
