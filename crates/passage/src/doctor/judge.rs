//! From facts to findings. Nothing here looks at anything.

pub(super) mod environment;
pub(super) mod hooks;
pub(super) mod leftovers;
pub(super) mod numbers;
pub(super) mod place;
pub(super) mod queue;
pub(super) mod repository;
pub(super) mod settings;
pub(super) mod state;
pub(super) mod trunk;
