//! Locks that outlive their process.

use std::fs;
use std::path::PathBuf;
use std::thread::sleep;
use std::time::Duration;

use crate::trunk::Remote;
use crate::{GitError, Trunk};

/// How long a lock must stay the same to be shown. Git holds a ref lock for milliseconds.
const WATCH: Duration = Duration::from_secs(2);
/// How often it is looked at meanwhile.
const LOOK: Duration = Duration::from_millis(50);

impl Trunk {
    /// The locks in place on the refs of this trunk that stay for two seconds: probably left by a git that was
    /// killed, and then in everybody's way until they are removed. Takes that time only while there is a lock.
    /// None for a remote trunk, whose locks are not here.
    ///
    /// # Errors
    /// If git fails.
    pub fn leftover_locks(&self) -> Result<Vec<PathBuf>, GitError> {
        if self.remote != Remote::Here {
            return Ok(Vec::new());
        }
        let common = self.repo.common_dir();
        let names = [self.trunk_ref(), self.epoch_ref(), self.box_ref(), "packed-refs".to_owned()];
        let mut candidates: Vec<PathBuf> =
            names.iter().map(|name| common.join(format!("{name}.lock"))).collect();
        for worktree in self.on_trunk()? {
            candidates.extend(
                worktree.git_dir.iter().flat_map(|dir| [dir.join("HEAD.lock"), dir.join("index.lock")]),
            );
        }
        let stamp = |path: &PathBuf| fs::symlink_metadata(path).and_then(|meta| meta.modified()).ok();
        let mut standing: Vec<_> =
            candidates.into_iter().filter_map(|path| stamp(&path).map(|at| (path, at))).collect();
        let mut watched = Duration::ZERO;
        while !standing.is_empty() && watched < WATCH {
            sleep(LOOK);
            watched += LOOK;
            standing.retain(|(path, at)| stamp(path) == Some(*at));
        }
        Ok(standing.into_iter().map(|(path, _)| path).collect())
    }
}
