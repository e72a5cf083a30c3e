//! The trunk with its epoch and box, on a remote or in place: reading them, and moving them.

use std::fs::File;
use std::thread::sleep;
use std::time::Duration;

use crate::push::{Move, PushEnd, push};
use crate::refs::{LOCK_WAIT, PACKED_LOCK_WAIT, named};
use crate::repo::reached;
use crate::{GitError, Oid, RefName, Repo, TrunkError};

/// Where the trunk is kept.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Remote {
    /// In this repository itself (`remote = "."`).
    Here,
    /// At a remote of this name (or URL).
    Named(String),
}

/// The three refs of a trunk at one moment.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Seen {
    /// `refs/heads/<branch>`; none if it does not exist.
    pub trunk: Option<Oid>,
    /// `refs/signalbox/epoch/<branch>`; none if it does not exist.
    pub epoch: Option<Oid>,
    /// `refs/signalbox/box`; none if it does not exist.
    pub box_id: Option<Oid>,
}

/// A branch that is landed on.
#[derive(Clone, Debug)]
pub struct Trunk {
    /// The repository in which the work is done.
    pub repo: Repo,
    /// Where the branch is kept.
    pub remote: Remote,
    /// The short name of the branch.
    pub branch: String,
    /// The time limit of a push, 3 minutes at first.
    pub push_limit: Duration,
    /// The time limit of one fetch, 10 minutes at first.
    pub fetch_limit: Duration,
}

pub(crate) const LIST_LIMIT: Duration = Duration::from_secs(60);
/// Looks at a remote that keeps moving, before what was listed last is taken.
const LOOKS: u32 = 8;
const SEEN: &str = "refs/signalbox/seen/";
/// The ref by which a box claims a remote.
pub const BOX_REF: &str = "refs/signalbox/box";

/// The full name of the branch of that short name.
#[must_use]
pub fn trunk_ref(branch: &str) -> RefName {
    format!("refs/heads/{branch}")
}

/// The full name of the epoch's ref of the trunk of that short name.
#[must_use]
pub fn epoch_ref(branch: &str) -> RefName {
    format!("refs/signalbox/epoch/{branch}")
}

impl Trunk {
    /// The trunk of this name.
    #[must_use]
    pub fn new(repo: Repo, remote: Remote, branch: impl Into<String>) -> Self {
        let (push_limit, fetch_limit) = (Duration::from_secs(180), Duration::from_secs(600));
        Self { repo, remote, branch: branch.into(), push_limit, fetch_limit }
    }

    /// The same trunk, whose reads nothing stops: see [`Repo::patient`].
    #[must_use]
    pub fn patient(&self) -> Self {
        Self { repo: self.repo.clone().patient(), ..self.clone() }
    }

    /// The full name of the branch.
    #[must_use]
    pub fn trunk_ref(&self) -> RefName {
        trunk_ref(&self.branch)
    }

    /// The full name of the epoch's ref.
    #[must_use]
    pub fn epoch_ref(&self) -> RefName {
        epoch_ref(&self.branch)
    }

    /// The full name of the box's ref.
    #[must_use]
    pub fn box_ref(&self) -> RefName {
        BOX_REF.to_owned()
    }

    /// The refs as they are now, without their objects: what they name may not be here.
    ///
    /// # Errors
    /// [`TrunkError::Unreachable`] if the remote cannot be read.
    pub fn peek(&self) -> Result<Seen, TrunkError> {
        match &self.remote {
            Remote::Here => {
                let [trunk, epoch, box_id] =
                    self.repo.local_refs([&self.trunk_ref(), &self.epoch_ref(), BOX_REF])?;
                Ok(Seen { trunk, epoch, box_id })
            }
            Remote::Named(remote) => self.peek_at(remote),
        }
    }

    /// Like [`Trunk::peek`], of the place that is pushed to; none where that has the same URL.
    ///
    /// # Errors
    /// [`TrunkError::Unreachable`] if it cannot be read.
    pub fn peek_where_pushed(&self) -> Result<Option<Seen>, TrunkError> {
        let Remote::Named(remote) = &self.remote else { return Ok(None) };
        self.repo.urls(remote)?.elsewhere().map(|url| self.peek_at(url)).transpose()
    }

    fn peek_at(&self, remote: &str) -> Result<Seen, TrunkError> {
        let (trunk, epoch) = (self.trunk_ref(), self.epoch_ref());
        let names = [trunk.as_str(), epoch.as_str(), BOX_REF];
        let call = self.repo.reading().limit(LIST_LIMIT);
        let call = call.args(["ls-remote", "--refs", "--end-of-options", remote]).args(names);
        let [trunk, epoch, box_id] = named(&reached(call)?, names, "ls-remote")?;
        Ok(Seen { trunk, epoch, box_id })
    }

