//! The list as data: constants, calls, codes, cases.

use serde_json::{Map, Value};
use std::collections::BTreeMap;

/// Everything that `contract/landing.json` says.
#[derive(Debug, Clone)]
pub struct List {
    /// The limits: the source's, then those of signalbox's own, by name.
    pub constants: BTreeMap<String, i64>,
    /// The constants that have no edge, each with the reason.
    pub no_edge: BTreeMap<String, String>,
    /// The calls.
    pub calls: BTreeMap<String, CallRow>,
    /// The codes of refusals.
    pub codes: BTreeMap<String, CodeRow>,
    /// The cases.
    pub cases: Vec<Case>,
}

/// A call of the table.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CallRow {
    /// Whether it takes a `request`.
    pub request: bool,
    /// Its members besides `project` and `request`, and whether it must have them.
    pub members: BTreeMap<String, bool>,
    /// A plain body; a step's `with` is laid over it.
    pub plain: Map<String, Value>,
}

/// A code of the table.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CodeRow {
    /// The status that goes with it.
    pub status: u16,
    /// What its `retry` says.
    pub retry: String,
    /// What its `retryAfterMs` says.
    pub retry_after_ms: Option<i64>,
    /// Who gives it.
    pub by: By,
}

/// Who gives a refusal.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum By {
    /// The rules: every implementation, and some case shows it.
    Rules,
    /// Only a transport: some case tagged `http` shows it.
    Transport,
    /// An engine in trouble: no list of calls brings it about; the tests of the engines show it.
    Engine,
}

/// What a case is about besides its steps.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Tag {
    /// Only a transport can show it.
    Http,
    /// It differs from the source, or goes beyond it, on purpose.
    Beyond,
}

/// One case.
#[derive(Debug, Clone)]
pub struct Case {
    /// A sentence about behaviour.
    pub name: String,
    /// Its tags.
    pub tags: Vec<Tag>,
    /// The constants at whose edge it stands.
    pub edges: Vec<String>,
    /// How the box is set that it runs on.
    pub settings: Settings,
    /// Its steps.
    pub steps: Vec<Step>,
}

impl Case {
    /// Whether only a transport can show it.
    #[must_use]
    pub fn needs_transport(&self) -> bool {
        self.tags.contains(&Tag::Http)
    }
}

/// How the box is set that a case runs on; what is absent is as the constants say.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Settings {
    /// The box's lease.
    pub lease_ms: Option<i64>,
    /// The box's turn limit.
    pub turn_ms: Option<i64>,
    /// Whether a freeze keeps turns from beginning.
    pub freeze_holds_turns: Option<bool>,
    /// Whether the rates are in force. Without it a transport lets every call through.
    pub rates: bool,
    /// The tokens of the service, each with the calls that it may make. Without any, no call needs one.
    pub tokens: BTreeMap<String, Vec<String>>,
}

/// One step.
#[derive(Debug, Clone)]
pub enum Step {
    /// A call.
    Call(CallStep),
    /// The call of an earlier step again, the same bytes.
    Repeat {
        /// The label of that step.
        of: String,
        /// What is expected; by default the same bytes as then.
        expect: Option<Expect>,
    },
    /// The answer to a call that waited.
    Answers {
        /// Its label.
        of: String,
        /// What is expected.
        expect: Expect,
    },
    /// These calls still wait.
    Waiting(Vec<String>),
    /// The clock moves, forwards or back.
    Advance(Value),
    /// Steps that are done several times over.
    Times {
        /// How many times.
        count: Value,
        /// The name that counts them, from 1.
        counter: String,
        /// What is done.
        steps: Vec<Step>,
    },
    /// A request to the transport itself.
    Http(HttpStep),
}

/// A call.
#[derive(Debug, Clone)]
pub struct CallStep {
    /// Its name.
    pub call: String,
    /// Its body.
    pub body: Body,
    /// How long white space behind the body makes it, in bytes.
    pub pad_to: Option<Value>,
    /// What later steps call it.
    pub label: Option<String>,
    /// How many copies are sent at one instant.
    pub copies: i64,
    /// What becomes of it.
    pub then: Then,
}

/// What becomes of a call.
#[derive(Debug, Clone)]
pub enum Then {
    /// It is answered.
    Answers(Box<Expect>),
    /// It waits, under this label.
    Waits(String),
}

/// The body of a call.
#[derive(Debug, Clone)]
pub enum Body {
    /// The call's plain body with these members laid over it; one that is `{"$absent": true}` is left out.
    With(Map<String, Value>),
    /// This value.
    Whole(Value),
    /// These bytes.
    Raw(Vec<Piece>),
}

/// A piece of a body that is given as bytes.
#[derive(Debug, Clone)]
pub enum Piece {
    /// The bytes of this text.
    Text(Value),
    /// These bytes.
    Bytes(Vec<u8>),
}

/// A request to the transport.
#[derive(Debug, Clone)]
pub struct HttpStep {
    /// The method.
    pub method: String,
    /// The path.
    pub path: String,
    /// The headers.
    pub headers: BTreeMap<String, String>,
    /// The body.
    pub body: Option<Value>,
    /// What is expected.
    pub expect: Expect,
}

/// What is expected of an answer.
#[derive(Debug, Clone, Default)]
pub struct Expect {
    /// The status. A code has its own.
    pub status: Option<u16>,
    /// The code of a refusal.
    pub code: Option<String>,
    /// The member that the refusal's detail begins with.
    pub member: Option<String>,
    /// What the refusal's detail says among other things.
    pub says: Vec<String>,
    /// What the answer has among other things.
    pub has: Option<Value>,
    /// What the answer has at these paths, such as `tickets.0.entry`.
    pub at: BTreeMap<String, Value>,
    /// The whole answer.
    pub is: Option<Value>,
    /// The whole answer, byte for byte.
    pub text: Option<Value>,
    /// The label of a step whose answer had the same bytes.
    pub same: Option<String>,
    /// Names for values of the answer, each with the path of the value.
    pub bind: BTreeMap<String, String>,
    /// What the transport's answer has among its headers.
    pub headers: BTreeMap<String, String>,
}
