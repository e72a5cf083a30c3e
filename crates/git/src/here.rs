//! Landing on a trunk that is kept in this repository.

use std::path::Path;

use crate::obstacles::blocking;
use crate::push::{Move, PushEnd};
use crate::refs::{LOCK_WAIT, PACKED_LOCK_WAIT, checked, move_line};
use crate::run::Talk;
use crate::worktrees::Worktree;
use crate::{GitError, Oid, Repair, Trunk};

/// How updating the worktree went.
enum Update {
    Done,
    /// Refused before anything was touched.
    Refused(String),
    /// Failed on the way.
    Broken(String),
}

impl Trunk {
    /// The worktrees that have the trunk checked out (those in the middle of a rebase or bisect do not).
    pub(crate) fn on_trunk(&self) -> Result<Vec<Worktree>, GitError> {
        let trunk = self.trunk_ref();
        let all = self.repo.worktrees()?;
        Ok(all.into_iter().filter(|worktree| worktree.branch.as_ref() == Some(&trunk)).collect())
    }

    /// One ref transaction (`10-landing.md`, "No remote, or the trunk is checked out here"): with the refs
    /// locked, the worktree is brought to the new trunk; then the refs move, or, if the worktree refused, do not.
    pub(crate) fn land_here(&self, moves: &[Move<'_>; 2]) -> Result<PushEnd, GitError> {
        for Move { refname, .. } in moves {
            checked(refname)?;
        }
        let worktree = self.on_trunk()?.into_iter().find(|worktree| worktree.git_dir.is_some());
        let [trunk, _] = moves;
        let old = match trunk.old {
            Some(old) => old.clone(),
            None => self.repo.empty_tree()?,
        };
        // Standing in the worktree that has the trunk, git also writes that worktree's own reflog.
        let dir = worktree.as_ref().map_or(self.repo.home(), |worktree| &worktree.path);
        let call = self.repo.user(dir).durable().config(LOCK_WAIT).config(PACKED_LOCK_WAIT);
        let mut refs = call.args(["update-ref", "-m", "signalbox: land", "--stdin"]).talk()?;
        if let Some(refused) = lock(&mut refs, moves)? {
            return Ok(refused);
        }
        match worktree
            .as_ref()
            .map_or(Ok(Update::Done), |worktree| self.update(&worktree.path, &old, trunk.new))?
        {
            Update::Done => {}
            Update::Refused(text) => {
                abort(&mut refs)?;
                return Ok(PushEnd::Refused { text });
            }
            Update::Broken(text) => {
                abort(&mut refs)?;
                let Repair { left, index_lock, .. } = self.repair_after_crash(&old, trunk.new)?;
                let left = left.iter().map(|path| format!("\nleft as it is: {path}"));
                let locked = index_lock.map(|lock| format!("\nstill locked: {}", lock.display()));
                return Ok(PushEnd::Refused {
                    text: left.chain(locked).fold(text, |text, line| text + &line),
                });
            }
        }
        let committed = refs.ask("commit\n").is_some_and(|answer| answer == "commit: ok");
        let (_, text) = refs.finish()?;
        Ok(if committed { PushEnd::Accepted } else { PushEnd::NoAnswer { text } })
    }

    /// Brings a worktree's index and files from one commit or tree to another, under the user's configuration.
    ///
    /// Git would overwrite ignored files without a word, so what is in the way is looked for once more, now that
    /// the refs are locked.
    fn update(&self, worktree: &Path, old: &Oid, new: &Oid) -> Result<Update, GitError> {
        let git = || self.repo.user(worktree);
        // A file that was only touched would be taken for a changed one. Files that are changed fail this, too.
        git().args(["update-index", "-q", "--refresh"]).run()?;
        let changes = self.repo.changed_paths(old, new)?;
        let in_the_way = blocking(worktree, &changes)?;
        if let Some(path) = in_the_way.first() {
            return Ok(Update::Refused(format!("{path} is in the way ({} in all)", in_the_way.len())));
        }
        let trial = git().args([
            "read-tree",
            "-m",
            "-u",
            "--dry-run",
            "--end-of-options",
            old.as_str(),
            new.as_str(),
        ]);
        let trial = trial.run()?;
        if !trial.success() {
            return Ok(Update::Refused(trial.text()));
        }
        match git().args(["read-tree", "-m", "-u", "--end-of-options", old.as_str(), new.as_str()]).run() {
            Ok(out) if out.success() => Ok(Update::Done),
            Ok(out) => Ok(Update::Broken(out.text())),
            Err(error @ GitError::TimedOut { .. }) => Ok(Update::Broken(error.to_string())),
            Err(error) => Err(error),
        }
    }
}

/// Locks the refs and checks their old values.
fn lock(refs: &mut Talk, moves: &[Move<'_>]) -> Result<Option<PushEnd>, GitError> {
    let mut words = "start\n".to_owned();
    for Move { refname, new, old } in moves {
        words.push_str(&move_line(refname, new, *old));
    }
    words.push_str("prepare\n");
    let started = refs.ask(&words).is_some_and(|answer| answer == "start: ok");
    if started && refs.ask("").is_some_and(|answer| answer == "prepare: ok") {
        return Ok(None);
    }
    let (_, text) = refs.finish()?;
    Ok(Some(PushEnd::Refused { text }))
}

fn abort(refs: &mut Talk) -> Result<(), GitError> {
    refs.ask("abort\n");
    refs.finish().map(drop)
}
