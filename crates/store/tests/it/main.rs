//! The store over real files: one binary, because every further one costs a link.
#![expect(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "tests")]

mod contention;
mod engine;
mod files;
mod history;
mod port;
mod processes;
mod property;
mod replace;
mod support;
