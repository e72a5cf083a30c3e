//! The one trait of all callers.

use std::sync::Arc;

/// Reaches a box. Bytes in, bytes out: what a refusal means is in the body, so that a caller sees the
/// same whether the box is a file or a service.
pub trait Signals: Send + Sync {
    /// Makes one call and waits for its answer, which for `queue/wait` and `queue/list` may take as long
    /// as the call's `timeoutMs` says. Gives the status and the body.
    ///
    /// # Errors
    /// [`Unreached`] where no answer came.
    fn post(&self, call: &str, body: &[u8]) -> Result<(u16, Vec<u8>), Unreached>;
}

impl<S: Signals + ?Sized> Signals for Arc<S> {
    fn post(&self, call: &str, body: &[u8]) -> Result<(u16, Vec<u8>), Unreached> {
        (**self).post(call, body)
    }
}

/// No answer came. Each text says what happened and what to do next.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Unreached {
    /// The call was certainly not carried out.
    #[error("{0}")]
    NothingChanged(String),
    /// The call may have been carried out: repeat it with the same request id, or look.
    #[error("{0}")]
    Unknown(String),
}