    /// The refs at one moment, with their objects and history here. Those of a remote are fetched into
    /// `refs/signalbox/seen/` (which also holds what was seen before and is no answer by itself).
    ///
    /// # Errors
    /// [`TrunkError::Unreachable`] if the remote cannot be read.
    pub fn read(&self) -> Result<Seen, TrunkError> {
        let Remote::Named(remote) = &self.remote else { return self.peek() };
        let mut problem = String::new();
        for look in 0..LOOKS {
            let listed = self.peek()?;
            if self.holds(&listed)? {
                return Ok(listed);
            }
            match reached(self.fetch(remote, &listed)) {
                Ok(_) => problem.clear(),
                Err(TrunkError::Unreachable { text }) => problem = text,
                Err(error) => return Err(error),
            }
            let last = look + 1 == LOOKS;
            if self.holds(&listed)? || (last && self.has(&listed)?) {
                return Ok(listed);
            }
            if !problem.is_empty() {
                self.make_way(look)?;
                sleep(Duration::from_millis(u64::from(20 + std::process::id() % 50) << look.min(4)));
            }
        }
        if problem.is_empty() {
            problem = "its refs moved at every look".to_owned();
        }
        Err(TrunkError::Unreachable { text: problem })
    }

    /// Fetches what was listed. Refs that were not listed are not asked for, since a refspec of an absent ref
    /// fails.
    fn fetch(&self, remote: &str, listed: &Seen) -> crate::process::Call {
        let call = self.repo.reading().limit(self.fetch_limit).config(LOCK_WAIT).config(PACKED_LOCK_WAIT);
        let call =
            call.args(["fetch", "--quiet", "--no-tags", "--no-write-fetch-head", "--no-auto-maintenance"]);
        let call =
            call.args(["--refmap=", "--no-recurse-submodules", "--no-prune", "--no-show-forced-updates"]);
        let wanted = self.copies(listed).into_iter().filter(|(_, _, oid)| oid.is_some());
        call.args(["--end-of-options", remote]).args(wanted.map(|(from, to, _)| format!("+{from}:{to}")))
    }

    fn copies<'a>(&self, listed: &'a Seen) -> [(RefName, RefName, Option<&'a Oid>); 3] {
        [
            (self.trunk_ref(), format!("{SEEN}heads/{}", self.branch), listed.trunk.as_ref()),
            (self.epoch_ref(), format!("{SEEN}epoch/{}", self.branch), listed.epoch.as_ref()),
            (self.box_ref(), format!("{SEEN}box"), listed.box_id.as_ref()),
        ]
    }

    /// Whether the copies of all listed refs are what was listed, with their objects here.
    fn holds(&self, listed: &Seen) -> Result<bool, GitError> {
        let copies = self.copies(listed);
        let held = self.repo.local_refs([&copies[0].1, &copies[1].1, &copies[2].1])?;
        let same = copies
            .iter()
            .zip(&held)
            .all(|((_, _, listed), held)| listed.is_none() || *listed == held.as_ref());
        Ok(same && self.has(listed)?)
    }

    fn has(&self, listed: &Seen) -> Result<bool, GitError> {
        self.repo.has_all(self.copies(listed).into_iter().filter_map(|(_, _, oid)| oid))
    }

    /// A copy of a ref that is gone (`a`) can stand in the way of a new one's (`a/b`): after two failures all
    /// copies are dropped.
    fn make_way(&self, look: u32) -> Result<(), GitError> {
        if look != 1 {
            return Ok(());
        }
        let gone: String =
            self.repo.refs_under(SEEN)?.iter().map(|name| format!("delete {name}\n")).collect();
        let call = self.repo.content().config(LOCK_WAIT).args(["update-ref", "--no-deref", "--stdin"]);
        call.stdin(gone).run().map(drop)
    }

    /// Moves one ref from `old` (none: it must not exist) to `new`, as one compare-and-swap.
    ///
    /// Git passes a ref that is at `new` already, whatever `old` says: no two values may be equal that must not
    /// be taken for each other.
    ///
    /// # Errors
    /// [`GitError::Mirror`]; [`GitError::BadRefName`]; if git cannot be run.
    pub fn create_or_move(&self, refname: &str, new: &Oid, old: Option<&Oid>) -> Result<PushEnd, GitError> {
        match &self.remote {
            Remote::Here => self.repo.swap(refname, new, old),
            Remote::Named(remote) => {
                push(&self.repo, remote, &[Move { refname, new, old }], None, self.push_limit)
            }
        }
    }

    /// Moves the trunk and its epoch together, each from the value it must have (none: it must not exist), or
    /// neither.
    ///
    /// On a remote this is one atomic push, which inherits `guard` as its standard input: a lock held by that
    /// open file lives as long as the push. In place it is one ref transaction around the update of the worktree
    /// that has the trunk, which ends without effect if this process dies before the commit (call
    /// [`Trunk::obstacles`] before, and [`Trunk::repair_after_crash`] after a crash or [`PushEnd::NoAnswer`]);
    /// `guard` is then not used.
    ///
    /// # Errors
    /// [`GitError::Mirror`]; [`GitError::BadRefName`]; if git cannot be run.
    pub fn land(
        &self,
        new_trunk: &Oid,
        old_trunk: Option<&Oid>,
        new_epoch: &Oid,
        old_epoch: Option<&Oid>,
        guard: Option<File>,
    ) -> Result<PushEnd, GitError> {
        let (trunk, epoch) = (self.trunk_ref(), self.epoch_ref());
        let moves = [
            Move { refname: &trunk, new: new_trunk, old: old_trunk },
            Move { refname: &epoch, new: new_epoch, old: old_epoch },
        ];
        match &self.remote {
            Remote::Here => self.land_here(&moves),
            Remote::Named(remote) => push(&self.repo, remote, &moves, guard, self.push_limit),
        }
    }
}
