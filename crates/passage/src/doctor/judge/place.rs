//! A trunk that is kept in this repository itself: what is in its way, and locks of git.

use crate::doctor::code::Code;
use crate::doctor::finding::Finding;
use crate::end::{End, exit, naming};
use crate::locked;
use std::path::PathBuf;

/// What is known of it.
#[derive(Debug, Clone, Default)]
pub(in crate::doctor) struct Place {
    /// What `land` says of each obstacle.
    pub(in crate::doctor) obstacles: Vec<End>,
    /// What it would say if the branch that is checked out here landed now, and the branch.
    pub(in crate::doctor) in_the_way: Option<(End, String)>,
    /// The locks of git that stand.
    pub(in crate::doctor) locks: Vec<PathBuf>,
    /// A passage lives: what is seen may be its landing.
    pub(in crate::doctor) somebody_lands: bool,
}

pub(in crate::doctor) fn judge(facts: &Place) -> Vec<Finding> {
    let mut found: Vec<Finding> = facts.obstacles.iter().cloned().map(Finding::of).collect();
    if let Some((end, branch)) = &facts.in_the_way {
        // Of this one branch only.
        let mut finding = Finding::of(end.clone()).exit(exit::DONE);
        finding.end.line =
            naming("landing {} would overwrite a file in the trunk's worktree; move it", [branch]);
        found.push(finding);
    }
    if facts.somebody_lands {
        let line =
            "somebody lands here now, so locks and the trunk's worktree are not judged; ask again later";
        found.push(Finding::new(Code::Locks, line));
        return found;
    }
    let (every, some): (Vec<PathBuf>, Vec<PathBuf>) =
        facts.locks.iter().cloned().partition(|lock| locked::in_every_way(lock));
    found.extend(locked::end(&every).map(Finding::of));
    if !some.is_empty() {
        let line = "git's own lock stands in the trunk's way; if no git or editor runs here, remove it";
        let paths = some.iter().map(|lock| lock.display().to_string());
        found.push(Finding::new(Code::GitLocked, line).lines(paths).next(locked::removal(&some)));
    }
    if facts.locks.is_empty() {
        found.push(Finding::new(Code::Locks, "no lock of git stands in the way"));
    }
    found
}
