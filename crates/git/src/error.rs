//! What can go wrong with git, and how its words are made safe to show.

use std::io;
use std::path::PathBuf;
use std::time::Duration;

/// A call of git that did not do what was asked. All texts are redacted (see [`redact`]).
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum GitError {
    /// The git program could not be started.
    #[error("cannot start {program}: {source}")]
    Start {
        /// The program as configured.
        program: String,
        /// Why.
        source: io::Error,
    },
    /// Git is older than 2.39.
    #[error("git 2.39 or later is needed, this is {found}")]
    TooOld {
        /// The version found.
        found: String,
    },
    /// No repository at or above the directory, or one that git refuses to use there.
    #[error("{path} is not in a git repository that can be used: {text}")]
    NotARepository {
        /// Where it was looked for.
        path: PathBuf,
        /// What git said.
        text: String,
    },
    /// Git ended with an error.
    #[error("git {command} failed ({end}): {text}")]
    Failed {
        /// The subcommand.
        command: String,
        /// `status N`, or that a signal ended it.
        end: String,
        /// What git said.
        text: String,
    },
    /// The time limit was reached and git was stopped.
    #[error("git {command} was stopped after {after:?}: {text}")]
    TimedOut {
        /// The subcommand.
        command: String,
        /// The limit.
        after: Duration,
        /// What git had said until then.
        text: String,
    },
    /// The call was asked to stop (see [`Repo::stopped_by`](crate::Repo::stopped_by)). It had changed nothing.
    #[error("git {command} was stopped as asked")]
    Interrupted {
        /// The subcommand.
        command: String,
    },
    /// Git wrote more than this crate takes in (64 MiB).
    #[error("git {command} wrote more than can be taken in")]
    TooMuchOutput {
        /// The subcommand.
        command: String,
    },
    /// Git answered something that this crate cannot read.
    #[error("git {command} answered something unexpected: {what}")]
    Unreadable {
        /// The subcommand.
        command: String,
        /// What was met.
        what: String,
    },
    /// A file operation failed.
    #[error("{what}: {source}")]
    Io {
        /// What was tried.
        what: String,
        /// Why it failed.
        source: io::Error,
    },
    /// Two commits have no common ancestor, so they cannot be merged.
    #[error("the two commits have no common history")]
    Unrelated,
    /// Not an object name.
    #[error("not an object name: {0:?}")]
    BadOid(String),
    /// Not a usable ref name.
    #[error("not a usable ref name: {0:?}")]
    BadRefName(String),
    /// The remote is configured as a mirror (`remote.<name>.mirror`), for which git refuses to push single refs.
    #[error(
        "remote {remote} is configured as a mirror, to which git pushes no single refs; unset remote.{remote}.mirror"
    )]
    Mirror {
        /// The remote.
        remote: String,
    },
    /// The directory is no linked worktree of this repository, so this crate does not touch it.
    #[error("{0} is not a linked worktree of this repository")]
    NotALinkedWorktree(PathBuf),
}

impl GitError {
    pub(crate) fn unreadable(command: &str, what: impl Into<String>) -> Self {
        Self::Unreadable { command: command.to_owned(), what: what.into() }
    }

    pub(crate) fn io(what: impl Into<String>, source: io::Error) -> Self {
        Self::Io { what: what.into(), source }
    }
}

/// Why the state of a trunk could not be read.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum TrunkError {
    /// The remote could not be read: no connection, no permission, no such repository, no answer in time.
    #[error("the remote cannot be read: {text}")]
    Unreachable {
        /// What git said, redacted.
        text: String,
    },
    /// Git failed locally.
    #[error(transparent)]
    Git(#[from] GitError),
}

/// Replaces the credentials in every `scheme://user:secret@host` of a text by `***`.
#[must_use]
pub fn redact(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find("://") {
        let (head, tail) = rest.split_at(at + 3);
        out.push_str(head);
        let end = tail
            .find(|c: char| c == '/' || c.is_whitespace() || matches!(c, '\'' | '"'))
            .unwrap_or(tail.len());
        rest = match tail[..end].rfind('@') {
            Some(sign) => {
                out.push_str("***");
                &tail[sign..]
            }
            None => tail,
        };
    }
    out.push_str(rest);
    out
}

#[cfg(test)]
mod tests {
    use super::redact;

    #[test]
    fn credentials_in_urls_are_redacted_and_the_rest_stays() {
        assert_eq!(
            redact(
                "fatal: unable to access 'https://me:s3cr@t@host.example/x.git/': no\nssh://git@host/y a@b"
            ),
            "fatal: unable to access 'https://***@host.example/x.git/': no\nssh://***@host/y a@b"
        );
        assert_eq!(redact("https://host/a@b"), "https://host/a@b");
        assert_eq!(redact("ends with ://"), "ends with ://");
    }
}
