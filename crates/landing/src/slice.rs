//! The data that the rules look at, and the values in which they say what changes.

use kernel::{Id, Millis};
use serde_json::{Map, Value};
use std::collections::BTreeMap;

/// The part of the database that a group of calls may look at.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Slice {
    /// The id of the box: one state file or one service.
    pub box_id: String,
    /// How long leases and turns last here. They decide who lives, so they stand in the database.
    pub spans: Spans,
    /// How many holds of all projects are open. A store need not count where no call opens one.
    pub open_holds: usize,
    /// The projects that the calls name.
    pub projects: BTreeMap<Id, Project>,
}

/// What stands in the database because it decides who lives or whose turn begins.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Spans {
    /// A ticket lives while it was touched less than this ago.
    pub lease: Millis,
    /// A turn lasts less than this.
    pub turn: Millis,
    /// Whether a freeze keeps the turns of those that it does not admit from beginning. Without, it is the
    /// source's plain record.
    pub freeze_holds_turns: bool,
}

impl Default for Spans {
    fn default() -> Self {
        let limits = kernel::Limits::default();
        Self { lease: limits.lease_ms, turn: limits.turn_ms, freeze_holds_turns: true }
    }
}

/// What the calls may look at of one project.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Project {
    /// The counters of the project.
    pub state: State,
    /// The id that replaced this one, where one did.
    pub retired: Option<Id>,
    /// The number lines. A store need not load a line that no call reads; a mint reads none.
    pub lines: BTreeMap<String, i64>,
    /// The tickets that have not ended, in the order of their entry. Some may have lapsed: that is
    /// derived, never stored.
    pub tickets: Vec<Ticket>,
    /// The stays that ended last, the latest first. A store loads as many as a call shows.
    pub ended: Vec<Ended>,
    /// The remembered requests that the calls name.
    pub requests: BTreeMap<Id, Remembered>,
    /// The holds that were not closed, by name. Some may have ended: that is derived, never stored.
    pub holds: BTreeMap<String, Hold>,
    /// The freeze, while one stands.
    pub freeze: Option<Freeze>,
    /// Whether the project has any row at all. A store need not know where no call replaces a project.
    pub known: bool,
}

/// A time-limited claim on files.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Hold {
    /// Its name in the project.
    pub name: String,
    /// What it covers. A path that ends in `/` covers all below it; another covers itself and, if it is a
    /// folder, all below it.
    pub paths: Vec<String>,
    /// Whose it is.
    pub owner: String,
    /// When it was opened first.
    pub opened_at: Millis,
    /// It is open while now is less than this.
    pub until: Millis,
}

/// A freeze: while it stands, only what it admits gets a turn.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Freeze {
    /// The issues that it serves, in the order of their naming.
    pub issues: Vec<String>,
    /// Who opened it.
    pub opener: String,
    /// Since when it is meant to stand.
    pub declared_at: Millis,
    /// When it was opened.
    pub opened_at: Millis,
    /// The branches that it admits, or `branch@<head>` for that commit alone.
    pub admissions: Vec<String>,
}

impl Freeze {
    /// Whether it admits a branch with that head.
    #[must_use]
    pub fn admits(&self, branch: &str, head: &str) -> bool {
        admits(&self.admissions, branch, head)
    }
}

/// The counters of a project. Each only grows.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct State {
    /// The greatest now that an exclusive call has written.
    pub time: Millis,
    /// The number of the latest turn: the fencing token.
    pub turn_no: i64,
    /// The number of the latest stay; also the order of the queue.
    pub entry: i64,
    /// Moves with every change that somebody who follows the queue would see.
    pub mark: i64,
}

/// One stay in the queue that has not ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Ticket {
    /// The caller's name for its passage.
    pub ticket: Id,
    /// This stay; also its place in the order of the queue.
    pub entry: i64,
    /// The branch that wants to land.
    pub branch: String,
    /// The commit that wants to land.
    pub head: String,
    /// Who, for people.
    pub label: String,
    /// What it is doing, for people.
    pub step: String,
    /// When it entered.
    pub entered_at: Millis,
    /// When it was last heard of.
    pub touched_at: Millis,
    /// Its turn, once it has begun.
    pub turn: Option<Turn>,
}

/// A turn that has begun.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Turn {
    /// The fencing token.
    pub no: i64,
    /// When it began.
    pub at: Millis,
}

/// A row of the register: a stay that ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Ended {
    /// The stay as it stood at its end.
    pub ticket: Ticket,
    /// When it ended.
    pub at: Millis,
    /// How.
    pub outcome: Outcome,
    /// What the caller reported.
    pub report: Option<Map<String, Value>>,
}

macro_rules! outcomes {
    ($($variant:ident $name:literal)*) => {
        /// How a stay ended.
        #[derive(Debug, Clone, Copy, PartialEq, Eq)]
        pub enum Outcome { $(#[doc = concat!("`", $name, "`")] $variant,)* }
        impl Outcome {
            /// Every outcome.
            pub const ALL: &[Outcome] = &[$(Outcome::$variant),*];
            /// As callers and the register spell it.
            #[must_use]
            pub fn as_str(self) -> &'static str { match self { $(Outcome::$variant => $name),* } }
            /// Reads the spelling.
            #[must_use]
            pub fn parse(text: &str) -> Option<Self> { match text { $($name => Some(Outcome::$variant),)* _ => None } }
        }
    };
}

outcomes! {
    Landed "landed" Conflict "conflict" Failed "failed" Moved "moved" Held "held" Frozen "frozen"
    Duplicate "duplicate" Limit "limit" Refused "refused" Unknown "unknown" Withdrawn "withdrawn"
    Lapsed "lapsed"
}

/// A request that succeeded, remembered so that a repeat gets the same answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Remembered {
    /// What it was: see [`kernel::json::fingerprint`].
    pub fingerprint: String,
    /// What was answered.
    pub answer: Past,
    /// When.
    pub at: Millis,
}

/// A past answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Past {
    /// The body.
    Json(Vec<u8>),
    /// A mint's: the last number of its block. The rest of the body follows from the call.
    Line(i64),
}

