//! Steps 7 and 8: the push under the fence, its intent, and what became of it.

use super::Passage;
use crate::end::{End, exit};
use crate::epoch::{Epoch, State, with_lines};
use crate::fault;
use crate::journal::Intent;
use crate::land::enter::in_the_way;
use crate::machine::Saw;
use crate::merging::Landing;
use crate::numbers;
use crate::settle::{self, Fate, Repaired};
use git::{GitError, Oid, PushEnd, Remote, TrunkError};
use kernel::Id;
use std::time::Duration;

impl Passage<'_> {
    pub(super) fn push(&mut self) -> Saw {
        self.step("pushing");
        let (Some(landing), Some(begun)) = (self.landing.clone(), self.epoch.clone()) else {
            return Saw::Broken;
        };
        match self.try_push(&landing, &begun) {
            Ok(saw) => saw,
            // Something failed here, possibly after the push was sent: it is fenced like a lost answer.
            Err(error) => {
                self.end = Some(End::internal(error));
                if self.intent.is_some() { Saw::NoAnswer } else { Saw::Broken }
            }
        }
    }

    fn try_push(&mut self, landing: &Landing, begun: &Oid) -> Result<Saw, GitError> {
        let site = self.site;
        // Where the trunk has moved, the transaction refuses, and what is in the way is looked for after the next
        // merge: what the trunk has now is not in the way.
        let stands = site.trunk.remote == Remote::Here
            && site.repo.resolve(&site.trunk.trunk_ref())?.as_ref() == landing.old.as_ref();
        if stands {
            let look = || site.trunk.obstacles(landing.old.as_ref(), Some(&landing.commit));
            let mut obstacles = look()?;
            if !obstacles.is_empty() {
                // An earlier landing may have been cut off: it is put right first.
                settle::settle(site, self.show.as_ref());
                obstacles = look()?;
            }
            if let Some(end) = in_the_way(&obstacles) {
                self.end = Some(end);
                return Ok(Saw::Obstacle);
            }
        }
        let Some(intent) = self.intend(landing, begun)? else { return Ok(Saw::Gone) };
        let landed = Oid::parse(&intent.landed)?;
        if let Err(error) = site.journal().open(&intent) {
            let line =
                "the state folder cannot be written, so nothing was pushed; mend that, then land again";
            self.end = Some(End::new(exit::AGAIN, "state_unwritable", line).more(error.to_string()));
            return Ok(Saw::Broken);
        }
        self.intent = Some(intent);
        fault::point("push:intent-written");
        let guard = self.live.for_child().ok();
        let end = self.sending(|| {
            site.trunk.land(&landing.commit, landing.old.as_ref(), &landed, Some(begun), guard)
        })?;
        fault::point("push:sent");
        Ok(match end {
            PushEnd::Accepted => Saw::Accepted,
            PushEnd::Refused { text } => {
                self.said = text;
                Saw::Refused
            }
            PushEnd::NoAnswer { text } => {
                self.said = text;
                Saw::NoAnswer
            }
        })
    }

    fn intend(&self, landing: &Landing, begun: &Oid) -> Result<Option<Intent>, GitError> {
        let (Some(turn), Some(stay)) = (&self.turn, &self.stay) else { return Ok(None) };
        let site = self.site;
        let epoch = Epoch {
            turn_no: turn.no,
            ticket: self.ticket.clone(),
            box_id: site.box_id.clone(),
            state: State::Landed,
            trunk: landing.commit.as_str().to_owned(),
        };
        let lines = numbers::without_files(site, &landing.settings);
        let message = with_lines(epoch.message(Id::random().as_str()), &lines);
        let landed = site.repo.note_commit(message.as_bytes(), Some(begun))?;
        site.repo.keep(self.ticket.as_str(), "landed", &landed)?;
        fault::point("push:kept");
        Ok(Some(Intent {
            ticket: self.ticket.as_str().to_owned(),
            entry: stay.entry,
            turn_no: turn.no,
            box_id: site.box_id.clone(),
            branch: self.options.branch.clone(),
            head: self.head.as_str().to_owned(),
            old_trunk: landing.old.as_ref().map(|old| old.as_str().to_owned()),
            landing: landing.commit.as_str().to_owned(),
            begun: begun.as_str().to_owned(),
            landed: landed.as_str().to_owned(),
            remote: site.settings.trunk.remote.clone(),
            trunk: site.trunk.branch.clone(),
            repository: site.repo.common_dir().to_path_buf(),
        }))
    }

    /// Which ref refused is found by reading both again, never from git's text.
    pub(super) fn read_back(&mut self) -> Saw {
        self.step("reading what became of the push");
        let seen = match self.site.trunk.patient().read() {
            Ok(seen) => seen,
            Err(TrunkError::Unreachable { text }) => {
                self.said = text;
                return Saw::Unreachable;
            }
            Err(error) => {
                self.end = Some(End::internal(error));
                return Saw::Unreachable;
            }
        };
        let Some(intent) = &self.intent else {
            // The epoch says that this turn has landed, yet this process has not pushed: an earlier one did.
            return Saw::Landed;
        };
        let landing = Oid::parse(&intent.landing);
        let is_in = match (&seen.trunk, &landing) {
            (Some(trunk), Ok(landing)) => self.site.repo.is_ancestor(landing, trunk).unwrap_or(false),
            _ => false,
        };
        if is_in {
            Saw::Landed
        } else if seen.epoch.as_ref() != self.epoch.as_ref() {
            Saw::EpochMoved
        } else if seen.trunk.as_ref().map(Oid::as_str) != intent.old_trunk.as_deref() {
            Saw::TrunkMoved
        } else {
            // Another's ref lock, or a hook: it gets a moment.
            std::thread::sleep(Duration::from_millis(50 + u64::from(std::process::id() % 100)));
            Saw::Same
        }
    }

    pub(super) fn fence(&mut self) -> Saw {
        self.step("fencing the push");
        let Some(intent) = self.intent.clone() else { return Saw::Broken };
        match settle::fence(&self.site.trunk.patient(), &intent) {
            Ok(fate) if self.put_right(&intent) => {
                if fate == Fate::Landed {
                    Saw::Landed
                } else {
                    Saw::NotLanded
                }
            }
            Ok(_) => Saw::Unreachable,
            Err(error) => {
                self.said = error.to_string();
                Saw::Unreachable
            }
        }
    }

    /// Whether the trunk's own worktree is right, but for what was named.
    fn put_right(&mut self, intent: &Intent) -> bool {
        if self.site.trunk.remote != Remote::Here {
            return true;
        }
        match settle::repair(&self.site.trunk, intent) {
            Ok(Repaired::Left(left)) if left.is_empty() => true,
            Ok(Repaired::Left(left)) => {
                let text =
                    format!("files of the trunk's worktree were left as they are: {}", left.join(", "));
                self.show.show(&crate::event::Event::Warning(&text));
                true
            }
            Ok(Repaired::Locked(lock)) => {
                self.said = format!("the index is locked: {}", lock.display());
                false
            }
            Err(error) => {
                self.said = error.to_string();
                false
            }
        }
    }
}
