//! Merging two commits into a tree, without a worktree or an index.

use bstr::BString;

use crate::repo::{fields, oid};
use crate::{GitError, Oid, Repo};

/// The result of a merge.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Merge {
    /// Both sides fit together.
    Clean {
        /// The merged tree.
        tree: Oid,
    },
    /// They do not.
    Conflict {
        /// The paths in conflict, each once.
        paths: Vec<BString>,
        /// What git says about the conflicts, one a line, for people.
        messages: Vec<String>,
    },
}

/// The first version that takes attributes from a tree instead of from where git stands.
const ATTR_SOURCE: (u32, u32, u32) = (2, 41, 0);

impl Repo {
    /// Merges `theirs` (the branch) into `ours` (the trunk). The objects of the result are written and flushed;
    /// no ref, index or worktree is read or changed.
    ///
    /// Attributes (`merge=union` and the like) are the trunk's with git 2.41 or later, none before; never those
    /// that stand in somebody's worktree.
    ///
    /// # Errors
    /// [`GitError::Unrelated`] if the two have no common history; or if git fails.
    pub fn merge(&self, ours: &Oid, theirs: &Oid) -> Result<Merge, GitError> {
        let mut call = self.content().durable();
        if self.version() >= ATTR_SOURCE {
            call = call.top(format!("--attr-source={ours}"));
        }
        let call = call.args(["merge-tree", "--write-tree", "-z", "--name-only", "--end-of-options"]);
        let out = call.args([ours.as_str(), theirs.as_str()]).run()?;
        match out.code() {
            Some(0) => {
                let tree = fields(&out.stdout).next().unwrap_or_default();
                Ok(Merge::Clean { tree: oid(tree.trim_ascii(), "merge-tree")? })
            }
            Some(1) => Ok(conflict(&out.stdout)),
            _ if self.merge_base(ours, theirs)?.is_none() => Err(GitError::Unrelated),
            _ => Err(out.failed("merge-tree")),
        }
    }
}

/// `<tree> NUL (<path> NUL)* NUL (<count> NUL (<path> NUL)* <kind> NUL <message> NUL)*`
fn conflict(out: &[u8]) -> Merge {
    let mut parts = out.split(|b| *b == 0).skip(1);
    let paths = parts.by_ref().take_while(|part| !part.is_empty()).map(BString::from).collect();
    let mut messages = Vec::new();
    while let Some(count) = parts.next().and_then(|n| std::str::from_utf8(n).ok()?.parse::<usize>().ok()) {
        let mut rest = parts.by_ref().skip(count);
        if let (Some(_kind), Some(message)) = (rest.next(), rest.next()) {
            messages.push(String::from_utf8_lossy(message).trim_end().to_owned());
        }
    }
    Merge::Conflict { paths, messages }
}
