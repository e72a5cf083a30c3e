//! Places that were kept without a process: the next passage of the same branch goes on with its own.

use crate::files;
use crate::site::Site;
use client::Stay;
use kernel::Id;
use landing::Outcome;
use serde::{Deserialize, Serialize};
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

/// The ticket that was kept for that commit of that branch, if there is one; it is kept no longer. A place of
/// an earlier commit of the branch is given up.
pub(crate) fn take(site: &Site, branch: &str, head: &str) -> Option<Id> {
    let mut found = None;
    for entry in std::fs::read_dir(dir(&site.state)).ok()?.flatten() {
        let name = entry.file_name();
        let ticket: Option<Id> =
            name.to_str().and_then(|n| n.strip_suffix(".json")).and_then(|n| n.parse().ok());
        let kept =
            std::fs::read(entry.path()).ok().and_then(|text| serde_json::from_slice::<Kept>(&text).ok());
        let (Some(ticket), Some(kept)) = (ticket, kept) else { continue };
        // Who removes the note has the place: another passage may look at this moment.
        if kept.repository != repository(site)
            || kept.branch != branch
            || std::fs::remove_file(entry.path()).is_err()
        {
            continue;
        }
        if kept.head == head && found.is_none() {
            found = Some(ticket);
        } else {
            let _ = site.calls().leave(
                &Stay { ticket, entry: kept.entry },
                Outcome::Withdrawn.as_str(),
                None,
                None,
            );
        }
    }
    found
}

/// Forgets that a place was kept: somebody goes on with it.
pub(crate) fn forget(state: &Path, ticket: &Id) {
    let _ = files::drop(&dir(state).join(format!("{}.json", ticket.as_str())));
}
