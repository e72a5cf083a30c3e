//! `why`: the shortest chain of causes that keeps something from landing, the nearest first, each with its way
//! out. Pure: [`ask()`] gathers the facts.

mod ask;
mod ended;
mod standing;

pub use ask::{Answer, ask, unready};

use crate::end::{End, exit, land_command, naming, short};
use crate::holds;
use crate::journal::Settled;
use crate::live::Owner;
use bstr::BString;
use client::{EndedView, FreezeView, HoldView, TicketView};
use kernel::Millis;
use serde_json::Value;

/// What is known about one branch or ticket.
pub struct Facts<'a> {
    /// The branch.
    pub branch: String,
    /// Where it lands, for people.
    pub trunk: String,
    /// The time.
    pub now: Millis,
    /// A point in time as the clock of whoever asks shows it.
    pub clock: &'a dyn Fn(Millis) -> String,
    /// Where it stands.
    pub place: Place,
    /// Everybody in the queue, the holder first.
    pub queue: Vec<TicketView>,
    /// Whether the queue has as many places as it may.
    pub full: bool,
    /// Whom it acts for: holds of this owner are no obstacle.
    pub owner: String,
    /// The commit that is looked at: the one in the queue, else the branch as it is; none where there is none.
    pub head: Option<String>,
    /// The open holds.
    pub holds: Vec<HoldView>,
    /// The freeze.
    pub freeze: Option<FreezeView>,
    /// What its landing would change on the trunk; none where that cannot be told here.
    pub changed: Option<Vec<BString>>,
    /// A push of it that was begun and whose end is not written down.
    pub push: Option<Push>,
    /// With this nothing lands here, whatever the branch is.
    pub setup: Option<End>,
    /// What `land` would refuse before it enters.
    pub before: Option<End>,
    /// What `land` would meet in its turn: a conflict, a duplicate number.
    pub ahead: Option<End>,
}

impl std::fmt::Debug for Facts<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Facts")
            .field("branch", &self.branch)
            .field("place", &self.place)
            .finish_non_exhaustive()
    }
}

/// Where something stands.
#[derive(Debug, Clone)]
pub enum Place {
    /// In the queue.
    Standing {
        /// How.
        view: Box<TicketView>,
        /// Whether its process lives, as far as this machine knows.
        owner: Owner,
        /// It was kept without a process (`--no-wait`, `--wait`).
        kept: bool,
    },
    /// It was in the queue.
    Ended {
        /// The last row of the register.
        view: Box<EndedView>,
        /// What became of its push, where that was found out later.
        fate: Option<Settled>,
        /// Where its check's output is kept here.
        log: Option<String>,
        /// The branch has another commit by now.
        moved_on: bool,
    },
    /// Only what became of its push is still known.
    Settled(Settled),
    /// It never was in the queue, as far as is known.
    Never,
}

/// A push whose end is not written down.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Push {
    /// Its process lives.
    UnderWay,
    /// Its process is gone.
    CutOff,
    /// The note of it cannot be read; where it stands.
    Unreadable(String),
}

/// The chain. It is never empty.
#[must_use]
pub fn chain(facts: &Facts<'_>) -> Vec<End> {
    let mut causes: Vec<End> = Vec::new();
    causes.extend(facts.push.as_ref().map(|push| facts.pushing(push)));
    let unreachable = facts.setup.as_ref().is_some_and(|end| end.code == "unreachable");
    let stands = matches!(facts.place, Place::Standing { .. });
    let landed = facts.landed_last();
    if let Some(done) = facts.before.as_ref().filter(|end| end.exit == exit::DONE && !stands && !landed) {
        return vec![done.clone()];
    }
    causes.extend(facts.setup.clone().filter(|_| !(stands && unreachable)));
    match &facts.place {
        Place::Standing { view, owner, kept } => facts.standing(&mut causes, view, *owner, *kept),
        Place::Ended { view, fate, .. } if landed => {
            let text = |name: &str| view.report.as_ref()?.get(name)?.as_str();
            let commit = fate.as_ref().map(|fate| fate.commit.as_str()).or_else(|| text("commit"));
            causes.push(facts.landed(commit.unwrap_or_default(), view.turn_no, Some(view.ended_at)));
        }
        Place::Ended { view, log, moved_on, .. } => {
            // What is being mended is finished first: what the end told to do was done.
            let mending = |end: &&End| ["unfinished", "dirty"].contains(&end.code);
            causes.extend(facts.before.as_ref().filter(mending).cloned());
            causes.push(if *moved_on { facts.tried(view) } else { facts.not_landed(view, log.as_deref()) });
            facts.outside(&mut causes);
        }
        Place::Settled(settled) => causes.push(facts.settled(settled)),
        Place::Never => {
            causes.push(facts.never());
            facts.outside(&mut causes);
        }
    }
    causes.extend(facts.setup.clone().filter(|_| stands && unreachable));
    // One cause is told once, where it is nearest.
    let mut told: Vec<&'static str> = Vec::new();
    causes.retain(|cause| {
        !told.contains(&cause.code) && {
            told.push(cause.code);
            true
        }
    });
    causes
}

