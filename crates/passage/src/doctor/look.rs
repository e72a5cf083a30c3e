//! Gathers the facts. Nothing is changed, but for the trial that [`trunk`] says it makes.

pub(super) mod leftovers;
pub(super) mod place;
pub(super) mod settings;
pub(super) mod state;
pub(super) mod trial;
pub(super) mod trunk;

use super::judge::environment::Environment;
use super::judge::numbers::Numbered;
use super::judge::queue::Queue;
use super::judge::repository::Repository;
use crate::files;
use crate::land::enter;
use crate::live::{self, Owner};
use crate::settings::Settings;
use client::QueueView;
use git::{GitError, Oid, Repo};
use kernel::{Id, Millis};
use std::path::Path;
use store::Standing;

pub(super) fn environment() -> Environment {
    let set = |name: &str| std::env::var_os(name).is_some_and(|value| !value.is_empty());
    let names = std::env::vars_os().filter(|(_, value)| !value.is_empty());
    let names = names.filter_map(|(name, _)| name.into_string().ok());
    let mut ours: Vec<String> = names.filter(|name| name.starts_with("SIGNALBOX_")).collect();
    ours.sort();
    let cache = files::cache_dir();
    Environment {
        set: ours,
        cache_usable: cache.as_deref().is_some_and(files::could_be),
        cache: cache.map(|cache| cache.display().to_string()),
        by_xdg: set("XDG_CACHE_HOME"),
    }
}

pub(super) fn repository(repo: &Repo, trunk: Option<&Oid>) -> Result<Repository, GitError> {
    let partial = repo.promisor()?;
    // Of a trunk that is not here nothing can be told.
    let lfs = match trunk {
        Some(trunk) => repo.names_lfs(trunk)? && !repo.has_lfs()?,
        None => false,
    };
    Ok(Repository { version: repo.version(), partial, shallow: enter::shallow(repo)?, lfs_missing: lfs })
}

/// The number lines that name files, as the trunk has them.
pub(super) fn numbers(
    repo: &Repo,
    trunk: &Oid,
    settings: &Settings,
    standing: &Standing,
) -> Result<Vec<Numbered>, GitError> {
    let templates = settings.lines.iter().filter_map(|l| Some((l.name.clone(), settings.template(&l.name)?)));
    let templates: Vec<_> = templates.collect();
    if templates.is_empty() {
        return Ok(Vec::new());
    }
    let paths = repo.tree_paths(trunk)?;
    let numbered = templates.into_iter().map(|(name, template)| {
        let files = template.numbered(&paths);
        let files = files.into_iter().map(|(n, paths)| (n, paths.into_iter().map(Into::into).collect()));
        let files = files.collect();
        let issued = standing.lines.iter().find(|(line, _)| *line == name).map_or(0, |(_, value)| *value);
        Numbered { name, template, files, issued }
    });
    Ok(numbered.collect())
}

pub(super) fn queue(view: QueueView, state: &Path, now: Millis) -> Queue {
    let gone = |ticket: &str| {
        let owner = |id: Id| live::owner(&state.join("live"), &id);
        ticket.parse().is_ok_and(|id| owner(id) == Owner::Gone)
    };
    let gone = view.tickets.iter().filter(|t| gone(&t.ticket)).map(|t| t.ticket.clone()).collect();
    let inside = std::env::var("SIGNALBOX_TICKET").ok().filter(|ticket| !ticket.is_empty());
    Queue { view, gone, now, inside }
}
