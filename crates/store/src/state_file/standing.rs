//! What a project has come to, read and nothing changed.

use super::StateFile;
use crate::open_error::OpenError;
use crate::sqlite::connect::{self, OPEN_WAIT};
use kernel::Millis;
use rusqlite::OptionalExtension;
use std::time::Instant;

/// What a project has come to.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Standing {
    /// The latest time that one of its calls has seen; 0 where there was none.
    pub time: Millis,
    /// The number of its last turn.
    pub turn_no: i64,
    /// Its number lines, with the last number that was issued of each.
    pub lines: Vec<(String, i64)>,
}

impl StateFile {
    /// What the repository's project has come to. No call, so that nothing moves on by it.
    ///
    /// # Errors
    /// [`OpenError`].
    pub fn standing(&self) -> Result<Standing, OpenError> {
        let conn = self.conn();
        let project = self.project().as_str();
        let read = || {
            let sql = "SELECT time, turn_no FROM projects WHERE project = ?1";
            let row = conn.query_row(sql, [project], |row| Ok((row.get(0)?, row.get(1)?))).optional()?;
            let (time, turn_no) = row.unwrap_or_default();
            let mut lines =
                conn.prepare("SELECT scope, value FROM lines WHERE project = ?1 ORDER BY scope")?;
            let lines = lines.query_map([project], |row| Ok((row.get(0)?, row.get(1)?)))?;
            Ok(Standing { time, turn_no, lines: lines.collect::<rusqlite::Result<_>>()? })
        };
        self.judged(connect::retry_until(Instant::now() + OPEN_WAIT, read))
    }
}
