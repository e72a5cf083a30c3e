//! The only room of signalbox that starts the git program.
//!
//! Everything here is git and nothing else: reading repositories, merging without a worktree, moving refs by
//! compare-and-swap on a remote or in place, worktrees for checks. No rule of landing is decided here (which
//! epoch may replace which, what to do after a refusal, when to ask again): that is `passage`.
//!
//! Git runs in one of three environments:
//! *content* for reading trees that nobody vouches for and for writing objects, *remote* for talking to a
//! remote as the user would, *user* for the user's own worktrees, which need the user's filters. Hooks are off
//! in all three. A process that is itself a hook reads what a push brings through git's quarantine. Calls are synchronous, have a time limit, and run in a process group of their own, so that a
//! signal to the caller's group does not reach them.

mod commit;
mod environment;
mod error;
mod here;
mod history;
mod hooks;
mod lfs;
mod locks;
mod merge;
mod obstacles;
mod oid;
mod partial;
mod process;
mod push;
mod refs;
mod repair;
mod repo;
mod run;
mod settle;
mod trees;
mod trial;
mod trunk;
mod worktrees;

pub use commit::{Identities, Identity};
pub use error::{GitError, TrunkError, redact};
pub use hooks::{Note, Symbolic};
pub use lfs::LfsEnd;
pub use merge::Merge;
pub use obstacles::{Obstacle, ObstacleKind, Operation};
pub use oid::{Oid, RefName};
pub use partial::Need;
pub use process::Program;
pub use push::PushEnd;
pub use refs::Kept;
pub use repair::Repair;
pub use repo::{Head, Repo, Urls};
pub use trees::Change;
pub use trial::{TRIALS, Trial, Try};
pub use trunk::{BOX_REF, Remote, Seen, Trunk, epoch_ref, trunk_ref};
pub use worktrees::Worktree;
