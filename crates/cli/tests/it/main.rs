//! The command line against real git and real processes.

#![allow(unreachable_pub, reason = "everything here is this one test binary's own")]
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "a test that meets the unexpected fails"
)]

mod behaviour;
mod crash;
mod harness;
mod landing;
mod refusals;
mod stress;
