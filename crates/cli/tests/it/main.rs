//! The command line against real git and real processes.

#![allow(unreachable_pub, reason = "everything here is this one test binary's own")]
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "a test that meets the unexpected fails"
)]

mod ahead;
mod behaviour;
mod behaviour_branches;
mod behaviour_init;
mod behaviour_merging;
mod behaviour_names;
mod behaviour_numbers;
mod behaviour_queue;
mod behaviour_settings;
mod behaviour_signals;
mod crash;
mod crash_calls;
mod crash_fence;
mod crash_here;
mod crash_turn;
mod demo;
mod docs;
mod doctor;
mod doctor_left;
mod doctor_state;
mod doctor_trunk;
mod generated;
mod harness;
mod holds;
mod hooks;
mod hooks_clone;
mod hooks_forged;
mod hooks_installed;
mod house;
mod landing;
mod limits;
mod mended;
mod mended_ahead;
mod mended_checks;
mod mended_lfs;
mod mended_numbers;
mod mended_places;
mod mended_remotes;
mod mended_settings;
mod mended_signals;
mod mended_time;
mod mended_words;
mod project;
mod promises;
mod refusals;
mod refusals_clones;
mod refusals_output;
mod refusals_state;
mod run;
mod state_folder;
mod stress;
mod user_file;
mod why;
mod words;
