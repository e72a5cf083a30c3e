//! The answers as data. A member that a newer box adds is passed over.

use kernel::Millis;
use serde::Deserialize;
use serde_json::{Map, Value};

/// A block of numbers.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub struct Minted {
    /// The line.
    pub scope: String,
    /// The first number of the block.
    pub first: i64,
    /// The last one.
    pub last: i64,
    /// How many.
    pub count: i64,
}

/// A stay in the queue.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct TicketView {
    /// The caller's name for its passage.
    pub ticket: String,
    /// This stay.
    pub entry: i64,
    /// The fencing token, once its turn has begun.
    pub turn_no: Option<i64>,
    /// The branch.
    pub branch: String,
    /// The commit.
    pub head: String,
    /// Who.
    pub label: String,
    /// What it is doing.
    pub step: String,
    /// 0 has the turn; who waits counts from 1.
    pub position: i64,
    /// Whether it has the turn.
    pub turn: bool,
    /// When it entered.
    pub entered_at: Millis,
    /// When it was last heard of.
    pub touched_at: Millis,
    /// When its turn began.
    pub turn_at: Option<Millis>,
    /// When its lease ends, unless it is touched before.
    pub lease_until: Millis,
    /// When its turn ends at the latest.
    pub turn_until: Option<Millis>,
    /// Who is before it, the holder first.
    #[serde(default)]
    pub ahead: Vec<Ahead>,
    /// The freeze that keeps it from its turn.
    #[serde(default)]
    pub blocked: Option<FreezeView>,
    /// The project's holds; only in the holder's `queue/renew`.
    #[serde(default)]
    pub holds: Vec<HoldView>,
    /// The project's freeze; only in the holder's `queue/renew`.
    #[serde(default)]
    pub freeze: Option<FreezeView>,
}

/// A hold.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct HoldView {
    /// Its name.
    pub name: String,
    /// What it covers.
    pub paths: Vec<String>,
    /// Whose it is.
    pub owner: String,
    /// When it was opened first.
    pub opened_at: Millis,
    /// When it ends.
    pub until: Millis,
}

/// A freeze.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct FreezeView {
    /// The issues that it serves.
    pub issues: Vec<String>,
    /// Who opened it.
    pub opener: String,
    /// Since when it is meant to stand.
    pub declared_at: Millis,
    /// When it was opened.
    pub opened_at: Millis,
    /// What it admits.
    pub admissions: Vec<String>,
}

/// The holds and the freeze of a project.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub struct HoldsView {
    /// The open holds, by name.
    pub holds: Vec<HoldView>,
    /// The freeze, where one stands.
    #[serde(default)]
    pub freeze: Option<FreezeView>,
}

/// A hold that was opened.
#[derive(Debug, Clone, PartialEq, Deserialize)]
pub struct OpenedView {
    /// The hold.
    #[serde(flatten)]
    pub hold: HoldView,
    /// Who has the turn, and may be landing on these paths now.
    #[serde(default)]
    pub landing: Option<TicketView>,
}

/// The answer to a close.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub struct Closed {
    /// Always true.
    pub closed: bool,
}

/// Somebody before a ticket.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub struct Ahead {
    /// Its ticket.
    pub ticket: String,
    /// Its branch.
    pub branch: String,
    /// Its commit.
    pub head: String,
    /// Who.
    pub label: String,
    /// What it is doing.
    pub step: String,
}

/// The queue.
#[derive(Debug, Clone, PartialEq, Deserialize)]
pub struct QueueView {
    /// Who stands in it, the holder first.
    pub tickets: Vec<TicketView>,
    /// The freeze, where one stands.
    #[serde(default)]
    pub freeze: Option<FreezeView>,
    /// Who ended last, the latest first.
    pub ended: Vec<EndedView>,
    /// The id of the box.
    #[serde(rename = "box")]
    pub box_id: String,
    /// The change mark: give it back as `after` to hear of the next change.
    pub mark: String,
}

/// A stay that ended.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct EndedView {
    /// The caller's name for its passage.
    pub ticket: String,
    /// The stay.
    pub entry: i64,
    /// The fencing token, if its turn had begun.
    pub turn_no: Option<i64>,
    /// The branch.
    pub branch: String,
    /// The commit.
    pub head: String,
    /// Who.
    pub label: String,
    /// What it was doing.
    pub step: String,
    /// When it entered.
    pub entered_at: Millis,
    /// When its turn began.
    pub turn_at: Option<Millis>,
    /// When it ended.
    pub ended_at: Millis,
    /// How: one of the outcomes of `queue/leave`, or `lapsed`.
    pub outcome: String,
    /// What its caller reported.
    #[serde(default)]
    pub report: Option<Map<String, Value>>,
}

/// The answer to a leave.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub struct Left {
    /// Always true.
    pub left: bool,
    /// The outcome that was recorded.
    pub outcome: String,
}

/// The answer to a replacement.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub struct Replaced {
    /// Always true.
    pub replaced: bool,
}

/// What stands after a lift.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Lifted {
    /// The number of the latest turn.
    pub turn_no: i64,
    /// The lines that the call named.
    pub lines: Vec<Line>,
}

/// A number line and its value.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub struct Line {
    /// The line.
    pub scope: String,
    /// The last number that was issued.
    pub value: i64,
}
