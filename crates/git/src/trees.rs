//! Trees: what is in them, and how two of them differ.

use std::path::Path;

use bstr::{BString, ByteSlice};

use crate::repo::{fields, oid_line};
use crate::{GitError, Oid, Repo};

/// One path at which two trees differ.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Change {
    /// Git's letter: `A` added, `D` deleted, `M` modified, `T` changed in kind (file, link, submodule).
    pub status: u8,
    /// The path from the top of the tree.
    pub path: BString,
    /// The mode before (`0o100644`, …); 0 if the path was absent.
    pub old_mode: u32,
    /// The mode after; 0 if the path is absent.
    pub new_mode: u32,
    /// What was there.
    pub old: Option<Oid>,
    /// What is there.
    pub new: Option<Oid>,
}

/// The mode of a submodule's entry.
pub(crate) const GITLINK: u32 = 0o160_000;
/// The mode of a symbolic link's entry.
pub(crate) const SYMLINK: u32 = 0o120_000;

/// An entry of a tree or an index.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Entry {
    pub(crate) mode: u32,
    pub(crate) oid: Oid,
}

impl Change {
    pub(crate) fn before(&self) -> Option<Entry> {
        self.old.clone().map(|oid| Entry { mode: self.old_mode, oid })
    }

    pub(crate) fn after(&self) -> Option<Entry> {
        self.new.clone().map(|oid| Entry { mode: self.new_mode, oid })
    }
}

impl Repo {
    /// The tree of a commit.
    ///
    /// # Errors
    /// If the commit is not here.
    pub fn tree_of(&self, commit: &Oid) -> Result<Oid, GitError> {
        let call = self.content().args(["rev-parse", "--verify", "--end-of-options"]);
        oid_line(&call.arg(format!("{commit}^{{tree}}")).stdout()?, "rev-parse")
    }

    /// The paths at which two commits or trees differ, in git's order. Renames are a deletion and an addition;
    /// submodules are entries like others.
    ///
    /// # Errors
    /// If one of them is not here.
    pub fn changed_paths(&self, from: &Oid, to: &Oid) -> Result<Vec<Change>, GitError> {
        let call = self.content().args(["diff-tree", "-r", "-z", "--raw", "--no-renames", "--no-abbrev"]);
        let call = call.args(["--ignore-submodules=none", "--end-of-options", from.as_str(), to.as_str()]);
        changes(&call.stdout()?)
    }

    /// The paths at which the index of a worktree differs from a commit or tree, like [`Repo::changed_paths`].
    pub(crate) fn staged(&self, worktree: &Path, treeish: &Oid) -> Result<Vec<Change>, GitError> {
        let call = self.user(worktree).args(["diff-index", "--cached", "-r", "-z", "--raw", "--no-renames"]);
        let call = call.args(["--no-abbrev", "--ignore-submodules=none", "--end-of-options"]);
        changes(&call.arg(treeish.as_str()).stdout()?)
    }

    /// The paths of all files, links and submodules of a commit or tree, in git's order.
    ///
    /// # Errors
    /// If it is not here, or its listing exceeds 64 MiB.
    pub fn tree_paths(&self, treeish: &Oid) -> Result<Vec<BString>, GitError> {
        let call =
            self.content().args(["ls-tree", "-r", "-z", "--full-tree", "--name-only", "--end-of-options"]);
        Ok(fields(&call.arg(treeish.as_str()).stdout()?).map(BString::from).collect())
    }

    /// The content of the file at a path of a commit or tree; for a symbolic link, its target. None if there is
    /// no such path, or it is a directory or a submodule.
    ///
    /// # Errors
    /// If the commit is not here, or the content exceeds 64 MiB.
    pub fn read_file(&self, treeish: &Oid, path: &[u8]) -> Result<Option<Vec<u8>>, GitError> {
        match self.entry(treeish, path)? {
            Some(entry) if entry.mode != GITLINK && entry.mode != 0o040_000 => {
                self.blob(&entry.oid).map(Some)
            }
            _ => Ok(None),
        }
    }

    pub(crate) fn blob(&self, oid: &Oid) -> Result<Vec<u8>, GitError> {
        self.content().args(["cat-file", "blob", oid.as_str()]).stdout()
    }

    /// What a commit or tree has at a path.
    pub(crate) fn entry(&self, treeish: &Oid, path: &[u8]) -> Result<Option<Entry>, GitError> {
        let path = path.to_os_str().map_err(|_| GitError::unreadable("ls-tree", "path"))?;
        let call = self.content().top("--literal-pathspecs");
        let call =
            call.args(["ls-tree", "-z", "--full-tree", "--end-of-options", treeish.as_str(), "--"]).arg(path);
        let out = call.stdout()?;
        let Some(head) = fields(&out).next().and_then(|line| line.split_once_str("\t")) else {
            return Ok(None);
        };
        let words: Vec<&[u8]> = head.0.split(|b| *b == b' ').collect();
        match words[..] {
            [mode, _, oid] => Ok(Some(Entry { mode: octal(mode)?, oid: crate::repo::oid(oid, "ls-tree")? })),
            _ => Err(GitError::unreadable("ls-tree", "an entry")),
        }
    }
}

fn changes(raw: &[u8]) -> Result<Vec<Change>, GitError> {
    let mut changes = Vec::new();
    let mut parts = fields(raw);
    while let (Some(head), Some(path)) = (parts.next(), parts.next()) {
        changes.push(change(head, path)?);
    }
    Ok(changes)
}

/// `:100644 100644 <old> <new> M`
fn change(head: &[u8], path: &[u8]) -> Result<Change, GitError> {
    let words: Vec<&[u8]> = head.strip_prefix(b":").unwrap_or(head).split(|b| *b == b' ').collect();
    let [old_mode, new_mode, old, new, status] = words[..] else {
        return Err(GitError::unreadable("diff-tree", format!("{:?}", head.as_bstr())));
    };
    let (old_mode, new_mode) = (octal(old_mode)?, octal(new_mode)?);
    let side = |mode, oid| if mode == 0 { Ok(None) } else { crate::repo::oid(oid, "diff-tree").map(Some) };
    Ok(Change {
        status: status.first().copied().unwrap_or(b'?'),
        path: path.into(),
        old_mode,
        new_mode,
        old: side(old_mode, old)?,
        new: side(new_mode, new)?,
    })
}

pub(crate) fn octal(digits: &[u8]) -> Result<u32, GitError> {
    let text = digits.to_str().ok().and_then(|text| u32::from_str_radix(text, 8).ok());
    text.ok_or_else(|| GitError::unreadable("tree", format!("mode {:?}", digits.as_bstr())))
}
