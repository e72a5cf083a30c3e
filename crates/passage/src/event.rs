//! What a passage shows while it runs.

use crate::estimate::Range;
use kernel::Millis;

/// Something worth showing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Event<'a> {
    /// An earlier push of this machine was settled.
    Settled {
        /// Its branch.
        branch: &'a str,
        /// Whether the trunk has it.
        landed: bool,
    },
    /// Something that a person should know but need not act on.
    Note(&'a str),
    /// Something that a person may have to act on.
    Warning(&'a str),
    /// In the queue.
    Entered {
        /// The ticket.
        ticket: &'a str,
        /// 0 has the turn.
        position: u64,
    },
    /// Behind others.
    Waiting {
        /// From 1.
        position: u64,
        /// Who has the turn.
        holder: &'a str,
        /// With which branch.
        branch: &'a str,
        /// What it is doing.
        step: &'a str,
        /// How long it will be, where the last turns tell.
        wait: Option<Range>,
    },
    /// Who waits checks what it expects to land.
    Ahead {
        /// Together with how many of those before it.
        with: usize,
        /// Where the output is kept.
        log: &'a str,
    },
    /// That check ended.
    AheadChecked {
        /// How; absent if a signal ended it.
        code: Option<i32>,
        /// How long it took.
        took: Millis,
        /// Where its output is.
        log: &'a str,
    },
    /// It will not merge once another one has landed.
    WillConflict {
        /// Which one, for people; or the trunk.
        with: &'a str,
        /// In which files.
        files: &'a [String],
    },
    /// The turn has come.
    Turn {
        /// The fencing token.
        turn_no: i64,
        /// How long it was waited for.
        waited: Millis,
    },
    /// A part of the passage begins.
    Step(&'a str),
    /// The check begins.
    Check {
        /// The command.
        command: &'a str,
        /// Where its output is kept.
        log: &'a str,
    },
    /// A command of the user's begins; terminal and outputs are its own from here on.
    Runs {
        /// The command, for people.
        command: &'a str,
    },
    /// The check's output.
    Output(&'a [u8]),
    /// The check ended.
    Checked {
        /// How; absent if a signal ended it.
        code: Option<i32>,
        /// How long it took.
        took: Millis,
    },
    /// The tree was green before; it is not checked again.
    AlreadyGreen,
}

/// Where events go. Called from several threads.
pub trait Show: Send + Sync {
    /// Shows one.
    fn show(&self, event: &Event<'_>);
}

/// Shows nothing.
#[derive(Debug, Clone, Copy)]
pub struct Quiet;

impl Show for Quiet {
    fn show(&self, _event: &Event<'_>) {}
}
