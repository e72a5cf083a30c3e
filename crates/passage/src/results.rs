//! Which trees a check has passed or failed on, so that none is checked twice.

use crate::files;
use crate::settings::Check;
use sha2::{Digest, Sha256};
use std::io::{ErrorKind, Read};
use std::path::{Path, PathBuf};

/// What a check said of a tree.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Verdict {
    /// It passed.
    Green,
    /// It failed.
    Red,
}

/// How many results are kept.
const KEPT_MAX: usize = 10_000;

/// The remembered results of a state folder.
#[derive(Debug, Clone)]
pub struct Results {
    dir: PathBuf,
}

impl Results {
    /// The results in that state folder.
    #[must_use]
    pub fn of(state: &Path) -> Self {
        Self { dir: state.join("results") }
    }

    /// What was said of this key.
    #[must_use]
    pub fn get(&self, key: &str) -> Option<Verdict> {
        match std::fs::read(self.dir.join(key)).ok()?.as_slice() {
            b"green\n" => Some(Verdict::Green),
            b"red\n" => Some(Verdict::Red),
            _ => None,
        }
    }

    /// Remembers a result. That it cannot be written costs a second check, no more.
    pub fn put(&self, key: &str, verdict: Verdict) {
        let text: &[u8] = match verdict {
            Verdict::Green => b"green\n",
            Verdict::Red => b"red\n",
        };
        let _ = files::put(&self.dir.join(key), text);
        self.prune(KEPT_MAX);
    }

    /// Forgets the older half where there are more than `most`. What is no result is left alone.
    fn prune(&self, most: usize) {
        let Ok(entries) = std::fs::read_dir(&self.dir) else { return };
        let mut old: Vec<_> = entries
            .filter_map(|entry| {
                let entry = entry.ok()?;
                entry.file_name().to_str().filter(|name| files::is_key(name))?;
                Some((entry.metadata().ok()?.modified().ok()?, entry.path()))
            })
            .collect();
        if old.len() > most {
            old.sort();
            for (_, path) in &old[..most / 2] {
                let _ = files::drop(path);
            }
        }
    }
}

/// All that a result depends on: tree, command, system, architecture, the values of `check.env` and the
/// contents of `check.files` (relative to `top`). One that is missing counts as such.
#[must_use]
pub fn key(tree: &str, command: &str, check: &Check, top: &Path) -> String {
    let mut hash = Sha256::new();
    let mut part = |text: &[u8]| {
        hash.update(text.len().to_le_bytes());
        hash.update(text);
    };
    for text in [tree, command, std::env::consts::OS, std::env::consts::ARCH] {
        part(text.as_bytes());
    }
    for name in &check.env {
        part(name.as_bytes());
        match std::env::var_os(name) {
            Some(value) => part(value.as_encoded_bytes()),
            None => part(b"\0unset"),
        }
    }
    for file in &check.files {
        part(file.as_bytes());
        let mut content = Vec::new();
        let read = files::open_regular(&top.join(file)).and_then(|mut file| file.read_to_end(&mut content));
        part(if read.is_ok() { &content } else { b"\0missing" });
    }
    hash.finalize().iter().map(|b| format!("{b:02x}")).collect()
}

/// The first of `check.files` (relative to `top`) that is there and no file: its content would never end, or never
/// count.
#[must_use]
pub fn no_file<'a>(check: &'a Check, top: &Path) -> Option<&'a str> {
    let no_file = |file: &&String| {
        files::open_regular(&top.join(file)).is_err_and(|error| error.kind() == ErrorKind::InvalidInput)
    };
    check.files.iter().find(no_file).map(String::as_str)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_result_holds_only_for_the_same_tree_command_and_files() {
        let dir = tempfile::tempdir().unwrap();
        let check = Check { files: vec!["outside".into()], ..Check::default() };
        let first = key("t", "make", &check, dir.path());
        assert_eq!(first, key("t", "make", &check, dir.path()));
        assert_ne!(first, key("u", "make", &check, dir.path()));
        assert_ne!(first, key("t", "make x", &check, dir.path()));
        std::fs::write(dir.path().join("outside"), "1").unwrap();
        let second = key("t", "make", &check, dir.path());
        assert_ne!(first, second);
        let results = Results::of(dir.path());
        results.put(&second, Verdict::Red);
        assert_eq!((results.get(&second), results.get(&first)), (Some(Verdict::Red), None));
    }

    #[test]
    fn only_results_are_forgotten_where_there_are_many() {
        let dir = tempfile::tempdir().unwrap();
        let results = Results::of(dir.path());
        let keys = [1, 2, 3].map(|n| format!("{n:064}"));
        results.put(&keys[0], Verdict::Green);
        let foreign = dir.path().join("results/notes");
        std::fs::write(&foreign, "mine").unwrap();
        let long_ago = std::time::SystemTime::UNIX_EPOCH;
        std::fs::File::open(&foreign).unwrap().set_modified(long_ago).unwrap();
        results.put(&keys[1], Verdict::Green);
        results.put(&keys[2], Verdict::Green);
        results.prune(2);
        assert!(foreign.exists());
        assert_eq!(keys.iter().filter(|key| results.get(key).is_some()).count(), 2);
    }
}
