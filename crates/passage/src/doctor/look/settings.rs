//! Looks at the settings, here and on the trunk.

use crate::doctor::judge::settings::{Facts, InWorktree};
use crate::end::End;
use crate::land::enter;
use crate::settings::{self, FILE, Settings};
use crate::site::Site;
use git::{GitError, Head, Oid, Remote};

/// Looks at those of the trunk, and how the file in this worktree stands to them.
///
/// # Errors
/// Git failed.
pub(in crate::doctor) fn look(site: &Site, trunk: Option<&Oid>) -> Result<Facts, GitError> {
    let mut facts = Facts { trunk: site.trunk_name(), cores: cores(), ..Facts::default() };
    match site.trunk_settings(trunk) {
        Ok((settings, its_own)) => {
            facts.of_trunk = enter::unchecked(site, &settings);
            let top = site.repo.worktree().unwrap_or(site.repo.common_dir());
            let missing = |file: &&String| top.join(file).symlink_metadata().is_err();
            facts.missing = settings.check.files.iter().filter(missing).cloned().collect();
            facts.file = in_worktree(site, trunk, &settings)?;
            facts.counting = Some((settings, its_own));
        }
        Err(end) => facts.of_trunk = Some(end),
    }
    Ok(facts)
}

/// Those of a repository whose state cannot be used.
pub(in crate::doctor) fn unread(end: Option<End>) -> Facts {
    Facts { here: end, ..Facts::default() }
}

fn cores() -> usize {
    std::thread::available_parallelism().map_or(usize::MAX, std::num::NonZero::get)
}

fn in_worktree(
    site: &Site,
    trunk: Option<&Oid>,
    counting: &Settings,
) -> Result<Option<InWorktree>, GitError> {
    let repo = &site.repo;
    let Some(top) = repo.worktree() else { return Ok(None) };
    let text = settings::read(&top.join(FILE)).ok().flatten();
    let here = text.as_deref().and_then(|text| Settings::parse(text).ok());
    let head = repo.resolve("HEAD")?;
    let committed = head.as_ref().map(|head| repo.read_file(head, FILE.as_bytes())).transpose()?.flatten();
    let on_trunk = match repo.head(top) {
        Ok(Head::Branch(branch) | Head::Unborn(branch)) => branch == site.trunk.branch,
        _ => false,
    };
    let has_trunk = match (&head, trunk) {
        (Some(head), Some(trunk)) => repo.is_ancestor(trunk, head)?,
        (_, None) => true,
        (None, Some(_)) => false,
    };
    Ok(Some(InWorktree {
        there: text.is_some(),
        differs: here.is_some_and(|here| here != *counting),
        uncommitted: committed.as_deref() != text.as_deref(),
        has_trunk,
        on_trunk,
        in_place: on_trunk && site.trunk.remote == Remote::Here,
        trunk: trunk.map(|trunk| trunk.short().to_owned()),
    }))
}
