//! The port: one transaction that does not know what it is about.
//!
//! An engine pulls [`Work`] from [`Source`]s and runs each as one transaction. A subject's rules and
//! statements come in through [`Mapped`]. Nothing here is async, and nothing is generic over an engine.

use crate::fault::Fault;
use kernel::{Key, Limits, Millis, Subject};
use std::borrow::Cow;
use std::sync::Arc;
use std::time::Instant;

/// A value that is bound to a statement or read from a row.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Value {
    /// SQL's NULL.
    Null,
    /// A BIGINT.
    Int(i64),
    /// A TEXT.
    Text(String),
}

impl From<i64> for Value {
    fn from(value: i64) -> Self {
        Self::Int(value)
    }
}

impl From<&str> for Value {
    fn from(value: &str) -> Self {
        Self::Text(value.to_owned())
    }
}

impl From<String> for Value {
    fn from(value: String) -> Self {
        Self::Text(value)
    }
}

impl From<&kernel::Id> for Value {
    fn from(value: &kernel::Id) -> Self {
        Self::Text(value.as_str().to_owned())
    }
}

impl<T: Into<Value>> From<Option<T>> for Value {
    fn from(value: Option<T>) -> Self {
        value.map_or(Self::Null, Into::into)
    }
}

/// One statement. Its parameters are numbered `?1`, `?2` … without gaps, so that one text serves both
/// engines (PostgreSQL's spells them `$1`).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Stmt {
    /// The text. It never contains a value.
    pub sql: Cow<'static, str>,
    /// What its parameters stand for.
    pub binds: Vec<Value>,
}

impl Stmt {
    /// A statement with its binds.
    #[must_use]
    pub fn new(sql: &'static str, binds: Vec<Value>) -> Self {
        Self { sql: Cow::Borrowed(sql), binds }
    }
}

/// One row.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Row(pub Vec<Value>);

impl Row {
    /// The integer in a column.
    ///
    /// # Errors
    /// [`Fault::Corrupt`] where the column holds something else.
    pub fn int(&self, column: usize) -> Result<i64, Fault> {
        self.int_or_null(column)?.ok_or(Fault::Corrupt)
    }

    /// The integer in a column that may be NULL.
    ///
    /// # Errors
    /// [`Fault::Corrupt`] where the column holds something else.
    pub fn int_or_null(&self, column: usize) -> Result<Option<i64>, Fault> {
        match self.0.get(column) {
            Some(Value::Int(value)) => Ok(Some(*value)),
            Some(Value::Null) => Ok(None),
            _ => Err(Fault::Corrupt),
        }
    }

    /// The text in a column.
    ///
    /// # Errors
    /// [`Fault::Corrupt`] where the column holds something else.
    pub fn text(&self, column: usize) -> Result<&str, Fault> {
        self.text_or_null(column)?.ok_or(Fault::Corrupt)
    }

    /// The text in a column that may be NULL.
    ///
    /// # Errors
    /// [`Fault::Corrupt`] where the column holds something else.
    pub fn text_or_null(&self, column: usize) -> Result<Option<&str>, Fault> {
        match self.0.get(column) {
            Some(Value::Text(value)) => Ok(Some(value)),
            Some(Value::Null) => Ok(None),
            _ => Err(Fault::Corrupt),
        }
    }

    /// The id in a column.
    ///
    /// # Errors
    /// [`Fault::Corrupt`] where the column holds something else.
    pub fn id(&self, column: usize) -> Result<kernel::Id, Fault> {
        self.text(column)?.parse().map_err(|_| Fault::Corrupt)
    }
}

/// What a statement gave back.
pub type Rows = Vec<Row>;

/// Where the value stands that a change returns.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Deal {
    /// The statement whose first row has it in its first column; no row means that nothing was written.
    pub stmt: usize,
    /// What later changes of the same statement took: subtracted from that value.
    pub minus: i64,
}

/// The statements of a group's changes.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Writes {
    /// In the order in which they must run.
    pub stmts: Vec<Stmt>,
    /// For each change, in its place, where the value that it returns stands.
    pub deals: Vec<Option<Deal>>,
}

/// The SQL of a subject.
pub trait Mapped: Subject {
    /// What a group of calls reads: the union, known before the lock, so that it can be sent with it.
    fn reads(calls: &[&Self::Call], limits: &Limits) -> Vec<Stmt>;

    /// The slice from the rows of [`Mapped::reads`] for the same calls.
    ///
    /// # Errors
    /// [`Fault::Corrupt`] where a row is not what the subject writes.
    fn slice(calls: &[&Self::Call], limits: &Limits, rows: &[Rows]) -> Result<Self::Slice, Fault>;

    /// The statements that write a group's changes, in the order of the calls. The last put of a row wins.
    fn writes(changes: &[Self::Change]) -> Writes;

    /// What one group may hold only once: two copies of one request, which the slice could not tell apart
    /// before the commit.
    fn once(call: &Self::Call) -> Option<String>;

    /// The change mark of a key: whoever waits for it is asked again when it has moved.
    fn mark(slice: &Self::Slice, key: &Key) -> i64;

    /// Reads that mark (one row, one integer; no row means 0) without a lock.
    fn watch(key: &Key) -> Stmt;
}

/// One group of calls, which is one transaction.
pub trait Work: Send {
    /// The locks, sorted, each once and in the stronger of the modes that the calls need.
    fn locks(&self) -> &[Key];

    /// Whether to wait for the locks (at most two seconds) or only try them.
    fn alone(&self) -> bool;

    /// What to read under the locks.
    fn reads(&self) -> Vec<Stmt>;

    /// Decides the calls. `had` says which of the locks were had; calls whose lock was not had leave the
    /// group and wait alone. Gives the statements to write; none means that there is nothing to commit.
    ///
    /// # Errors
    /// Only what spoils the whole group; the refusal of one call is kept for [`Work::settle`].
    fn decide(&mut self, had: &[bool], rows: Vec<Rows>, now: Millis) -> Result<Vec<Stmt>, Fault>;

    /// Whether somebody who waits in another process should look when this has been committed.
    fn stirs(&self) -> bool;

    /// Answers each caller; called after the commit with what the writes returned, or with what spoiled
    /// the transaction.
    fn settle(self: Box<Self>, end: Result<Vec<Rows>, Fault>);
}

/// Wakes an engine that sleeps.
pub type Ring = Arc<dyn Fn() + Send + Sync>;

/// Where an engine gets its work: a subject's desk.
pub trait Source: Send + Sync {
    /// Gives the desk what wakes the engine.
    fn attach(&self, ring: Ring);

    /// Up to `max` calls that wait to be decided.
    fn take(&self, max: usize) -> Option<Box<dyn Work>>;

    /// Since when the call that waits longest to be decided has waited.
    fn oldest(&self) -> Option<Instant>;

    /// Answers every call that has waited to be decided since `before` or longer with the fault.
    fn expire(&self, before: Instant, fault: &Fault);

    /// Moves the parked calls whose time has come to those that wait to be decided.
    fn due(&self, now: Millis);

    /// Moves the parked calls of a key to those that wait to be decided.
    fn wake(&self, key: &Key);

    /// Whether any call is parked.
    fn parked(&self) -> bool;

    /// Reads the marks of the keys that parked calls wait for. Give what they return to [`Source::heard`].
    fn watch(&self) -> (Vec<Key>, Vec<Stmt>);

    /// Wakes the parked calls whose key's mark is no longer the one that they were decided on.
    fn heard(&self, keys: &[Key], rows: &[Rows]);

    /// Answers every call, parked ones too, with the fault; so will every later one be.
    fn close(&self, fault: &Fault);
}
