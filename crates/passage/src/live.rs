//! Which tickets of this machine are alive: a locked file for each.
//!
//! The lock is inherited by the check and the push. **Held, it proves that somebody lives. Free, it
//! proves nothing about descendants that closed it**, so a free one only lets a local waiter end the
//! ticket; the fence keeps the trunk safe.

use crate::{fault, files};
use kernel::Id;
use std::fs::{File, TryLockError};
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// The lock of a ticket of this process.
#[derive(Debug)]
pub struct Live {
    file: File,
    path: PathBuf,
}

/// What a lock file tells about a ticket.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Owner {
    /// Somebody holds the lock.
    Lives,
    /// Nobody does.
    Gone,
    /// There is no such file: another machine's ticket, or one that only waits in name.
    Unknown,
}

fn path(dir: &Path, ticket: &Id) -> PathBuf {
    dir.join(format!("{}.lock", ticket.as_str()))
}

impl Live {
    /// Takes the lock of a ticket. The file appears under its name only once it is locked.
    ///
    /// # Errors
    /// `WouldBlock` if another process has this ticket; else what the file system says.
    pub fn take(dir: &Path, ticket: &Id) -> io::Result<Self> {
        files::private_dir(dir)?;
        let path = path(dir, ticket);
        let taken = || io::Error::from(io::ErrorKind::WouldBlock);
        if held(&path) {
            return Err(taken());
        }
        let temporary = dir.join(format!(".{}.{}", ticket.as_str(), std::process::id()));
        let file = files::for_lock(&temporary)?;
        file.try_lock().map_err(|_| taken())?;
        fault::point("live:locked");
        // A link, unlike a rename, replaces nothing: of two who come at once one has the ticket. A file whose
        // owner is gone is removed under its own lock.
        for _ in 0..2 {
            match std::fs::hard_link(&temporary, &path) {
                Ok(()) => {
                    files::drop(&temporary)?;
                    fault::point("live:taken");
                    return Ok(Self { file, path });
                }
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => remove_free(&path)?,
                Err(error) => return Err(error),
            }
        }
        files::drop(&temporary)?;
        Err(taken())
    }

    /// A handle for a child to inherit as its standard input (reading it gives the end of the file at
    /// once): while the child has it the lock is held.
    ///
    /// # Errors
    /// No more file handles.
    pub fn for_child(&self) -> io::Result<File> {
        self.file.try_clone()
    }

    /// Ends the lock and removes its file.
    pub fn release(self) {
        // A file that stays behind is free, and removed by the next passage; one that is another's stays.
        if same_file(&self.file, &self.path) {
            let _ = files::drop(&self.path);
        }
        drop(self.file);
    }

    /// Removes the file but says nothing: from now on only the lease tells whether the ticket lives.
    /// For a place that is kept without a process.
    pub fn forget(self) {
        self.release();
    }
}

/// Removes a lock file that nobody holds.
fn remove_free(path: &Path) -> io::Result<()> {
    let Ok(file) = File::open(path) else { return Ok(()) };
    match file.try_lock() {
        Ok(()) if same_file(&file, path) => files::drop(path),
        _ => Ok(()),
    }
}

/// Whether the open file is the one that stands at the path.
fn same_file(file: &File, path: &Path) -> bool {
    let of = |meta: io::Result<std::fs::Metadata>| meta.ok().map(|meta| (meta.dev(), meta.ino()));
    let here = of(file.metadata());
    here.is_some() && here == of(std::fs::metadata(path))
}

/// How long a lock may be held by who only looks, or ends a ticket whose owner is gone.
const LOOKERS: Duration = Duration::from_millis(200);

/// Whether somebody holds the lock of that file, and not only for a moment.
fn held(path: &Path) -> bool {
    let until = Instant::now() + LOOKERS;
    loop {
        let Ok(file) = File::open(path) else { return false };
        match file.try_lock() {
            Err(TryLockError::WouldBlock) if Instant::now() < until => {
                std::thread::sleep(Duration::from_millis(5));
            }
            Err(TryLockError::WouldBlock) => return true,
            _ => return false,
        }
    }
}

