//! The shape that every rule has: a plain function from a slice of the data, a call and the time to an
//! answer with changes, or to a refusal. The store loads the slice under the locks that [`Subject::keys`]
//! names, asks [`Subject::decide`], applies the changes and commits; the rule itself touches nothing.

use crate::clock::Millis;
use crate::limits::Limits;
use crate::refusal::Refusal;

/// How a call holds a lock.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Mode {
    /// Beside others that hold it shared.
    Shared,
    /// Alone.
    Exclusive,
}

/// The unit of lock, of grouping and of waking: a kind, a name of that kind, and how it is held.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Key {
    /// What is locked, for example `project`.
    pub kind: &'static str,
    /// Which one.
    pub name: String,
    /// How.
    pub mode: Mode,
}

/// What a rule decided about one call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Decision<C> {
    /// The answer is known now.
    Answer {
        /// The body of the answer.
        json: Vec<u8>,
        /// What changes.
        changes: Vec<C>,
    },
    /// The answer is made by [`Subject::finish`] from the value that the **first** change returns when it
    /// is applied. Only a mint is of this kind: its statement reads and writes in one.
    Returned {
        /// What changes; the first one returns the value.
        changes: Vec<C>,
    },
    /// The call waits for something to happen. It is asked again when its key is woken, and at `until`.
    Park {
        /// The latest time at which it is asked again, on the clock passed in.
        until: Millis,
        /// What changes meanwhile (a renewal, a turn that begins for somebody else).
        changes: Vec<C>,
    },
}

/// What one rules crate gives the store.
pub trait Subject: Send + Sync + 'static {
    /// A call, parsed as far as it can be without the data.
    type Call: Send + 'static;
    /// The part of the database that calls look at.
    type Slice: Send + 'static;
    /// One thing that changes: put this row, drop that one. Nothing is left to decide.
    type Change: Send + 'static;

    /// The locks that the call needs, sorted.
    fn keys(call: &Self::Call) -> Vec<Key>;

    /// What the call does. `now` is the clock passed in; the rule itself sees to it that a project's
    /// time never runs backwards.
    ///
    /// # Errors
    /// The refusal; nothing changes then.
    fn decide(
        slice: &Self::Slice,
        call: &Self::Call,
        now: Millis,
        limits: &Limits,
    ) -> Result<Decision<Self::Change>, Refusal>;

    /// Marks a call that [`Decision::Park`] made wait: from now on it is asked again, not for the first time.
    fn asked(call: &mut Self::Call);

    /// Applies one change to the slice, as the database will. Gives the value that the change returns,
    /// where it returns one (see [`Decision::Returned`]).
    fn apply(slice: &mut Self::Slice, change: &Self::Change) -> Option<i64>;

    /// The answer to a call that was decided as [`Decision::Returned`]. `None` means that the change
    /// wrote nothing.
    ///
    /// # Errors
    /// The refusal that a change which wrote nothing stands for.
    fn finish(call: &Self::Call, returned: Option<i64>) -> Result<Vec<u8>, Refusal>;
}
