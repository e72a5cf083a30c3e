//! Looks for what killed processes have left.

use crate::doctor::judge::leftovers::Leftovers;
use crate::journal::Journal;
use crate::live::{self, Owner};
use crate::{files, kept, pool, settle};
use git::{GitError, Repo};
use kernel::Id;
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

/// A place that was kept: its ticket, its branch and the note that says so.
pub(in crate::doctor) type Kept = (Id, String, PathBuf);

/// The places that were kept. They are listed before the queue: a place has its note once it stands there.
pub(in crate::doctor) fn kept(state: &Path) -> Vec<Kept> {
    kept::all(state)
}

/// Looks for it. `queue`: the tickets that stand, if the box has told.
///
/// # Errors
/// Git failed.
pub(in crate::doctor) fn look(
    repo: &Repo,
    state: &Path,
    kept: Vec<Kept>,
    queue: Option<&BTreeSet<String>>,
) -> Result<Leftovers, GitError> {
    let live_dir = state.join("live");
    let owner = |ticket: &Id| live::owner(&live_dir, ticket);
    let journal = Journal::of(state);
    let (intents, broken) = journal.all();
    // Whoever ends well closes the intent before the lock goes.
    let is_cut_off = |ticket: &Id| owner(ticket) != Owner::Lives && journal.of_ticket(ticket).is_some();
    let cut_off =
        intents.iter().filter(|intent| intent.ticket.parse().is_ok_and(|ticket| is_cut_off(&ticket)));
    let cut_off: Vec<String> = cut_off.map(|intent| intent.branch.clone()).collect();
    // One whose place stands is told with the queue, and one with a push with that.
    let told = |ticket: &Id| {
        intents.iter().any(|intent| intent.ticket == ticket.as_str())
            || queue.is_some_and(|queue| queue.contains(ticket.as_str()))
    };
    let dead = live::tickets(&live_dir).into_iter().filter(|ticket| owner(ticket) == Owner::Gone);
    let dead_locks = dead.filter(|ticket| !told(ticket)).count();
    let mut temporaries = pool::temporaries(repo);
    for (dir, of) in files::STATE_TEMPORARIES {
        temporaries.extend(files::left(&state.join(dir), of));
    }
    let ended = |ticket: &Id| queue.is_some_and(|queue| !queue.contains(ticket.as_str()));
    let kept_places = kept.into_iter().filter(|(ticket, _, note)| ended(ticket) && note.exists());
    let gone = repo.worktrees()?.into_iter().filter(|w| w.git_dir.is_none() && !w.locked && !w.main);
    Ok(Leftovers {
        cut_off,
        broken,
        dead_locks,
        kept_refs: settle::nobodys(repo, state).len(),
        temporaries,
        kept_places: kept_places.map(|(_, branch, note)| (branch, note)).collect(),
        running: pool::left(repo, &live_dir),
        worktrees: gone.map(|worktree| worktree.path).collect(),
    })
}
