//! Setting a worktree right after a landing in place was cut off.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use bstr::{BString, ByteSlice};

use crate::obstacles::join;
use crate::repo::{fields, oid};
use crate::trees::{Entry, GITLINK, SYMLINK, octal};
use crate::trunk::Remote;
use crate::worktrees::Worktree;
use crate::{Change, GitError, Oid, Trunk};

/// What [`Trunk::repair_after_crash`] did.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Repair {
    /// Paths that were set to what the trunk says.
    pub restored: Vec<BString>,
    /// Paths that differ from the trunk and were left, because somebody else's content is in them or because
    /// the index is locked.
    pub left: Vec<BString>,
    /// A lock on the index of the trunk's worktree, which is in the way and was not removed: its owner may live.
    pub index_lock: Option<PathBuf>,
}

/// Entries by path; none where the path is in conflict.
type Index = BTreeMap<BString, Option<Entry>>;

/// What stands at a path, in the worktree and in the index.
struct Found {
    /// None if nothing is there.
    file: Option<Entry>,
    /// None if nothing is there; `Some(None)` if the path is in conflict.
    index: Option<Option<Entry>>,
    /// Something that is neither a file nor a link (a directory, say) or cannot be read.
    foreign: bool,
    /// The worktree is sparse and leaves the file out, as it should.
    left_out: bool,
}

/// Something to set, and whether the worktree leaves its file out.
struct ToSet {
    path: BString,
    entry: Option<Entry>,
    left_out: bool,
}

impl Trunk {
    /// Puts the trunk's worktree right after a process died (or git failed) while landing `old`..`new` in place.
    ///
    /// Of the paths at which the two differ, those whose file and index entry are each `old`'s or `new`'s are set
    /// to what the trunk's ref says now. All others are left and named. Does nothing for a remote trunk, or where
    /// not exactly one worktree has the trunk.
    ///
    /// # Errors
    /// If git fails, or a commit is not here.
    pub fn repair_after_crash(&self, old: &Oid, new: &Oid) -> Result<Repair, GitError> {
        let mut repair = Repair::default();
        let mut worktrees = self.on_trunk()?.into_iter().filter(|worktree| worktree.git_dir.is_some());
        let (Remote::Here, Some(worktree), None) = (&self.remote, worktrees.next(), worktrees.next()) else {
            return Ok(repair);
        };
        let changes = self.repo.changed_paths(old, new)?;
        let now = match self.repo.resolve(&self.trunk_ref())? {
            Some(now) => self.wanted(old, &now, &changes)?,
            None => BTreeMap::new(),
        };
        let found = self.found(&worktree, &changes)?;
        let mut to_set = Vec::new();
        for (change, found) in changes.iter().zip(found) {
            let wanted = now.get(&change.path).cloned().flatten();
            if found.is(wanted.as_ref()) {
                continue;
            }
            if found.is_of(change) {
                to_set.push(ToSet { path: change.path.clone(), entry: wanted, left_out: found.left_out });
            } else {
                repair.left.push(change.path.clone());
            }
        }
        let lock = worktree.git_dir.as_deref().map(|dir| dir.join("index.lock"));
        repair.index_lock = lock.filter(|lock| fs::symlink_metadata(lock).is_ok());
        if repair.index_lock.is_some() {
            repair.left.extend(to_set.into_iter().map(|set| set.path));
            repair.left.sort();
        } else if !to_set.is_empty() {
            self.set(&worktree.path, &to_set)?;
            repair.restored = to_set.into_iter().map(|set| set.path).collect();
        }
        Ok(repair)
    }

    /// What the trunk has now at each of the changed paths.
    fn wanted(
        &self,
        old: &Oid,
        now: &Oid,
        changes: &[Change],
    ) -> Result<BTreeMap<BString, Option<Entry>>, GitError> {
        let mut wanted: BTreeMap<_, _> = changes.iter().map(|c| (c.path.clone(), c.before())).collect();
        for change in self.repo.changed_paths(old, now)? {
            if let Some(entry) = wanted.get_mut(&change.path) {
                *entry = change.after();
            }
        }
        Ok(wanted)
    }

