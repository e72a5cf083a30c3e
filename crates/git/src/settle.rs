//! Worktrees that were switched to or from the trunk while a landing in place was made.

use std::fs;
use std::path::Path;
use std::thread::sleep;
use std::time::Duration;

use crate::here::Update;
use crate::push::Move;
use crate::worktrees::Worktree;
use crate::{GitError, Oid, Trunk};

/// Between two looks at the worktrees.
const LOOK: Duration = Duration::from_millis(20);
/// Looks at worktrees that do not come to rest, before they are left.
const LOOKS: u32 = 50;
/// Looks without a git at work, after which the worktrees are taken to rest.
const QUIET: u32 = 2;

impl Trunk {
    /// After a landing in place, or its abort: a `git switch` may have read the trunk or the index before and set
    /// them after. Where that left a worktree on the trunk with the trunk's other side in its index, it is brought
    /// to the trunk; where it carried the landing's change from the `updated` worktree to another branch, that is
    /// taken back. Waits about a second for a switch under way to end. All else is left as it is.
    pub(crate) fn settle(&self, updated: Option<&Path>, trunk: &Move<'_>, old: &Oid, landed: bool) {
        let mut quiet = 0;
        for _ in 0..LOOKS {
            let rests = self.mend_switched(updated, trunk, old, landed).unwrap_or(false);
            quiet = if rests { quiet + 1 } else { 0 };
            if quiet == QUIET {
                break;
            }
            sleep(LOOK);
        }
    }

    /// One look; whether no git was at work in any worktree and nothing was changed.
    fn mend_switched(
        &self,
        updated: Option<&Path>,
        trunk: &Move<'_>,
        old: &Oid,
        landed: bool,
    ) -> Result<bool, GitError> {
        let name = self.repo.target_of(&self.trunk_ref())?;
        let (stands, other, head) =
            if landed { (trunk.new, old, Some(trunk.new)) } else { (old, trunk.new, trunk.old) };
        let mut rests = true;
        for worktree in self.repo.worktrees()? {
            let is_updated = updated == Some(&worktree.path);
            let Some(git_dir) = &worktree.git_dir else { continue };
            if ["index.lock", "HEAD.lock"].iter().any(|lock| fs::symlink_metadata(git_dir.join(lock)).is_ok())
            {
                rests = false;
            } else if worktree.branch.as_ref() != Some(&name) {
                rests &= !(is_updated && self.take_back(&worktree, old, trunk.new)?);
            } else if (landed || is_updated)
                && worktree.head.as_ref() == head
                && !self.repo.staged(&worktree.path, stands)?.is_empty()
            {
                let behind = self.repo.staged(&worktree.path, other)?.is_empty();
                let stays = behind && !self.bring(&worktree, other, stands)?;
                rests &= stays || !(behind || is_updated);
            }
        }
        Ok(rests)
    }

    /// Takes the landing's change out of a worktree that carries just that on another branch; whether it did.
    fn take_back(&self, worktree: &Worktree, old: &Oid, new: &Oid) -> Result<bool, GitError> {
        let Some(head) = &worktree.head else { return Ok(false) };
        let staged = self.repo.staged(&worktree.path, head)?;
        let ours = !staged.is_empty() && staged == self.repo.changed_paths(old, new)?;
        Ok(ours && self.bring(worktree, new, old)?)
    }

    /// Whether the worktree was changed.
    fn bring(&self, worktree: &Worktree, from: &Oid, to: &Oid) -> Result<bool, GitError> {
        match self.update(&worktree.path, from, to)? {
            Update::Refused(_) => Ok(false),
            Update::Broken(_) => self.repair_after_crash(from, to).map(|_| true),
            Update::Done | Update::Overtaken => Ok(true),
        }
    }
}
