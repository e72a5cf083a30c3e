//! The gate's refusals in words, as whoever pushed reads them behind `remote:`.

use super::{Refusal, Refused};
use crate::end::{End, exit, naming};
use bstr::{BStr, ByteSlice};

/// How a take-over passes a gate, for the one who keeps the server.
const TAKE_OVER: &str = "A box is claimed once. If its state is lost, whoever keeps this server lets another in:\n\
     1. in this repository: signalbox hook remove\n\
     2. in a clone: signalbox init --take-over\n\
     3. here again: signalbox hook install --server --state DIR (that clone's state)";

/// What to do with commits that were made on the trunk itself.
const ON_A_BRANCH: &str = "Commits that are on your copy of it: git switch -c NAME, then land that branch.";

impl Refused<'_> {
    /// The refusal of a push.
    #[must_use]
    pub fn end(&self) -> End {
        let trunk = self.trunk.unwrap_or("this trunk");
        let of = |code, text: &str| End::new(exit::RULE, code, naming(text, [trunk]));
        match &self.why {
            Refusal::Direct => of("direct_push", "{} takes landings only, no direct push; land the branch")
                .more("Nothing was changed here.")
                .more(ON_A_BRANCH)
                .next("signalbox land"),
            Refusal::TrunkDeleted => {
                of("trunk_deleted", "{} is not deleted by a push; ask whoever keeps this server")
            }
            Refusal::EpochDeleted => {
                of("epoch_deleted", "the epoch of {} is never deleted: it keeps stale pushes out")
                    .more("Nothing need be done; leave it where it is.")
            }
            Refusal::BoxStands => {
                of("box_stands", "no push changes which box keeps this trunk; ask whoever keeps this server")
                    .more(TAKE_OVER)
            }
            Refusal::OtherBox => of(
                "other_box",
                "this server takes turns of another box only; land with its state: --state DIR",
            )
            .more("Which box it asks says: signalbox hook install --server --state DIR, run there."),
            Refusal::Symbolic(name) => symbolic(trunk, name.as_bstr()),
            Refusal::InTheWay(name) => {
                let text = "{} would stand in the way of what guards {}; choose another name";
                End::new(exit::RULE, "in_the_way", naming(text, [&name.to_str_lossy(), trunk]))
            }
            Refusal::Twice => of("twice", "a ref of {} stands twice in this push; push it once"),
            Refusal::NoEpoch => forged(trunk, "it is no epoch that this version can read"),
            Refusal::NotChained => forged(trunk, "it does not follow the epoch that stands"),
            Refusal::OtherCommit => forged(trunk, "it names another commit of the trunk"),
            Refusal::NotBegun => forged(trunk, "its turn was not begun"),
            Refusal::NothingToVoid => forged(trunk, "it voids a turn that has not begun"),
            Refusal::StandsUnreadable => of(
                "epoch_unreadable",
                "the epoch of {} here cannot be read; use the newest signalbox on this server",
            ),
            Refusal::OldTurn(turn, stands) => {
                let text = match turn.cmp(stands) {
                    std::cmp::Ordering::Equal => format!("turn {turn} of {{}} is over; land again"),
                    _ => format!("turn {turn} of {{}} is over, turn {stands} has begun; land again"),
                };
                of("old_turn", &text).next("signalbox land")
            }
            Refusal::NoTurn(turn) => {
                let text = format!("turn {turn} of {{}} is not this ticket's now, says the box; land again");
                of("no_turn", &text).next("signalbox land")
            }
            Refusal::Apart => of("apart", "{} and its epoch move together or not at all; land the branch")
                .more("Nothing of it was changed. `signalbox land` pushes both in one atomic push.")
                .next("signalbox land"),
            Refusal::Backwards => of("backwards", "{} only grows; this push would take commits out of it")
                .more("To undo a landing, revert it on a branch and land that.")
                .next("signalbox land"),
        }
    }
}

fn symbolic(trunk: &str, name: &BStr) -> End {
    let text = "{} is symbolic, to or from {}; push refs by their own names";
    End::new(exit::RULE, "symbolic_ref", naming(text, [&name.to_str_lossy(), trunk])).next("signalbox land")
}

fn forged(trunk: &str, what: &str) -> End {
    let line = naming("this epoch of {} is not valid; land the branch, which makes its own", [trunk]);
    End::new(exit::RULE, "epoch_invalid", line).more(format!("Why: {what}.")).next("signalbox land")
}

/// The refusal of a commit, a merge or a reset on a trunk that is kept in the repository itself.
#[must_use]
pub fn not_here(trunk: &str) -> End {
    let line = naming("{} moves by landings only; put the work on a branch and land it", [trunk]);
    End::new(exit::RULE, "direct_move", line)
        .more("Nothing is lost: `git switch -c NAME` takes what is staged along; commit there, then land.")
        .more(
            "After a refused merge or reset, `git reset --merge` puts the files back as the trunk has them.",
        )
        .next("signalbox land")
}

/// The refusal of a push by a person, before it is sent.
#[must_use]
pub fn not_pushed(trunk: &str, remote: &str) -> End {
    let line = naming("{} of {} takes landings only; land the branch instead of pushing it", [trunk, remote]);
    End::new(exit::RULE, "direct_push", line)
        .more("Nothing was sent.")
        .more(ON_A_BRANCH)
        .next("signalbox land")
}

/// The box cannot be asked.
#[must_use]
pub fn unreachable(trunk: Option<&str>, reason: &str) -> End {
    let trunk = trunk.unwrap_or("the trunk");
    let line = naming("the box cannot be asked whose turn it is, so {} takes nothing now", [trunk]);
    End::new(exit::AGAIN, "box_unreachable", line)
        .more(format!("Why: {reason}"))
        .more("Nothing was changed here; land again when that is mended.")
        .more("Where the state is says, there: signalbox hook install --server --state DIR")
}
