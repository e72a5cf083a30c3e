//! What this machine meant to push: durable before the push, gone once what became of it is known.

use crate::{fault, files};
use kernel::Id;
use serde::{Deserialize, Serialize};
use std::io::{self, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

/// A push that may have happened.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Intent {
    /// The ticket.
    pub ticket: String,
    /// Its stay.
    pub entry: i64,
    /// Its turn.
    pub turn_no: i64,
    /// The box that gave it.
    pub box_id: String,
    /// The branch.
    pub branch: String,
    /// The commit that was pinned.
    pub head: String,
    /// The trunk's commit that the push expected; absent where the trunk did not exist.
    pub old_trunk: Option<String>,
    /// The landing commit.
    pub landing: String,
    /// The epoch that the push expected.
    pub begun: String,
    /// The epoch that the push sets.
    pub landed: String,
    /// The remote, or `.`.
    pub remote: String,
    /// The trunk's branch.
    pub trunk: String,
    /// The repository that has the objects: its common git directory.
    #[serde(with = "path")]
    pub repository: PathBuf,
}

/// A path as text, or as its bytes where it is no UTF-8.
mod path {
    use serde::{Deserialize, Deserializer, Serializer};
    use std::ffi::OsString;
    use std::os::unix::ffi::{OsStrExt, OsStringExt};
    use std::path::{Path, PathBuf};

    #[derive(Deserialize)]
    #[serde(untagged)]
    enum Spelt {
        Text(String),
        Bytes(Vec<u8>),
    }

    pub(super) fn serialize<S: Serializer>(path: &Path, to: S) -> Result<S::Ok, S::Error> {
        match path.to_str() {
            Some(text) => to.serialize_str(text),
            None => to.serialize_bytes(path.as_os_str().as_bytes()),
        }
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<PathBuf, D::Error> {
        Ok(match Spelt::deserialize(from)? {
            Spelt::Text(text) => text.into(),
            Spelt::Bytes(bytes) => OsString::from_vec(bytes).into(),
        })
    }
}

/// What became of an intent.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Settled {
    /// The ticket.
    pub ticket: String,
    /// The branch.
    pub branch: String,
    /// Whether the trunk has the landing.
    pub landed: bool,
    /// The landing commit.
    pub commit: String,
    /// Its turn.
    pub turn_no: i64,
}

/// The intents of a state folder.
#[derive(Debug, Clone)]
pub struct Journal {
    dir: PathBuf,
}

impl Journal {
    /// The journal in that state folder.
    #[must_use]
    pub fn of(state: &Path) -> Self {
        Self { dir: state.join("intents") }
    }

    fn path(&self, ticket: &str) -> PathBuf {
        self.dir.join(format!("{ticket}.json"))
    }

    /// Writes an intent, durably.
    ///
    /// # Errors
    /// It could not be written; then nothing may be pushed.
    pub fn open(&self, intent: &Intent) -> io::Result<()> {
        files::put(&self.path(&intent.ticket), &serde_json::to_vec(intent)?)
    }

    /// Closes an intent: what became of it is known.
    ///
    /// # Errors
    /// The outcome could not be written down.
    pub fn close(&self, intent: &Intent, landed: bool) -> io::Result<()> {
        let settled = Settled {
            ticket: intent.ticket.clone(),
            branch: intent.branch.clone(),
            landed,
            commit: intent.landing.clone(),
            turn_no: intent.turn_no,
        };
        let mut line = serde_json::to_vec(&settled)?;
        line.push(b'\n');
        let mut history = std::fs::OpenOptions::new()
            .create(true)
            .append(true)
            .mode(0o600)
            .open(self.dir.join("settled.jsonl"))?;
        history.write_all(&line)?;
        fault::point("journal:noted");
        files::drop(&self.path(&intent.ticket))
    }

    /// The open intents. One that cannot be read is given as its path.
    #[must_use]
    pub fn all(&self) -> (Vec<Intent>, Vec<PathBuf>) {
        let (mut intents, mut broken) = (Vec::new(), Vec::new());
        let Ok(entries) = std::fs::read_dir(&self.dir) else { return (intents, broken) };
        for path in entries.filter_map(|entry| Some(entry.ok()?.path())) {
            if path.extension().is_none_or(|e| e != "json") {
                continue;
            }
            match std::fs::read(&path).map(|text| serde_json::from_slice(&text)) {
                Ok(Ok(intent)) => intents.push(intent),
                Err(e) if e.kind() == io::ErrorKind::NotFound => {}
                _ => broken.push(path),
            }
        }
        intents.sort_by_key(|intent: &Intent| intent.turn_no);
        (intents, broken)
    }

    /// The intent of a ticket, if it is open.
    #[must_use]
    pub fn of_ticket(&self, ticket: &Id) -> Option<Intent> {
        serde_json::from_slice(&std::fs::read(self.path(ticket.as_str())).ok()?).ok()
    }

    /// What became of intents that were closed, the oldest first.
    #[must_use]
    pub fn settled(&self) -> Vec<Settled> {
        let text = std::fs::read(self.dir.join("settled.jsonl")).unwrap_or_default();
        text.split(|b| *b == b'\n').filter_map(|line| serde_json::from_slice(line).ok()).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::ffi::OsStr;
    use std::os::unix::ffi::OsStrExt;

    #[test]
    fn an_intent_reads_back_wherever_its_repository_is() {
        let dir = tempfile::tempdir().unwrap();
        let journal = Journal::of(dir.path());
        let text = || "x".to_owned();
        for repository in [&b"/a/b"[..], b"/a/\xff\n"] {
            let intent = Intent {
                ticket: text(),
                entry: 1,
                turn_no: 2,
                box_id: text(),
                branch: text(),
                head: text(),
                old_trunk: None,
                landing: text(),
                begun: text(),
                landed: text(),
                remote: text(),
                trunk: text(),
                repository: OsStr::from_bytes(repository).into(),
            };
            journal.open(&intent).unwrap();
            assert_eq!(journal.all(), (vec![intent.clone()], Vec::new()));
            journal.close(&intent, true).unwrap();
            assert_eq!(journal.all(), (Vec::new(), Vec::new()));
        }
        assert_eq!(journal.settled().len(), 2);
    }
}
