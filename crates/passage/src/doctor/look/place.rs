//! Looks at a trunk that is kept in this repository itself.

use crate::doctor::judge::place::Place;
use crate::land::enter;
use crate::merging::{self, Fit};
use crate::settings::{Settings, Strategy};
use crate::{live, locked};
use git::{GitError, Head, ObstacleKind, Oid, Trunk};
use std::path::Path;

/// Looks at it. `None` where the trunk is at a remote. Of which the settings are not known, branches are not tried.
///
/// # Errors
/// Git failed.
pub(in crate::doctor) fn look(
    trunk: &Trunk,
    stands: Option<&Oid>,
    settings: Option<&Settings>,
    state: &Path,
) -> Result<Option<Place>, GitError> {
    if trunk.remote != git::Remote::Here {
        return Ok(None);
    }
    if live::any_lives(&state.join("live")) {
        return Ok(Some(Place { somebody_lands: true, ..Place::default() }));
    }
    let mut obstacles = Vec::new();
    for obstacle in trunk.obstacles(stands, None)? {
        obstacles.extend(enter::in_the_way(&[obstacle]));
    }
    let in_the_way = match (stands, settings) {
        (Some(stands), Some(settings)) => in_the_way(trunk, stands, settings)?,
        _ => None,
    };
    let locks = locked::all(trunk);
    // What was seen may be the landing of somebody who came meanwhile.
    let somebody_lands = live::any_lives(&state.join("live"));
    Ok(Some(match somebody_lands {
        true => Place { somebody_lands, ..Place::default() },
        false => Place { obstacles, in_the_way, locks, somebody_lands },
    }))
}

/// The file that the branch that is checked out here would run into.
fn in_the_way(
    trunk: &Trunk,
    stands: &Oid,
    settings: &Settings,
) -> Result<Option<(crate::End, String)>, GitError> {
    let Some(Ok(Head::Branch(branch))) = trunk.repo.worktree().map(|top| trunk.repo.head(top)) else {
        return Ok(None);
    };
    let head = trunk.repo.resolve(&format!("refs/heads/{branch}"))?;
    let Some(head) = head.filter(|_| branch != trunk.branch) else { return Ok(None) };
    let squash = settings.land.strategy == Strategy::Squash;
    let Fit::Tree(tree) = merging::fit(&trunk.repo, stands, &head, squash)? else { return Ok(None) };
    let mut obstacles = trunk.obstacles(Some(stands), Some(&tree))?;
    obstacles.retain(|obstacle| obstacle.kind == ObstacleKind::InTheWay);
    Ok(enter::in_the_way(&obstacles).map(|end| (end, branch)))
}
