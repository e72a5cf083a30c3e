//! A refusal is an answer: a status, a stable code, and a sentence that says what the caller does next.
//! It changed nothing.

use crate::clock::Millis;
use serde_json::{Value, json};
use std::borrow::Cow;

/// When the same call may succeed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Retry {
    /// Never, as it stands.
    Never,
    /// At once.
    Now,
    /// After this many milliseconds.
    After(Millis),
    /// After the caller has mended what the detail names.
    AfterFix,
}

macro_rules! codes {
    ($($variant:ident $status:literal $name:literal $retry:expr, $doc:literal;)*) => {
        /// The stable code of a refusal. Callers may depend on the text of [`Code::as_str`].
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
        pub enum Code { $(#[doc = $doc] $variant,)* }

        impl Code {
            /// Every code, in the order of the documentation.
            pub const ALL: &[Code] = &[$(Code::$variant),*];
            /// The code as callers see it.
            #[must_use]
            pub fn as_str(self) -> &'static str { match self { $(Code::$variant => $name),* } }
            /// The HTTP status that goes with it.
            #[must_use]
            pub fn status(self) -> u16 { match self { $(Code::$variant => $status),* } }
            /// When the call is refused, in one phrase, for the documentation.
            #[must_use]
            pub fn meaning(self) -> &'static str { match self { $(Code::$variant => $doc),* } }
            /// When the same call may succeed.
            #[must_use]
            pub fn retry(self) -> Retry { match self { $(Code::$variant => $retry),* } }
        }
    };
}

codes! {
    InvalidRequest 400 "invalid_request" Retry::AfterFix, "The body or a member breaks its grammar.";
    UnknownCall 404 "unknown_call" Retry::Never, "There is no call of that name.";
    FloorTooFar 409 "floor_too_far" Retry::AfterFix, "The floor would lift an existing line too far.";
    TicketGone 409 "ticket_gone" Retry::AfterFix, "The ticket or this entry no longer stands.";
    TicketTaken 409 "ticket_taken" Retry::AfterFix, "The ticket is live with another branch or head.";
    QueueFull 409 "queue_full" Retry::After(60_000), "The project has as many live tickets as it may.";
    HoldTaken 409 "hold_taken" Retry::AfterFix, "An open hold of that name has another owner.";
    HoldGone 409 "hold_gone" Retry::AfterFix, "No open hold of that name and owner stands.";
    HoldsFull 409 "holds_full" Retry::After(60_000), "There are as many open holds as there may be.";
    FreezeFull 409 "freeze_full" Retry::AfterFix, "The freeze would admit more than it may.";
    FreezeGone 409 "freeze_gone" Retry::AfterFix, "No freeze stands.";
    FreezeServesMore 409 "freeze_serves_more" Retry::AfterFix, "The freeze serves an issue that the call does not name.";
    ReplacementTaken 409 "replacement_taken" Retry::AfterFix, "The replacement is in use or retired, or the project has another one.";
    RequestReused 409 "request_reused" Retry::AfterFix, "The request id was used for something else.";
    ProjectRetired 410 "project_retired" Retry::AfterFix, "The project id was replaced.";
    BodyTooLarge 413 "body_too_large" Retry::AfterFix, "The body is larger than a call may be.";
    Busy 503 "busy" Retry::After(1_000), "The bounded wait ended; nothing was changed.";
    OutcomeUnknown 500 "outcome_unknown" Retry::Now, "The commit's answer was lost.";
    Internal 500 "internal" Retry::After(1_000), "Anything else; nothing is known to have changed.";
}

/// An answer that says no, why, and what the caller does next. The call changed nothing.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Refusal {
    /// What kind of refusal.
    pub code: Code,
    /// A sentence for people; it ends with what the caller does next and repeats no value of the call.
    pub detail: Cow<'static, str>,
}

impl Refusal {
    /// A refusal of `code` whose `detail` ends with what the caller does next.
    pub fn new(code: Code, detail: impl Into<Cow<'static, str>>) -> Self {
        Self { code, detail: detail.into() }
    }

    /// An `invalid_request` that names a member and its rule.
    pub fn invalid(detail: impl Into<Cow<'static, str>>) -> Self {
        Self::new(Code::InvalidRequest, detail)
    }

    /// The body that answers the call: `{"error", "detail", "retry"[, "retryAfterMs"]}`.
    #[must_use]
    pub fn body(&self) -> Vec<u8> {
        let mut body = json!({ "error": self.code.as_str(), "detail": self.detail });
        let retry = match self.code.retry() {
            Retry::Never => "never",
            Retry::Now => "now",
            Retry::AfterFix => "after_fix",
            Retry::After(ms) => {
                body["retryAfterMs"] = Value::from(ms);
                "after"
            }
        };
        body["retry"] = Value::from(retry);
        body.to_string().into_bytes()
    }
}
