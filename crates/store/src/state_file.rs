//! The state file of a repository: `<folder>/state.db`, shared by every process on its machine.
//!
//! The box row in it says who this box is, which project is the repository's own, and where the file stood
//! when it was made, so that a copy is noticed before it issues a number a second time. Nothing here opens
//! the database's files with plain file calls: closing one would drop SQLite's locks.

mod place;
mod replaced;
mod standing;

use crate::open_error::OpenError;
use crate::sqlite::connect::{self, OPEN_WAIT};
use crate::sqlite::schema::{self, Found};
use kernel::{Clock, Id, Limits, Millis};
pub use place::FileSystem;
use place::Place;
use rusqlite::{Connection, params};
pub use standing::Standing;
use std::fs::{DirBuilder, Permissions};
use std::os::unix::fs::{DirBuilderExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Instant;

/// How a state file is opened.
#[derive(Debug, Clone, Default)]
pub struct Options {
    /// The lease that a fresh file begins with, in milliseconds; the default limit where absent.
    pub lease_ms: Option<Millis>,
    /// The turn limit that a fresh file begins with, in milliseconds; the default limit where absent.
    pub turn_ms: Option<Millis>,
    /// For tests: what the folder's file system is, instead of asking the system.
    pub file_system: Option<FileSystem>,
    /// For tests: how many pages the file may have, which makes a full disk.
    pub max_pages: Option<i64>,
}

/// An open state file.
pub struct StateFile {
    dir: PathBuf,
    options: Options,
    conn: Mutex<Connection>,
    facts: Facts,
}

#[derive(Clone)]
struct Facts {
    box_id: Id,
    project: Id,
    lease_ms: Millis,
    turn_ms: Millis,
    freeze_holds_turns: bool,
    place: Place,
}

impl std::fmt::Debug for StateFile {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("StateFile").finish_non_exhaustive()
    }
}

/// What an opening does where no state is, and where the file stands elsewhere than it was made.
#[derive(Clone, Copy, PartialEq, Eq)]
enum How {
    Open,
    Create,
    /// Records where it stands now.
    Moved,
    /// Makes it a box of its own.
    TakeOver,
}

impl StateFile {
    /// Opens the folder's state, or makes one with a fresh random box and project. However many processes
    /// do this at once, all get the same one. The folder is made too, for this user alone.
    ///
    /// # Errors
    /// [`OpenError`], save [`OpenError::Missing`].
    pub fn create_or_open(dir: &Path, options: &Options, clock: &dyn Clock) -> Result<Self, OpenError> {
        Self::start(dir, options, clock, How::Create)
    }

    /// Opens the folder's state.
    ///
    /// # Errors
    /// [`OpenError`].
    pub fn open(dir: &Path, options: &Options, clock: &dyn Clock) -> Result<Self, OpenError> {
        Self::start(dir, options, clock, How::Open)
    }

    /// Opens a state that the user says was moved, and records where it stands now.
    ///
    /// # Errors
    /// [`OpenError`], save [`OpenError::Copied`].
    pub fn moved(dir: &Path, options: &Options, clock: &dyn Clock) -> Result<Self, OpenError> {
        Self::start(dir, options, clock, How::Moved)
    }

    /// Opens a state as a box of its own: a fresh box and project, claimed nowhere, whose number lines and
    /// counters go on where the old project's stood. The old project is retired and its stays end. Where
    /// there is no state, makes one.
    ///
    /// # Errors
    /// [`OpenError`], save [`OpenError::Copied`] and [`OpenError::Missing`].
    pub fn take_over(dir: &Path, options: &Options, clock: &dyn Clock) -> Result<Self, OpenError> {
        Self::start(dir, options, clock, How::TakeOver)
    }

    /// The folder.
    #[must_use]
    pub fn dir(&self) -> &Path {
        &self.dir
    }

    /// Who this box is.
    #[must_use]
    pub fn box_id(&self) -> &Id {
        &self.facts.box_id
    }

    /// The repository's project, as it was when the file was opened. A capability: it is shown only to whoever
    /// must act. After a `project/replace` in this file the next opening gives the replacement.
    #[must_use]
    pub fn project(&self) -> &Id {
        &self.facts.project
    }

