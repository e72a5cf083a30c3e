//! Locks that a killed git has left in the way. They are named with the command that removes them, and left:
//! whoever holds one may live.

use crate::end::{End, exit, quoted, short};
use git::Trunk;
use std::path::{Path, PathBuf};

/// The leftover locks on the trunk's own refs, and on the head of its worktree, which moves with it: with one
/// of them nothing can land. Only in place.
#[must_use]
pub fn refs(trunk: &Trunk) -> Vec<PathBuf> {
    let mut locks = all(trunk);
    locks.retain(|lock| in_every_way(lock));
    locks
}

/// Whether nothing can land while that lock stands.
#[must_use]
pub fn in_every_way(lock: &Path) -> bool {
    // These may be an editor that is open, or a long collection: they are met where they are in the way.
    !lock.ends_with("index.lock") && !lock.ends_with("packed-refs.lock")
}

/// The leftover locks on the trunk's refs, and in the worktree that has the trunk. Only in place.
#[must_use]
pub fn all(trunk: &Trunk) -> Vec<PathBuf> {
    // What cannot be told is not named.
    trunk.leftover_locks().unwrap_or_default()
}

/// The command that removes these locks.
#[must_use]
pub fn removal(locks: &[PathBuf]) -> String {
    let paths: Vec<String> = locks.iter().map(|lock| quoted(&lock.display().to_string())).collect();
    format!("rm {}", paths.join(" "))
}

/// The end of a command that met these locks; none where there are none.
#[must_use]
pub fn end(locks: &[PathBuf]) -> Option<End> {
    let name = locks.first()?.file_name().unwrap_or_default().to_string_lossy().into_owned();
    let line =
        format!("a git that was killed left the lock {}; if no git runs here, remove it", short(&name, 30));
    let mut end = End::new(exit::USAGE, "ref_locked", line).next(removal(locks));
    for lock in locks {
        end = end.more(lock.display().to_string());
    }
    Some(end.fact("locks", locks.iter().map(|lock| lock.display().to_string()).collect::<Vec<_>>()))
}
