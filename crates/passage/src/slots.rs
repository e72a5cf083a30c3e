//! How many checks run at once on a machine.
//!
//! The check of a turn never waits, so it takes no slot: each box has one at most. All others share
//! `check.parallel` − 1 slots, over all repositories of a user. A slot is a locked file that the check inherits, so
//! that one which outlives its passage still counts.

use crate::files;
use std::fs::File;
use std::io;
use std::path::Path;

/// Takes a free slot, for a check to inherit as its standard input; none where all are taken. Without a usable cache
/// folder the slots are those of `state` alone.
///
/// # Errors
/// The folder of the slots cannot be used.
pub(crate) fn take(state: &Path, parallel: u32) -> io::Result<Option<File>> {
    let own = || state.join("slots");
    let dir = files::cache_dir().map_or_else(own, |cache| cache.join("slots"));
    let dir = if files::private_dir(&dir).is_ok() { dir } else { own() };
    take_in(&dir, parallel)
}

fn take_in(dir: &Path, parallel: u32) -> io::Result<Option<File>> {
    files::private_dir(dir)?;
    for n in 1..parallel {
        let file = files::for_lock(&dir.join(format!("{n}.lock")))?;
        if file.try_lock().is_ok() {
            return Ok(Some(file));
        }
    }
    Ok(None)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_fewer_than_the_checks_at_once_and_free_again_when_the_last_handle_is_gone() {
        let dir = tempfile::tempdir().unwrap();
        let dir = dir.path();
        assert!(take_in(dir, 1).unwrap().is_none());
        let first = take_in(dir, 3).unwrap().unwrap();
        let second = take_in(dir, 3).unwrap().unwrap();
        assert!(take_in(dir, 3).unwrap().is_none());
        assert!(take_in(dir, 4).unwrap().is_some(), "a repository that allows more");
        let inherited = first.try_clone().unwrap();
        drop(first);
        assert!(take_in(dir, 3).unwrap().is_none(), "a check that outlives its passage counts");
        drop((inherited, second));
        assert!(take_in(dir, 2).unwrap().is_some());
    }
}
