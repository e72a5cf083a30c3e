//! Landing on a trunk that is kept in this repository.

use std::path::Path;

use crate::obstacles::blocking;
use crate::push::{Move, PushEnd};
use crate::refs::{LOCK_WAIT, PACKED_LOCK_WAIT, checked, move_line};
use crate::run::Talk;
use crate::worktrees::Worktree;
use crate::{GitError, Oid, Repair, Trunk};

const STAGED: &str = "changes are staged in the worktree, or it is being switched; nothing moved";

/// How updating the worktree went.
pub(crate) enum Update {
    Done,
    /// Refused before anything was touched.
    Refused(String),
    /// Failed on the way.
    Broken(String),
    /// The worktree was updated, but by then its index held something else than the trunk.
    Overtaken,
}

impl Trunk {
    /// The worktrees that have the trunk checked out (those in the middle of a rebase or bisect do not).
    pub(crate) fn on_trunk(&self) -> Result<Vec<Worktree>, GitError> {
        let trunk = self.repo.target_of(&self.trunk_ref())?;
        let all = self.repo.worktrees()?;
        Ok(all.into_iter().filter(|worktree| worktree.branch.as_ref() == Some(&trunk)).collect())
    }

    /// One ref transaction: with the refs
    /// locked, the worktree is brought to the new trunk; then the refs move, or, if the worktree refused or has
    /// been switched since the first look, do not.
    pub(crate) fn land_here(&self, moves: &[Move<'_>; 2]) -> Result<PushEnd, GitError> {
        for Move { refname, .. } in moves {
            checked(refname)?;
        }
        let seen = self.on_trunk()?;
        let worktree = seen.iter().find(|worktree| worktree.git_dir.is_some());
        let top = worktree.map(|worktree| worktree.path.as_path());
        let [trunk, _] = moves;
        let old = match trunk.old {
            Some(old) => old.clone(),
            None => self.repo.empty_tree()?,
        };
        // Standing in the worktree that has the trunk, git also writes that worktree's own reflog, and locks its
        // HEAD: a switch cannot end before the transaction does.
        let dir = worktree.map_or(self.repo.home(), |worktree| &worktree.path);
        // One whose index is at the other branch already fails at that lock half done, so none is taken then.
        if let Some(top) = top
            && !self.repo.staged(top, &old)?.is_empty()
        {
            return Ok(PushEnd::Refused { text: STAGED.to_owned() });
        }
        let call = self.repo.user(dir).durable().config(LOCK_WAIT).config(PACKED_LOCK_WAIT);
        let mut refs = call.args(["update-ref", "-m", "signalbox: land", "--stdin"]).talk()?;
        if let Some(refused) = lock(&mut refs, moves)? {
            return Ok(refused);
        }
        let update = if paths(&self.on_trunk()?) == paths(&seen) {
            top.map_or(Ok(Update::Done), |top| self.update_trunk(top, &old, trunk.new))?
        } else {
            Update::Refused(
                "a worktree was switched to or from the trunk meanwhile; nothing moved".to_owned(),
            )
        };
        if !matches!(update, Update::Done) {
            abort(&mut refs)?;
            return self.refused(update, top, trunk, &old);
        }
        let committed = refs.ask("commit\n").is_some_and(|answer| answer == "commit: ok");
        let (_, text) = refs.finish()?;
        if !committed {
            return Ok(PushEnd::NoAnswer { text });
        }
        self.settle(top, trunk, &old, true);
        Ok(PushEnd::Accepted)
    }

    /// Puts right what an update without effect left behind, once the transaction is aborted.
    fn refused(
        &self,
        update: Update,
        worktree: Option<&Path>,
        trunk: &Move<'_>,
        old: &Oid,
    ) -> Result<PushEnd, GitError> {
        let text = match update {
            Update::Done => String::new(),
            Update::Refused(text) => text,
            Update::Broken(text) => {
                let Repair { left, index_lock, .. } = self.repair_after_crash(old, trunk.new)?;
                let left = left.iter().map(|path| format!("\nleft as it is: {path}"));
                let locked = index_lock.map(|lock| format!("\nstill locked: {}", lock.display()));
                left.chain(locked).fold(text, |text, line| text + &line)
            }
            Update::Overtaken => {
                self.settle(worktree, trunk, old, false);
                "the worktree was switched, or something was staged in it, meanwhile; nothing moved"
                    .to_owned()
            }
        };
        Ok(PushEnd::Refused { text })
    }

    /// Brings the worktree that has the trunk to the new one, if its index holds the trunk before and after.
    fn update_trunk(&self, worktree: &Path, old: &Oid, new: &Oid) -> Result<Update, GitError> {
        if let Some(text) = self.trial(worktree, old, new)? {
            return Ok(Update::Refused(text));
        }
        if !self.repo.staged(worktree, old)?.is_empty() {
            return Ok(Update::Refused(STAGED.to_owned()));
        }
        match self.read_tree(worktree, old, new)? {
            Update::Done if !self.repo.staged(worktree, new)?.is_empty() => Ok(Update::Overtaken),
            update => Ok(update),
        }
    }

    /// Brings a worktree's index and files from one commit or tree to another, under the user's configuration.
    pub(crate) fn update(&self, worktree: &Path, old: &Oid, new: &Oid) -> Result<Update, GitError> {
        match self.trial(worktree, old, new)? {
            Some(text) => Ok(Update::Refused(text)),
            None => self.read_tree(worktree, old, new),
        }
    }

    /// Why the worktree cannot be brought from one commit or tree to another, if so.
    ///
    /// Git would overwrite ignored files without a word, so what is in the way is looked for once more, now that
    /// the refs are locked.
    fn trial(&self, worktree: &Path, old: &Oid, new: &Oid) -> Result<Option<String>, GitError> {
        let git = || self.repo.user(worktree);
        // A file that was only touched would be taken for a changed one. Files that are changed fail this, too.
        git().args(["update-index", "-q", "--refresh"]).run()?;
        let changes = self.repo.changed_paths(old, new)?;
        let in_the_way = blocking(worktree, &changes)?;
        if let Some(path) = in_the_way.first() {
            return Ok(Some(format!("{path} is in the way ({} in all)", in_the_way.len())));
        }
        let trial = git().args(["read-tree", "-m", "-u", "--dry-run", "--end-of-options"]);
        let trial = trial.args([old.as_str(), new.as_str()]).run()?;
        Ok((!trial.success()).then(|| trial.text()))
    }

    fn read_tree(&self, worktree: &Path, old: &Oid, new: &Oid) -> Result<Update, GitError> {
        let call = self.repo.user(worktree).args(["read-tree", "-m", "-u", "--end-of-options"]);
        match call.args([old.as_str(), new.as_str()]).run() {
            Ok(out) if out.success() => Ok(Update::Done),
            Ok(out) => Ok(Update::Broken(out.text())),
            Err(error @ GitError::TimedOut { .. }) => Ok(Update::Broken(error.to_string())),
            Err(error) => Err(error),
        }
    }
}

fn paths(worktrees: &[Worktree]) -> Vec<&Path> {
    worktrees.iter().map(|worktree| worktree.path.as_path()).collect()
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
