//! What stands in the way of a landing in place, found before anything is locked.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use bstr::{BStr, BString, ByteSlice, ByteVec};

use crate::trees::GITLINK;
use crate::trunk::Remote;
use crate::worktrees::Worktree;
use crate::{Change, GitError, Oid, Trunk};

/// Something that must be put out of the way by a person before a landing in place.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Obstacle {
    /// What it is.
    pub kind: ObstacleKind,
    /// The worktree it is in.
    pub worktree: PathBuf,
    /// The paths it is about, from the top of the worktree.
    pub paths: Vec<BString>,
}

/// The kinds of [`Obstacle`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ObstacleKind {
    /// Besides another worktree, this one has the trunk checked out, too.
    SecondWorktree,
    /// The worktree has the trunk checked out, but its files cannot be reached: it is locked and its directory is
    /// not there (a disk that is not mounted), or it is the main worktree and git does not know where that is (its
    /// `.git` leads to a directory elsewhere). In the second case [`Obstacle::worktree`] is what git takes for it,
    /// and a [`crate::Repo`] that was discovered in the main worktree itself has no such obstacle.
    Missing,
    /// An operation on the trunk is under way.
    Operation(Operation),
    /// Tracked files are changed.
    TrackedChanges,
    /// Untracked or ignored files are where the landing adds paths.
    InTheWay,
    /// Another git is at work in the worktree, or was killed there: its index is locked.
    IndexLocked,
}

/// What git has under way in a worktree.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Operation {
    /// `git rebase`, or `git am`.
    Rebase,
    /// `git merge`.
    Merge,
    /// `git cherry-pick`.
    CherryPick,
    /// `git revert`.
    Revert,
    /// `git bisect`.
    Bisect,
}

impl Trunk {
    /// What stands in the way of moving the trunk in place from `old` (none: there is no trunk yet) to `new`. With
    /// no `new` (before the landing is known): everything but files in the way of what it adds and locked indexes.
    /// Nothing for a remote trunk.
    ///
    /// # Errors
    /// If git fails, or a commit is not here.
    pub fn obstacles(&self, old: Option<&Oid>, new: Option<&Oid>) -> Result<Vec<Obstacle>, GitError> {
        let mut found = Vec::new();
        if self.remote != Remote::Here {
            return Ok(found);
        }
        let trunk = self.repo.target_of(&self.trunk_ref())?;
        let mut first = true;
        for worktree in self.repo.worktrees()? {
            let has_trunk = worktree.branch.as_ref() == Some(&trunk);
            let mut add = |kind, paths| found.push(Obstacle { kind, worktree: worktree.path.clone(), paths });
            let Some(git_dir) = &worktree.git_dir else {
                if has_trunk && (worktree.locked || worktree.main) {
                    add(ObstacleKind::Missing, Vec::new());
                }
                continue;
            };
            if let Some(operation) = operation(git_dir, &trunk, has_trunk) {
                add(ObstacleKind::Operation(operation), Vec::new());
            }
            if !has_trunk {
                continue;
            }
            if !std::mem::take(&mut first) {
                add(ObstacleKind::SecondWorktree, Vec::new());
            }
            let changes = self.repo.status(&worktree.path, "all")?;
            if !changes.is_empty() {
                add(ObstacleKind::TrackedChanges, changes);
            }
            if let Some(new) = new {
                found.extend(self.in_the_way(&worktree, git_dir, old, new)?);
            }
        }
        Ok(found)
    }

    fn in_the_way(
        &self,
        worktree: &Worktree,
        git_dir: &Path,
        old: Option<&Oid>,
        new: &Oid,
    ) -> Result<Vec<Obstacle>, GitError> {
        let empty = self.repo.empty_tree()?;
        let changes = self.repo.changed_paths(old.unwrap_or(&empty), new)?;
        let paths = blocking(&worktree.path, &changes)?;
        let obstacle = |kind, paths| Obstacle { kind, worktree: worktree.path.clone(), paths };
        let mut found = Vec::new();
        if !paths.is_empty() {
            found.push(obstacle(ObstacleKind::InTheWay, paths));
        }
        if fs::symlink_metadata(git_dir.join("index.lock")).is_ok() {
            found.push(obstacle(ObstacleKind::IndexLocked, Vec::new()));
        }
        Ok(found)
    }
}

