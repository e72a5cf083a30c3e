//! Looks at the place where the trunk is kept.

use super::trial;
use crate::doctor::judge::trunk::Trunk as Facts;
use crate::end::End;
use crate::epoch::Epoch;
use crate::event::Show;
use crate::land::enter;
use crate::site::{Site, other_box, unreachable};
use crate::split;
use git::{GitError, Remote, Seen, Trunk, TrunkError};
use kernel::Clock;
use std::path::Path;

/// What is known of who keeps the trunk from here.
#[derive(Debug, Clone, Copy)]
pub(in crate::doctor) enum Keeper<'a> {
    /// This box.
    Box(&'a Site),
    /// None yet: a trunk that somebody keeps is another's.
    Fresh,
    /// Its state cannot be used.
    Unknown,
}

/// Reads the trunk, and looks whether it is ours.
///
/// # Errors
/// Git failed.
pub(in crate::doctor) fn look(trunk: &Trunk, keeper: Keeper<'_>) -> Result<(Facts, Option<Seen>), GitError> {
    let remote = match &trunk.remote {
        Remote::Here => ".".to_owned(),
        Remote::Named(name) => name.clone(),
    };
    let name = match &trunk.remote {
        Remote::Here => trunk.branch.clone(),
        Remote::Named(remote) => format!("{remote}/{}", trunk.branch),
    };
    let mut facts = Facts { remote, name, ..Facts::default() };
    if let Remote::Named(remote) = &trunk.remote {
        let read = trunk.repo.urls(remote)?.read();
        // A URL or a path may stand for a remote.
        facts.no_remote = read.is_none() && !remote.contains(['/', ':']);
        let url = read.unwrap_or_else(|| remote.clone());
        let path = url.strip_prefix("file://").unwrap_or(&url);
        let at = trunk.repo.worktree().unwrap_or(trunk.repo.common_dir());
        facts.folder =
            Some(at.join(Path::new(path))).filter(|dir| dir.is_dir()).map(|dir| dir.display().to_string());
    }
    if facts.no_remote {
        return Ok((facts, None));
    }
    facts.refused.extend(split::one_push_url_of(trunk).err());
    let seen = match trunk.read() {
        Ok(seen) => seen,
        Err(TrunkError::Unreachable { text }) => {
            facts.refused.push(unreachable(&facts.remote, &text));
            return Ok((facts, None));
        }
        Err(TrunkError::Git(error)) => return Err(error),
        Err(other) => return Err(GitError::BadOid(other.to_string())),
    };
    facts.claimed = seen.box_id.is_some();
    if matches!(keeper, Keeper::Fresh) && seen.box_id.is_some() {
        facts.refused.push(other_box());
    }
    if let Keeper::Box(site) = keeper {
        facts.refused.extend(site.kept_elsewhere(&seen).unwrap_or_else(Some));
        let ours = facts.refused.is_empty();
        facts
            .refused
            .extend((seen.trunk.is_none() && site.had_a_trunk(&seen)).then(|| enter::trunk_gone(site)));
        // What the state knows is read after the trunk: a turn that has just begun is in it.
        let standing = super::state::standing(site);
        if let (Some(epoch), Some(known), true) =
            (&seen.epoch, standing.map(|standing| standing.turn_no), ours)
        {
            let stands = Epoch::parse(&site.repo.message_of(epoch)?.to_string());
            let stands = stands.filter(|epoch| epoch.box_id == site.box_id && epoch.turn_no > known);
            facts.behind = stands.map(|epoch| (epoch.turn_no, known));
        }
    }
    Ok((facts, Some(seen)))
}

/// Tries what a landing needs of it, where nothing speaks against that.
pub(in crate::doctor) fn try_out(
    facts: &mut Facts,
    trunk: &Trunk,
    clock: &dyn Clock,
    show: &dyn Show,
) -> Option<End> {
    let only_gone = facts.refused.iter().all(|end| end.code == "trunk_gone");
    if facts.no_remote || !only_gone {
        return None;
    }
    match trial::make(trunk, clock, show) {
        Ok((trial, left)) => {
            facts.trial = Some(trial);
            facts.left = left;
            None
        }
        Err(TrunkError::Unreachable { text }) => Some(unreachable(&facts.remote, &text)),
        Err(error) => Some(End::internal(error)),
    }
}
