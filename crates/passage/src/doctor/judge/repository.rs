//! The git program and the repository.

use crate::doctor::code::Code;
use crate::doctor::finding::Finding;
use crate::end::{End, naming};

/// What is known of git and the repository.
#[derive(Debug, Clone)]
pub(in crate::doctor) struct Repository {
    pub(in crate::doctor) version: (u32, u32, u32),
    /// What `land` says where the history is cut off.
    pub(in crate::doctor) shallow: Option<End>,
    /// The remote that has what this partial clone left out.
    pub(in crate::doctor) partial: Option<String>,
    /// The trunk's attributes name the filter of git-lfs, which is not here.
    pub(in crate::doctor) lfs_missing: bool,
}

pub(in crate::doctor) fn judge(facts: &Repository) -> Vec<Finding> {
    let mut found: Vec<Finding> = facts.shallow.clone().map(Finding::of).into_iter().collect();
    if facts.lfs_missing {
        let line = "the trunk has files that git-lfs keeps, and git-lfs is not here; install it";
        found.push(
            Finding::new(Code::LfsMissing, line)
                .more("A branch with such files does not land from here. Its package is git-lfs."),
        );
    }
    let (major, minor, patch) = facts.version;
    found.push(Finding::new(Code::Git, format!("git {major}.{minor}.{patch}")));
    if let Some(remote) = &facts.partial {
        let line = naming("a partial clone: what it left out is fetched from {} when it is read", [remote]);
        found.push(Finding::new(Code::Partial, line));
    }
    found
}
