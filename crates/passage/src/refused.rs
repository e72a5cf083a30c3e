//! What a refused call means for whoever typed a command.

use crate::end::{End, exit};
use client::{CallError, Unreached};
use kernel::Id;

/// The end of a command whose call was refused or not answered. `request` is the id with which it can be
/// repeated.
#[must_use]
pub fn end(error: &CallError, request: Option<&Id>) -> End {
    let again = |end: End| match request {
        Some(id) => end.fact("request", id.as_str()),
        None => end,
    };
    match error {
        CallError::Refused { code, detail, .. } => {
            let (exit, code): (u8, &'static str) = match code.as_str() {
                "project_retired" => (exit::SETUP, "project_retired"),
                "invalid_request" => (exit::USAGE, "invalid_request"),
                "ticket_gone" => (exit::TURN, "ticket_gone"),
                "ticket_taken" => (exit::RULE, "ticket_taken"),
                "queue_full" => (exit::AGAIN, "queue_full"),
                "floor_too_far" => (exit::RULE, "floor_too_far"),
                "request_reused" => (exit::RULE, "request_reused"),
                "busy" => (exit::AGAIN, "busy"),
                "outcome_unknown" => (exit::UNKNOWN, "outcome_unknown"),
                _ => (exit::INTERNAL, "internal"),
            };
            again(End::new(exit, code, detail).more(detail.clone()))
        }
        CallError::Unreached(Unreached::NothingChanged(text)) => {
            again(End::new(exit::AGAIN, "unreached", text).more(text.clone()))
        }
        CallError::Unreached(Unreached::Unknown(text)) => {
            again(End::new(exit::UNKNOWN, "outcome_unknown", text).more(text.clone()))
        }
    }
}