/// Whether a freeze's admissions let that commit of that branch through. One of the form `branch@<head>` is
/// that commit alone, also where a branch has such a name.
#[must_use]
pub fn admits(admissions: &[String], branch: &str, head: &str) -> bool {
    admissions.iter().any(|admission| match admission.rsplit_once('@') {
        Some((of, pinned)) if crate::members::is_head(pinned) => of == branch && pinned == head,
        _ => admission == branch,
    })
}

/// One thing that changes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Change {
    /// Takes a block of numbers from a line; returns the line's new value, the block's last number.
    /// Writes and returns nothing where the floor would lift an existing line too far.
    Mint(Mint),
    /// Remembers a mint, if it wrote. Follows its [`Change::Mint`].
    RememberMint {
        /// The mint.
        mint: Mint,
        /// Its request id.
        request: Id,
        /// See [`Remembered::fingerprint`].
        fingerprint: String,
        /// When.
        at: Millis,
    },
    /// Remembers the answer to a request.
    Remember {
        /// The project.
        project: Id,
        /// The request id.
        request: Id,
        /// What to remember.
        what: Remembered,
    },
    /// Forgets up to `most` requests, of any project, that were remembered before `before`. They are
    /// dead by age, so that no answer depends on when this happens.
    Forget {
        /// Older than this.
        before: Millis,
        /// At most so many.
        most: usize,
    },
    /// Puts a project's counters.
    State {
        /// The project.
        project: Id,
        /// The counters.
        state: State,
    },
    /// Puts a ticket.
    Put {
        /// The project.
        project: Id,
        /// The ticket, keyed by its id.
        ticket: Ticket,
    },
    /// Drops a ticket from the queue and appends its stay to the register.
    End {
        /// The project.
        project: Id,
        /// The row of the register.
        ended: Ended,
    },
    /// Puts a hold.
    Hold {
        /// The project.
        project: Id,
        /// The hold, keyed by its name.
        hold: Hold,
    },
    /// Drops a hold.
    DropHold {
        /// The project.
        project: Id,
        /// Its name.
        name: String,
    },
    /// Puts a project's freeze, or drops it.
    Freeze {
        /// The project.
        project: Id,
        /// The freeze; none drops it.
        freeze: Option<Freeze>,
    },
    /// Copies all number lines of a project.
    CopyLines {
        /// From this one.
        from: Id,
        /// To this one, which has none.
        to: Id,
    },
    /// Records that a project was replaced.
    Retire {
        /// The project.
        project: Id,
        /// What replaces it.
        replacement: Id,
        /// When.
        at: Millis,
    },
    /// Puts a line's value.
    Line {
        /// The project.
        project: Id,
        /// The line.
        scope: String,
        /// Its value.
        value: i64,
    },
}

/// A block of numbers that is asked for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Mint {
    /// The project.
    pub project: Id,
    /// The line.
    pub scope: String,
    /// The highest number that the caller's own files use; 0 where it named none.
    pub floor: i64,
    /// How many numbers.
    pub count: i64,
    /// How far the floor may lift a line that exists.
    pub lift_max: i64,
}

impl Mint {
    /// The rule of the line: its new value, which is the last number of the block. `None` where the
    /// floor would lift an existing line by more than the lift limit (source: `MINT_STATEMENT`).
    #[must_use]
    pub fn applied_to(&self, value: Option<i64>) -> Option<i64> {
        match value {
            Some(value) if self.floor - value > self.lift_max => None,
            value => Some(value.unwrap_or(0).max(self.floor) + self.count),
        }
    }

    /// Whether this mint wrote, told from the line's value after it: a mint that wrote leaves the value
    /// above its floor.
    #[must_use]
    pub fn wrote(&self, value_after: i64) -> bool {
        self.floor - value_after <= self.lift_max
    }
}

#[cfg(test)]
mod tests {
    use super::admits;

    #[test]
    fn an_admission_that_is_pinned_to_a_commit_admits_that_commit_of_that_branch_alone() {
        let (head, other) = ("a".repeat(40), "b".repeat(40));
        let pinned = vec![format!("hotfix@{head}")];
        assert!(admits(&pinned, "hotfix", &head));
        assert!(!admits(&pinned, "hotfix", &other), "it has moved on");
        assert!(!admits(&pinned, "hotfix-2", &head));
        assert!(!admits(&pinned, &pinned[0], &head), "a branch of such a name");
        let plain = vec!["hotfix".to_owned(), "a@b".to_owned()];
        assert!(admits(&plain, "hotfix", &head) && admits(&plain, "hotfix", &other));
        assert!(admits(&plain, "a@b", &head), "what no commit follows is a name");
        assert!(!admits(&[], "hotfix", &head));
    }
}
