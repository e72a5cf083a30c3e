//! The tables, as an ordered list of migrations that only go forward.
//!
//! The database keeps `version`, the migrations it has had, and `oldest_compatible`, the oldest version that
//! can still serve it. One release only adds; what it replaced goes a release later, so that two versions
//! run side by side.

use rusqlite::Connection;

/// Marks a file as a state of signalbox: `sbox`.
pub(crate) const APPLICATION_ID: i64 = 0x7362_6f78;

/// The version that this binary brings a file to.
pub(crate) const VERSION: i64 = 1;

struct Migration {
    version: i64,
    /// The oldest version that can serve a file that had this migration.
    oldest_compatible: i64,
    sql: &'static str,
}

const MIGRATIONS: &[Migration] = &[Migration {
    version: 1,
    oldest_compatible: 1,
    sql: "
CREATE TABLE schema (
    one INTEGER PRIMARY KEY CHECK (one = 1),
    version INTEGER NOT NULL,
    oldest_compatible INTEGER NOT NULL
) STRICT;
INSERT INTO schema VALUES (1, 0, 0);
CREATE TABLE box (
    one INTEGER PRIMARY KEY CHECK (one = 1),
    id TEXT NOT NULL,
    project TEXT NOT NULL,
    device TEXT NOT NULL,
    inode TEXT NOT NULL,
    machine TEXT NOT NULL,
    lease_ms INTEGER NOT NULL CHECK (lease_ms > 0),
    turn_ms INTEGER NOT NULL CHECK (turn_ms > 0),
    freeze_holds_turns INTEGER NOT NULL DEFAULT 1 CHECK (freeze_holds_turns IN (0, 1)),
    claimed TEXT
) STRICT;
CREATE TABLE projects (
    project TEXT PRIMARY KEY,
    time INTEGER NOT NULL DEFAULT 0,
    turn_no INTEGER NOT NULL DEFAULT 0,
    entry INTEGER NOT NULL DEFAULT 0,
    mark INTEGER NOT NULL DEFAULT 0,
    retired_to TEXT,
    retired_at INTEGER
) STRICT, WITHOUT ROWID;
CREATE TABLE lines (
    project TEXT NOT NULL,
    scope TEXT NOT NULL,
    value INTEGER NOT NULL CHECK (value >= 0),
    PRIMARY KEY (project, scope)
) STRICT, WITHOUT ROWID;
CREATE TABLE tickets (
    project TEXT NOT NULL,
    ticket TEXT NOT NULL,
    entry INTEGER NOT NULL,
    branch TEXT NOT NULL,
    head TEXT NOT NULL,
    label TEXT NOT NULL,
    step TEXT NOT NULL,
    entered_at INTEGER NOT NULL,
    touched_at INTEGER NOT NULL,
    turn_no INTEGER,
    turn_at INTEGER,
    PRIMARY KEY (project, ticket)
) STRICT, WITHOUT ROWID;
CREATE UNIQUE INDEX tickets_by_entry ON tickets (project, entry);
CREATE TABLE holds (
    project TEXT NOT NULL,
    name TEXT NOT NULL,
    paths TEXT NOT NULL,
    owner TEXT NOT NULL,
    opened_at INTEGER NOT NULL,
    until_at INTEGER NOT NULL,
    PRIMARY KEY (project, name)
) STRICT, WITHOUT ROWID;
CREATE INDEX holds_by_until ON holds (until_at);
CREATE TABLE freezes (
    project TEXT PRIMARY KEY,
    issues TEXT NOT NULL,
    opener TEXT NOT NULL,
    declared_at INTEGER NOT NULL,
    opened_at INTEGER NOT NULL,
    admissions TEXT NOT NULL
) STRICT, WITHOUT ROWID;
CREATE TABLE register (
    seq INTEGER PRIMARY KEY AUTOINCREMENT,
    project TEXT NOT NULL,
    ticket TEXT NOT NULL,
    entry INTEGER NOT NULL,
    branch TEXT NOT NULL,
    head TEXT NOT NULL,
    label TEXT NOT NULL,
    step TEXT NOT NULL,
    entered_at INTEGER NOT NULL,
    touched_at INTEGER NOT NULL,
    turn_no INTEGER,
    turn_at INTEGER,
    ended_at INTEGER NOT NULL,
    outcome TEXT NOT NULL,
    report TEXT
) STRICT;
CREATE INDEX register_by_project ON register (project, seq);
CREATE TABLE requests (
    project TEXT NOT NULL,
    request TEXT NOT NULL,
    fingerprint TEXT NOT NULL,
    answer TEXT,
    last INTEGER,
    at INTEGER NOT NULL,
    PRIMARY KEY (project, request),
    CHECK ((answer IS NULL) <> (last IS NULL))
) STRICT, WITHOUT ROWID;
CREATE INDEX requests_by_at ON requests (at);
",
}];

/// The tables that every opening checks; they stay small. The others are checked where they are read, and
/// whole by `signalbox doctor`.
pub(crate) const SMALL_TABLES: &[&str] =
    &["schema", "box", "projects", "lines", "tickets", "holds", "freezes"];

/// What a file turns out to be.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Found {
    /// Nothing is in it yet.
    Empty,
    /// A state of this version or one that this version brings forward.
    Version(i64),
    /// A state that this version cannot serve.
    Newer,
    /// Some other database.
    NotOurs,
}

/// Looks at the file in one snapshot, changing nothing.
pub(crate) fn look(conn: &Connection) -> rusqlite::Result<Found> {
    conn.execute_batch("BEGIN")?;
    let found = look_inside(conn);
    let end = conn.execute_batch("ROLLBACK");
    let found = found?;
    end?;
    Ok(found)
}

/// [`look`], inside a transaction.
pub(crate) fn look_inside(conn: &Connection) -> rusqlite::Result<Found> {
    let tables: i64 = conn.query_row("SELECT count(*) FROM sqlite_schema", [], |row| row.get(0))?;
    let application: i64 = conn.query_row("PRAGMA application_id", [], |row| row.get(0))?;
    if application != APPLICATION_ID {
        return Ok(if tables == 0 && application == 0 { Found::Empty } else { Found::NotOurs });
    }
    let row = |row: &rusqlite::Row<'_>| Ok((row.get::<_, i64>(0)?, row.get::<_, i64>(1)?));
    let (version, oldest) = conn.query_row("SELECT version, oldest_compatible FROM schema", [], row)?;
    Ok(if oldest > VERSION { Found::Newer } else { Found::Version(version) })
}

/// Brings a file from `version` (0: empty) to [`VERSION`], inside a transaction.
pub(crate) fn migrate(conn: &Connection, version: i64) -> rusqlite::Result<()> {
    if version == 0 {
        conn.execute_batch(&format!("PRAGMA application_id = {APPLICATION_ID}"))?;
    }
    for migration in MIGRATIONS.iter().filter(|migration| migration.version > version) {
        conn.execute_batch(migration.sql)?;
        conn.execute(
            "UPDATE schema SET version = ?1, oldest_compatible = ?2",
            [migration.version, migration.oldest_compatible],
        )?;
    }
    Ok(())
}
