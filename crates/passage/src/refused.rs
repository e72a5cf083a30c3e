//! What a refused call means for whoever typed a command.

use crate::end::{COLUMNS, End, columns, exit};
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
                "hold_taken" => (exit::RULE, "hold_taken"),
                "hold_gone" => (exit::RULE, "hold_gone"),
                "holds_full" => (exit::RULE, "holds_full"),
                "freeze_full" => (exit::RULE, "freeze_full"),
                "freeze_gone" => (exit::RULE, "freeze_gone"),
                "freeze_serves_more" => (exit::RULE, "freeze_serves_more"),
                "replacement_taken" => (exit::RULE, "replacement_taken"),
                "request_reused" => (exit::RULE, "request_reused"),
                "busy" => (exit::AGAIN, "busy"),
                "outcome_unknown" => (exit::UNKNOWN, "outcome_unknown"),
                _ => (exit::INTERNAL, "internal"),
            };
            let (line, more) = told(code, detail);
            again(if more {
                End::new(exit, code, line).more(detail.clone())
            } else {
                End::new(exit, code, line)
            })
        }
        CallError::Unreached(Unreached::NothingChanged(text)) => again(whole(exit::AGAIN, "unreached", text)),
        CallError::Unreached(Unreached::Unknown(text)) => {
            again(whole(exit::UNKNOWN, "outcome_unknown", text))
        }
    }
}

/// The line for a person at the command line, and whether the box's own words tell more. Those are written
/// for any caller, and some are longer than a line.
fn told<'a>(code: &str, detail: &'a str) -> (&'a str, bool) {
    match code {
        "floor_too_far" => {
            ("this floor would lift the line too far; raise it in steps of at most 1000 with --floor", false)
        }
        "ticket_taken" => {
            ("this ticket is in the queue with another branch or head; land without --resume", false)
        }
        "hold_taken" => ("an open hold of this name has another owner; choose another name, or wait", false),
        "hold_gone" => ("no open hold of this name and owner stands; see: signalbox hold list", false),
        "holds_full" => ("there are as many open holds as there may be; close one, or widen one", false),
        "freeze_full" => ("the freeze would admit more than it may; close it first", false),
        "freeze_gone" => ("no freeze stands; there is nothing to close", false),
        "freeze_serves_more" => {
            ("the freeze serves an issue that you do not name; name all: signalbox freeze list", false)
        }
        // The box's own words are for a caller who was given the id.
        "project_retired" => {
            ("this project's id was replaced meanwhile; run the command again, it finds the id in use", true)
        }
        "replacement_taken" => {
            ("this id is in use or was retired, or the project has another one; choose a fresh id", false)
        }
        "ticket_gone" => ("this place in the queue no longer stands; land again for a fresh one", false),
        _ => (detail, columns(detail) > COLUMNS),
    }
}

/// An end whose text is told in full, however long it is.
fn whole(exit: u8, code: &'static str, text: &str) -> End {
    let end = End::new(exit, code, text);
    if columns(text) > COLUMNS { end.more(text) } else { end }
}
