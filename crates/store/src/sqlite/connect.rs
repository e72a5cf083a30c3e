//! Connections, our own bounded wait for other processes, and what SQLite's errors mean.

use crate::fault::Fault;
use crate::open_error::OpenError;
use rusqlite::ffi;
use rusqlite::{Connection, ErrorCode, OpenFlags};
use std::path::Path;
use std::thread;
use std::time::{Duration, Instant};

/// How long opening waits for other processes.
pub(crate) const OPEN_WAIT: Duration = Duration::from_secs(2);

/// Opens the file without changing it. `create` makes an empty one where none is.
pub(crate) fn open(path: &Path, create: bool) -> rusqlite::Result<Connection> {
    let mut flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    flags.set(OpenFlags::SQLITE_OPEN_CREATE, create);
    let conn = Connection::open_with_flags(path, flags)?;
    // SQLite's own busy handler starves one process while others run; `retry_until` waits instead.
    conn.busy_timeout(Duration::ZERO)?;
    conn.set_prepared_statement_cache_capacity(64);
    conn.execute_batch(
        "PRAGMA trusted_schema = OFF; PRAGMA cell_size_check = ON; PRAGMA synchronous = FULL;",
    )?;
    Ok(conn)
}

/// Switches to the write-ahead log, which is a matter of the file, and sets what is a matter of the
/// connection. Gives whether the file system could do it.
pub(crate) fn write_ahead(conn: &Connection, max_pages: Option<i64>) -> rusqlite::Result<bool> {
    let mode: String = conn.query_row("PRAGMA journal_mode = WAL", [], |row| row.get(0))?;
    conn.query_row("PRAGMA wal_autocheckpoint = 4000", [], |_| Ok(()))?;
    if let Some(pages) = max_pages {
        conn.query_row(&format!("PRAGMA max_page_count = {pages}"), [], |_| Ok(()))?;
    }
    Ok(mode == "wal")
}

/// Repeats `attempt` with short jittered pauses while others use the file, at least once and until `end`.
pub(crate) fn retry_until<T>(
    end: Instant,
    mut attempt: impl FnMut() -> rusqlite::Result<T>,
) -> rusqlite::Result<T> {
    loop {
        match attempt() {
            Err(error) if fault(&error) == Fault::Busy && Instant::now() < end => {
                thread::sleep(Duration::from_micros(fastrand::u64(100..500)));
            }
            other => return other,
        }
    }
}

/// What an error in a transaction means; nothing of it was committed.
pub(crate) fn fault(error: &rusqlite::Error) -> Fault {
    let rusqlite::Error::SqliteFailure(failure, _) = error else { return Fault::Corrupt };
    match (failure.code, failure.extended_code) {
        (_, ffi::SQLITE_READONLY_DBMOVED) => Fault::Gone,
        (ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked | ErrorCode::FileLockingProtocolFailed, _) => {
            Fault::Busy
        }
        (ErrorCode::DiskFull, _) => Fault::Full,
        (ErrorCode::ReadOnly | ErrorCode::PermissionDenied, _) => Fault::ReadOnly,
        (ErrorCode::DatabaseCorrupt | ErrorCode::NotADatabase, _) => Fault::Corrupt,
        (ErrorCode::SystemIoFailure | ErrorCode::CannotOpen | ErrorCode::OutOfMemory, _) => Fault::Io,
        _ => Fault::Defect,
    }
}

/// What an error of a `COMMIT` means. Where the device refused while the commit was being kept, its frames
/// may stand in the log, and a start after a crash may find them.
pub(crate) fn commit_fault(error: &rusqlite::Error) -> Fault {
    match fault(error) {
        Fault::Io => Fault::Unknown,
        other => other,
    }
}

/// What an error while opening means.
pub(crate) fn open_error(path: &Path, error: &rusqlite::Error) -> OpenError {
    if error.sqlite_error_code() == Some(ErrorCode::NotADatabase) {
        return OpenError::NotOurs;
    }
    match fault(error) {
        Fault::Busy | Fault::Stopped => OpenError::Busy,
        Fault::Full => OpenError::Full,
        Fault::ReadOnly => OpenError::ReadOnly,
        Fault::Corrupt | Fault::Defect | Fault::Unknown => OpenError::Corrupt,
        Fault::Io | Fault::Gone if !writable(path) => OpenError::ReadOnly,
        Fault::Io | Fault::Gone => OpenError::Io,
    }
}

/// Whether the file (where it stands) and its folder can be written by this user. Opens nothing.
pub(crate) fn writable(path: &Path) -> bool {
    use rustix::fs::{Access, access};
    use rustix::io::Errno;
    let folder = path.parent().is_none_or(|dir| access(dir, Access::WRITE_OK | Access::EXEC_OK).is_ok());
    let file = access(path, Access::READ_OK | Access::WRITE_OK);
    folder && matches!(file, Ok(()) | Err(Errno::NOENT))
}
