//! `land` as a pure machine: what is done next, given what was seen. It knows the order of the nine
//! steps and every way out of them; it does nothing itself.
//!
//! The driver ([`crate::land`]) carries out each [`Do`] and answers with what it [`Saw`].

use crate::epoch::Stop;
use landing::Outcome;

/// What is done next.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Do {
    /// Take a place in the queue.
    Enter,
    /// Wait for the turn.
    Wait,
    /// Move the epoch at the remote to this turn.
    TakeEpoch,
    /// Ask the box whether the turn is still ours, and look whether the branch still is where it was.
    Confirm,
    /// Read the trunk and merge.
    Merge,
    /// Look for two files with one number.
    Numbers,
    /// Run the check.
    Check,
    /// Run the command that the turn is for.
    Run,
    /// Push trunk and epoch together.
    Push,
    /// Read trunk and epoch again, to learn what became of a push.
    ReadBack,
    /// Void the epoch, so that a push that may be under way cannot land any more; then read.
    Fence,
    /// Leave the queue, so that nobody starves, and wait for the hold that is in the way to end.
    AwaitHold,
    /// Leave the queue, then finish.
    Leave(Outcome, Why),
    /// Finish without leaving.
    Finish(Why),
}

/// What was seen.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Saw {
    /// In the queue; with the turn, or behind others.
    Entered {
        /// Whether the turn came at once.
        turn: bool,
    },
    /// The turn has come.
    Turn,
    /// The caller wanted to wait no longer.
    StillWaiting,
    /// The ticket no longer stands: it lapsed, or somebody ended it.
    Gone,
    /// The epoch is ours.
    Took,
    /// The epoch may not be taken.
    Stopped(Stop),
    /// The turn is ours, the branch is where it was.
    Ours,
    /// The turn is ours, but a hold of somebody else covers what the landing changes.
    Held,
    /// The turn is ours, but a freeze does not admit this.
    Frozen,
    /// The hold that was in the way has ended.
    HoldEnded,
    /// The branch has another head than the one that was pinned.
    BranchMoved,
    /// A landing commit stands ready.
    Merged,
    /// The trunk has it all already.
    Nothing,
    /// The branch does not merge.
    Conflict,
    /// No two files with one number.
    NumbersFine,
    /// The merge adds a second file with one number.
    Duplicate,
    /// The check passed, or need not run.
    Green,
    /// The check failed.
    Red,
    /// The turn's limit came while the check or the command ran.
    TooLong,
    /// The command has run to its end.
    Ran {
        /// Whether it succeeded.
        well: bool,
    },
    /// The push was accepted.
    Accepted,
    /// The push (of trunk and epoch, or of the epoch alone) was refused; nothing of it can still be under way.
    Refused,
    /// The push ended without an answer; it may still be under way.
    NoAnswer,
    /// The trunk's own worktree is in the way of a landing.
    Obstacle,
    /// Read again: trunk and epoch carry this landing.
    Landed,
    /// Read again: neither has moved.
    Same,
    /// Read again: the epoch is another's or another.
    EpochMoved,
    /// Read again: somebody moved the trunk outside the queue.
    TrunkMoved,
    /// Fenced, and the trunk does not have the landing: nothing of this turn lands any more.
    NotLanded,
    /// The remote could not be read or written.
    Unreachable,
    /// A person asked to stop.
    Interrupted,
    /// Settings that cannot be used.
    BadSettings,
    /// Something that this version has no answer to. At the push: before anything was sent.
    Broken,
}