/// Takes the lock of a ticket whose owner is gone, so that nobody goes on with it while it is ended. `None` where
/// somebody has it by now, or had it and ended well.
#[must_use]
pub fn seize(dir: &Path, ticket: &Id) -> Option<Live> {
    let path = path(dir, ticket);
    let file = File::open(&path).ok()?;
    (file.try_lock().is_ok() && same_file(&file, &path)).then_some(Live { file, path })
}

/// What the lock file of a ticket tells.
#[must_use]
pub fn owner(dir: &Path, ticket: &Id) -> Owner {
    let path = path(dir, ticket);
    let Ok(file) = File::open(&path) else { return Owner::Unknown };
    match file.try_lock() {
        // Whoever ends well removes the file before the lock goes.
        Ok(()) if !path.exists() => Owner::Unknown,
        Ok(()) => Owner::Gone,
        Err(_) => Owner::Lives,
    }
}

/// Whether any passage that has a lock file here lives.
#[must_use]
pub fn any_lives(dir: &Path) -> bool {
    tickets(dir).iter().any(|ticket| owner(dir, ticket) == Owner::Lives)
}

/// Removes the lock file of a ticket that has ended, unless somebody has it again.
pub fn sweep(dir: &Path, ticket: &Id) {
    // One that stays is free, and removed by the next passage.
    let _ = remove_free(&path(dir, ticket));
}

/// The tickets that have a lock file here.
#[must_use]
pub fn tickets(dir: &Path) -> Vec<Id> {
    let Ok(entries) = std::fs::read_dir(dir) else { return Vec::new() };
    entries
        .filter_map(|entry| entry.ok()?.file_name().to_str()?.strip_suffix(".lock")?.parse().ok())
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_lock_tells_whether_somebody_lives() {
        let dir = tempfile::tempdir().unwrap();
        let ticket = Id::random();
        assert_eq!(owner(dir.path(), &ticket), Owner::Unknown);
        let live = Live::take(dir.path(), &ticket).unwrap();
        assert_eq!(owner(dir.path(), &ticket), Owner::Lives);
        assert_eq!(Live::take(dir.path(), &ticket).unwrap_err().kind(), io::ErrorKind::WouldBlock);
        let child = live.for_child().unwrap();
        drop(live);
        assert_eq!(owner(dir.path(), &ticket), Owner::Lives, "the child's copy keeps it");
        drop(child);
        assert_eq!(owner(dir.path(), &ticket), Owner::Gone);
        assert_eq!(tickets(dir.path()), std::slice::from_ref(&ticket));
        Live::take(dir.path(), &ticket).unwrap().release();
        assert_eq!(owner(dir.path(), &ticket), Owner::Unknown);
    }

    #[test]
    fn of_many_who_come_at_once_one_has_the_ticket() {
        let dir = tempfile::tempdir().unwrap();
        let ticket = Id::random();
        for owner_is_gone in [false, true] {
            if owner_is_gone {
                drop(Live::take(dir.path(), &ticket).unwrap());
            }
            let barrier = std::sync::Barrier::new(8);
            let taken: Vec<Live> = std::thread::scope(|scope| {
                let comer = || {
                    barrier.wait();
                    Live::take(dir.path(), &ticket).ok()
                };
                let comers: Vec<_> = (0..8).map(|_| scope.spawn(comer)).collect();
                comers.into_iter().filter_map(|comer| comer.join().unwrap()).collect()
            });
            assert_eq!(taken.len(), 1);
            assert_eq!(owner(dir.path(), &ticket), Owner::Lives);
            taken.into_iter().for_each(Live::release);
        }
    }

    #[test]
    fn only_a_ticket_whose_owner_is_gone_is_seized_and_nobody_goes_on_with_it_meanwhile() {
        let dir = tempfile::tempdir().unwrap();
        let ticket = Id::random();
        assert!(seize(dir.path(), &ticket).is_none(), "there is none");
        let live = Live::take(dir.path(), &ticket).unwrap();
        assert!(seize(dir.path(), &ticket).is_none(), "it lives");
        sweep(dir.path(), &ticket);
        assert_eq!(owner(dir.path(), &ticket), Owner::Lives, "and keeps its file");
        drop(live);
        let seized = seize(dir.path(), &ticket).unwrap();
        assert_eq!(Live::take(dir.path(), &ticket).unwrap_err().kind(), io::ErrorKind::WouldBlock);
        seized.release();
        Live::take(dir.path(), &ticket).unwrap().release();
    }
}
