//! The command line against real git and real processes.

#![allow(unreachable_pub, reason = "everything here is this one test binary's own")]

mod harness;
mod landing;