/// Why a passage ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Why {
    /// It landed.
    Landed,
    /// The trunk had it all already.
    Nothing,
    /// It stopped before the push, as asked.
    DryRun,
    /// It still waits; the place is kept until its lease ends.
    StillWaiting,
    /// The branch does not merge.
    Conflict,
    /// Two files would have one number.
    Duplicate,
    /// A hold of somebody else covers what it changes.
    Held,
    /// A freeze does not admit it.
    Frozen,
    /// The branch got another head meanwhile.
    BranchMoved,
    /// The check failed.
    Red,
    /// The command ran to its end.
    Ran,
    /// The turn's limit came.
    TooLong,
    /// Somebody else has the turn.
    TurnLost,
    /// Another clone keeps this trunk.
    OtherBox,
    /// The remote refused the push.
    RemoteRefused,
    /// The trunk's own worktree is in the way.
    Obstacle,
    /// The trunk moved again and again outside the queue.
    Restless,
    /// The remote could not be reached; nothing was sent.
    Unreachable,
    /// A push was sent and what became of it cannot be read.
    Unknown,
    /// A person asked to stop.
    Interrupted,
    /// Settings that cannot be used.
    BadSettings,
    /// Something that this version has no answer to.
    Broken,
}

/// What follows once the turn is confirmed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Then {
    Merge,
    Check,
    Push,
    Retake,
}

/// What its caller wants of a passage.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Ways {
    /// Stop before the push.
    pub dry_run: bool,
    /// A lost turn is waited for again.
    pub reenter: bool,
    /// A hold that is in the way is waited for.
    pub wait_holds: bool,
    /// The turn is for a command, and nothing lands.
    pub errand: bool,
}

/// The machine.
#[derive(Debug)]
pub struct Machine {
    ways: Ways,
    last: Do,
    then: Then,
    takes: u32,
    merges: u32,
    pushes: u32,
    reentries: u32,
}

/// How often a trunk that moves outside the queue is merged again.
pub const MERGES_MAX: u32 = 3;
/// How often an epoch whose move was refused, and which stands as it stood, is moved again.
pub const TAKES_MAX: u32 = 3;
/// How often one landing is pushed.
pub const PUSHES_MAX: u32 = 3;
/// How often a lost turn is waited for again.
pub const REENTRIES_MAX: u32 = 3;

impl Machine {
    /// A passage that is about to enter.
    #[must_use]
    pub fn new(ways: Ways) -> Self {
        Self { ways, last: Do::Enter, then: Then::Merge, takes: 0, merges: 0, pushes: 0, reentries: 0 }
    }

    /// What is done now.
    #[must_use]
    pub fn now(&self) -> Do {
        self.last
    }

    /// What is done next, after `saw`.
    pub fn next(&mut self, saw: Saw) -> Do {
        self.last = self.after(saw);
        self.last
    }