    /// The lease in force, in milliseconds.
    #[must_use]
    pub fn lease_ms(&self) -> Millis {
        self.facts.lease_ms
    }

    /// The turn limit in force, in milliseconds.
    #[must_use]
    pub fn turn_ms(&self) -> Millis {
        self.facts.turn_ms
    }

    /// Whether a freeze keeps turns from beginning; else it is only a record, which `land` obeys.
    #[must_use]
    pub fn freeze_holds_turns(&self) -> bool {
        self.facts.freeze_holds_turns
    }

    /// The remote at which the box was claimed, as [`StateFile::set_claimed`] was told it.
    ///
    /// # Errors
    /// [`OpenError`].
    pub fn claimed(&self) -> Result<Option<String>, OpenError> {
        let conn = self.conn();
        let claimed = || conn.query_row("SELECT claimed FROM box", [], |row| row.get(0));
        self.judged(connect::retry_until(Instant::now() + OPEN_WAIT, claimed))
    }

    /// Records the remote at which the box was claimed.
    ///
    /// # Errors
    /// [`OpenError`]; nothing was recorded then.
    pub fn set_claimed(&self, remote: Option<&str>) -> Result<(), OpenError> {
        within(&self.conn(), Instant::now() + OPEN_WAIT, &self.path(), |conn| {
            conn.execute("UPDATE box SET claimed = ?1", [remote]).map(|_| Ok(()))
        })
    }

    /// Sets how long leases and turns last in this box, where named, and whether a freeze holds turns. Takes
    /// effect with the next call of every process.
    ///
    /// # Errors
    /// [`OpenError`]; nothing was set then.
    pub fn set_policy(
        &self,
        lease_ms: Option<Millis>,
        turn_ms: Option<Millis>,
        freeze_holds_turns: Option<bool>,
    ) -> Result<(), OpenError> {
        let conn = self.conn();
        let write = || {
            let sql = "UPDATE box SET lease_ms = COALESCE(?1, lease_ms), turn_ms = COALESCE(?2, turn_ms), \
                       freeze_holds_turns = COALESCE(?3, freeze_holds_turns)";
            conn.execute(sql, params![lease_ms, turn_ms, freeze_holds_turns]).map(drop)
        };
        self.judged(connect::retry_until(Instant::now() + OPEN_WAIT, write))
    }

    /// Checks every page of the file, which takes time in its size.
    ///
    /// # Errors
    /// [`OpenError::Corrupt`] where something does not fit together.
    pub fn check(&self) -> Result<(), OpenError> {
        let conn = self.conn();
        let check = || conn.query_row("PRAGMA integrity_check(1)", [], |row| row.get::<_, String>(0));
        match self.judged(connect::retry_until(Instant::now() + OPEN_WAIT, check))?.as_str() {
            "ok" => Ok(()),
            _ => Err(OpenError::Corrupt),
        }
    }

    /// A connection for an engine.
    pub(crate) fn connect(&self) -> Result<Connection, OpenError> {
        let path = self.path();
        let open = || {
            let conn = connect::open(&path, false)?;
            connect::write_ahead(&conn, self.options.max_pages)?;
            Ok(conn)
        };
        self.judged(connect::retry_until(Instant::now() + OPEN_WAIT, open))
    }

    pub(crate) fn path(&self) -> PathBuf {
        self.dir.join("state.db")
    }

    /// A statement that failed leaves the connection whole, so a panic elsewhere does not matter.
    fn conn(&self) -> MutexGuard<'_, Connection> {
        self.conn.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn judged<T>(&self, result: rusqlite::Result<T>) -> Result<T, OpenError> {
        result.map_err(|error| connect::open_error(&self.path(), &error))
    }

