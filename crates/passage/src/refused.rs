//! What a refused call means for whoever typed a command.

use crate::end::{COLUMNS, End, columns, exit};
use client::{CallError, Unreached};
use kernel::{Id, Limits, Millis};

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
            if let Some(line) = broken(code, detail) {
                return again(End::new(exit, code, line));
            }
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

/// The line for a value that breaks its rule, which the box names as its call does, and a person otherwise.
fn broken(code: &str, detail: &str) -> Option<String> {
    if code != "invalid_request" {
        return None;
    }
    let limits = Limits::default();
    let (member, _) = detail.split_once(' ')?;
    let text = |what: &str, by: &str| {
        format!("give {what} of 1 to 200 characters without control characters ({by})")
    };
    Some(match member {
        "scope" => {
            "this is no line's name; give 1 to 64 of a-z 0-9 . _ / -, first a letter or digit".to_owned()
        }
        "count" => format!("--count cannot be used; give a whole number from 1 to {}", limits.mint_count_max),
        "floor" => format!("the floor cannot be used; give a whole number from 0 to {}", limits.floor_max),
        "request" => "--request is no id; copy it as it was printed".to_owned(),
        "name" => {
            "the hold's name cannot be used; give 1 to 100 characters without control characters".to_owned()
        }
        "paths" => format!(
            "these paths cannot be held; give 1 to {} from the repository's top, without .. or a first /",
            limits.hold_paths_max
        ),
        "until" => {
            format!(
                "--for cannot be used; a hold ends after now and at most {}h later",
                limits.hold_span_max_ms / HOUR
            )
        }
        "label" => text("a label", "--label, SIGNALBOX_LABEL"),
        "owner" => text("an owner", "--owner, SIGNALBOX_LABEL"),
        "opener" => text("an opener", "--opener, SIGNALBOX_LABEL"),
        "issue" | "issues" => {
            "an issue has 1 to 100 characters, without comma and white space; name 1 to 100 issues".to_owned()
        }
        "admissions" => format!(
            "--admit cannot be used; give at most {} branches, or BRANCH@COMMIT for one commit alone",
            limits.freeze_branches_max
        ),
        _ => return None,
    })
}

/// An hour, in milliseconds.
const HOUR: Millis = 3_600_000;

/// An end whose text is told in full, however long it is.
fn whole(exit: u8, code: &'static str, text: &str) -> End {
    let end = End::new(exit, code, text);
    if columns(text) > COLUMNS { end.more(text) } else { end }
}

#[cfg(test)]
mod tests {
    use super::*;
    use kernel::Retry;
    use landing::members::CALLS;

    /// Members that no argument of the command line fills: what `land` fills them with obeys their rules.
    const OURS: &[&str] = &[
        "ticket",
        "branch",
        "head",
        "step",
        "entry",
        "timeoutMs",
        "outcome",
        "report",
        "after",
        "declaredAt",
        "replacement",
        "turnNo",
        "lines",
    ];

    #[test]
    fn no_member_of_a_call_is_named_to_a_person_who_typed_its_value() {
        let named = CALLS.iter().flat_map(|call| call.members).map(|member| member.name).chain(["request"]);
        for name in named.filter(|name| !OURS.contains(name)) {
            let detail = format!("{name} breaks its rule; send something else");
            let refused = CallError::Refused {
                status: 400,
                code: "invalid_request".to_owned(),
                detail,
                retry: Retry::AfterFix,
            };
            let end = end(&refused, None);
            assert!(!end.line.contains("breaks its rule") && end.more.is_empty(), "{name}: {end:?}");
            assert!(columns(&end.line) <= COLUMNS && !end.line.ends_with('…'), "{name}: {end:?}");
            let words = ["scope", "until", "paths breaks", "admissions", "opener breaks"];
            assert!(words.iter().all(|word| !end.line.contains(word)), "{name}: {end:?}");
        }
    }
}
