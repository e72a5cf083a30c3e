//! The lane: the thread that owns the writing connection.

use super::bell::Bell;
use super::connect;
use super::{Closing, Event, Recorder};
use crate::fault::Fault;
use crate::port::{Row, Rows, Source, Stmt, Value, Work};
use kernel::Clock;
use rusqlite::Connection;
use rusqlite::types::ValueRef;
use std::os::unix::fs::MetadataExt;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

/// The most calls of one transaction.
const GROUP_MAX: usize = 100;
/// How long a call waits for the file at the most.
const WAIT_MAX: Duration = Duration::from_secs(2);
/// How often the clock passed in and the file are looked at while a call is parked.
const LOOK: Duration = Duration::from_millis(20);
/// How long the lane has nothing to do before it moves the log into the file.
const IDLE: Duration = Duration::from_secs(1);

pub(super) struct Lane {
    conn: Connection,
    sources: Closing,
    clock: Arc<dyn Clock>,
    bell: Arc<Bell>,
    stop: Arc<AtomicBool>,
    recorder: Option<Recorder>,
    /// Where the file stood when it was opened.
    place: (PathBuf, Option<(u64, u64)>),
    /// When other processes' commits were last looked for.
    listened: Instant,
    /// SQLite's count of what other connections committed, when the marks were last read.
    seen: i64,
    /// When something was last committed that still stands in the log alone.
    unmoved: Option<Instant>,
}

impl Lane {
    pub(super) fn new(
        (path, conn): (PathBuf, Connection),
        sources: Vec<Arc<dyn Source>>,
        clock: Arc<dyn Clock>,
        bell: Arc<Bell>,
        stop: Arc<AtomicBool>,
        recorder: Option<Recorder>,
    ) -> Self {
        let place = (path.clone(), device_and_inode(&path));
        Self {
            conn,
            sources: Closing(sources),
            clock,
            bell,
            stop,
            recorder,
            place,
            listened: Instant::now(),
            seen: -1,
            unmoved: None,
        }
    }

    pub(super) fn run(mut self) {
        while !self.stop.load(Ordering::SeqCst) {
            if self.parked() {
                let now = self.clock.now();
                self.sources.0.iter().for_each(|source| source.due(now));
                // A lane that never rests still hears the others.
                if self.listened.elapsed() >= LOOK {
                    self.listen();
                }
            }
            let mut worked = false;
            for source in self.sources.0.clone() {
                if let Some(oldest) = source.oldest() {
                    worked = true;
                    self.serve(source.as_ref(), oldest);
                }
            }
            if !worked {
                self.rest();
            }
        }
    }

    fn parked(&self) -> bool {
        self.sources.0.iter().any(|source| source.parked())
    }

    fn waiting(&self) -> bool {
        self.sources.0.iter().any(|source| source.oldest().is_some())
    }

    /// Sleeps until there is something to do.
    fn rest(&mut self) {
        let parked = self.parked();
        self.bell.about_to_sleep();
        if self.waiting() || self.stop.load(Ordering::SeqCst) {
            self.bell.awake();
            return;
        }
        let idle = self.unmoved.map(|since| IDLE.saturating_sub(since.elapsed()));
        self.bell.sleep(if parked { Some(LOOK) } else { idle }, parked);
        if parked {
            self.listen();
        }
        if self.unmoved.is_some_and(|since| since.elapsed() >= IDLE) && !self.waiting() {
            self.unmoved = None;
            // Moves what it can without waiting for anybody; the next idle time takes the rest.
            drop(self.conn.query_row("PRAGMA wal_checkpoint(PASSIVE)", [], |_| Ok(())));
        }
    }

    /// Where another process has committed, wakes the parked calls whose marks it moved.
    fn listen(&mut self) {
        self.listened = Instant::now();
        let version = self.conn.query_row("PRAGMA data_version", [], |row| row.get::<_, i64>(0));
        let Ok(version) = version else { return };
        if version == self.seen {
            return;
        }
        for source in self.sources.0.clone() {
            let (keys, stmts) = source.watch();
            let rows: Result<Vec<Rows>, Fault> = stmts.iter().map(|stmt| self.rows(stmt)).collect();
            // Not read for now: `seen` stays, so the next look tries again.
            let Ok(rows) = rows else { return };
            source.heard(&keys, &rows);
        }
        self.seen = version;
    }