impl Facts<'_> {
    fn land(&self) -> String {
        land_command(&self.branch, "")
    }

    fn pushing(&self, push: &Push) -> End {
        match push {
            Push::UnderWay => {
                let line = naming("{} was pushed and its end is awaited; it says so itself", [&self.branch]);
                End::new(exit::WAITING, "pushing", line).next("signalbox queue --watch")
            }
            Push::CutOff => {
                let line = "the push of {} was cut off and what became of it is not known yet; settle it";
                End::new(exit::UNKNOWN, "outcome_unknown", naming(line, [&self.branch]))
                    .next("signalbox land --settle")
            }
            Push::Unreadable(file) => {
                let line =
                    "the note of its push cannot be read; look whether it landed, then remove the file";
                End::new(exit::INTERNAL, "broken_intent", line)
                    .more(file.clone())
                    .next("signalbox land --settle")
            }
        }
    }

    fn frozen(&self, freeze: &FreezeView) -> End {
        let issues = freeze.issues.join(", ");
        let admits = freeze.admissions.join(", ");
        let line = if admits.is_empty() {
            naming("frozen by {}, which admits nothing; {} waits until it is closed", [&issues, &self.branch])
        } else {
            let text = "frozen by {}, which admits only {}; {} waits until it is closed";
            naming(text, [&issues, &admits, &self.branch])
        };
        let since = (self.clock)(freeze.declared_at);
        End::new(exit::LATER, "frozen", line)
            .more(format!("{} opened the freeze ({since})", short(&freeze.opener, 60)))
            .fact("issues", freeze.issues.clone())
            .fact("admissions", freeze.admissions.clone())
            .next("signalbox freeze list")
    }

    /// The freeze that keeps this commit out.
    fn frozen_out(&self) -> Option<&FreezeView> {
        let head = self.head.as_ref()?;
        self.freeze.as_ref().filter(|freeze| holds::keeps_out(freeze, &self.branch, head))
    }

    fn held(&self, standing: bool) -> Option<End> {
        let changed = self.changed.as_deref()?;
        let (hold, path) = holds::held(&self.holds, &self.owner, changed, self.now)?;
        let path = path.to_string();
        let text = format!("the hold {{}} of {{}} covers {{}} until {}", (self.clock)(hold.until));
        let line = naming(&text, [&hold.name, &hold.owner, &path]);
        let next = if standing {
            "signalbox hold list".to_owned()
        } else {
            land_command(&self.branch, " --wait-holds")
        };
        Some(
            End::new(exit::LATER, "held", line)
                .fact("hold", hold.name.as_str())
                .fact("owner", hold.owner.as_str())
                .fact("path", path)
                .fact("until", hold.until)
                .next(next),
        )
    }

    /// What a landing that is begun now would meet, one after the other.
    fn outside(&self, causes: &mut Vec<End>) {
        causes.extend(self.before.clone().filter(|end| end.exit != exit::DONE));
        causes.extend(self.too_many());
        causes.extend(self.frozen_out().map(|freeze| self.frozen(freeze)));
        causes.extend(self.held(false));
        causes.extend(self.ahead.clone());
    }

    fn too_many(&self) -> Option<End> {
        self.full.then(|| {
            let line = "the queue has as many places as it may; enter when some have left";
            End::new(exit::AGAIN, "queue_full", line).next("signalbox queue --watch")
        })
    }

    fn never(&self) -> End {
        self.before.clone().or_else(|| self.too_many()).unwrap_or_else(|| {
            let line = naming("{} is not in the queue: nobody landed it yet; land it", [&self.branch]);
            End::new(exit::AGAIN, "not_entered", line).next(self.land())
        })
    }
}

/// The answer to `why` from its chain: the nearest cause first, with its way out, then the others.
#[must_use]
pub fn told(causes: &[End]) -> End {
    let Some(first) = causes.first() else {
        return End::internal("there is no cause and no reason for that");
    };
    let mut end = End { exit: exit::DONE, ..first.clone() };
    for cause in &causes[1..] {
        end = end.more(format!("then: {}", cause.line));
    }
    let all: Vec<Value> = causes
        .iter()
        .map(|cause| {
            serde_json::json!({
                "code": cause.code, "exit": cause.exit, "detail": cause.line, "do": cause.next,
            })
        })
        .collect();
    end.fact("causes", all)
}

#[cfg(test)]
mod tests;