    fn found(&self, worktree: &Worktree, changes: &[Change]) -> Result<Vec<Found>, GitError> {
        let (index, skipped) = self.index(&worktree.path)?;
        let modes = self.repo.user(&worktree.path).args(["config", "--type=bool", "core.fileMode"]).line();
        let modes_count = modes.map_or(true, |value| value != "false");
        let mut found = Vec::new();
        let mut to_hash = Vec::new();
        for change in changes {
            let stands = index.get(&change.path).cloned();
            let mut this = Found { file: None, index: stands, foreign: false, left_out: false };
            let full = join(&worktree.path, change.path.as_bstr())?;
            match fs::symlink_metadata(&full) {
                _ if behind_a_link(&worktree.path, &full) => this.foreign = true,
                _ if change.old_mode == GITLINK || change.new_mode == GITLINK => this.ignore_file(),
                Ok(meta) if meta.is_symlink() => this.file = self.link(&full, change)?,
                Ok(meta) if meta.is_file() => {
                    let executable = meta.permissions().mode() & 0o100 != 0;
                    to_hash.push((found.len(), change, executable));
                }
                Ok(_) => this.foreign = !is_directory_of(&change.path, changes),
                Err(_) if skipped.contains(&change.path) => {
                    this.left_out = true;
                    this.ignore_file();
                }
                Err(_) => {}
            }
            this.foreign |= this.file.is_none() && fs::symlink_metadata(&full).is_ok_and(|m| m.is_symlink());
            found.push(this);
        }
        let hashes = self.hashes(&worktree.path, to_hash.iter().map(|(_, change, _)| &change.path))?;
        for ((at, change, executable), oid) in to_hash.into_iter().zip(hashes) {
            let mut mode = if executable { 0o100_755 } else { 0o100_644 };
            if !modes_count {
                mode = [change.before(), change.after()]
                    .into_iter()
                    .flatten()
                    .find(|e| e.oid == oid)
                    .map_or(mode, |e| e.mode);
            }
            found[at].file = Some(Entry { mode, oid });
        }
        Ok(found)
    }

    /// The entry that a symbolic link is, if it is one of the change's.
    fn link(&self, full: &Path, change: &Change) -> Result<Option<Entry>, GitError> {
        let Ok(target) = fs::read_link(full) else { return Ok(None) };
        let target = <[u8]>::from_path(&target).unwrap_or_default().to_owned();
        for entry in [change.before(), change.after()].into_iter().flatten().filter(|e| e.mode == SYMLINK) {
            if self.repo.blob(&entry.oid)? == target {
                return Ok(Some(entry));
            }
        }
        Ok(None)
    }

    /// The entries of the index, and the paths that a sparse worktree leaves out.
    fn index(&self, worktree: &Path) -> Result<(Index, BTreeSet<BString>), GitError> {
        let out = self.repo.user(worktree).args(["ls-files", "-t", "--stage", "-z"]).stdout()?;
        let (mut index, mut skipped) = (BTreeMap::new(), BTreeSet::new());
        for line in fields(&out) {
            let Some((head, path)) = line.split_once_str("\t") else { continue };
            let words: Vec<&[u8]> = head.split(|b| *b == b' ').collect();
            let [tag, mode, id, stage] = words[..] else {
                return Err(GitError::unreadable("ls-files", "an entry"));
            };
            let entry = Entry { mode: octal(mode)?, oid: oid(id, "ls-files")? };
            index.insert(BString::from(path), (stage == b"0").then_some(entry));
            if tag == b"S" {
                skipped.insert(BString::from(path));
            }
        }
        Ok((index, skipped))
    }