    /// One transaction with what waits at the desk when the file's lock is had.
    fn serve(&mut self, source: &dyn Source, oldest: Instant) {
        if device_and_inode(&self.place.0) != self.place.1 {
            return source.expire(Instant::now(), &Fault::Gone);
        }
        let end = oldest + WAIT_MAX;
        let begun = connect::retry_until(end, || match self.stop.load(Ordering::SeqCst) {
            true => Ok(Err(Fault::Stopped)),
            false => self.conn.execute_batch("BEGIN IMMEDIATE").map(Ok),
        });
        match begun.map_err(|error| connect::fault(&error)).and_then(|begun| begun) {
            Ok(()) => {}
            // The desks are closed on the way out.
            Err(Fault::Stopped) => return,
            Err(Fault::Busy) => {
                let before = Instant::now().checked_sub(WAIT_MAX).unwrap_or(oldest);
                return source.expire(before.max(oldest), &Fault::Busy);
            }
            Err(fault) => return source.expire(Instant::now(), &fault),
        }
        self.record(|| Event::Begin);
        let Some(mut work) = source.take(GROUP_MAX) else {
            self.roll_back();
            return;
        };
        let done = catch_unwind(AssertUnwindSafe(|| self.transact(work.as_mut())));
        let end = done.unwrap_or(Err(Fault::Defect));
        if end.is_err() {
            self.roll_back();
        }
        let stirs = end.is_ok() && work.stirs();
        if stirs {
            self.bell.shout();
        }
        // A caller's own code runs in it, behind a guard of its own; this one is for ours.
        drop(catch_unwind(AssertUnwindSafe(|| work.settle(end))));
    }

    /// Reads, decides, writes and commits, between a `BEGIN` and what the caller makes of an error.
    fn transact(&mut self, work: &mut dyn Work) -> Result<Vec<Rows>, Fault> {
        let rows = work.reads().iter().map(|stmt| self.rows(stmt)).collect::<Result<Vec<_>, _>>()?;
        let had = vec![true; work.locks().len()];
        let stmts = work.decide(&had, rows, self.clock.now())?;
        if stmts.is_empty() {
            self.roll_back();
            return Ok(Vec::new());
        }
        let rows = stmts.iter().map(|stmt| self.rows(stmt)).collect::<Result<Vec<_>, _>>()?;
        self.conn.execute_batch("COMMIT").map_err(|error| connect::commit_fault(&error))?;
        self.record(|| Event::Commit);
        self.unmoved = Some(Instant::now());
        Ok(rows)
    }

    fn roll_back(&self) {
        if !self.conn.is_autocommit() {
            // If even this fails, the next BEGIN does, and its callers hear of it.
            drop(self.conn.execute_batch("ROLLBACK"));
        }
        self.record(|| Event::Rollback);
    }

    fn rows(&self, stmt: &Stmt) -> Result<Rows, Fault> {
        self.record(|| Event::Statement(stmt.sql.to_string()));
        query(&self.conn, stmt).map_err(|error| connect::fault(&error))
    }

    fn record(&self, event: impl FnOnce() -> Event) {
        if let Some(recorder) = &self.recorder {
            recorder(event());
        }
    }
}

/// Which file stands at the path. SQLite goes on writing to a file that was moved or deleted, and whatever
/// stands there now would issue the same numbers.
fn device_and_inode(path: &Path) -> Option<(u64, u64)> {
    let meta = std::fs::metadata(path).ok()?;
    Some((meta.dev(), meta.ino()))
}

impl rusqlite::ToSql for Value {
    fn to_sql(&self) -> rusqlite::Result<rusqlite::types::ToSqlOutput<'_>> {
        let value = match self {
            Value::Null => ValueRef::Null,
            Value::Int(value) => ValueRef::Integer(*value),
            Value::Text(value) => ValueRef::Text(value.as_bytes()),
        };
        Ok(rusqlite::types::ToSqlOutput::Borrowed(value))
    }
}

pub(crate) fn query(conn: &Connection, stmt: &Stmt) -> rusqlite::Result<Rows> {
    let mut prepared = conn.prepare_cached(&stmt.sql)?;
    let columns = prepared.column_count();
    let mut rows = prepared.query(rusqlite::params_from_iter(&stmt.binds))?;
    let mut all = Vec::new();
    while let Some(row) = rows.next()? {
        let mut values = Vec::with_capacity(columns);
        for column in 0..columns {
            values.push(match row.get_ref(column)? {
                ValueRef::Null => Value::Null,
                ValueRef::Integer(value) => Value::Int(value),
                other => Value::Text(other.as_str()?.to_owned()),
            });
        }
        all.push(Row(values));
    }
    Ok(all)
}
