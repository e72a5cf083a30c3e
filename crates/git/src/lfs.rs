//! Git LFS: a tree that points at objects elsewhere is worth nothing where those are not.
//!
//! Git's own way of sending them is a hook before the push, which pushes of this crate do not run.

use std::time::Duration;

use bstr::ByteSlice;

use crate::repo::oid_line;
use crate::{GitError, Oid, Repo, redact};

/// How every pointer begins.
const POINTER: &[u8] = b"version https://git-lfs.github.com/spec/";

/// No pointer is larger, in bytes.
const POINTER_MAX: usize = 1_024;

/// How long sending the objects of one branch may take.
const SEND_LIMIT: Duration = Duration::from_secs(3_600);

/// How sending LFS objects ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum LfsEnd {
    /// They are where the remote keeps them.
    Sent,
    /// There is no git-lfs here.
    Missing,
    /// They could not be sent.
    Failed {
        /// What git-lfs said, redacted.
        text: String,
    },
}

impl Repo {
    /// Whether what `head` has and `from` has not adds files that git-lfs keeps: pointers, in a tree whose
    /// attributes name its filter.
    ///
    /// # Errors
    /// If git fails.
    pub fn adds_lfs_files(&self, from: Option<&Oid>, head: &Oid) -> Result<bool, GitError> {
        let call = self.content().args(["rev-list", "--objects", "--no-object-names", "--missing=print"]);
        let call = call.arg(head.as_str()).args(from.map(|from| format!("^{from}")));
        let objects = call.stdout()?;
        let here: Vec<u8> =
            objects.split_inclusive(|b| *b == b'\n').filter(|l| l[0] != b'?').flatten().copied().collect();
        let format = "--batch-check=%(objecttype) %(objectsize) %(objectname)";
        let sizes = self.content().args(["cat-file", format]).stdin(here).stdout()?;
        let small = sizes.lines().filter_map(|line| {
            let [kind, size, name] = line.split(|b| *b == b' ').collect::<Vec<_>>()[..] else { return None };
            let size: usize = size.to_str().ok()?.parse().ok()?;
            (kind == b"blob" && size > POINTER.len() && size <= POINTER_MAX).then_some(name)
        });
        for name in small {
            if self.blob(&oid_line(name, "cat-file")?)?.starts_with(POINTER) {
                return self.names_lfs(head);
            }
        }
        Ok(false)
    }

    /// Whether the attributes in the tree of a commit name the filter of git-lfs.
    ///
    /// # Errors
    /// If git fails, or the commit is not here.
    pub fn names_lfs(&self, head: &Oid) -> Result<bool, GitError> {
        for path in self.tree_paths(head)? {
            let of_attributes = path == ".gitattributes" || path.ends_with(b"/.gitattributes");
            if of_attributes
                && self.read_file(head, &path)?.is_some_and(|text| text.contains_str("filter=lfs"))
            {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// Whether git finds git-lfs.
    ///
    /// # Errors
    /// If git cannot be run.
    pub fn has_lfs(&self) -> Result<bool, GitError> {
        Ok(self.remote().args(["lfs", "version"]).run()?.success())
    }

    /// Sends the LFS objects of a commit and of all that it builds on, as far as the remote has them not.
    ///
    /// # Errors
    /// [`GitError::Interrupted`]; or if git cannot be run.
    pub fn send_lfs_objects(&self, remote: &str, commit: &Oid) -> Result<LfsEnd, GitError> {
        if !self.has_lfs()? {
            return Ok(LfsEnd::Missing);
        }
        let call = self.reading().limit(SEND_LIMIT).args(["lfs", "push", remote, commit.as_str()]);
        match call.run() {
            Ok(out) if out.success() => Ok(LfsEnd::Sent),
            Ok(out) => {
                // It says some of it on its standard output, between lines of progress.
                let said = String::from_utf8_lossy(&out.stdout).replace('\r', "\n");
                Ok(LfsEnd::Failed { text: [redact(said.trim()), out.text()].join("\n").trim().to_owned() })
            }
            Err(error @ GitError::TimedOut { .. }) => Ok(LfsEnd::Failed { text: error.to_string() }),
            Err(error) => Err(error),
        }
    }
}
