//! Typed calls over [`Signals`], which repeat what is safe to repeat.

use crate::signals::{Signals, Unreached};
use crate::views::{
    Closed, FreezeView, HoldsView, Left, Lifted, Minted, OpenedView, QueueView, Replaced, TicketView,
};
use kernel::{Code, Id, Millis, Retry};
use serde::de::DeserializeOwned;
use serde_json::{Map, Value, json};
use std::thread;
use std::time::{Duration, Instant};

/// How long a call is repeated by default.
const PATIENCE: Duration = Duration::from_secs(10);

/// Why a call did not succeed.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum CallError {
    /// The box said no; nothing was changed (save where the code is `outcome_unknown`).
    #[error("{detail}")]
    Refused {
        /// The status.
        status: u16,
        /// The stable code.
        code: String,
        /// A sentence for people that ends with what to do next.
        detail: String,
        /// When the same call may succeed.
        retry: Retry,
    },
    /// No answer came.
    #[error(transparent)]
    Unreached(#[from] Unreached),
}

impl CallError {
    /// Whether this is the refusal of that code.
    #[must_use]
    pub fn is(&self, code: Code) -> bool {
        matches!(self, Self::Refused { code: c, .. } if c == code.as_str())
    }

    /// Whether the call may have been carried out all the same.
    #[must_use]
    pub fn is_unknown(&self) -> bool {
        matches!(self, Self::Unreached(Unreached::Unknown(_))) || self.is(Code::OutcomeUnknown)
    }

    /// Whether the same call may succeed in a moment.
    #[must_use]
    pub fn worth_repeating(&self) -> bool {
        self.is_unknown() || self.is(Code::Busy)
    }
}

/// A mint.
#[derive(Debug, Clone, Default)]
pub struct Mint {
    /// The line.
    pub scope: String,
    /// The highest number that the caller's own files use.
    pub floor: Option<i64>,
    /// How many numbers; one by default.
    pub count: Option<i64>,
}

/// An entry into the queue.
#[derive(Debug, Clone)]
pub struct Enter {
    /// The caller's name for its passage.
    pub ticket: Id,
    /// The branch.
    pub branch: String,
    /// The commit.
    pub head: String,
    /// Who.
    pub label: String,
    /// What it is doing.
    pub step: Option<String>,
}

/// One stay of one ticket.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Stay {
    /// The ticket.
    pub ticket: Id,
    /// The stay, from the answer to the entry.
    pub entry: i64,
}

/// Typed calls for one project.
///
/// Every changing call carries a request id (a fresh one, or the caller's), so that a repeat has one
/// effect. On `busy`, on `outcome_unknown` and where the answer was lost, the same call is repeated with
/// the same id, for ten seconds at the most ([`Typed::patience`]).
#[derive(Clone)]
pub struct Typed<'a> {
    signals: &'a dyn Signals,
    project: &'a Id,
    patience: Duration,
}

impl std::fmt::Debug for Typed<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Typed").field("patience", &self.patience).finish_non_exhaustive()
    }
}

impl<'a> Typed<'a> {
    /// Calls for `project` over `signals`.
    #[must_use]
    pub fn new(signals: &'a dyn Signals, project: &'a Id) -> Self {
        Self { signals, project, patience: PATIENCE }
    }

    /// How long a call is repeated; zero makes it once.
    #[must_use]
    pub fn patience(mut self, patience: Duration) -> Self {
        self.patience = patience;
        self
    }

    /// Takes a block of numbers.
    ///
    /// # Errors
    /// [`CallError`].
    pub fn mint(&self, mint: &Mint, request: Option<&Id>) -> Result<Minted, CallError> {
        let mut body = self.body(Some(request));
        body.insert("scope".into(), mint.scope.clone().into());
        insert(&mut body, "floor", mint.floor);
        insert(&mut body, "count", mint.count);
        self.call("mint", body)
    }

