//! The port between rules and databases, its engines, and the statements of each subject. Nothing but this
//! crate knows SQL or an engine.
//!
//! A [`Desk`] takes the calls of one subject in and parks those that wait; an engine ([`sqlite::Sqlite`])
//! pulls groups from its desks and runs each group as one transaction ([`port`]). [`Model`] is the double:
//! the same rules over one slice in memory. [`StateFile`] is the file of a repository.

mod desk;
mod fault;
mod group;
pub mod landing;
mod model;
mod open_error;
pub mod port;
pub mod sqlite;
mod state_file;

pub use desk::{Answer, Calls, Desk, Reply};
pub use fault::Fault;
pub use model::Model;
pub use open_error::OpenError;
pub use sqlite::Sqlite;
pub use state_file::{FileSystem, Options, Standing, StateFile};
