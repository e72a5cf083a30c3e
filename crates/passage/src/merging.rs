//! Making the landing commit: merge, message, and what is said when the branch does not merge.

use crate::end::{End, exit, land_command, naming, quoted, short};
use crate::fault;
use crate::settings::{Settings, Strategy};
use crate::site::Site;
use bstr::{BString, ByteSlice};
use git::{GitError, Merge, Need, Oid, Remote, Repo, TrunkError};
use kernel::Id;

/// A commit that is ready to become the trunk.
#[derive(Debug, Clone)]
pub struct Landing {
    /// The trunk that it stands on; none where it makes the trunk.
    pub old: Option<Oid>,
    /// The landing commit.
    pub commit: Oid,
    /// Its tree.
    pub tree: Oid,
    /// What the trunk's settings said.
    pub settings: Settings,
}

/// What came of a merge.
#[derive(Debug)]
pub enum Merged {
    /// A landing commit.
    Ready(Box<Landing>),
    /// The trunk has it all already.
    Nothing,
    /// It does not merge.
    Conflict(End, Vec<String>),
}

/// What is merged, by whom.
#[derive(Debug, Clone, Copy)]
pub struct Passenger<'a> {
    /// The branch.
    pub branch: &'a str,
    /// The commit that was pinned.
    pub head: &'a Oid,
    /// The ticket.
    pub ticket: &'a Id,
    /// The turn.
    pub turn_no: i64,
}

/// How a commit fits onto another one.
#[derive(Debug)]
pub(crate) enum Fit {
    /// This tree would land.
    Tree(Oid),
    /// It is all there already.
    Nothing,
    /// It does not merge.
    Conflict {
        /// The paths in conflict.
        paths: Vec<BString>,
        /// What git says.
        messages: Vec<String>,
    },
    /// The two have no history in common.
    Unrelated,
}

/// How `head` fits onto `old`.
///
/// # Errors
/// Git failed.
pub(crate) fn fit(repo: &Repo, old: &Oid, head: &Oid, squash: bool) -> Result<Fit, GitError> {
    let tree = match repo.merge(old, head) {
        Ok(Merge::Clean { tree }) => tree,
        Ok(Merge::Conflict { paths, messages }) => return Ok(Fit::Conflict { paths, messages }),
        Err(GitError::Unrelated) => return Ok(Fit::Unrelated),
        Err(error) => return Err(error),
    };
    // What is there already changes nothing; so does a branch that undoes itself, which a merge keeps.
    if tree == repo.tree_of(old)? && (squash || repo.is_ancestor(head, old)?) {
        return Ok(Fit::Nothing);
    }
    Ok(Fit::Tree(tree))
}

/// Makes sure that a merge finds all files here, also in a partial clone.
///
/// # Errors
/// The remote that has them cannot be read, or git failed.
pub fn complete(site: &Site, trunk: Option<&Oid>, head: &Oid) -> Result<(), TrunkError> {
    let base = trunk.map_or(Ok(None), |trunk| site.repo.merge_base(trunk, head))?;
    let commits: Vec<&Oid> = trunk.into_iter().chain([head]).chain(base.as_ref()).collect();
    site.repo.complete(&commits, Need::Files)
}

/// Merges a branch into the trunk as the trunk's settings say. No worktree, index or ref is touched but
/// the one that keeps the result from being collected.
///
/// # Errors
/// Git failed.
pub fn merge(
    site: &Site,
    trunk: Option<&Oid>,
    settings: Settings,
    who: &Passenger<'_>,
) -> Result<Merged, GitError> {
    let repo = &site.repo;
    let Some(old) = trunk else {
        let tree = repo.tree_of(who.head)?;
        let landing = Landing { old: None, commit: who.head.clone(), tree, settings };
        repo.keep(who.ticket.as_str(), "landing", &landing.commit)?;
        return Ok(Merged::Ready(Box::new(landing)));
    };
    let squash = settings.land.strategy == Strategy::Squash;
    let tree = match fit(repo, old, who.head, squash)? {
        Fit::Tree(tree) => tree,
        Fit::Nothing => return Ok(Merged::Nothing),
        Fit::Conflict { paths, messages } => {
            let (end, files) = conflict(site, old, who, &paths, &messages)?;
            return Ok(Merged::Conflict(end, files));
        }
        Fit::Unrelated => return Ok(Merged::Conflict(unrelated(who), Vec::new())),
    };
    let us = repo.identity(Some(who.head))?;
    let commit = if squash {
        let author = repo.author_of(who.head)?;
        repo.commit_tree(&tree, &[old], &squash_message(site, old, who)?, &author, &us.committer)?
    } else {
        let message = format!("Merge branch '{}' into {}\n", who.branch, site.trunk.branch);
        let message = with_trailers(message.as_bytes(), who);
        repo.commit_tree(&tree, &[old, who.head], &message, &us.author, &us.committer)?
    };
    fault::point("merge:committed");
    repo.keep(who.ticket.as_str(), "landing", &commit)?;
    Ok(Merged::Ready(Box::new(Landing { old: Some(old.clone()), commit, tree, settings })))
}

/// The paths that a landing changes on the trunk: with a rename both its ends, with a mode its file.
///
/// # Errors
/// Git failed.
pub fn changed(site: &Site, landing: &Landing) -> Result<Vec<BString>, GitError> {
    match &landing.old {
        Some(old) => Ok(site.repo.changed_paths(old, &landing.tree)?.into_iter().map(|c| c.path).collect()),
        None => site.repo.tree_paths(&landing.tree),
    }
}