    /// Takes a place in the queue.
    ///
    /// # Errors
    /// [`CallError`].
    pub fn enter(&self, enter: &Enter, request: Option<&Id>) -> Result<TicketView, CallError> {
        let mut body = self.body(Some(request));
        body.insert("ticket".into(), enter.ticket.as_str().into());
        body.insert("branch".into(), enter.branch.clone().into());
        body.insert("head".into(), enter.head.clone().into());
        body.insert("label".into(), enter.label.clone().into());
        insert(&mut body, "step", enter.step.clone());
        self.call("queue/enter", body)
    }

    /// Shows that one lives, and asks how one stands.
    ///
    /// # Errors
    /// [`CallError`].
    pub fn renew(&self, stay: &Stay, step: Option<&str>) -> Result<TicketView, CallError> {
        let mut body = self.stay(stay, None);
        insert(&mut body, "step", step);
        self.call("queue/renew", body)
    }

    /// Waits for the turn; answers without it when `timeout_ms` (by default 55 seconds) has passed.
    ///
    /// # Errors
    /// [`CallError`].
    pub fn wait(&self, stay: &Stay, timeout_ms: Option<Millis>) -> Result<TicketView, CallError> {
        let mut body = self.stay(stay, None);
        insert(&mut body, "timeoutMs", timeout_ms);
        self.call("queue/wait", body)
    }

    /// Ends the stay. `outcome` is one of the spellings of `landing::Outcome`.
    ///
    /// # Errors
    /// [`CallError`].
    pub fn leave(
        &self,
        stay: &Stay,
        outcome: &str,
        report: Option<&Value>,
        request: Option<&Id>,
    ) -> Result<Left, CallError> {
        let mut body = self.stay(stay, Some(request));
        body.insert("outcome".into(), outcome.into());
        insert(&mut body, "report", report.cloned());
        self.call("queue/leave", body)
    }

    /// Shows the queue; with the `mark` of an earlier answer, waits until it has changed or the time in
    /// milliseconds has passed.
    ///
    /// # Errors
    /// [`CallError`].
    pub fn list(&self, after: Option<(&str, Millis)>) -> Result<QueueView, CallError> {
        let mut body = self.body(None);
        if let Some((mark, timeout)) = after {
            body.insert("after".into(), mark.into());
            body.insert("timeoutMs".into(), timeout.into());
        }
        self.call("queue/list", body)
    }

    /// Opens a hold, or opens one of the same owner again.
    ///
    /// # Errors
    /// [`CallError`].
    pub fn open_hold(
        &self,
        (name, owner): (&str, &str),
        paths: &[String],
        until: Millis,
        request: Option<&Id>,
    ) -> Result<OpenedView, CallError> {
        let mut body = self.body(Some(request));
        body.insert("name".into(), name.into());
        body.insert("owner".into(), owner.into());
        body.insert("paths".into(), paths.into());
        body.insert("until".into(), until.into());
        self.call("hold/open", body)
    }

    /// Closes a hold.
    ///
    /// # Errors
    /// [`CallError`].
    pub fn close_hold(&self, (name, owner): (&str, &str), request: Option<&Id>) -> Result<Closed, CallError> {
        let mut body = self.body(Some(request));
        body.insert("name".into(), name.into());
        body.insert("owner".into(), owner.into());
        self.call("hold/close", body)
    }

    /// Shows the open holds and the freeze.
    ///
    /// # Errors
    /// [`CallError`].
    pub fn holds(&self) -> Result<HoldsView, CallError> {
        self.call("hold/list", self.body(None))
    }

    /// Opens a freeze, or adds an issue and admissions to the one that stands.
    ///
    /// # Errors
    /// [`CallError`].
    pub fn open_freeze(
        &self,
        (issue, opener): (&str, &str),
        admissions: &[String],
        request: Option<&Id>,
    ) -> Result<FreezeView, CallError> {
        let mut body = self.body(Some(request));
        body.insert("issue".into(), issue.into());
        body.insert("opener".into(), opener.into());
        body.insert("admissions".into(), admissions.into());
        self.call("freeze/open", body)
    }