    /// What files would be stored as, under the user's filters.
    fn hashes<'a>(
        &self,
        worktree: &Path,
        paths: impl Iterator<Item = &'a BString>,
    ) -> Result<Vec<Oid>, GitError> {
        let asked: String = paths.map(|path| quoted(path) + "\n").collect();
        let out = self.repo.user(worktree).args(["hash-object", "--stdin-paths"]).stdin(asked).stdout()?;
        out.lines().map(|line| oid(line, "hash-object")).collect()
    }

    /// Sets index entries and files. What goes is removed first, so that a directory can take a file's place.
    fn set(&self, worktree: &Path, to_set: &[ToSet]) -> Result<(), GitError> {
        let (gone, there): (Vec<_>, Vec<_>) = to_set.iter().partition(|set| set.entry.is_none());
        let mut lines = Vec::new();
        let (mut files, mut left_out) = (Vec::new(), Vec::new());
        for ToSet { path, entry, .. } in gone.iter().chain(&there) {
            let (mode, oid) = entry.as_ref().map_or((0, self.repo.zero()), |e| (e.mode, e.oid.to_string()));
            lines.extend_from_slice(format!("{mode:o} {oid}\t").as_bytes());
            lines.extend_from_slice(path);
            lines.push(0);
        }
        for set in &gone {
            remove(worktree, &set.path)?;
        }
        for set in &there {
            if set.entry.as_ref().is_some_and(|entry| entry.mode != GITLINK) {
                let list = if set.left_out { &mut left_out } else { &mut files };
                list.extend_from_slice(&set.path);
                list.push(0);
            }
        }
        let git = || self.repo.user(worktree);
        git().args(["update-index", "-z", "--index-info"]).stdin(lines).stdout()?;
        if !left_out.is_empty() {
            let call = git().args(["update-index", "--skip-worktree", "-z", "--stdin"]);
            call.stdin(left_out).stdout()?;
        }
        git().args(["checkout-index", "--force", "--index", "-z", "--stdin"]).stdin(files).stdout()?;
        let sparse = git().args(["config", "--type=bool", "core.sparseCheckout"]).line();
        if sparse.is_ok_and(|sparse| sparse == "true") {
            // What was not in the index before may be one that the worktree leaves out. A file too many does no harm.
            let _ = git().args(["sparse-checkout", "reapply"]).run()?;
        }
        Ok(())
    }
}

impl Found {
    fn ignore_file(&mut self) {
        self.file = self.index.clone().flatten();
    }

    fn is(&self, wanted: Option<&Entry>) -> bool {
        !self.foreign && self.file.as_ref() == wanted && self.index == wanted.map(|entry| Some(entry.clone()))
    }

    fn is_of(&self, change: &Change) -> bool {
        let sides = [change.before(), change.after()];
        let index = match &self.index {
            None => None,
            Some(Some(entry)) => Some(entry.clone()),
            Some(None) => return false,
        };
        !self.foreign && sides.contains(&self.file) && sides.contains(&index)
    }
}

/// Whether the change also has paths under this one, so that a directory is no stranger here.
fn is_directory_of(path: &BString, changes: &[Change]) -> bool {
    changes
        .iter()
        .any(|change| change.path.strip_prefix(path.as_slice()).is_some_and(|rest| rest.starts_with(b"/")))
}

/// Whether a link stands where a directory above the path should be: what is behind it is not the worktree's.
fn behind_a_link(worktree: &Path, full: &Path) -> bool {
    let above = full.ancestors().skip(1).take_while(|parent| *parent != worktree);
    above.into_iter().any(|parent| fs::symlink_metadata(parent).is_ok_and(|meta| meta.is_symlink()))
}

/// Removes a file, and the directories above it that are empty then.
fn remove(worktree: &Path, path: &BString) -> Result<(), GitError> {
    let full = join(worktree, path.as_bstr())?;
    match fs::symlink_metadata(&full) {
        Ok(meta) if !meta.is_dir() => {
            fs::remove_file(&full).map_err(|e| GitError::io(format!("removing {}", full.display()), e))?;
        }
        _ => return Ok(()),
    }
    for parent in full.ancestors().skip(1).take_while(|parent| *parent != worktree) {
        if fs::remove_dir(parent).is_err() {
            break;
        }
    }
    Ok(())
}

/// A path as git's line-based inputs take it, whatever bytes it holds.
fn quoted(path: &BString) -> String {
    let mut out = String::from("\"");
    for byte in path.iter() {
        match byte {
            b'"' | b'\\' => {
                out.push('\\');
                out.push(char::from(*byte));
            }
            0x20..=0x7e => out.push(char::from(*byte)),
            _ => drop(write!(out, "\\{byte:03o}")),
        }
    }
    out.push('"');
    out
}