    fn after(&mut self, saw: Saw) -> Do {
        match (self.last, saw) {
            (Do::ReadBack | Do::Fence, Saw::Broken) => Do::Leave(Outcome::Unknown, Why::Unknown),
            (_, Saw::Broken) => Do::Leave(Outcome::Withdrawn, Why::Broken),
            (_, Saw::BadSettings) => Do::Leave(Outcome::Withdrawn, Why::BadSettings),
            (_, Saw::Interrupted) => Do::Leave(Outcome::Withdrawn, Why::Interrupted),
            (Do::Wait, Saw::Gone) => Do::Enter,
            // What has begun to run is never begun again by itself.
            (Do::Run, Saw::Gone) => Do::Leave(Outcome::Failed, Why::TurnLost),
            (_, Saw::Gone) => self.lost(),

            (Do::Enter, Saw::Entered { turn: false }) => Do::Wait,
            (Do::Enter, Saw::Entered { turn: true }) | (Do::Wait, Saw::Turn) => self.turn(),
            (Do::Enter | Do::Wait, Saw::StillWaiting) if self.ways.errand => {
                Do::Leave(Outcome::Withdrawn, Why::StillWaiting)
            }
            (Do::Enter | Do::Wait, Saw::StillWaiting) => Do::Finish(Why::StillWaiting),

            (Do::TakeEpoch, Saw::Took) => Do::Confirm,
            (Do::TakeEpoch, Saw::Refused) => self.epoch_refused(),
            (Do::TakeEpoch, Saw::Stopped(Stop::Landed)) => Do::ReadBack,
            (_, Saw::Stopped(Stop::OtherBox)) => Do::Leave(Outcome::Withdrawn, Why::OtherBox),
            // A later turn has begun, so ours is over, whatever became of our place.
            (_, Saw::Stopped(_)) if self.may_reenter() => self.lost(),
            (_, Saw::Stopped(_)) => Do::Leave(Outcome::Withdrawn, Why::TurnLost),

            (Do::Confirm, Saw::Ours) => self.confirmed(),
            (Do::Confirm, Saw::Held) if self.ways.wait_holds => Do::AwaitHold,
            (Do::Confirm, Saw::Held) => Do::Leave(Outcome::Held, Why::Held),
            (Do::Confirm, Saw::Frozen) => Do::Leave(Outcome::Frozen, Why::Frozen),
            (Do::AwaitHold, Saw::HoldEnded) => Do::Enter,
            (Do::AwaitHold, Saw::Held) => Do::Finish(Why::Held),
            (Do::Confirm, Saw::BranchMoved) => Do::Leave(Outcome::Moved, Why::BranchMoved),

            (Do::Merge, Saw::Merged) => Do::Numbers,
            (Do::Merge, Saw::Nothing) => Do::Leave(Outcome::Withdrawn, Why::Nothing),
            (Do::Merge, Saw::Conflict) => Do::Leave(Outcome::Conflict, Why::Conflict),
            (Do::Numbers, Saw::NumbersFine) => self.confirm(Then::Check),
            (Do::Numbers, Saw::Duplicate) => Do::Leave(Outcome::Duplicate, Why::Duplicate),
            (Do::Check, Saw::Green) if self.ways.dry_run => Do::Leave(Outcome::Withdrawn, Why::DryRun),
            (Do::Check, Saw::Green) => self.confirm(Then::Push),
            (Do::Check, Saw::Red) => Do::Leave(Outcome::Failed, Why::Red),
            (Do::Check | Do::Run, Saw::TooLong) => Do::Leave(Outcome::Limit, Why::TooLong),
            (Do::Run, Saw::Ran { well: true }) => Do::Leave(Outcome::Withdrawn, Why::Ran),
            (Do::Run, Saw::Ran { well: false }) => Do::Leave(Outcome::Failed, Why::Ran),

            (Do::Push, Saw::Accepted) | (Do::ReadBack | Do::Fence, Saw::Landed) => {
                Do::Leave(Outcome::Landed, Why::Landed)
            }
            (Do::Push, Saw::Refused) => Do::ReadBack,
            (Do::Push, Saw::Obstacle) => Do::Leave(Outcome::Withdrawn, Why::Obstacle),
            (Do::Push, Saw::NoAnswer) | (Do::ReadBack, Saw::Unreachable) => Do::Fence,
            (Do::ReadBack, Saw::Same) if self.pushes < PUSHES_MAX => self.confirm(Then::Push),
            (Do::ReadBack, Saw::Same) => Do::Leave(Outcome::Refused, Why::RemoteRefused),
            (Do::ReadBack, Saw::EpochMoved) => self.confirm(Then::Retake),
            (Do::ReadBack, Saw::TrunkMoved) if self.merges < MERGES_MAX => self.confirm(Then::Merge),
            (Do::ReadBack, Saw::TrunkMoved) => Do::Leave(Outcome::Moved, Why::Restless),
            (Do::Fence, Saw::NotLanded) if self.pushes < PUSHES_MAX => self.confirm(Then::Retake),
            (Do::Fence, Saw::NotLanded) => Do::Leave(Outcome::Refused, Why::Unreachable),
            (Do::Fence, Saw::Unreachable) => Do::Leave(Outcome::Unknown, Why::Unknown),

            (Do::Enter, Saw::Unreachable) => Do::Finish(Why::Unreachable),
            (_, Saw::Unreachable) => Do::Leave(Outcome::Withdrawn, Why::Unreachable),
            _ => Do::Leave(Outcome::Withdrawn, Why::Broken),
        }
    }

