//! What may go wrong in an engine while a transaction runs, and the refusal that a caller sees.

use kernel::{Code, Refusal};

/// Why a transaction did not do its work. Carries no text of a driver or a statement.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum Fault {
    /// The bounded wait for the lock ended.
    #[error("the state was in use for two seconds and nothing was changed; repeat the call")]
    Busy,
    /// The engine is stopping.
    #[error("this process is stopping and nothing was changed; repeat the call")]
    Stopped,
    /// No space is left.
    #[error("the disk of the state is full and nothing was changed; free space there, then repeat the call")]
    Full,
    /// The state cannot be written.
    #[error(
        "the state cannot be written and nothing was changed; make its file and folder writable, then repeat"
    )]
    ReadOnly,
    /// The state's file was moved, deleted or replaced while it was open.
    #[error("the state's file was moved or replaced and nothing was changed; start the command again")]
    Gone,
    /// The state is damaged.
    #[error(
        "the state is damaged and nothing was changed; run `signalbox doctor`, which says how to mend it"
    )]
    Corrupt,
    /// A device refused to read or write.
    #[error("the disk of the state refused to read or write and nothing was changed; see the system's log")]
    Io,
    /// The commit's answer was lost.
    #[error(
        "the disk refused while the change was being kept, so it may stand or not; repeat the same request"
    )]
    Unknown,
    /// A defect of signalbox.
    #[error("signalbox met a defect of its own and nothing was changed; please report what you did")]
    Defect,
}

impl Fault {
    /// The answer to a call that met this.
    #[must_use]
    pub fn refusal(self) -> Refusal {
        let code = match self {
            Fault::Busy | Fault::Stopped => Code::Busy,
            Fault::Unknown => Code::OutcomeUnknown,
            _ => Code::Internal,
        };
        Refusal::new(code, self.to_string())
    }
}