/// The operation under way in a worktree that will move the trunk when it ends, or that holds its files.
///
/// A rebase or bisect shows as a detached head; the branch it will come back to is in its own records.
fn operation(git_dir: &Path, trunk: &str, has_trunk: bool) -> Option<Operation> {
    let read = |name: &str| fs::read(git_dir.join(name)).unwrap_or_default();
    let names = |name: &str| read(name).lines().any(|line| line.trim_ascii() == trunk.as_bytes());
    let there = |name: &str| has_trunk && fs::symlink_metadata(git_dir.join(name)).is_ok();
    let short = trunk.strip_prefix("refs/heads/").unwrap_or(trunk);
    if names("rebase-merge/head-name") || names("rebase-apply/head-name") || names("rebase-merge/update-refs")
    {
        return Some(Operation::Rebase);
    }
    if names("BISECT_START") || read("BISECT_START").trim_ascii() == short.as_bytes() {
        return Some(Operation::Bisect);
    }
    [
        ("MERGE_HEAD", Operation::Merge),
        ("CHERRY_PICK_HEAD", Operation::CherryPick),
        ("REVERT_HEAD", Operation::Revert),
        ("sequencer", Operation::CherryPick),
        ("rebase-apply", Operation::Rebase),
    ]
    .into_iter()
    .find_map(|(name, operation)| there(name).then_some(operation))
}

/// The files in a worktree that checking out the added paths would overwrite or stumble over. Git protects
/// untracked files only, and overwrites ignored ones without a word.
pub(crate) fn blocking(top: &Path, changes: &[Change]) -> Result<Vec<BString>, GitError> {
    let gone: BTreeSet<&BStr> =
        changes.iter().filter(|c| c.status == b'D').map(|c| c.path.as_bstr()).collect();
    let mut found = BTreeSet::new();
    for change in changes {
        let becomes_file = change.new.is_some() && change.new_mode != GITLINK;
        if change.status == b'A' || (change.old_mode == GITLINK && becomes_file) {
            parents(top, change.path.as_bstr(), &gone, &mut found)?;
            at(top, change, &gone, &mut found)?;
        }
    }
    Ok(found.into_iter().collect())
}

fn parents(
    top: &Path,
    path: &BStr,
    gone: &BTreeSet<&BStr>,
    found: &mut BTreeSet<BString>,
) -> Result<(), GitError> {
    for end in path.find_iter("/") {
        let parent = path[..end].as_bstr();
        match kind(&join(top, parent)?)? {
            None => break,
            Some(Kind::Directory) => {}
            Some(Kind::File) => {
                if !gone.contains(parent) {
                    found.insert(parent.to_owned());
                }
                break;
            }
        }
    }
    Ok(())
}

fn at(
    top: &Path,
    change: &Change,
    gone: &BTreeSet<&BStr>,
    found: &mut BTreeSet<BString>,
) -> Result<(), GitError> {
    let under_a_file = change.path.find_iter("/").any(|end| {
        let parent = change.path[..end].as_bstr();
        gone.contains(parent) || found.contains(parent)
    });
    if under_a_file {
        return Ok(());
    }
    match kind(&join(top, change.path.as_bstr())?)? {
        None => Ok(()),
        Some(Kind::Directory) if change.new_mode == GITLINK => Ok(()),
        Some(Kind::Directory) => files_under(top, &change.path, gone, found),
        Some(Kind::File) => {
            found.insert(change.path.clone());
            Ok(())
        }
    }
}

fn files_under(
    top: &Path,
    dir: &BString,
    gone: &BTreeSet<&BStr>,
    found: &mut BTreeSet<BString>,
) -> Result<(), GitError> {
    let full = join(top, dir.as_bstr())?;
    let failed = |e| GitError::io(format!("listing {}", full.display()), e);
    for entry in fs::read_dir(&full).map_err(failed)? {
        let entry = entry.map_err(failed)?;
        let mut path = dir.clone();
        path.push_byte(b'/');
        path.push_str(Vec::from_os_string(entry.file_name()).unwrap_or_default());
        if entry.file_type().map_err(failed)?.is_dir() {
            files_under(top, &path, gone, found)?;
        } else if !gone.contains(path.as_bstr()) {
            found.insert(path);
        }
    }
    Ok(())
}

enum Kind {
    Directory,
    File,
}

fn kind(path: &Path) -> Result<Option<Kind>, GitError> {
    use std::io::ErrorKind::{NotADirectory, NotFound};
    match fs::symlink_metadata(path) {
        Ok(meta) => Ok(Some(if meta.is_dir() { Kind::Directory } else { Kind::File })),
        Err(error) if matches!(error.kind(), NotFound | NotADirectory) => Ok(None),
        Err(error) => Err(GitError::io(format!("looking at {}", path.display()), error)),
    }
}

pub(crate) fn join(top: &Path, path: &BStr) -> Result<PathBuf, GitError> {
    path.to_path().map(|path| top.join(path)).map_err(|_| GitError::unreadable("diff-tree", "path"))
}