    /// Closes the freeze; `issues` must name every one that it serves.
    ///
    /// # Errors
    /// [`CallError`].
    pub fn close_freeze(&self, issues: &[String], request: Option<&Id>) -> Result<Closed, CallError> {
        let mut body = self.body(Some(request));
        body.insert("issues".into(), issues.into());
        self.call("freeze/close", body)
    }

    /// Retires the project in favour of a fresh id, which gets its numbers, open holds and freeze.
    ///
    /// # Errors
    /// [`CallError`].
    pub fn replace(&self, replacement: &Id, request: Option<&Id>) -> Result<Replaced, CallError> {
        let mut body = self.body(Some(request));
        body.insert("replacement".into(), replacement.as_str().into());
        self.call("project/replace", body)
    }

    /// Raises the turn counter and number lines to at least these values.
    ///
    /// # Errors
    /// [`CallError`].
    pub fn lift(
        &self,
        turn_no: Option<i64>,
        lines: &[(String, i64)],
        request: Option<&Id>,
    ) -> Result<Lifted, CallError> {
        let mut body = self.body(Some(request));
        insert(&mut body, "turnNo", turn_no);
        let lines: Vec<Value> =
            lines.iter().map(|(scope, value)| json!({ "scope": scope, "value": value })).collect();
        body.insert("lines".into(), lines.into());
        self.call("project/lift", body)
    }

    /// `request`: outer `None` for a call that takes none; inner `None` for a fresh one.
    fn body(&self, request: Option<Option<&Id>>) -> Map<String, Value> {
        let mut body = Map::new();
        body.insert("project".into(), self.project.as_str().into());
        if let Some(request) = request {
            let id = request.cloned().unwrap_or_else(Id::random);
            body.insert("request".into(), id.as_str().into());
        }
        body
    }

    fn stay(&self, stay: &Stay, request: Option<Option<&Id>>) -> Map<String, Value> {
        let mut body = self.body(request);
        body.insert("ticket".into(), stay.ticket.as_str().into());
        body.insert("entry".into(), stay.entry.into());
        body
    }

    fn call<T: DeserializeOwned>(&self, call: &str, body: Map<String, Value>) -> Result<T, CallError> {
        let body = Value::Object(body).to_string().into_bytes();
        let end = Instant::now() + self.patience;
        let mut pause = Duration::from_millis(20);
        loop {
            let error = match self.once(call, &body) {
                Ok(answer) => return read(&answer),
                Err(error) => error,
            };
            if !error.worth_repeating() || Instant::now() + pause >= end {
                return Err(error);
            }
            thread::sleep(pause.mul_f64(0.5 + fastrand::f64()));
            pause = (pause * 2).min(Duration::from_secs(1));
        }
    }

    fn once(&self, call: &str, body: &[u8]) -> Result<Vec<u8>, CallError> {
        match self.signals.post(call, body)? {
            (200, answer) => Ok(answer),
            (status, answer) => Err(refused(status, &answer)),
        }
    }
}

fn read<T: DeserializeOwned>(answer: &[u8]) -> Result<T, CallError> {
    serde_json::from_slice(answer).map_err(|_| {
        CallError::Unreached(Unreached::Unknown(
            "the box gave an answer that this version cannot read; use the same version on both sides"
                .to_owned(),
        ))
    })
}

fn insert(body: &mut Map<String, Value>, name: &str, value: Option<impl Into<Value>>) {
    if let Some(value) = value {
        body.insert(name.into(), value.into());
    }
}

fn refused(status: u16, answer: &[u8]) -> CallError {
    let body: Value = serde_json::from_slice(answer).unwrap_or_default();
    let Some(code) = body["error"].as_str() else {
        return CallError::Unreached(Unreached::Unknown(format!(
            "what answered with status {status} is not a signalbox; check the address"
        )));
    };
    CallError::Refused {
        status,
        code: code.to_owned(),
        detail: body["detail"].as_str().unwrap_or("the call was refused").to_owned(),
        retry: match body["retry"].as_str() {
            Some("now") => Retry::Now,
            Some("after") => Retry::After(body["retryAfterMs"].as_i64().unwrap_or(1_000)),
            Some("after_fix") => Retry::AfterFix,
            _ => Retry::Never,
        },
    }
}
