//! Trying out what a landing needs of the place where the trunk is, on refs that mean nothing.

use crate::push::{Move, PushEnd, delete, push, push_apart};
use crate::refs::{LOCK_WAIT, PACKED_LOCK_WAIT, checked, move_line};
use crate::repo::{oid, reached};
use crate::trunk::{LIST_LIMIT, Remote};
use crate::{GitError, Oid, RefName, Trunk, TrunkError};
use bstr::ByteSlice;

/// Below this stand refs that are only there to be tried.
pub const TRIALS: &str = "refs/signalbox/doctor/";

/// A ref that is only there to be tried.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Trial {
    /// Its full name.
    pub name: RefName,
    /// What it names.
    pub oid: Oid,
}

/// A ref to be tried, and the value that it has (none: it does not exist).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Try {
    /// What it shall be.
    pub trial: Trial,
    /// What it is.
    pub old: Option<Oid>,
}

impl Trunk {
    /// The trial refs that stand where the trunk is read from.
    ///
    /// # Errors
    /// [`TrunkError::Unreachable`] if the remote cannot be read.
    pub fn trials(&self) -> Result<Vec<Trial>, TrunkError> {
        match &self.remote {
            Remote::Here => {
                let call = self.repo.content().args(["for-each-ref", "--format=%(objectname) %(refname)"]);
                Ok(listed(&call.args(["--end-of-options", TRIALS]).stdout()?)?)
            }
            Remote::Named(remote) => self.trials_at(remote),
        }
    }

    /// The trial refs that stand where is pushed to; none where that has the URL that is read.
    ///
    /// # Errors
    /// [`TrunkError::Unreachable`] if it cannot be read.
    pub fn trials_where_pushed(&self) -> Result<Option<Vec<Trial>>, TrunkError> {
        let Remote::Named(remote) = &self.remote else { return Ok(None) };
        self.repo.urls(remote)?.elsewhere().map(|url| self.trials_at(url)).transpose()
    }

    fn trials_at(&self, remote: &str) -> Result<Vec<Trial>, TrunkError> {
        let call = self.repo.reading().limit(LIST_LIMIT);
        let call = call.args(["ls-remote", "--refs", "--end-of-options", remote]).arg(format!("{TRIALS}*"));
        Ok(listed(&reached(call)?)?)
    }

    /// Moves trial refs: all or none of them where `together`, which is how a landing is pushed.
    ///
    /// # Errors
    /// [`GitError::Mirror`]; [`GitError::BadRefName`]; if git cannot be run.
    pub fn try_out(&self, tries: &[Try], together: bool) -> Result<PushEnd, GitError> {
        let moves: Vec<Move<'_>> = tries
            .iter()
            .map(|Try { trial, old }| Move { refname: &trial.name, new: &trial.oid, old: old.as_ref() })
            .collect();
        match &self.remote {
            Remote::Here => {
                let mut lines = String::new();
                for Move { refname, new, old } in &moves {
                    lines += &move_line(checked(refname)?, new, *old);
                }
                self.change_here(lines)
            }
            Remote::Named(remote) if together => push(&self.repo, remote, &moves, None, self.push_limit),
            Remote::Named(remote) => push_apart(&self.repo, remote, &moves, self.push_limit),
        }
    }

    /// Fetches trial refs; they are not kept here.
    ///
    /// # Errors
    /// [`TrunkError::Unreachable`] if they cannot be fetched.
    pub fn fetch_trials(&self, trials: &[Trial]) -> Result<(), TrunkError> {
        let Remote::Named(remote) = &self.remote else { return Ok(()) };
        let call = self.repo.reading().limit(LIST_LIMIT);
        let call =
            call.args(["fetch", "--quiet", "--no-tags", "--no-write-fetch-head", "--no-auto-maintenance"]);
        let call = call.args(["--refmap=", "--no-recurse-submodules", "--end-of-options", remote]);
        reached(call.args(trials.iter().map(|trial| &trial.name))).map(drop)
    }

    /// Deletes trial refs that still are as they were seen.
    ///
    /// # Errors
    /// [`GitError::BadRefName`]; if git cannot be run.
    pub fn drop_trials(&self, trials: &[Trial]) -> Result<PushEnd, GitError> {
        let gone: Vec<(&str, &Oid)> = trials.iter().map(|trial| (trial.name.as_str(), &trial.oid)).collect();
        match &self.remote {
            Remote::Here => {
                let mut lines = String::new();
                for (name, oid) in gone {
                    lines += &format!("delete {} {oid}\n", checked(name)?);
                }
                self.change_here(lines)
            }
            Remote::Named(remote) => delete(&self.repo, remote, &gone, self.push_limit),
        }
    }

    fn change_here(&self, lines: String) -> Result<PushEnd, GitError> {
        let call = self.repo.user(self.repo.home()).config(LOCK_WAIT).config(PACKED_LOCK_WAIT);
        match call.args(["update-ref", "--no-deref", "--stdin"]).stdin(lines).run() {
            Ok(out) if out.success() => Ok(PushEnd::Accepted),
            Ok(out) => Ok(PushEnd::Refused { text: out.text() }),
            Err(error @ GitError::TimedOut { .. }) => Ok(PushEnd::NoAnswer { text: error.to_string() }),
            Err(error) => Err(error),
        }
    }
}

fn listed(listing: &[u8]) -> Result<Vec<Trial>, GitError> {
    let mut trials = Vec::new();
    for line in listing.lines() {
        let Some((id, name)) = line.split_once_str("\t").or_else(|| line.split_once_str(" ")) else {
            continue;
        };
        if name.starts_with(TRIALS.as_bytes()) {
            trials.push(Trial { name: name.to_str_lossy().into_owned(), oid: oid(id, "ls-remote")? });
        }
    }
    Ok(trials)
}