    fn start(dir: &Path, options: &Options, clock: &dyn Clock, how: How) -> Result<Self, OpenError> {
        let path = dir.join("state.db");
        let may_create = matches!(how, How::Create | How::TakeOver);
        prepare_folder(dir, &path, may_create)?;
        let system = options.file_system.clone().or_else(|| FileSystem::of(dir));
        if let Some(name) = system.as_ref().and_then(FileSystem::network) {
            return Err(OpenError::NetworkFileSystem(name));
        }
        let end = Instant::now() + OPEN_WAIT;
        let judged = |error: rusqlite::Error| connect::open_error(&path, &error);

        let conn = connect::retry_until(end, || connect::open(&path, may_create)).map_err(judged)?;
        if conn.is_readonly(rusqlite::MAIN_DB).map_err(judged)? {
            return Err(OpenError::ReadOnly);
        }
        match connect::retry_until(end, || schema::look(&conn)).map_err(judged)? {
            Found::NotOurs => return Err(OpenError::NotOurs),
            Found::Newer => return Err(OpenError::Newer),
            Found::Empty if !may_create => return Err(OpenError::Missing),
            // By its path: nothing is opened, and the log and the shared memory take the file's mode.
            Found::Empty => {
                std::fs::set_permissions(&path, Permissions::from_mode(0o600))
                    .map_err(|_| OpenError::ReadOnly)?;
            }
            Found::Version(_) => {}
        }
        let write_ahead = || connect::write_ahead(&conn, options.max_pages);
        if !connect::retry_until(end, write_ahead).map_err(judged)? {
            return Err(OpenError::NetworkFileSystem("without shared memory"));
        }

        let place = Place::of(&path).map_err(|_| OpenError::Io)?;
        let mut facts = within(&conn, end, &path, |conn| settle(conn, options, &place))?;
        check_small_tables(&conn, end).map_err(judged)??;
        if facts.place != place {
            match how {
                How::Open | How::Create => return Err(OpenError::Copied),
                How::Moved => within(&conn, end, &path, |conn| stand(conn, &place).map(Ok))?,
                How::TakeOver => {}
            }
        }
        if how == How::TakeOver {
            let now = clock.now();
            facts = within(&conn, end, &path, |conn| renew(conn, &place, now))?;
        }
        facts.place = place;
        Ok(Self { dir: dir.to_owned(), options: options.clone(), conn: Mutex::new(conn), facts })
    }
}

/// Sees to the folder. Nothing is made where nothing may be created.
fn prepare_folder(dir: &Path, path: &Path, may_create: bool) -> Result<(), OpenError> {
    if may_create {
        if !dir.is_dir() {
            let made = DirBuilder::new().recursive(true).mode(0o700).create(dir);
            made.map_err(|error| match error.kind() {
                std::io::ErrorKind::StorageFull => OpenError::Full,
                std::io::ErrorKind::PermissionDenied | std::io::ErrorKind::ReadOnlyFilesystem => {
                    OpenError::ReadOnly
                }
                _ => OpenError::Io,
            })?;
        }
        return Ok(());
    }
    match std::fs::metadata(path) {
        Ok(meta) if meta.is_file() => Ok(()),
        Ok(_) => Err(OpenError::NotOurs),
        Err(error) if error.kind() == std::io::ErrorKind::PermissionDenied => Err(OpenError::ReadOnly),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Err(OpenError::Missing),
        Err(_) => Err(OpenError::Io),
    }
}

/// Runs `work` in one transaction, after a bounded wait for the lock. An error of either kind rolls back.
fn within<T>(
    conn: &Connection,
    end: Instant,
    path: &Path,
    work: impl FnOnce(&Connection) -> rusqlite::Result<Result<T, OpenError>>,
) -> Result<T, OpenError> {
    let judged = |error: rusqlite::Error| connect::open_error(path, &error);
    connect::retry_until(end, || conn.execute_batch("BEGIN IMMEDIATE")).map_err(judged)?;
    let done = work(conn).map_err(judged).and_then(|done| done).and_then(|done| {
        conn.execute_batch("COMMIT").map_err(judged)?;
        Ok(done)
    });
    if done.is_err() && !conn.is_autocommit() {
        // The error that led here is the one to tell.
        drop(conn.execute_batch("ROLLBACK"));
    }
    done
}