    fn turn(&mut self) -> Do {
        self.then = Then::Merge;
        self.takes = 0;
        self.merges = 0;
        self.pushes = 0;
        // What pushes nothing need not be fenced, and moves nothing at the remote.
        if self.ways.dry_run { Do::Confirm } else { Do::TakeEpoch }
    }

    fn epoch_refused(&mut self) -> Do {
        self.takes += 1;
        if self.takes < TAKES_MAX { Do::TakeEpoch } else { Do::Leave(Outcome::Refused, Why::RemoteRefused) }
    }

    fn confirm(&mut self, then: Then) -> Do {
        self.then = then;
        Do::Confirm
    }

    fn confirmed(&mut self) -> Do {
        match self.then {
            Then::Merge if self.ways.errand => Do::Run,
            Then::Merge => {
                self.merges += 1;
                Do::Merge
            }
            Then::Check => Do::Check,
            Then::Push => {
                self.pushes += 1;
                Do::Push
            }
            Then::Retake => {
                self.then = Then::Push;
                Do::TakeEpoch
            }
        }
    }

    fn may_reenter(&self) -> bool {
        self.ways.reenter && self.reentries < REENTRIES_MAX
    }

    /// The turn is gone. A finished check is not lost with it: a tree that was green is not checked
    /// again, so where the turn comes back at once only the push is left.
    fn lost(&mut self) -> Do {
        if !self.may_reenter() {
            return Do::Finish(Why::TurnLost);
        }
        self.reentries += 1;
        Do::Enter
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(dry_run: bool, reenter: bool) -> Machine {
        Machine::new(Ways { dry_run, reenter, ..Ways::default() })
    }

    fn run(machine: &mut Machine, saws: &[Saw]) -> Do {
        saws.iter().fold(machine.now(), |_, saw| machine.next(*saw))
    }
    const TO_CHECK: &[Saw] = &[
        Saw::Entered { turn: false },
        Saw::Turn,
        Saw::Took,
        Saw::Ours,
        Saw::Merged,
        Saw::NumbersFine,
        Saw::Ours,
    ];
    const TO_PUSH: &[Saw] = &[Saw::Green, Saw::Ours];

    fn pushing() -> Machine {
        let mut machine = of(false, true);
        run(&mut machine, TO_CHECK);
        assert_eq!(run(&mut machine, TO_PUSH), Do::Push);
        machine
    }

    #[test]
    fn the_whole_passage_takes_its_steps_in_order() {
        assert_eq!(pushing().next(Saw::Accepted), Do::Leave(Outcome::Landed, Why::Landed));
    }

    #[test]
    fn the_turn_is_confirmed_after_the_epoch_is_taken_and_again_before_the_push() {
        let mut machine = of(false, true);
        assert_eq!(run(&mut machine, &TO_CHECK[..3]), Do::Confirm);
        run(&mut machine, &TO_CHECK[3..]);
        assert_eq!(machine.next(Saw::Green), Do::Confirm);
    }

    #[test]
    fn a_dry_run_takes_no_epoch_and_stops_before_the_push() {
        let mut machine = of(true, true);
        assert_eq!(run(&mut machine, &TO_CHECK[..2]), Do::Confirm);
        run(&mut machine, &TO_CHECK[3..]);
        assert_eq!(machine.now(), Do::Check);
        assert_eq!(machine.next(Saw::Green), Do::Leave(Outcome::Withdrawn, Why::DryRun));
    }

    #[test]
    fn a_push_without_an_answer_is_fenced_before_anything_is_believed() {
        let mut machine = pushing();
        assert_eq!(machine.next(Saw::NoAnswer), Do::Fence);
        assert_eq!(machine.next(Saw::NotLanded), Do::Confirm);
        assert_eq!(machine.next(Saw::Ours), Do::TakeEpoch, "the epoch is void: it must be taken again");
        assert_eq!(run(&mut machine, &[Saw::Took, Saw::Ours]), Do::Push);
        assert_eq!(run(&mut machine, &[Saw::NoAnswer, Saw::Landed]), Do::Leave(Outcome::Landed, Why::Landed));
    }

    #[test]
    fn what_cannot_be_read_after_a_push_is_unknown_and_never_a_guess() {
        let mut machine = pushing();
        assert_eq!(
            run(&mut machine, &[Saw::NoAnswer, Saw::Unreachable]),
            Do::Leave(Outcome::Unknown, Why::Unknown)
        );
        let mut machine = pushing();
        assert_eq!(
            run(&mut machine, &[Saw::Refused, Saw::Unreachable, Saw::Unreachable]),
            Do::Leave(Outcome::Unknown, Why::Unknown)
        );
        let mut machine = pushing();
        assert_eq!(
            run(&mut machine, &[Saw::NoAnswer, Saw::Broken]),
            Do::Leave(Outcome::Unknown, Why::Unknown)
        );
    }

    #[test]
    fn what_breaks_before_the_push_is_sent_leaves_nothing_unknown() {
        assert_eq!(pushing().next(Saw::Broken), Do::Leave(Outcome::Withdrawn, Why::Broken));
    }

    #[test]
    fn a_trunk_that_moves_is_merged_and_checked_again_three_times_at_most() {
        let mut machine = pushing();
        for _ in 1..MERGES_MAX {
            assert_eq!(run(&mut machine, &[Saw::Refused, Saw::TrunkMoved]), Do::Confirm);
            assert_eq!(machine.next(Saw::Ours), Do::Merge);
            assert_eq!(
                run(&mut machine, &[Saw::Merged, Saw::NumbersFine, Saw::Ours, Saw::Green, Saw::Ours]),
                Do::Push
            );
        }
        assert_eq!(
            run(&mut machine, &[Saw::Refused, Saw::TrunkMoved]),
            Do::Leave(Outcome::Moved, Why::Restless)
        );
    }

    #[test]
    fn a_refused_push_where_nothing_moved_is_sent_again_three_times_at_most() {
        let mut machine = pushing();
        for _ in 1..PUSHES_MAX {
            assert_eq!(run(&mut machine, &[Saw::Refused, Saw::Same, Saw::Ours]), Do::Push);
        }
        assert_eq!(
            run(&mut machine, &[Saw::Refused, Saw::Same]),
            Do::Leave(Outcome::Refused, Why::RemoteRefused)
        );
    }

    #[test]
    fn an_epoch_that_moved_is_taken_again_only_if_the_turn_is_still_ours() {
        let mut machine = pushing();
        assert_eq!(run(&mut machine, &[Saw::Refused, Saw::EpochMoved, Saw::Ours]), Do::TakeEpoch);
        assert_eq!(run(&mut machine, &[Saw::Took, Saw::Ours]), Do::Push, "without a new check");
        let mut machine = of(false, false);
        run(&mut machine, TO_CHECK);
        run(&mut machine, TO_PUSH);
        assert_eq!(run(&mut machine, &[Saw::Refused, Saw::EpochMoved, Saw::Gone]), Do::Finish(Why::TurnLost));
    }

    #[test]
    fn an_epoch_that_may_not_be_moved_is_tried_three_times_at_most() {
        let mut machine = of(false, true);
        assert_eq!(machine.next(Saw::Entered { turn: true }), Do::TakeEpoch);
        for _ in 1..TAKES_MAX {
            assert_eq!(machine.next(Saw::Refused), Do::TakeEpoch);
        }
        assert_eq!(machine.next(Saw::Refused), Do::Leave(Outcome::Refused, Why::RemoteRefused));
    }

    #[test]
    fn a_later_turn_at_the_remote_means_that_ours_is_lost_and_is_waited_for_again() {
        let later = Saw::Stopped(Stop::LaterTurn);
        let mut machine = of(false, true);
        for _ in 0..REENTRIES_MAX {
            assert_eq!(run(&mut machine, &[Saw::Entered { turn: true }, later]), Do::Enter);
        }
        let left = Do::Leave(Outcome::Withdrawn, Why::TurnLost);
        assert_eq!(run(&mut machine, &[Saw::Entered { turn: true }, later]), left);
        assert_eq!(run(&mut of(false, false), &[Saw::Entered { turn: true }, later]), left);
    }

    #[test]
    fn a_lost_turn_is_waited_for_again_a_few_times_or_not_at_all() {
        let mut machine = of(false, true);
        for _ in 0..REENTRIES_MAX {
            run(&mut machine, TO_CHECK);
            assert_eq!(machine.next(Saw::Gone), Do::Enter);
        }
        run(&mut machine, TO_CHECK);
        assert_eq!(machine.next(Saw::Gone), Do::Finish(Why::TurnLost));
        let mut machine = of(false, false);
        run(&mut machine, TO_CHECK);
        assert_eq!(machine.next(Saw::Gone), Do::Finish(Why::TurnLost));
    }

    #[test]
    fn a_hold_or_a_freeze_is_obeyed_before_the_check_and_again_before_the_push() {
        for before_check in [true, false] {
            let passage = || {
                let mut machine = of(false, true);
                run(&mut machine, &TO_CHECK[..TO_CHECK.len() - usize::from(before_check)]);
                if !before_check {
                    machine.next(Saw::Green);
                }
                assert_eq!(machine.now(), Do::Confirm);
                machine
            };
            assert_eq!(passage().next(Saw::Held), Do::Leave(Outcome::Held, Why::Held));
            assert_eq!(passage().next(Saw::Frozen), Do::Leave(Outcome::Frozen, Why::Frozen));
        }
    }

    #[test]
    fn a_hold_that_is_waited_for_is_waited_for_outside_the_queue() {
        let mut machine = Machine::new(Ways { wait_holds: true, ..Ways::default() });
        run(&mut machine, &TO_CHECK[..TO_CHECK.len() - 1]);
        assert_eq!(machine.next(Saw::Held), Do::AwaitHold);
        assert_eq!(machine.next(Saw::HoldEnded), Do::Enter);
        run(&mut machine, &TO_CHECK[..TO_CHECK.len() - 1]);
        assert_eq!(run(&mut machine, &[Saw::Held, Saw::Held]), Do::Finish(Why::Held), "nor for ever");
    }

    #[test]
    fn a_place_lost_while_waiting_costs_only_the_place() {
        let mut machine = of(false, false);
        for _ in 0..10 {
            assert_eq!(machine.next(Saw::Entered { turn: false }), Do::Wait);
            assert_eq!(machine.next(Saw::Gone), Do::Enter);
        }
    }
    #[test]
    fn a_command_runs_once_under_the_fence_and_never_again_by_itself() {
        let running = || {
            let mut machine = Machine::new(Ways { errand: true, reenter: true, ..Ways::default() });
            assert_eq!(run(&mut machine, &TO_CHECK[..3]), Do::Confirm, "the fence is taken, then confirmed");
            assert_eq!(machine.next(Saw::Ours), Do::Run);
            machine
        };
        assert_eq!(running().next(Saw::Ran { well: true }), Do::Leave(Outcome::Withdrawn, Why::Ran));
        assert_eq!(running().next(Saw::Ran { well: false }), Do::Leave(Outcome::Failed, Why::Ran));
        assert_eq!(running().next(Saw::Gone), Do::Leave(Outcome::Failed, Why::TurnLost));
        assert_eq!(running().next(Saw::TooLong), Do::Leave(Outcome::Limit, Why::TooLong));
        let mut waiting = Machine::new(Ways { errand: true, ..Ways::default() });
        waiting.next(Saw::Entered { turn: false });
        assert_eq!(waiting.next(Saw::StillWaiting), Do::Leave(Outcome::Withdrawn, Why::StillWaiting));
    }
}
