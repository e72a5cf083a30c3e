//! Places that were kept without a process: the next passage of the same branch goes on with its own.

use crate::files;
use crate::live::Live;
use crate::site::Site;
use client::Stay;
use kernel::{Code, Id};
use landing::Outcome;
use serde::{Deserialize, Serialize};
use serde_json::json;
use std::path::{Path, PathBuf};

#[derive(Debug, Serialize, Deserialize)]
struct Kept {
    entry: i64,
    /// The repository whose branch it is: clones that share a state have branches of the same name.
    repository: String,
    branch: String,
    head: String,
}

fn dir(state: &Path) -> PathBuf {
    state.join("kept")
}

fn repository(site: &Site) -> String {
    site.repo.common_dir().to_string_lossy().into_owned()
}

/// Notes a place. That it cannot be noted costs only the convenience.
pub(crate) fn put(site: &Site, stay: &Stay, branch: &str, head: &str) {
    let (branch, head, repository) = (branch.to_owned(), head.to_owned(), repository(site));
    let kept = Kept { entry: stay.entry, repository, branch, head };
    if let Ok(text) = serde_json::to_vec(&kept) {
        let _ = files::put(&dir(&site.state).join(format!("{}.json", stay.ticket.as_str())), &text);
    }
}

/// The ticket that was kept for that commit of that branch, if there is one, with its lock: it is kept no longer. A
/// place of an earlier commit of the branch is given up.
pub(crate) fn take(site: &Site, branch: &str, head: &str) -> Option<(Id, Live)> {
    let mut found = None;
    for entry in std::fs::read_dir(dir(&site.state)).ok()?.flatten() {
        let name = entry.file_name();
        let ticket: Option<Id> =
            name.to_str().and_then(|n| n.strip_suffix(".json")).and_then(|n| n.parse().ok());
        let read = || serde_json::from_slice::<Kept>(&std::fs::read(entry.path()).ok()?).ok();
        let (Some(ticket), Some(kept)) = (ticket, read()) else { continue };
        if kept.repository != repository(site) || kept.branch != branch {
            continue;
        }
        // Who has the lock has the place. The note goes after it was taken, so that whoever dies between the two
        // leaves the place to the next one.
        let Ok(live) = Live::take(&site.live_dir(), &ticket) else { continue };
        if read().is_none() {
            live.release();
        } else if kept.head == head && found.is_none() {
            let _ = files::drop(&entry.path());
            found = Some((ticket, live));
        } else {
            let stay = Stay { ticket, entry: kept.entry };
            let report = json!({ "reason": "a later commit of the branch took its place" });
            let left = site.calls().leave(&stay, Outcome::Withdrawn.as_str(), Some(&report), None);
            if left.is_ok() || left.is_err_and(|error| error.is(Code::TicketGone)) {
                let _ = files::drop(&entry.path());
            }
            live.release();
        }
    }
    found
}

/// The tickets under which places were kept, each with its branch and the file that says so.
pub(crate) fn all(state: &Path) -> Vec<(Id, String, PathBuf)> {
    let entries = std::fs::read_dir(dir(state)).into_iter().flatten().flatten();
    let read = |path: PathBuf| {
        let ticket = path.file_name()?.to_str()?.strip_suffix(".json")?.parse().ok()?;
        let kept: Kept = serde_json::from_slice(&std::fs::read(&path).ok()?).ok()?;
        Some((ticket, kept.branch, path))
    };
    entries.filter_map(|entry| read(entry.path())).collect()
}

/// Whether a place was kept under that ticket, and nobody has gone on with it.
pub(crate) fn is(state: &Path, ticket: &Id) -> bool {
    dir(state).join(format!("{}.json", ticket.as_str())).exists()
}

/// Forgets that a place was kept: somebody goes on with it.
pub(crate) fn forget(state: &Path, ticket: &Id) {
    let _ = files::drop(&dir(state).join(format!("{}.json", ticket.as_str())));
}