/// Brings the tables forward, makes the box where there is none, and finishes a replacement of its project.
fn settle(conn: &Connection, options: &Options, place: &Place) -> rusqlite::Result<Result<Facts, OpenError>> {
    match schema::look_inside(conn)? {
        Found::Empty => schema::migrate(conn, 0)?,
        Found::Version(version) => schema::migrate(conn, version)?,
        Found::Newer => return Ok(Err(OpenError::Newer)),
        Found::NotOurs => return Ok(Err(OpenError::NotOurs)),
    }
    let limits = Limits::default();
    conn.execute(
        "INSERT INTO box (one, id, project, device, inode, machine, lease_ms, turn_ms) \
         VALUES (1, ?1, ?2, ?3, ?4, ?5, ?6, ?7) ON CONFLICT (one) DO NOTHING",
        params![
            Id::random().as_str(),
            Id::random().as_str(),
            place.device,
            place.inode,
            place.machine,
            options.lease_ms.unwrap_or(limits.lease_ms),
            options.turn_ms.unwrap_or(limits.turn_ms),
        ],
    )?;
    replaced::follow(conn)?;
    facts(conn)
}

fn facts(conn: &Connection) -> rusqlite::Result<Result<Facts, OpenError>> {
    let sql = "SELECT id, project, device, inode, machine, lease_ms, turn_ms, freeze_holds_turns FROM box";
    conn.query_row(sql, [], |row| {
        let id =
            |column| row.get::<_, String>(column).map(|id| id.parse::<Id>().map_err(|_| OpenError::Corrupt));
        let (box_id, project) = match (id(0)?, id(1)?) {
            (Ok(box_id), Ok(project)) => (box_id, project),
            _ => return Ok(Err(OpenError::Corrupt)),
        };
        let place = Place { device: row.get(2)?, inode: row.get(3)?, machine: row.get(4)? };
        let (lease_ms, turn_ms, freeze_holds_turns) = (row.get(5)?, row.get(6)?, row.get(7)?);
        Ok(Ok(Facts { box_id, project, lease_ms, turn_ms, freeze_holds_turns, place }))
    })
}

fn stand(conn: &Connection, place: &Place) -> rusqlite::Result<()> {
    let sql = "UPDATE box SET device = ?1, inode = ?2, machine = ?3";
    conn.execute(sql, params![place.device, place.inode, place.machine]).map(drop)
}

/// Draws a fresh box and project. The old project's lines and counters are carried over, so that nothing
/// begins again; its stays end, and it is retired, so that a process that still has its id hears of it.
fn renew(conn: &Connection, place: &Place, now: Millis) -> rusqlite::Result<Result<Facts, OpenError>> {
    let old: String = conn.query_row("SELECT project FROM box", [], |row| row.get(0))?;
    let (box_id, new) = (Id::random(), Id::random());
    let new = new.as_str();
    conn.execute("UPDATE box SET id = ?1, project = ?2, claimed = NULL", params![box_id.as_str(), new])?;
    stand(conn, place)?;
    conn.execute(
        "INSERT INTO lines (project, scope, value) SELECT ?1, scope, value FROM lines WHERE project = ?2",
        params![new, old],
    )?;
    conn.execute(
        "INSERT INTO projects (project, time, turn_no, entry, mark) \
         SELECT ?1, time, turn_no, entry, mark + 1 FROM projects WHERE project = ?2",
        params![new, old],
    )?;
    conn.execute(
        "INSERT INTO register (project, ticket, entry, branch, head, label, step, entered_at, touched_at, \
         turn_no, turn_at, ended_at, outcome) SELECT project, ticket, entry, branch, head, label, step, \
         entered_at, touched_at, turn_no, turn_at, ?2, 'lapsed' FROM tickets WHERE project = ?1 ORDER BY entry",
        params![old, now],
    )?;
    conn.execute("DELETE FROM tickets WHERE project = ?1", params![old])?;
    conn.execute(
        "INSERT INTO projects (project, mark, retired_to, retired_at) VALUES (?1, 1, ?2, ?3) \
         ON CONFLICT (project) DO UPDATE SET mark = mark + 1, retired_to = excluded.retired_to, \
         retired_at = excluded.retired_at",
        params![old, new, now],
    )?;
    facts(conn)
}

fn check_small_tables(conn: &Connection, end: Instant) -> rusqlite::Result<Result<(), OpenError>> {
    for table in schema::SMALL_TABLES {
        let sql = format!("PRAGMA quick_check('{table}')");
        let check = || conn.query_row(&sql, [], |row| row.get::<_, String>(0));
        if connect::retry_until(end, check)? != "ok" {
            return Ok(Err(OpenError::Corrupt));
        }
    }
    Ok(Ok(()))
}
