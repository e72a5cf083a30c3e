//! Pushes: every ref with the value it is expected to have.

use std::fs::File;
use std::time::Duration;

use crate::process::Call;
use crate::refs::checked;
use crate::run::Output;
use crate::{GitError, Oid, Repo};

/// How an attempt to move refs ended. The texts are for people only: what happened is found by reading the refs
/// again.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PushEnd {
    /// The refs were moved.
    Accepted,
    /// The report arrived and says no: nothing was moved, and nothing is under way any more.
    Refused {
        /// What git and the remote's hooks said, redacted.
        text: String,
    },
    /// No report: the connection was lost or never made, or git was stopped. The push may still be under way.
    NoAnswer {
        /// What git said, redacted.
        text: String,
    },
}

/// One ref to move from `old` (none: must not exist) to `new`.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Move<'a> {
    pub(crate) refname: &'a str,
    pub(crate) new: &'a Oid,
    pub(crate) old: Option<&'a Oid>,
}

/// Pushes refs together, all or none.
pub(crate) fn push(
    repo: &Repo,
    remote: &str,
    moves: &[Move<'_>],
    guard: Option<File>,
    limit: Duration,
) -> Result<PushEnd, GitError> {
    let call = start(repo).arg("--atomic");
    sent(repo, remote, with_moves(call, remote, moves)?.inherit(guard).limit(limit))
}

/// Pushes refs that need not move together.
pub(crate) fn push_apart(
    repo: &Repo,
    remote: &str,
    moves: &[Move<'_>],
    limit: Duration,
) -> Result<PushEnd, GitError> {
    sent(repo, remote, with_moves(start(repo), remote, moves)?.limit(limit))
}

/// Deletes refs, each of which must have this value.
pub(crate) fn delete(
    repo: &Repo,
    remote: &str,
    gone: &[(&str, &Oid)],
    limit: Duration,
) -> Result<PushEnd, GitError> {
    let mut call = start(repo);
    for (name, old) in gone {
        call = call.arg(format!("--force-with-lease={}:{old}", checked(name)?));
    }
    call = call.args(["--end-of-options", remote]).args(gone.iter().map(|(name, _)| format!(":{name}")));
    sent(repo, remote, call.limit(limit))
}

fn start(repo: &Repo) -> Call {
    let call = repo.remote().config("push.useForceIfIncludes=false");
    call.args(["push", "--porcelain", "--no-verify", "--no-follow-tags", "--recurse-submodules=no"])
}

fn with_moves(mut call: Call, remote: &str, moves: &[Move<'_>]) -> Result<Call, GitError> {
    for Move { refname, old, .. } in moves {
        let old = old.map_or("", Oid::as_str);
        call = call.arg(format!("--force-with-lease={}:{old}", checked(refname)?));
    }
    call = call.args(["--end-of-options", remote]);
    Ok(call.args(moves.iter().map(|Move { refname, new, .. }| format!("{new}:{refname}"))))
}

fn sent(repo: &Repo, remote: &str, call: Call) -> Result<PushEnd, GitError> {
    match call.run() {
        Ok(out) if out.success() => Ok(PushEnd::Accepted),
        Ok(out) if is_mirror(repo, remote)? && report(&out).is_empty() => {
            drop(out);
            Err(GitError::Mirror { remote: remote.to_owned() })
        }
        Ok(out) => Ok(judge(&out)),
        Err(error @ GitError::TimedOut { .. }) => Ok(PushEnd::NoAnswer { text: error.to_string() }),
        Err(error) => Err(error),
    }
}

fn is_mirror(repo: &Repo, remote: &str) -> Result<bool, GitError> {
    Ok(repo.config(&format!("remote.{remote}.mirror"))?.is_some_and(|value| value != "false"))
}

/// The lines of `--porcelain` that report a ref: `<flag> TAB <from>:<to> TAB <summary>`.
fn report(out: &Output) -> Vec<String> {
    let text = String::from_utf8_lossy(&out.stdout);
    text.lines().filter(|line| line.get(1..2) == Some("\t")).map(crate::redact).collect()
}

fn judge(out: &Output) -> PushEnd {
    let lines = report(out);
    let said = [lines.join("\n"), out.text()].join("\n").trim().to_owned();
    let rejected = lines.iter().any(|line| line.starts_with('!'));
    let unreported = lines.iter().any(|line| line.contains("[remote failure]"));
    if rejected && !unreported && out.code().is_some() {
        PushEnd::Refused { text: said }
    } else {
        PushEnd::NoAnswer { text: said }
    }
}
