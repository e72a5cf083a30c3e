//! Commits: their words, and how they descend from one another.

use bstr::{BString, ByteSlice};

use crate::repo::{fields, oid, oid_line};
use crate::{GitError, Identity, Oid, Repo};

impl Repo {
    /// Whether `ancestor` is `descendant` or is contained in its history.
    ///
    /// # Errors
    /// If one of the two is not here.
    pub fn is_ancestor(&self, ancestor: &Oid, descendant: &Oid) -> Result<bool, GitError> {
        let call = self.content().args(["merge-base", "--is-ancestor", "--end-of-options"]);
        let out = call.args([ancestor.as_str(), descendant.as_str()]).run()?;
        match out.code() {
            Some(0) => Ok(true),
            Some(1) => Ok(false),
            _ => Err(out.failed("merge-base")),
        }
    }

    /// The best common ancestor of two commits, one of them if there are several; none if they are unrelated.
    ///
    /// # Errors
    /// If one of the two is not here.
    pub fn merge_base(&self, a: &Oid, b: &Oid) -> Result<Option<Oid>, GitError> {
        let out = self.content().args(["merge-base", "--end-of-options", a.as_str(), b.as_str()]).run()?;
        match out.code() {
            Some(0) => oid_line(&out.stdout, "merge-base").map(Some),
            Some(1) if out.stdout.is_empty() => Ok(None),
            _ => Err(out.failed("merge-base")),
        }
    }

    /// The commits on the first-parent line of `to`, newest first, down to but without those that
    /// `from_exclusive` contains.
    ///
    /// # Errors
    /// If a commit is not here.
    pub fn first_parent(&self, from_exclusive: Option<&Oid>, to: &Oid) -> Result<Vec<Oid>, GitError> {
        let call = self.content().args(["rev-list", "--first-parent", "--end-of-options", to.as_str()]);
        let out = call.args(from_exclusive.map(|from| format!("^{from}"))).stdout()?;
        out.lines().map(|line| oid(line, "rev-list")).collect()
    }

    /// The parents of a commit, in order.
    ///
    /// # Errors
    /// If the commit is not here.
    pub fn parents_of(&self, commit: &Oid) -> Result<Vec<Oid>, GitError> {
        let call = self.content().args(["rev-list", "--parents", "-n1", "--end-of-options", commit.as_str()]);
        call.stdout()?.trim_ascii().split(|b| *b == b' ').skip(1).map(|word| oid(word, "rev-list")).collect()
    }

    /// The newest commit on the first-parent line of `trunk`, after `base`, that changed a path, with its
    /// subject: the landing to name when the path conflicts.
    ///
    /// # Errors
    /// If a commit is not here.
    pub fn last_change(
        &self,
        base: Option<&Oid>,
        trunk: &Oid,
        path: &[u8],
    ) -> Result<Option<(Oid, String)>, GitError> {
        let path = path.to_os_str().map_err(|_| GitError::unreadable("log", "path"))?;
        let call = self.content().top("--literal-pathspecs");
        let call = call.args(["log", "-1", "-z", "--first-parent", "--no-show-signature", "--format=%H%n%s"]);
        let call = call.args(["--no-patch", "--end-of-options", trunk.as_str()]);
        let call = call.args(base.map(|base| format!("^{base}"))).arg("--").arg(path);
        let out = call.stdout()?;
        let Some((commit, subject)) = out.split_once_str("\n") else { return Ok(None) };
        let subject = subject.strip_suffix(b"\0").unwrap_or(subject).to_str_lossy().trim_end().to_owned();
        Ok(Some((oid(commit, "log")?, subject)))
    }

    /// The author of a commit. A nameless author is called after the mail address, so that the result can
    /// always be used for a new commit.
    ///
    /// # Errors
    /// If the commit is not here.
    pub fn author_of(&self, commit: &Oid) -> Result<Identity, GitError> {
        let call = self.content().args([
            "log",
            "-1",
            "--no-show-signature",
            "--no-patch",
            "-z",
            "--format=%an%x00%ae",
        ]);
        let out = call.args(["--end-of-options", commit.as_str()]).stdout()?;
        let mut parts = fields(&out).map(|part| part.to_str_lossy().trim().to_owned());
        Ok(Identity::usable(parts.next().unwrap_or_default(), parts.next().unwrap_or_default()))
    }

    /// The subject of a commit: the first paragraph of its message in one line, in UTF-8.
    ///
    /// # Errors
    /// If the commit is not here.
    pub fn subject_of(&self, commit: &Oid) -> Result<String, GitError> {
        let call = self.content().args(["log", "-1", "--no-show-signature", "--no-patch", "--format=%s"]);
        call.args(["--end-of-options", commit.as_str()]).line()
    }

    /// The message of a commit, as its bytes stand in it.
    ///
    /// # Errors
    /// If the commit is not here.
    pub fn message_of(&self, commit: &Oid) -> Result<BString, GitError> {
        let raw = self.content().args(["cat-file", "commit", commit.as_str()]).stdout()?;
        Ok(raw.split_once_str("\n\n").map_or_else(BString::default, |(_, message)| message.into()))
    }
}