/// What a landing would change on the trunk if it came now, and what would be in its way: a conflict, or two
/// files with one number. Nothing is kept.
///
/// # Errors
/// Git failed.
pub fn foresee(
    site: &Site,
    trunk: Option<&Oid>,
    settings: Settings,
    who: &Passenger<'_>,
) -> Result<(Vec<BString>, Option<End>), GitError> {
    let repo = &site.repo;
    let squash = settings.land.strategy == Strategy::Squash;
    let tree =
        match trunk.map(|old| Ok::<_, GitError>((old, fit(repo, old, who.head, squash)?))).transpose()? {
            None => repo.tree_of(who.head)?,
            Some((_, Fit::Tree(tree))) => tree,
            Some((old, Fit::Nothing)) => repo.tree_of(old)?,
            Some((old, Fit::Conflict { paths, messages })) => {
                let (end, _) = conflict(site, old, who, &paths, &messages)?;
                // Until it merges, what the branch itself has changed is the best that can be told.
                let changed = match repo.merge_base(old, who.head)? {
                    Some(base) => repo.changed_paths(&base, who.head)?,
                    None => Vec::new(),
                };
                return Ok((changed.into_iter().map(|change| change.path).collect(), Some(end)));
            }
            Some((_, Fit::Unrelated)) => return Ok((Vec::new(), Some(unrelated(who)))),
        };
    let landing = Landing { old: trunk.cloned(), commit: who.head.clone(), tree, settings };
    let trouble = crate::numbers::refusal(site, &landing, who)?;
    Ok((changed(site, &landing)?, trouble))
}

fn squash_message(site: &Site, old: &Oid, who: &Passenger<'_>) -> Result<Vec<u8>, GitError> {
    let base = site.repo.merge_base(old, who.head)?;
    let commits = site.repo.first_parent(base.as_ref(), who.head)?;
    if let [only] = commits.as_slice() {
        return Ok(with_trailers(&site.repo.message_of(only)?, who));
    }
    let mut message = format!("Land {}\n", who.branch).into_bytes();
    message.push(b'\n');
    for commit in commits.iter().rev().take(100) {
        message.extend_from_slice(format!("* {}\n", site.repo.subject_of(commit)?).as_bytes());
    }
    Ok(with_trailers(&message, who))
}

/// The turn and the ticket stand in the landing commit itself, so that the trunk's history tells which
/// passage made it.
fn with_trailers(message: &[u8], who: &Passenger<'_>) -> Vec<u8> {
    let mut message = BString::from(message.trim_ascii_end());
    let last = message.rsplit_str("\n\n").next().unwrap_or_default();
    let is_trailer = |line: &[u8]| {
        line.split_once_str(": ").is_some_and(|(key, _)| {
            !key.is_empty() && key.iter().all(|b| b.is_ascii_alphanumeric() || *b == b'-')
        })
    };
    let has_trailers = message.contains_str("\n\n") && last.lines().all(is_trailer);
    message.extend_from_slice(if has_trailers { b"\n" } else { b"\n\n" });
    message.extend_from_slice(
        format!("Signalbox-Turn: {}\nSignalbox-Ticket: {}\n", who.turn_no, who.ticket.as_str()).as_bytes(),
    );
    message.into()
}

fn unrelated(who: &Passenger<'_>) -> End {
    let text = "{} has no history in common with the trunk; rebase it onto the trunk first";
    let line = naming(text, [who.branch]);
    End::new(exit::MEND, "unrelated", line)
}

fn conflict(
    site: &Site,
    trunk: &Oid,
    who: &Passenger<'_>,
    paths: &[BString],
    messages: &[String],
) -> Result<(End, Vec<String>), GitError> {
    let base = site.repo.merge_base(trunk, who.head)?;
    let names: Vec<String> = paths.iter().map(|path| path.to_str_lossy().into_owned()).collect();
    let first = names.first().map_or("a file", String::as_str);
    let others = match names.len().saturating_sub(1) {
        0 => String::new(),
        n => format!(" and {n} more"),
    };
    let text = format!("conflict in {{}}{others}; merge the trunk into the branch, then land again");
    let line = naming(&text, [first]);
    let mend = match &site.trunk.remote {
        Remote::Here => format!("git merge {}", quoted(&site.trunk.branch)),
        Remote::Named(remote) => {
            format!("git fetch {0} {1} && git merge FETCH_HEAD", quoted(remote), quoted(&site.trunk.branch))
        }
    };
    let mut end = End::new(exit::MEND, "conflict", line);
    for path in paths.iter().take(5) {
        let name = short(&path.to_str_lossy(), 60);
        match site.repo.last_change(base.as_ref(), trunk, path)? {
            Some((commit, subject)) => {
                end = end.more(format!("{name}: changed by {} {}", commit.short(), short(&subject, 60)));
            }
            None => end = end.more(format!("{name}: in conflict")),
        }
    }
    for message in messages.iter().filter(|m| !m.starts_with("Auto-merging")).take(5) {
        end = end.more(short(message, 120));
    }
    end = end.more("On the branch:").more(format!("  git switch {}", quoted(who.branch)));
    end = end.more(format!("  {mend}")).more("  (mend the files, git add them, then: git commit --no-edit)");
    end = end.more(format!("  {}", land_command(who.branch, "")));
    end = end.fact("files", names.clone()).next(mend);
    Ok((end, names))
}
