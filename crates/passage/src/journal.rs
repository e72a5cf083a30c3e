//! What this machine meant to push: durable before the push, gone once what became of it is known.

use crate::files;
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
    pub repository: PathBuf,
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
