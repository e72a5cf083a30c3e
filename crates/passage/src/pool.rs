//! Worktrees for checks: detached, of their own, kept warm between checks.
//!
//! One is used by one check at a time. Its lock belongs to the passage; a note beside it names the ticket
//! and the process group of its last check until that check was seen to end. A worktree whose last check
//! may still be running is left alone, and another one is made.

use crate::end::{End, exit, short};
use crate::procs::Process;
use crate::{fault, files, live, procs};
use git::{GitError, Oid, Repo};
use kernel::Id;
use sha2::{Digest, Sha256};
use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

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
    /// As many as there may be are in use.
    #[error("all of them are in use")]
    InUse(Vec<Left>),
}

/// What an earlier check has left running, which keeps its worktree from being used again.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Left {
    /// The worktree.
    pub dir: PathBuf,
    /// What runs there.
    pub processes: Vec<Process>,
}

impl Left {
    /// The processes for people: `12 (sleep), 13 (sh)`.
    #[must_use]
    pub fn named(&self) -> String {
        let most = 8;
        let names: Vec<String> =
            self.processes.iter().take(most).map(|p| format!("{} ({})", p.pid, short(&p.name, 20))).collect();
        let others = self.processes.len().saturating_sub(most);
        let others = if others == 0 { String::new() } else { format!(" and {others} more") };
        names.join(", ") + &others
    }
}

impl NoBay {
    /// What is said of it.
    #[must_use]
    pub fn end(&self) -> End {
        let Self::InUse(left) = self else { return End::internal(self) };
        let left: Vec<&Left> = left.iter().filter(|left| !left.processes.is_empty()).collect();
        if left.is_empty() {
            let line =
                format!("all {BAYS_MAX} checkouts for checks are in use by checks that run now; try again");
            return End::new(exit::AGAIN, "checkouts_in_use", line);
        }
        let line = format!(
            "all {BAYS_MAX} checkouts for checks are kept by what earlier checks left running; stop it"
        );
        let mut end = End::new(exit::AGAIN, "checkouts_in_use", line);
        for left in left.iter().take(10) {
            end = end.more(format!("{} in {}", left.named(), left.dir.display()));
        }
        let mut pids: Vec<i32> = left.iter().flat_map(|left| &left.processes).map(|p| p.pid).collect();
        pids.sort_unstable();
        pids.dedup();
        let words: Vec<String> = pids.iter().map(ToString::to_string).collect();
        end.more("A checkout is used again once nothing of its last check runs. A check should stop what it starts.")
            .fact("pids", pids)
            .next(format!("kill {}", words.join(" ")))
    }
}

/// The most worktrees that are tried before something must be wrong.
const BAYS_MAX: usize = 64;

/// How long processes that were killed may take to go.
const DYING: Duration = Duration::from_millis(300);

/// Where they stand: in the user's cache folder, by repository. Not below `.git`, which test runners pass over,
/// and not below the repository, where tools that look upwards would find files that are not in the tree. Only
/// without a usable cache folder in the state of the repository itself.
pub(crate) fn folder(repo: &Repo) -> PathBuf {
    let own = repo.common_dir().join("signalbox").join("checks");
    let Some(dir) = cache_folder(repo) else { return own };
    match files::private_dir(&dir).and_then(|()| dir.canonicalize()) {
        Ok(dir) => dir,
        Err(_) => own,
    }
}

/// Where they stand if the user's cache folder can be used.
fn cache_folder(repo: &Repo) -> Option<PathBuf> {
    let mut hash = Sha256::new();
    hash.update(repo.common_dir().as_os_str().as_encoded_bytes());
    let name: String = hash.finalize().iter().take(8).map(|b| format!("{b:02x}")).collect();
    Some(files::cache_dir()?.join("checks").join(name))
}

/// Where they would stand; nothing is made.
fn would_be(repo: &Repo) -> PathBuf {
    let own = || repo.common_dir().join("signalbox").join("checks");
    let dir = cache_folder(repo).filter(|dir| files::could_be(dir));
    dir.map_or_else(own, |dir| dir.canonicalize().unwrap_or(dir))
}

/// What earlier checks have left running. Only looks.
pub(crate) fn left(repo: &Repo, live_dir: &Path) -> Vec<Left> {
    let dir = would_be(repo);
    let mut found = Vec::new();
    for n in 0..BAYS_MAX {
        let Ok(lock) = File::open(dir.join(format!("{n}.lock"))) else { continue };
        if lock.try_lock().is_err() {
            continue;
        }
        let bay = Bay { dir: dir.join(n.to_string()), note: dir.join(format!("{n}.last")), _lock: lock };
        found.extend(bay.in_use(live_dir).flatten());
    }
    found
}

/// The temporary files that checks have left beside their worktrees. Only looks.
pub(crate) fn temporaries(repo: &Repo) -> Vec<PathBuf> {
    files::left(&would_be(repo), files::Temporaries::ByNumber)
}

/// Takes a worktree with `commit` checked out: tracked files as committed, untracked ones removed,
/// ignored ones kept (they are what keeps it warm).
///
/// # Errors
/// See [`NoBay`].
pub fn take(repo: &Repo, live_dir: &Path, commit: &Oid) -> Result<Bay, NoBay> {
    let dir = folder(repo);
    files::private_dir(&dir)?;
    let mut left = Vec::new();
    for n in 0..BAYS_MAX {
        let lock = files::for_lock(&dir.join(format!("{n}.lock")))?;
        if lock.try_lock().is_err() {
            continue;
        }
        let bay = Bay { dir: dir.join(n.to_string()), note: dir.join(format!("{n}.last")), _lock: lock };
        if let Some(in_use) = bay.in_use(live_dir) {
            left.extend(in_use);
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
    Err(NoBay::InUse(left))
}

impl Bay {
    /// Whether its last check may still run, and what runs of it: of one whose passage lives, nothing is told.
    fn in_use(&self, live_dir: &Path) -> Option<Option<Left>> {
        let note = match std::fs::read_to_string(&self.note) {
            Ok(note) => note,
            Err(_) if self.note.exists() => return Some(None),
            Err(_) => return None,
        };
        let mut words = note.split_whitespace();
        let ticket: Option<Id> = words.next().and_then(|w| w.parse().ok());
        let group = words.next().and_then(|w| w.parse().ok());
        if ticket.is_some_and(|ticket| live::owner(live_dir, &ticket) == live::Owner::Lives) {
            return Some(None);
        }
        match procs::seen(group, &self.dir) {
            Some(there) if there.is_empty() => None,
            there => Some(there.map(|processes| Left { dir: self.dir.clone(), processes })),
        }
    }

    /// Notes whose check runs here.
    ///
    /// # Errors
    /// The note cannot be written; then nothing may run here.
    pub fn occupied(&self, ticket: &Id, group: Option<i32>) -> io::Result<()> {
        let group = group.map_or(String::new(), |g| g.to_string());
        files::put(&self.note, format!("{} {group}\n", ticket.as_str()).as_bytes())
    }

    /// The check was seen to end. Gives what it has left running: while that runs, this worktree is not used again.
    pub fn vacated(self) -> Option<Left> {
        let until = Instant::now() + DYING;
        loop {
            let processes = procs::seen(None, &self.dir)?;
            if processes.is_empty() {
                let _ = files::drop(&self.note);
                return None;
            }
            if Instant::now() >= until {
                return Some(Left { dir: self.dir, processes });
            }
            std::thread::sleep(Duration::from_millis(10));
        }
    }
}
