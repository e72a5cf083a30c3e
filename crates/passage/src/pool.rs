//! Worktrees for checks: detached, of their own, kept warm between checks.
//!
//! One is used by one check at a time. Its lock belongs to the passage; a note beside it names the ticket
//! and the process group of its last check until that check was seen to end. A worktree whose last check
//! may still be running is left alone, and another one is made.

use crate::{fault, files, live, procs};
use git::{GitError, Oid, Repo};
use kernel::Id;
use sha2::{Digest, Sha256};
use std::fs::{File, OpenOptions};
use std::io;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

/// A worktree that this passage has.
#[derive(Debug)]
pub struct Bay {
    /// Where.
    pub dir: PathBuf,
    note: PathBuf,
    _lock: File,
}

/// Why there is no worktree.
#[derive(Debug, thiserror::Error)]
pub enum NoBay {
    /// The folder of the worktrees cannot be used.
    #[error("the folder of the check's worktrees cannot be used: {0}")]
    Io(#[from] io::Error),
    /// Git could not make or reset one.
    #[error(transparent)]
    Git(#[from] GitError),
}

/// The most worktrees that are tried before something must be wrong.
const BAYS_MAX: usize = 64;

/// Where they stand: in the user's cache folder, by repository. Not below `.git`, which test runners pass over,
/// and not below the repository, where tools that look upwards would find files that are not in the tree. Only
/// without a usable cache folder in the state of the repository itself.
pub(crate) fn folder(repo: &Repo) -> PathBuf {
    let own = repo.common_dir().join("signalbox").join("checks");
    let Some(cache) = files::cache_dir() else { return own };
    let mut hash = Sha256::new();
    hash.update(repo.common_dir().as_os_str().as_encoded_bytes());
    let name: String = hash.finalize().iter().take(8).map(|b| format!("{b:02x}")).collect();
    let dir = cache.join("checks").join(name);
    match files::private_dir(&dir).and_then(|()| dir.canonicalize()) {
        Ok(dir) => dir,
        Err(_) => own,
    }
}

/// Takes a worktree with `commit` checked out: tracked files as committed, untracked ones removed,
/// ignored ones kept (they are what keeps it warm).
///
/// # Errors
/// See [`NoBay`].
pub fn take(repo: &Repo, live_dir: &Path, commit: &Oid) -> Result<Bay, NoBay> {
    let dir = folder(repo);
    files::private_dir(&dir)?;
    for n in 0..BAYS_MAX {
        let lock = OpenOptions::new()
            .read(true)
            .write(true)
            .create(true)
            .truncate(false)
            .mode(0o600)
            .open(dir.join(format!("{n}.lock")))?;
        if lock.try_lock().is_err() {
            continue;
        }
        let bay = Bay { dir: dir.join(n.to_string()), note: dir.join(format!("{n}.last")), _lock: lock };
        if !bay.free(live_dir) {
            continue;
        }
        let _ = files::drop(&bay.note);
        if bay.dir.join(".git").exists() {
            if repo.worktree_reset(&bay.dir, commit).is_ok() {
                return Ok(bay);
            }
            // Something broke it, or it came here with a copied or moved repository and belongs to that place;
            // what is in it is nobody's work.
            if let Err(GitError::NotALinkedWorktree(_)) = repo.worktree_remove(&bay.dir) {
                std::fs::remove_dir_all(&bay.dir)?;
            }
            repo.worktree_prune()?;
        }
        fault::point("bay:before-add");
        repo.worktree_add_detached(&bay.dir, commit)?;
        fault::point("bay:added");
        return Ok(bay);
    }
    Err(NoBay::Io(io::Error::other("all of them are in use")))
}

impl Bay {
    fn free(&self, live_dir: &Path) -> bool {
        let Ok(note) = std::fs::read_to_string(&self.note) else {
            return !self.note.exists();
        };
        let mut words = note.split_whitespace();
        let ticket: Option<Id> = words.next().and_then(|w| w.parse().ok());
        let group = words.next().and_then(|w| w.parse().ok());
        ticket.is_none_or(|ticket| live::owner(live_dir, &ticket) != live::Owner::Lives)
            && procs::seen_gone(group, &self.dir)
    }

    /// Notes whose check runs here.
    ///
    /// # Errors
    /// The note cannot be written; then nothing may run here.
    pub fn occupied(&self, ticket: &Id, group: Option<i32>) -> io::Result<()> {
        let group = group.map_or(String::new(), |g| g.to_string());
        files::put(&self.note, format!("{} {group}\n", ticket.as_str()).as_bytes())
    }

    /// The check was seen to end.
    pub fn vacated(self) {
        if procs::seen_gone(None, &self.dir) {
            let _ = files::drop(&self.note);
        }
    }
}
