//! Writing commits, and in whose name.

use crate::repo::oid_line;
use crate::{GitError, Oid, Repo};

/// A name and a mail address as they stand in a commit.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Identity {
    /// The name; never empty if it comes from this crate.
    pub name: String,
    /// The mail address; may be empty.
    pub email: String,
}

/// In whose name a commit is made.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Identities {
    /// Who wrote it.
    pub author: Identity,
    /// Who put it there.
    pub committer: Identity,
}

impl Identity {
    /// Signalbox itself, in whose name epochs and boxes are written.
    #[must_use]
    pub fn signalbox() -> Self {
        Self { name: "signalbox".to_owned(), email: "signalbox@localhost".to_owned() }
    }

    /// Git refuses a name in which nothing but punctuation stands.
    pub(crate) fn usable(name: String, email: String) -> Self {
        let says_something = |text: &str| text.chars().any(char::is_alphanumeric);
        if says_something(&name) {
            return Self { name, email };
        }
        let local = email.split('@').next().unwrap_or_default().to_owned();
        Self { name: if says_something(&local) { local } else { "unknown".to_owned() }, email }
    }
}

impl Repo {
    /// In whose name the user commits, as the user's environment and configuration say; where they say nothing,
    /// the author of the `fallback` commit, and where there is none, signalbox. An identity that git would make
    /// up from the machine's name is not taken.
    ///
    /// # Errors
    /// Only if git cannot be run.
    pub fn identity(&self, fallback: Option<&Oid>) -> Result<Identities, GitError> {
        let instead = || match fallback {
            Some(commit) => self.author_of(commit).unwrap_or_else(|_| Identity::signalbox()),
            None => Identity::signalbox(),
        };
        let author = self.var("GIT_AUTHOR_IDENT")?.unwrap_or_else(instead);
        let committer = self.var("GIT_COMMITTER_IDENT")?.unwrap_or_else(instead);
        Ok(Identities { author, committer })
    }

    fn var(&self, name: &str) -> Result<Option<Identity>, GitError> {
        let out = self.user(self.home()).config("user.useConfigOnly=true").args(["var", name]).run()?;
        let text = String::from_utf8_lossy(&out.stdout);
        let parts =
            out.success().then(|| text.rsplit_once('>').and_then(|(who, _)| who.rsplit_once(" <"))).flatten();
        Ok(parts.map(|(name, email)| Identity::usable(name.trim().to_owned(), email.to_owned())))
    }

    /// Writes a commit and flushes it. No ref is moved: until one holds it (see [`Repo::keep`]), the user's `gc`
    /// may take it away.
    ///
    /// The message may hold any bytes but NUL; bytes that are not UTF-8 are taken for Latin-1 and stored as
    /// UTF-8. The commit is not signed.
    ///
    /// # Errors
    /// If git fails: the tree or a parent is not here, the message holds a NUL, or a name is empty.
    pub fn commit_tree(
        &self,
        tree: &Oid,
        parents: &[&Oid],
        message: &[u8],
        author: &Identity,
        committer: &Identity,
    ) -> Result<Oid, GitError> {
        let mut call = self.content().durable().args(["commit-tree", "--no-gpg-sign", tree.as_str()]);
        for parent in parents {
            call = call.args(["-p", parent.as_str()]);
        }
        let call = call
            .args(["-F", "-"])
            .var("GIT_AUTHOR_NAME", &author.name)
            .var("GIT_AUTHOR_EMAIL", &author.email)
            .var("GIT_COMMITTER_NAME", &committer.name)
            .var("GIT_COMMITTER_EMAIL", &committer.email);
        oid_line(&call.stdin(message).stdout()?, "commit-tree")
    }

    /// Writes a commit that stands for what a merge would make: in signalbox's own name, at a fixed time, so that the
    /// same tree and parents always give the same commit. It is not flushed, and no ref holds it.
    ///
    /// # Errors
    /// As [`Repo::commit_tree`].
    pub fn scratch_commit(&self, tree: &Oid, parents: &[&Oid]) -> Result<Oid, GitError> {
        let us = Identity::signalbox();
        let mut call = self.content().args(["commit-tree", "--no-gpg-sign", tree.as_str()]);
        for parent in parents {
            call = call.args(["-p", parent.as_str()]);
        }
        let mut call = call.args(["-m", "signalbox: as it would be"]);
        for who in ["AUTHOR", "COMMITTER"] {
            call = call
                .var(&format!("GIT_{who}_NAME"), &us.name)
                .var(&format!("GIT_{who}_EMAIL"), &us.email)
                .var(&format!("GIT_{who}_DATE"), "@1 +0000");
        }
        oid_line(&call.stdout()?, "commit-tree")
    }

    /// The empty tree, written if it was not there.
    ///
    /// # Errors
    /// If git fails.
    pub fn empty_tree(&self) -> Result<Oid, GitError> {
        let call = self.content().durable().args(["hash-object", "-t", "tree", "-w", "--stdin"]);
        oid_line(&call.stdin(Vec::new()).stdout()?, "hash-object")
    }

    /// Writes a commit of the empty tree in signalbox's own name: a message that a ref can carry.
    ///
    /// # Errors
    /// As [`Repo::commit_tree`].
    pub fn note_commit(&self, message: &[u8], parent: Option<&Oid>) -> Result<Oid, GitError> {
        let tree = self.empty_tree()?;
        let parents: Vec<&Oid> = parent.into_iter().collect();
        self.commit_tree(&tree, &parents, message, &Identity::signalbox(), &Identity::signalbox())
    }
}
